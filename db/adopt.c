/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the fixed layout of schema.sql (one column or index per line) and compares it
 * with a live database.
 */
#include "db/adopt.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "db/private.h"
#include "lib/banned.h"

/*
 * Column types: compares a definition in schema.sql with a column of the live database.
 */

enum holds {
	HOLDS_OTHER,
	HOLDS_INTEGER,
	HOLDS_REAL,
	HOLDS_TEXT,
	HOLDS_LONG_TEXT,
	HOLDS_BYTES,
	HOLDS_TIME
};

enum { DOC_BYTES = 65535 };

/*
 * size: bytes; 0 = the size is in brackets, in characters. initial: some value of the
 * type, for a column without a default. MySQL accepts no literal default for a long
 * type, and ALTER COLUMN not even one in brackets.
 */
static const struct type {
	const char *name;
	enum holds holds;
	int64_t size;
	const char *initial;
} types[] = {
	{ "tinyint", HOLDS_INTEGER, 1, "0" },
	{ "smallint", HOLDS_INTEGER, 2, "0" },
	{ "mediumint", HOLDS_INTEGER, 3, "0" },
	{ "int", HOLDS_INTEGER, 4, "0" },
	{ "bigint", HOLDS_INTEGER, 8, "0" },
	{ "float", HOLDS_REAL, 4, "0" },
	{ "double", HOLDS_REAL, 8, "0" },
	{ "decimal", HOLDS_OTHER, 0, "0" },
	{ "bit", HOLDS_OTHER, 0, "0" },
	{ "char", HOLDS_TEXT, 0, "''" },
	{ "varchar", HOLDS_TEXT, 0, "''" },
	{ "binary", HOLDS_OTHER, 0, "''" },
	{ "varbinary", HOLDS_OTHER, 0, "''" },
	{ "tinytext", HOLDS_LONG_TEXT, 255, "(CONCAT(''))" },
	{ "text", HOLDS_LONG_TEXT, 65535, "(CONCAT(''))" },
	{ "mediumtext", HOLDS_LONG_TEXT, 16777215, "(CONCAT(''))" },
	{ "longtext", HOLDS_LONG_TEXT, 4294967295, "(CONCAT(''))" },
	{ "tinyblob", HOLDS_BYTES, 255, "(CONCAT(''))" },
	{ "blob", HOLDS_BYTES, 65535, "(CONCAT(''))" },
	{ "mediumblob", HOLDS_BYTES, 16777215, "(CONCAT(''))" },
	{ "longblob", HOLDS_BYTES, 4294967295, "(CONCAT(''))" },
	{ "timestamp", HOLDS_TIME, 4, "'2000-01-01 00:00:00'" },
	{ "datetime", HOLDS_TIME, 8, "'2000-01-01 00:00:00'" },
	{ "date", HOLDS_OTHER, 0, "'2000-01-01'" },
	{ "time", HOLDS_OTHER, 0, "'00:00:00'" },
	{ "year", HOLDS_OTHER, 0, "2000" },
	{ "json", HOLDS_OTHER, 0, "(JSON_OBJECT())" },
};

/*
 * Returns the table's entry for a type such as "varchar(254) ..." or "VARCHAR(254)
 * ...", with the size in brackets.
 */
static struct type column_type_of(const char *text)
{
	size_t n = strcspn(text, " (");

	for (size_t i = 0; i < N(types); i++) {
		struct type t = types[i];

		if (strlen(t.name) != n || strncasecmp(t.name, text, n) != 0)
			continue;
		if (t.size == 0 && text[n] == '(')
			t.size = strtoll(text + n + 1, NULL, 10);
		return t;
	}
	return (struct type){ "", HOLDS_OTHER, 0, NULL };
}

/* Returns the definition after the column's name. */
static const char *type_text(const struct want *w)
{
	return strchr(w->text, ' ') + 1;
}

static enum column_fit holds_as_much(int64_t has, int64_t needs)
{
	return has >= needs ? COLUMN_FITS : COLUMN_NARROW;
}

/*
 * Compares integer columns. Ids and times have 64 bits: results of a project come to
 * more than two billion, and 32 bits of seconds end in 2038. Neither is ever negative,
 * so an unsigned column fits if it is as wide.
 */
static enum column_fit integer_fit(
    const struct want *w, int64_t wanted, const struct row_column *c, int64_t has)
{
	bool is_id = wanted == 8 && !w->ours;

	if (strstr(c->type, "unsigned") != NULL &&
	    strstr(w->text, "UNSIGNED") == NULL && !is_id)
		return COLUMN_OTHER;
	return holds_as_much(has, wanted);
}

enum column_fit column_fit(const struct want *w, const struct row_column *c)
{
	struct type want = column_type_of(type_text(w)), has = column_type_of(c->type);
	int64_t doc = want.size < DOC_BYTES ? want.size : DOC_BYTES;

	if (want.holds == HOLDS_TEXT && has.holds == HOLDS_LONG_TEXT)
		return holds_as_much(has.size, want.size);
	if (want.holds == HOLDS_BYTES && has.holds == HOLDS_LONG_TEXT && w->as_text)
		return holds_as_much(has.size, doc);
	if (want.holds != has.holds)
		return COLUMN_OTHER;
	switch (want.holds) {
	case HOLDS_INTEGER:
		return integer_fit(w, want.size, c, has.size);
	case HOLDS_LONG_TEXT:
	case HOLDS_BYTES:
		return holds_as_much(has.size, doc);
	case HOLDS_REAL:
	case HOLDS_TEXT:
		return holds_as_much(has.size, want.size);
	case HOLDS_TIME:
	case HOLDS_OTHER:
		break;
	}
	return COLUMN_FITS;
}

char *column_definition(
    struct arena *a, const struct want *w, const struct row_column *c)
{
	const char *type = type_text(w), *rest = type + strcspn(type, " ");
	const char *collate = " COLLATE ";

	if (c->charset[0] == '\0')
		return arena_strdup(a, w->text);
	if (strncmp(rest, collate, strlen(collate)) == 0) {
		rest += strlen(collate);
		rest += strcspn(rest, " ");
	}
	return arena_printf(a, "%s %.*s CHARACTER SET %s COLLATE %s%s", w->name,
	    (int)strcspn(type, " "), type, c->charset, c->collation, rest);
}

const char *column_default(struct arena *a, const struct row_column *c)
{
	const char *first = c->type + strlen("enum("), *end;
	bool json;

	if (strncmp(c->type, "enum(", strlen("enum(")) == 0 &&
	    (end = strstr(first + 1, "'")) != NULL)
		return arena_printf(a, "%.*s", (int)(end + 1 - first), first);
	if (strncmp(c->type, "set(", 4) == 0)
		return "''";
	/* MariaDB's JSON is a longtext with a check that it is a document; these are
	 * its marks. */
	json = strcmp(c->type, "longtext") == 0 &&
	       strcmp(c->collation, "utf8mb4_bin") == 0;
	return column_type_of(json ? "json" : c->type).initial;
}

char *column_default_clause(
    struct arena *a, const struct row_column *c, const char *value)
{
	const char *initial = column_type_of(c->type).initial, *charset = "";

	if (initial == NULL || initial[0] != '(')
		return arena_printf(
		    a, "ALTER COLUMN `%s` SET DEFAULT %s", c->name, value);
	if (c->charset[0] != '\0')
		charset = arena_printf(
		    a, " CHARACTER SET %s COLLATE %s", c->charset, c->collation);
	return arena_printf(a,
	    value[0] == '(' ? "MODIFY COLUMN `%s` %s%s %s DEFAULT %s" :
			      "MODIFY COLUMN `%s` %s%s %s DEFAULT (%s)",
	    c->name, c->type, charset, c->nullable ? "NULL" : "NOT NULL", value);
}

static char *adopt_cut(struct arena *a, const char *from, const char *to)
{
	return arena_memdup(a, from, (size_t)(to - from));
}

/* Returns the line without its trailing comma and comment. */
static char *definition(struct arena *a, const char *line, const char *end)
{
	for (const char *p = line; p + 4 < end; p++)
		if (memcmp(p, " -- ", 4) == 0)
			end = p;
	if (end > line && end[-1] == ',')
		end--;
	return adopt_cut(a, line, end);
}

/*
 * Returns x of "DEFAULT x"; NULL if there is no default, or it is NULL or a
 * timestamp's.
 */
static char *default_of(struct arena *a, const char *text)
{
	const char *p = strstr(text, " DEFAULT ");

	if (p == NULL || strstr(text, "TIMESTAMP") != NULL)
		return NULL;
	p += strlen(" DEFAULT ");
	return strcmp(p, "NULL") == 0 ? NULL : arena_strdup(a, p);
}

/* Turns "(a, b)" into "a,b". */
static char *index_columns(struct arena *a, const char *text)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	char *cols = adopt_cut(a, open + 1, close), *to = cols;

	for (const char *p = cols; *p != '\0'; p++)
		if (*p != ' ')
			*to++ = *p;
	*to = '\0';
	return cols;
}

static bool adopt_starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Is name in a comma-separated list? */
static bool comma_list_has(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; p != NULL; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	}
	return false;
}

/* Does a statement force this index, or is one known to use it? */
static bool statement_names(const char *index)
{
	for (enum stmt_id id = 0; id < SQL__MAX; id++) {
		const char *p = stmt_infos[id].sql;

		if (comma_list_has(stmt_infos[id].key, index))
			return true;
		while ((p = strstr(p, "FORCE INDEX (")) != NULL) {
			p += strlen("FORCE INDEX (");
			if (strncmp(p, index, strlen(index)) == 0 &&
			    p[strlen(index)] == ')')
				return true;
		}
	}
	return false;
}

/* Parses a line into *w; returns false if it is neither a column nor an index. */
static bool want_read_line(
    struct arena *a, const char *line, const char *end, struct want *w)
{
	static const char *const keys[] = { "PRIMARY KEY ", "UNIQUE KEY ",
		"FULLTEXT KEY ", "KEY " };

	const char *whole = adopt_cut(a, line, end);

	w->text = definition(a, line, end);
	w->ours = strstr(whole, " -- ours") != NULL;
	if (adopt_starts(w->text, "CONSTRAINT "))
		return false;
	w->kind = WANT_COLUMN;
	for (size_t i = 0; i < N(keys) && w->kind == WANT_COLUMN; i++) {
		if (!adopt_starts(w->text, keys[i]))
			continue;
		const char *name = w->text + strlen(keys[i]);
		w->kind = WANT_INDEX;
		w->name = i == 0 ? arena_strdup(a, "PRIMARY") :
		                   adopt_cut(a, name, strchr(name, ' '));
		w->extra = index_columns(a, w->text);
		w->is_unique = i < 2;
		w->needed = i == 0 || w->ours || statement_names(w->name);
	}
	if (w->kind == WANT_COLUMN) {
		w->name = adopt_cut(a, w->text, strchr(w->text, ' '));
		w->extra = default_of(a, w->text);
		w->as_text = strstr(whole, " -- or text") != NULL;
	}
	return true;
}

/*
 * Returns the table's name, which precedes " (" at the end of the first line; NULL for
 * other statements.
 */
static char *table_of(struct arena *a, const char *sql)
{
	const char *end = strchr(sql, '\n') - 2, *name = end;

	if (end < sql || strncmp(end, " (", 2) != 0)
		return NULL;
	while (name > sql && name[-1] != ' ')
		name--;
	return adopt_cut(a, name, end);
}

struct want *wants_read(struct arena *a, size_t *n)
{
	struct want *all = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; schema_sql[i] != NULL; i++) {
		const char *sql = schema_sql[i], *line, *end;
		char *table = table_of(a, sql);
		if (table == NULL)
			continue;
		PUSH(a, all, *n, cap) = (struct want){ .kind = WANT_TABLE,
			.table = table,
			.name = table,
			.text = arena_strdup(a, sql) };
		for (line = strchr(sql, '\n') + 1; *line == '\t'; line = end + 1) {
			struct want w = { .table = table };
			end = strchr(line, '\n');
			if (want_read_line(a, line + 1, end, &w))
				PUSH(a, all, *n, cap) = w;
		}
	}
	return all;
}

enum err live_read(struct db *db, struct arena *a, struct live *l, struct fail *f)
{
	TRY(db_query(db, a, f, &l->tables, &l->ntables, SCHEMA_TABLES));
	TRY(db_query(db, a, f, &l->columns, &l->ncolumns, SCHEMA_COLUMNS));
	TRY(db_query(db, a, f, &l->indexes, &l->nindexes, SCHEMA_INDEXES));
	return db_query(db, a, f, &l->bound, &l->nbound, SCHEMA_BOUND);
}

static bool live_table(const struct live *l, const char *name)
{
	for (size_t i = 0; i < l->ntables; i++)
		if (strcmp(l->tables[i].a, name) == 0)
			return true;
	return false;
}

const struct row_column *live_column(
    const struct live *l, const char *table, const char *name)
{
	for (size_t i = 0; i < l->ncolumns; i++)
		if (strcmp(l->columns[i].table, table) == 0 &&
		    strcmp(l->columns[i].name, name) == 0)
			return &l->columns[i];
	return NULL;
}

const struct row_index *live_index(
    const struct live *l, const char *table, const char *name)
{
	for (size_t i = 0; i < l->nindexes; i++)
		if (strcmp(l->indexes[i].table, table) == 0 &&
		    strcmp(l->indexes[i].name, name) == 0)
			return &l->indexes[i];
	return NULL;
}

/*
 * Finds the same index under another name, such as BOINC's, unless that name is wanted
 * for another index.
 */
static const struct row_index *live_alias(
    const struct want *all, size_t n, const struct want *w, const struct live *l)
{
	for (size_t i = 0; i < l->nindexes; i++) {
		const struct row_index *x = &l->indexes[i];
		bool taken = false;

		if (strcmp(x->table, w->table) != 0 ||
		    strcmp(x->columns, w->extra) != 0 ||
		    (x->is_unique != 0) != w->is_unique)
			continue;
		for (size_t k = 0; k < n && !taken; k++)
			taken = all[k].kind == WANT_INDEX && all[k].needed &&
			        strcmp(all[k].table, w->table) == 0 &&
			        strcmp(all[k].name, x->name) == 0;
		if (!taken)
			return x;
	}
	return NULL;
}

/*
 * The server refuses to change the type of a column that a foreign key binds to another
 * one. Those of BOINC are ids of files and file sets, of which 32 bits are enough.
 */
static bool column_bound(const struct live *l, const struct row_column *c)
{
	for (size_t i = 0; i < l->nbound; i++)
		if (strcmp(l->bound[i].a, c->table) == 0 &&
		    strcmp(l->bound[i].b, c->name) == 0)
			return true;
	return false;
}

/*
 * Our inserts name only the columns that they set, so every column needs its default.
 */
static bool column_gap(
    struct arena *a, const struct want *w, const struct live *l, struct gap *g)
{
	const struct row_column *c = live_column(l, w->table, w->name);

	if (c == NULL) {
		g->what = arena_printf(a, "column %s", w->name);
		g->clause = arena_printf(a, "ADD COLUMN %s", w->text);
		return true;
	}
	if (column_fit(w, c) == COLUMN_NARROW && !column_bound(l, c)) {
		g->what = arena_printf(a, "room in column %s (%s)", w->name, c->type);
		g->clause = arena_printf(
		    a, "MODIFY COLUMN %s", column_definition(a, w, c));
		return true;
	}
	/* Is a default missing, or NULL where another one is needed? */
	if (w->extra == NULL || (c->has_default && strcmp(c->initial, "NULL") != 0))
		return false;
	g->what = arena_printf(a, "default of column %s", w->name);
	g->clause = column_default_clause(a, c, w->extra);
	return true;
}

static bool index_gap(struct arena *a, const struct want *all, size_t n,
    const struct want *w, const struct live *l, struct gap *g)
{
	const struct row_index *alias;

	if (!w->needed || live_index(l, w->table, w->name) != NULL)
		return false;
	alias = strcmp(w->name, "PRIMARY") != 0 ? live_alias(all, n, w, l) : NULL;
	if (alias != NULL) {
		g->what = arena_printf(
		    a, "name %s for index %s (%s)", w->name, alias->name, w->extra);
		g->clause = arena_printf(
		    a, "RENAME INDEX `%s` TO %s", alias->name, w->name);
		return true;
	}
	g->what = arena_printf(a, "index %s (%s)", w->name, w->extra);
	g->clause = arena_printf(a, "ADD %s", w->text);
	return true;
}

static bool gap_of(struct arena *a, const struct want *all, size_t n,
    const struct want *w, const struct live *l, struct gap *g)
{
	bool there = live_table(l, w->table);

	g->want = w;
	if (w->kind == WANT_TABLE) {
		g->what = arena_strdup(a, "the table");
		return !there;
	}
	if (!there)
		return false;
	return w->kind == WANT_COLUMN ? column_gap(a, w, l, g) :
	                                index_gap(a, all, n, w, l, g);
}

struct gap *gaps_find(struct arena *a, const struct want *wants, size_t nwants,
    const struct live *l, size_t *n)
{
	struct gap *all = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < nwants; i++) {
		struct gap g = { 0 };
		if (gap_of(a, wants, nwants, &wants[i], l, &g))
			PUSH(a, all, *n, cap) = g;
	}
	return all;
}
