/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column types: compares a definition in schema.sql with a column of the live database.
 */
#include "db/adopt.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "db/private.h"
#include "lib/banned.h"

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
 * type, for a column without a default.  MySQL accepts no literal default for a long
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
static struct type
column_type_of(const char *text)
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
static const char *
type_text(const struct want *w)
{
	return strchr(w->text, ' ') + 1;
}

static enum column_fit
holds_as_much(int64_t has, int64_t needs)
{
	return has >= needs ? COLUMN_FITS : COLUMN_NARROW;
}

/*
 * Compares integer columns.  Ids and times have 64 bits: results of a project come to
 * more than two billion, and 32 bits of seconds end in 2038.  Neither is ever negative,
 * so an unsigned column fits if it is as wide.
 */
static enum column_fit
integer_fit(
    const struct want *w, int64_t wanted, const struct row_column *c, int64_t has)
{
	bool is_id = wanted == 8 && !w->ours;

	if (strstr(c->type, "unsigned") != NULL &&
	    strstr(w->text, "UNSIGNED") == NULL && !is_id)
		return COLUMN_OTHER;
	return holds_as_much(has, wanted);
}

enum column_fit
column_fit(const struct want *w, const struct row_column *c)
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

char *
column_definition(struct arena *a, const struct want *w, const struct row_column *c)
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

/*
 * MariaDB's JSON is a longtext with a check that it is a document; these are its marks.
 */
static bool
may_be_json(const struct row_column *c)
{
	return strcmp(c->type, "longtext") == 0 &&
	       strcmp(c->collation, "utf8mb4_bin") == 0;
}

const char *
column_default(struct arena *a, const struct row_column *c)
{
	const char *first = c->type + strlen("enum("), *end;

	if (strncmp(c->type, "enum(", strlen("enum(")) == 0 &&
	    (end = strstr(first + 1, "'")) != NULL)
		return arena_printf(a, "%.*s", (int)(end + 1 - first), first);
	if (strncmp(c->type, "set(", 4) == 0)
		return "''";
	return column_type_of(may_be_json(c) ? "json" : c->type).initial;
}

char *
column_default_clause(struct arena *a, const struct row_column *c, const char *value)
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
