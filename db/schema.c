/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema's life: created, compared, and a BOINC database adopted in place.  Each
 * step of an upgrade looks first whether it is needed, so that a run that was killed is
 * simply run again.
 */
#include "db/schema.h"

#include <string.h>
#include "db/adopt.h"
#include "db/private.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { NO_SUCH_TABLE = 1146, SLICE_IDS = 1000, ADAPTIVE_SINCE = 4, LEDGER_SINCE = 5 };

static enum err
version_write(struct db *db, struct fail *f)
{
	return db_exec(
	    db, f, NULL, SQL_SCHEMA_SET_VERSION, (int64_t)SCHEMA_VERSION, clock_now());
}

enum err
schema_create(struct db *db, struct fail *f)
{
	enum err e = conn_need(db, f);

	for (size_t i = 0; schema_sql[i] != NULL && e == OK; i++)
		e = conn_text(db, schema_sql[i], "schema.sql", f);
	return e == OK ? version_write(db, f) : e;
}

enum err
schema_version(struct db *db, int64_t *version, struct fail *f)
{
	enum err e = db_number(db, f, version, SQL_SCHEMA_VERSION);

	if (e == E_NOTFOUND || (e == E_CONFIG && db->code == NO_SUCH_TABLE)) {
		*version = 0;
		return OK;
	}
	return e;
}

/* --- check --- */

struct remarks {
	struct arena *a;
	struct schema_remark *v;
	size_t n, cap;
};

static void
remark(struct remarks *r, bool error, char *text)
{
	PUSH(r->a, r->v, r->n, r->cap) = (struct schema_remark){ error, text };
}

/* When entries of an index move: at which step of a result's life its column changes.
 */
static const struct {
	const char *table, *column, *when;
} changes[] = {
	{ "result", "server_state", "every send and every report" },
	{ "result", "hostid", "every send" },
	{ "result", "userid", "every send" },
	{ "result", "sent_time", "every send" },
	{ "result", "report_deadline", "every send" },
	{ "result", "received_time", "every report" },
	{ "result", "outcome", "every report" },
	{ "result", "validate_state", "every validation" },
	{ "result", "granted_credit", "every validation" },
	{ "workunit", "transition_time", "every send, report and transition" },
	{ "host", "rpc_time", "every request" },
	{ "host", "expavg_credit", "every validation" },
	{ "host", "total_credit", "every validation" },
};

static bool
column_in(const char *list, const char *column)
{
	size_t n = strlen(column);

	for (const char *p = list; p != NULL; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, column, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	}
	return false;
}

static bool
index_wanted(const struct want *w, size_t n, const struct row_names *index)
{
	for (size_t i = 0; i < n; i++)
		if (w[i].kind == WANT_INDEX && strcmp(w[i].table, index->a) == 0 &&
		    strcmp(w[i].name, index->b) == 0)
			return true;
	return false;
}

/* Indexes that are not ours stay; the admin should know what they cost. */
static void
foreign_index(struct remarks *r, const struct row_names *index)
{
	bool hot = false;

	for (size_t i = 0; i < N(changes); i++) {
		if (strcmp(changes[i].table, index->a) != 0 ||
		    !column_in(index->c, changes[i].column))
			continue;
		hot = true;
		remark(r, false,
		    arena_printf(r->a,
			"%s: index %s (%s) is not used by Locus; %s moves an entry of "
			"it",
			index->a, index->b, index->c, changes[i].when));
		break;
	}
	if (!hot && strcmp(index->a, "result") == 0)
		remark(r, false,
		    arena_printf(r->a,
			"result: index %s (%s) is not used by Locus; every new result "
			"adds an entry to it",
			index->b, index->c));
}

static void
indexes_check(
    struct remarks *r, const struct want *w, size_t nwants, const struct live *l)
{
	for (size_t i = 0; i < nwants; i++) {
		const struct row_names *index;

		if (w[i].kind != WANT_INDEX || !w[i].ours)
			continue;
		index = live_index(l, w[i].table, w[i].name);
		if (index != NULL && strcmp(index->c, w[i].extra) != 0)
			remark(r, true,
			    arena_printf(r->a,
				"%s: index %s is on (%s), Locus needs it on (%s); drop "
				"it, "
				"then run: locus schema upgrade",
				w[i].table, w[i].name, index->c, w[i].extra));
	}
	for (size_t i = 0; i < l->nindexes; i++)
		if (!index_wanted(w, nwants, &l->indexes[i]))
			foreign_index(r, &l->indexes[i]);
}

static void
engines_check(struct remarks *r, const struct want *w, size_t n, const struct live *l)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < l->ntables; k++) {
			if (w[i].kind != WANT_TABLE ||
			    strcmp(w[i].table, l->tables[k].a) != 0 ||
			    strcmp(l->tables[k].b, "InnoDB") == 0)
				continue;
			remark(r, true,
			    arena_printf(r->a,
				"%s: its engine is %s, which has no transactions; run: "
				"ALTER "
				"TABLE %s ENGINE=InnoDB",
				w[i].table, l->tables[k].b, w[i].table));
		}
	}
}

/* Whole rows that programs read: their shape's name is the table's. */
static void
shapes_check(struct remarks *r, const struct live *l)
{
	static const struct row_shape *const shapes[] = { &shape_host, &shape_user,
		&shape_app, &shape_platform, &shape_app_version,
		&shape_host_app_version, &shape_workunit, &shape_result, &shape_file,
		&shape_fileset, &shape_team };

	for (size_t i = 0; i < N(shapes); i++)
		for (size_t k = 0; k < shapes[i]->ncols; k++)
			if (live_column(l, shapes[i]->name, shapes[i]->cols[k].name) ==
			    NULL)
				remark(r, true,
				    arena_printf(r->a, "%s: programs read column %s",
					shapes[i]->name, shapes[i]->cols[k].name));
}

enum err
schema_check(struct db *db, struct arena *a, struct schema_remark **out, size_t *n,
    struct fail *f)
{
	struct remarks r = { .a = a };
	struct live live = { 0 };
	size_t nwants, ngaps;
	struct want *wants = wants_read(a, &nwants);
	int64_t version;
	enum err e = schema_version(db, &version, f);

	if (e == OK)
		e = live_read(db, a, &live, f);
	if (e != OK)
		return e;
	struct gap *gaps = gaps_find(a, wants, nwants, &live, &ngaps);
	if (version != SCHEMA_VERSION)
		remark(&r, true,
		    arena_printf(a,
			"version %lld; this Locus needs %d; run: locus schema %s",
			(long long)version, SCHEMA_VERSION,
			live.ntables == 0 ? "create" : "upgrade"));
	for (size_t i = 0; i < ngaps; i++)
		remark(&r, true,
		    arena_printf(a, "%s: %s is missing; run: locus schema upgrade",
			gaps[i].want->table, gaps[i].what));
	shapes_check(&r, &live);
	engines_check(&r, wants, nwants, &live);
	indexes_check(&r, wants, nwants, &live);
	*out = r.v;
	*n = r.n;
	return OK;
}

/* --- upgrade --- */

struct upgrade {
	struct db *db;
	struct arena *a;
	bool dry;
	void (*say)(const char *);
};

static enum err
step(const struct upgrade *u, const char *what, const char *sql, struct fail *f)
{
	u->say(arena_printf(u->a, "%s%s", u->dry ? "would " : "", what));
	return u->dry ? OK : conn_text(u->db, sql, what, f);
}

static char *
alter_text(struct arena *a, const char *table, const char *clauses)
{
	struct buf sql = buf_new(a);

	for (const char *p = stmt_infos[SQL_SCHEMA_ALTER].sql; *p != '\0';) {
		if (eat(&p, "$TABLE"))
			buf_puts(&sql, table);
		else if (eat(&p, "$CLAUSES"))
			buf_puts(&sql, clauses);
		else
			buf_put(&sql, p++, 1);
	}
	return sql.p;
}

/* All gaps of one table in one ALTER, which the server does as a whole or not at all.
 */
static enum err
table_alter(const struct upgrade *u, const struct gap *g, size_t n, struct fail *f)
{
	struct buf clauses = buf_new(u->a), what = buf_new(u->a);

	buf_printf(&what, "add to table %s: ", g->want->table);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&clauses, "%s%s", i > 0 ? ", " : "", g[i].clause);
		buf_printf(&what, "%s%s", i > 0 ? ", " : "", g[i].what);
	}
	return step(u, what.p, alter_text(u->a, g->want->table, clauses.p), f);
}

static enum err
gaps_fill(const struct upgrade *u, const struct gap *gaps, size_t n, struct fail *f)
{
	enum err e = OK;

	for (size_t i = 0, part; i < n && e == OK; i += part) {
		const struct gap *g = &gaps[i];
		part = 1;
		if (g->clause == NULL) {
			e = step(u,
			    arena_printf(u->a, "create table %s", g->want->table),
			    g->want->text, f);
			continue;
		}
		while (i + part < n && gaps[i + part].clause != NULL &&
		       strcmp(gaps[i + part].want->table, g->want->table) == 0)
			part++;
		e = table_alter(u, g, part, f);
	}
	return e;
}

/* Rows are filled in slices of ids, each a transaction of its own. */
static enum err
rows_fill(const struct upgrade *u, const char *what, enum stmt_id last_id,
    enum stmt_id slice, struct fail *f)
{
	int64_t last, done = 0, affected;
	enum err e = db_number(u->db, f, &last, last_id);

	for (int64_t at = 0; e == OK && at < last; at += SLICE_IDS) {
		e = db_exec(u->db, f, &affected, slice, at, at + SLICE_IDS);
		done += affected;
	}
	if (e == OK && done > 0)
		u->say(arena_printf(u->a, "%s: %lld rows", what, (long long)done));
	return e;
}

/*
 * Older Locus gave each app 2 or the number of hosts that a file should go to, where
 * BOINC and we now mean adaptive replication: nothing becomes adaptive by itself.
 */
static enum err
apps_stay_as_they_are(const struct upgrade *u, struct fail *f)
{
	int64_t n;
	enum err e = db_exec(u->db, f, &n, SQL_ADOPT_APPS);

	if (e == OK && n > 0)
		u->say(arena_printf(u->a,
		    "target_nresults of apps, which now means adaptive replication, "
		    "cleared: %lld rows; see locus app set --adaptive, and "
		    "locality_target_holders for the hosts of a file",
		    (long long)n));
	return e;
}

enum err
schema_upgrade(
    struct db *db, struct arena *a, bool dry, void (*say)(const char *), struct fail *f)
{
	const struct upgrade u = { db, a, dry, say };
	struct live live = { 0 };
	size_t nwants, ngaps;
	struct want *wants = wants_read(a, &nwants);
	int64_t version;
	enum err e = schema_version(db, &version, f);

	if (e == OK && version > SCHEMA_VERSION)
		return FAIL(f, E_CONFIG,
		    "the database has schema version %lld, made by a newer Locus than "
		    "this",
		    (long long)version);
	if (e == OK)
		e = live_read(db, a, &live, f);
	if (e != OK)
		return e;
	struct gap *gaps = gaps_find(a, wants, nwants, &live, &ngaps);
	e = gaps_fill(&u, gaps, ngaps, f);
	if (dry || e != OK)
		return e;
	if (version < SCHEMA_VERSION)
		e = rows_fill(&u, "file sets of workunits that do not exist, cleared",
		    SQL_ADOPT_LAST_WU, SQL_ADOPT_WUS, f);
	if (e == OK && version < SCHEMA_VERSION)
		e = rows_fill(&u, "unsent results made ready", SQL_ADOPT_LAST_RESULT,
		    SQL_ADOPT_RESULTS, f);
	if (e == OK && version > 0 && version < ADAPTIVE_SINCE)
		e = apps_stay_as_they_are(&u, f);
	/* Once only: later NULL means that the ledger has it. */
	if (e == OK && version < LEDGER_SINCE)
		e = rows_fill(&u, "sent results marked for the ledger",
		    SQL_ADOPT_LAST_RESULT, SQL_ADOPT_SENT, f);
	if (e == OK && version < SCHEMA_VERSION)
		e = rows_fill(&u, "days of the hosts' last requests",
		    SQL_ADOPT_LAST_HOST, SQL_ADOPT_HOSTS, f);
	if (e == OK && version < SCHEMA_VERSION)
		e = version_write(db, f);
	if (e == OK)
		say(arena_printf(a, "schema version %d", SCHEMA_VERSION));
	return e;
}
