/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates and upgrades the schema, and adopts a BOINC database in place. Each step of
 * an upgrade first checks whether it is needed, so an interrupted upgrade can simply be
 * run again.
 */
#include "db/schema.h"

#include <string.h>
#include "db/adopt.h"
#include "db/id_walk.h"
#include "db/file.h"
#include "db/private.h"
#include "db/work_tally.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { SLICE_ROWS = 1000 };

static enum err version_write(struct db *db, struct fail *f)
{
	return db_exec(db, f, NULL, SCHEMA_SET_VERSION, .version = SCHEMA_VERSION,
	    .now = clock_now());
}

enum err schema_create(struct db *db, struct fail *f)
{
	TRY(conn_need(db, f));
	for (size_t i = 0; schema_sql[i] != NULL; i++)
		TRY(conn_text(db, schema_sql[i], "schema.sql", f));
	return version_write(db, f);
}

static const char view_text[] = "CREATE OR REPLACE VIEW ";

char **schema_views(struct arena *a)
{
	size_t n = 0, cap = 0, skip = strlen(view_text);
	char **names = NULL;

	for (size_t i = 0; schema_sql[i] != NULL; i++) {
		const char *name = schema_sql[i] + skip;

		if (strncmp(schema_sql[i], view_text, skip) == 0)
			PUSH(a, names, n, cap) = arena_memdup(
			    a, name, strcspn(name, " \n\t"));
	}
	PUSH(a, names, n, cap) = NULL;
	return names;
}

enum err schema_create_views(struct db *db, struct fail *f)
{
	TRY(conn_need(db, f));
	for (size_t i = 0; schema_sql[i] != NULL; i++)
		if (strncmp(schema_sql[i], view_text, strlen(view_text)) == 0)
			TRY(conn_text(db, schema_sql[i], "schema.sql", f));
	return OK;
}

/* Appends a quoted name that SQL accepts in every mode. */
static void put_quoted(struct buf *b, const char *name)
{
	buf_puts(b, "`");
	for (; *name != '\0'; name++) {
		buf_put(b, name, 1);
		if (*name == '`')
			buf_puts(b, "`");
	}
	buf_puts(b, "`");
}

char *schema_mysql_accounts(struct arena *a, const char *os_user)
{
	static const enum stmt_id ids[] = { SQL_MYSQL_PLUGIN, SQL_MYSQL_ROOT,
		SQL_MYSQL_ACCOUNT, SQL_MYSQL_GRANT };
	struct buf b = buf_new(a);

	for (size_t i = 0; i < N(ids); i++) {
		for (const char *p = stmt_infos[ids[i]].sql; *p != '\0';) {
			if (eat_word(&p, "$ACCOUNT"))
				put_quoted(&b, os_user);
			else
				buf_put(&b, p++, 1);
		}
		buf_puts(&b, ";\n");
	}
	return b.p;
}

enum err schema_version(struct db *db, int64_t *version, struct fail *f)
{
	TRY(conn_need(db, f));
	return conn_schema_version(db, version, f);
}

/* --- upgrade --- */

struct upgrade {
	struct db *db;
	struct arena *a;
	bool dry;
	void (*say)(const char *);
};

/*
 * Runs one step of an upgrade. An error names only the table: the whole statement
 * would leave no room for the reason.
 */
static enum err upgrade_step(const struct upgrade *u, const char *what,
    const char *table, const char *sql, struct fail *f)
{
	u->say(arena_printf(u->a, "%s%s", u->dry ? "would " : "", what));
	return u->dry ? OK : conn_text(u->db, sql, table, f);
}

static char *alter_text(struct arena *a, const char *table, const char *clauses)
{
	struct buf sql = buf_new(a);

	for (const char *p = stmt_infos[SQL_SCHEMA_ALTER].sql; *p != '\0';) {
		if (eat_word(&p, "$TABLE"))
			buf_puts(&sql, table);
		else if (eat_word(&p, "$CLAUSES"))
			buf_puts(&sql, clauses);
		else
			buf_put(&sql, p++, 1);
	}
	return sql.p;
}

/*
 * Fills all gaps of a table with one ALTER, which the server runs completely or not at
 * all.
 */
static enum err table_alter(
    const struct upgrade *u, const struct gap *g, size_t n, struct fail *f)
{
	struct buf clauses = buf_new(u->a), what = buf_new(u->a);

	buf_printf(&what, "add to table %s: ", g->want->table);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&clauses, "%s%s", i > 0 ? ", " : "", g[i].clause);
		buf_printf(&what, "%s%s", i > 0 ? ", " : "", g[i].what);
	}
	return upgrade_step(
	    u, what.p, g->want->table, alter_text(u->a, g->want->table, clauses.p), f);
}

enum err schema_skip_ids(struct db *db, struct arena *a, struct fail *f)
{
	static const struct {
		const char *table;
		enum stmt_id last;
	} tables[] = {
		{ "host", SQL_LIKE(ADOPT_LAST_HOST, ADOPT_LAST_WU) },
		{ "user", SQL_LIKE(LAST_USER, ADOPT_LAST_WU) },
		{ "workunit", SQL_ADOPT_LAST_WU },
		{ "result", SQL_LIKE(ADOPT_LAST_RESULT, ADOPT_LAST_WU) },
	};

	for (size_t i = 0; i < N(tables); i++) {
		int64_t last = 0;

		TRY(db_number_like(db, f, &last, tables[i].last, ADOPT_LAST_WU));
		TRY(conn_text(db,
		    alter_text(a, tables[i].table,
			arena_printf(a, "AUTO_INCREMENT = %lld",
			    (long long)(last + 1 + SCHEMA_SKIP_IDS))),
		    tables[i].table, f));
	}
	return OK;
}

static enum err gaps_fill(
    const struct upgrade *u, const struct gap *gaps, size_t n, struct fail *f)
{
	enum err e = OK;

	for (size_t i = 0, part; i < n && e == OK; i += part) {
		const struct gap *g = &gaps[i];
		part = 1;
		if (g->clause == NULL) {
			e = upgrade_step(u,
			    arena_printf(u->a, "create table %s", g->want->table),
			    g->want->table, g->want->text, f);
			continue;
		}
		while (i + part < n && gaps[i + part].clause != NULL &&
		       strcmp(gaps[i + part].want->table, g->want->table) == 0)
			part++;
		e = table_alter(u, g, part, f);
	}
	return e;
}

/* Updates the rows of a table slice by slice, each in its own transaction. */
static enum err rows_fill(const struct upgrade *u, const char *what, enum id_table of,
    enum stmt_id slice, struct fail *f)
{
	int64_t done = 0, affected;

	for (int64_t from = IDS_BEGIN, to = from; to < IDS_END; from = to) {
		TRY(ids_ahead(u->db, of, from, SLICE_ROWS, &to, f));
		TRY(db_exec_like(
		    u->db, f, &affected, slice, ADOPT_RESULTS, .from = from, .to = to));
		done += affected;
	}
	if (done > 0)
		u->say(arena_printf(u->a, "%s: %lld rows", what, (long long)done));
	return OK;
}

/* Counts workunits that exist, and puts finished ones into the index of their times. */
static enum err rows_count(const struct upgrade *u, struct fail *f)
{
	static const enum stmt_id kinds[] = { SQL_LIKE(
						  ADOPT_APP_TALLIES, ADOPT_RESULTS),
		SQL_LIKE(ADOPT_BATCH_TALLIES, ADOPT_RESULTS),
		SQL_LIKE(ADOPT_FILESET_TALLIES, ADOPT_RESULTS) };

	TRY(rows_fill(u, "times at which files of workunits were deleted",
	    IDS_WORKUNITS, SQL_LIKE(ADOPT_WUS_DONE, ADOPT_RESULTS), f));
	TRY(rows_fill(u, "workunits counted", IDS_WORKUNITS,
	    SQL_LIKE(ADOPT_WU_TALLIES, ADOPT_RESULTS), f));
	for (size_t i = 0; i < N(kinds); i++)
		TRY(db_exec_like(u->db, f, NULL, kinds[i], ADOPT_RESULTS, .from = 0,
		    .to = INT64_MAX));
	return OK;
}

/*
 * The marks of workunits that no time makes due were the last seconds of 32 bits: such
 * a workunit would be visited each second from then on.
 */
static enum err times_widen(const struct upgrade *u, struct fail *f)
{
	int64_t n = SLICE_ROWS, done = 0;

	for (; n == SLICE_ROWS; done += n)
		TRY(db_exec(u->db, f, &n, ADOPT_NEVER, .max = SLICE_ROWS));
	if (done > 0)
		u->say(arena_printf(u->a,
		    "times of workunits that are never due: %lld rows",
		    (long long)done));
	return OK;
}

/*
 * Fills our columns of a BOINC project's rows. Only once: afterwards result.ready NULL,
 * for instance, means that the ledger has the job.
 */
static enum err rows_adopt(const struct upgrade *u, struct fail *f)
{
	TRY(rows_fill(u, "file sets of workunits that do not exist, cleared",
	    IDS_WORKUNITS, SQL_LIKE(ADOPT_WUS, ADOPT_RESULTS), f));
	TRY(rows_fill(
	    u, "unsent results made ready", IDS_RESULTS, SQL_ADOPT_RESULTS, f));
	TRY(rows_fill(u, "sent results marked for the ledger", IDS_RESULTS,
	    SQL_LIKE(ADOPT_SENT, ADOPT_RESULTS), f));
	TRY(rows_fill(u, "days of the hosts' last requests", IDS_HOSTS,
	    SQL_LIKE(ADOPT_HOSTS, ADOPT_RESULTS), f));
	TRY(times_widen(u, f));
	return rows_count(u, f);
}

enum err schema_upgrade(
    struct db *db, struct arena *a, bool dry, void (*say)(const char *), struct fail *f)
{
	const struct upgrade u = { db, a, dry, say };
	struct live live = { 0 };
	size_t nwants, ngaps;
	struct want *wants = wants_read(a, &nwants);
	struct gap *gaps;
	int64_t version;

	TRY(schema_version(db, &version, f));
	if (version > SCHEMA_VERSION)
		return FAIL(f, E_CONFIG,
		    "the database has schema version %lld, which a newer Locus made",
		    (long long)version);
	TRY(live_read(db, a, &live, f));
	gaps = gaps_find(a, wants, nwants, &live, &ngaps);
	TRY(gaps_fill(&u, gaps, ngaps, f));
	if (dry)
		return OK;
	/* The rows with which schema.sql fills empty tables. */
	for (size_t i = 0; version < SCHEMA_VERSION && schema_sql[i] != NULL; i++)
		if (strncmp(schema_sql[i], "INSERT ", strlen("INSERT ")) == 0)
			TRY(conn_text(db, schema_sql[i], "schema.sql", f));
	if (version == 0)
		TRY(rows_adopt(&u, f));
	if (version < SCHEMA_VERSION)
		TRY(version_write(db, f));
	TRY(work_recount_want(db, true, f));
	TRY(inputs_count_want(db, true, f));
	say(arena_printf(a, "schema version %d", SCHEMA_VERSION));
	return OK;
}
