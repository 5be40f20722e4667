/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether a database is as the programs need it. Each remark says what is wrong
 * and which command fixes it; what schema_upgrade() would add or widen comes from the
 * same list of gaps.
 */
#include "db/schema.h"

#include <stdlib.h>
#include <string.h>
#include "db/adopt.h"
#include "db/private.h"
#include "lib/banned.h"

struct remarks {
	struct arena *a;
	struct schema_remark *v;
	size_t n, cap;
};

static void add_remark(struct remarks *r, bool error, char *text)
{
	PUSH(r->a, r->v, r->n, r->cap) = (struct schema_remark){ error, text };
}

/* When the entries of an index move: the event that changes the column. */
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

static bool column_in(const char *list, const char *column)
{
	size_t n = strlen(column);

	for (const char *p = list; p != NULL; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, column, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	}
	return false;
}

static bool index_wanted(const struct want *w, size_t n, const struct row_index *index)
{
	for (size_t i = 0; i < n; i++)
		if (w[i].kind == WANT_INDEX && strcmp(w[i].table, index->table) == 0 &&
		    strcmp(w[i].name, index->name) == 0)
			return true;
	return false;
}

/* Foreign indexes stay, but the admin should know what they cost. */
static void foreign_index(struct remarks *r, const struct row_index *index)
{
	bool hot = false;

	for (size_t i = 0; i < N(changes); i++) {
		if (strcmp(changes[i].table, index->table) != 0 ||
		    !column_in(index->columns, changes[i].column))
			continue;
		hot = true;
		add_remark(r, false,
		    arena_printf(r->a,
			"%s: index %s (%s) is not used by Locus; %s moves an entry in it",
			index->table, index->name, index->columns, changes[i].when));
		break;
	}
	if (!hot && strcmp(index->table, "result") == 0)
		add_remark(r, false,
		    arena_printf(r->a,
			"result: index %s (%s) is not used by Locus; every new result adds an entry to it",
			index->name, index->columns));
}

static void indexes_check(
    struct remarks *r, const struct want *w, size_t nwants, const struct live *l)
{
	for (size_t i = 0; i < nwants; i++) {
		const struct row_index *index;

		if (w[i].kind != WANT_INDEX || !w[i].needed)
			continue;
		index = live_index(l, w[i].table, w[i].name);
		if (index == NULL)
			continue;
		if (strcmp(index->columns, w[i].extra) != 0 ||
		    (w[i].is_unique && !index->is_unique))
			add_remark(r, true,
			    arena_printf(r->a,
				"%s: index %s is on (%s), Locus needs it %son (%s); run: ALTER TABLE %s DROP INDEX %s; then: locus schema upgrade",
				w[i].table, w[i].name, index->columns,
				w[i].is_unique ? "unique " : "", w[i].extra, w[i].table,
				w[i].name));
	}
	for (size_t i = 0; i < l->nindexes; i++)
		if (!index_wanted(w, nwants, &l->indexes[i]))
			foreign_index(r, &l->indexes[i]);
}

static void engines_check(
    struct remarks *r, const struct want *w, size_t n, const struct live *l)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < l->ntables; k++) {
			if (w[i].kind != WANT_TABLE ||
			    strcmp(w[i].table, l->tables[k].a) != 0 ||
			    strcmp(l->tables[k].b, "InnoDB") == 0)
				continue;
			add_remark(r, true,
			    arena_printf(r->a,
				"%s: its engine is %s, which has no transactions; run: ALTER TABLE %s ENGINE=InnoDB",
				w[i].table, l->tables[k].b, w[i].table));
		}
	}
}

/* --- columns --- */

static void column_check(
    struct remarks *r, const struct want *w, const struct row_column *c)
{
	const char *fix = column_definition(r->a, w, c), *wrong = NULL;

	bool null = strstr(w->text, " NOT NULL") == NULL;

	if (column_fit(w, c) == COLUMN_OTHER)
		wrong = "is not of the type that Locus needs";
	else if (strstr(w->text, " AUTO_INCREMENT") != NULL &&
		 strstr(c->extra, "auto_increment") == NULL)
		wrong = "has no AUTO_INCREMENT";
	else if (strstr(w->text, " ON UPDATE ") != NULL &&
		 strstr(c->extra, "on update") == NULL)
		wrong = "is not updated with its row";
	else if (null && !c->nullable)
		wrong = "must allow NULL";
	else if (!null && c->nullable && strstr(w->text, "TIMESTAMP") == NULL)
		wrong = "allows NULL, and statements do not find such rows";
	if (wrong != NULL)
		add_remark(r, true,
		    arena_printf(r->a,
			"%s: column %s (%s) %s; run: ALTER TABLE %s MODIFY COLUMN %s",
			w->table, w->name, c->type, wrong, w->table, fix));
}

/* Compares defaults: "'x'", "('x')", "x" and MySQL's "_utf8mb4\\'x\\'" are the same. */
static bool same_default(const char *a, const char *b)
{
	static const char marks[] = "'()\\";

	if (*b == '_' && strchr(b, '\\') != NULL)
		b = strchr(b, '\\');
	for (;; a++, b++) {
		a += strspn(a, marks);
		b += strspn(b, marks);
		if (*a != *b)
			return strtod(a, NULL) == strtod(b, NULL) && *a != '\0' &&
			       *b != '\0';
		if (*a == '\0')
			return true;
	}
}

static void columns_check(
    struct remarks *r, const struct want *w, size_t n, const struct live *l)
{
	for (size_t i = 0; i < n; i++) {
		const struct row_column *c = w[i].kind == WANT_COLUMN ?
		                                 live_column(l, w[i].table, w[i].name) :
		                                 NULL;

		if (c == NULL)
			continue;
		column_check(r, &w[i], c);
		if (w[i].extra != NULL && c->has_default &&
		    strcmp(c->initial, "NULL") != 0 &&
		    !same_default(w[i].extra, c->initial))
			add_remark(r, true,
			    arena_printf(r->a,
				"%s: column %s has the default %s, Locus needs %s; run: ALTER TABLE %s %s",
				w[i].table, w[i].name, c->initial, w[i].extra,
				w[i].table,
				column_default_clause(r->a, c, w[i].extra)));
	}
}

/* --- what the admin has added --- */

static const char *const insert_into = "INSERT INTO ";

/* Do our statements insert into the table? */
static bool is_filled(const char *table)
{
	size_t n = strlen(table), at = strlen(insert_into);

	for (enum stmt_id id = 0; id < SQL__MAX; id++) {
		const char *sql = stmt_infos[id].sql;

		if (strncmp(sql, insert_into, at) == 0 &&
		    strncmp(sql + at, table, n) == 0 && sql[at + n] == ' ')
			return true;
	}
	return false;
}

static bool column_wanted(const struct want *w, size_t n, const struct row_column *c)
{
	for (size_t i = 0; i < n; i++)
		if (w[i].kind == WANT_COLUMN && strcmp(w[i].table, c->table) == 0 &&
		    strcmp(w[i].name, c->name) == 0)
			return true;
	return false;
}

/* Our inserts leave foreign columns out, so these need a default. */
static void foreign_column(struct remarks *r, const struct row_column *c)
{
	const char *value = column_default(r->a, c);
	char *fix;

	if (c->nullable || c->has_default ||
	    strstr(c->extra, "auto_increment") != NULL ||
	    strstr(c->extra, "GENERATED") != NULL || !is_filled(c->table))
		return;
	fix = value != NULL ?
	          arena_printf(
		      r->a, "ALTER COLUMN `%s` SET DEFAULT %s", c->name, value) :
	          arena_printf(r->a, "MODIFY COLUMN `%s` %s NULL", c->name, c->type);
	add_remark(r, true,
	    arena_printf(r->a,
		"%s: column %s (%s) does not belong to Locus and has no default, so Locus cannot insert rows; run: ALTER TABLE %s %s",
		c->table, c->name, c->type, c->table, fix));
}

/* Does every row that satisfies one of our unique indexes satisfy this one too? */
static bool is_implied(
    struct arena *a, const struct want *w, size_t n, const struct row_index *x)
{
	for (size_t i = 0; i < n; i++) {
		bool all = w[i].kind == WANT_INDEX && w[i].is_unique &&
		           strcmp(w[i].table, x->table) == 0;

		for (const char *p = w[i].extra; all && *p != '\0'; p += *p == ',') {
			size_t len = strcspn(p, ",");

			all = column_in(x->columns, arena_memdup(a, p, len));
			p += len;
		}
		if (all)
			return true;
	}
	return false;
}

/* Account names are unique in a BOINC project; account creation expects this. */
static void foreign_unique(
    struct remarks *r, const struct want *w, size_t n, const struct row_index *x)
{
	bool known = strcmp(x->table, "user") == 0 && strcmp(x->columns, "name") == 0;

	if (!x->is_unique || known || index_wanted(w, n, x) || !is_filled(x->table) ||
	    is_implied(r->a, w, n, x))
		return;
	add_remark(r, true,
	    arena_printf(r->a,
		"%s: unique index %s (%s) does not belong to Locus and rejects rows that Locus inserts; run: ALTER TABLE %s DROP INDEX `%s`",
		x->table, x->name, x->columns, x->table, x->name));
}

static void strangers_check(
    struct remarks *r, const struct want *w, size_t n, const struct live *l)
{
	for (size_t i = 0; i < l->ncolumns; i++)
		if (!column_wanted(w, n, &l->columns[i]))
			foreign_column(r, &l->columns[i]);
	for (size_t i = 0; i < l->nindexes; i++)
		foreign_unique(r, w, n, &l->indexes[i]);
}

/*
 * Checks that all columns of rows that programs read in full exist; such a shape has
 * its table's name.
 */
static void shapes_check(struct remarks *r, const struct live *l)
{
	static const struct row_shape *const shapes[] = { &shape_host, &shape_user,
		&shape_app, &shape_platform, &shape_app_version,
		&shape_host_app_version, &shape_workunit, &shape_result, &shape_file,
		&shape_fileset, &shape_team };

	for (size_t i = 0; i < N(shapes); i++)
		for (size_t k = 0; k < shapes[i]->ncols; k++)
			if (live_column(l, shapes[i]->name, shapes[i]->cols[k].name) ==
			    NULL)
				add_remark(r, true,
				    arena_printf(r->a,
					"%s: column %s, which programs read, is missing",
					shapes[i]->name, shapes[i]->cols[k].name));
}

enum err schema_check(struct db *db, struct arena *a, struct schema_remark **out,
    size_t *n, struct fail *f)
{
	struct remarks r = { .a = a };
	struct live live = { 0 };
	size_t nwants, ngaps;
	struct want *wants = wants_read(a, &nwants);
	int64_t version;

	TRY(schema_version(db, &version, f));
	TRY(live_read(db, a, &live, f));
	if (live.ntables == 0) {
		add_remark(&r, true,
		    arena_strdup(a, "there are no tables; run: locus schema upgrade"));
		*out = r.v;
		*n = r.n;
		return OK;
	}
	struct gap *gaps = gaps_find(a, wants, nwants, &live, &ngaps);
	if (version != SCHEMA_VERSION)
		add_remark(&r, true,
		    arena_printf(a,
			version > SCHEMA_VERSION ?
			    "version %lld; this Locus knows %d; install the newer Locus" :
			    "version %lld; this Locus needs %d; run: locus schema upgrade",
			(long long)version, SCHEMA_VERSION));
	for (size_t i = 0; i < ngaps; i++)
		add_remark(&r, true,
		    arena_printf(a, "%s: %s is missing; run: locus schema upgrade",
			gaps[i].want->table, gaps[i].what));
	shapes_check(&r, &live);
	columns_check(&r, wants, nwants, &live);
	strangers_check(&r, wants, nwants, &live);
	engines_check(&r, wants, nwants, &live);
	indexes_check(&r, wants, nwants, &live);
	*out = r.v;
	*n = r.n;
	return OK;
}
