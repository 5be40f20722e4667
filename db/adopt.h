/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.sql as data, and what a live database lacks of it.  A gap is always filled by
 * adding: a table, a column, a default, one of our indexes.
 */
#ifndef DB_ADOPT_H
#define DB_ADOPT_H

#include <stdbool.h>
#include "db/db.h"

enum want_kind { WANT_TABLE, WANT_COLUMN, WANT_INDEX };

struct want { /* one table, column or index of schema.sql */
	enum want_kind kind;
	bool ours; /* an index that our statements name */
	char *table, *name;
	char *text;  /* its definition; WANT_TABLE: the whole statement */
	char *extra; /* a column's default, an index's columns; NULL if it has none */
};

struct gap {
	const struct want *want;
	char *what;   /* for people: "column ready", "default of opaque", "index q" */
	char *clause; /* of ALTER TABLE; NULL for a missing table */
};

struct live { /* the dictionary of the database, as read */
	struct row_names *tables, *indexes; /* name, engine / table, name, columns */
	struct row_column *columns;
	size_t ntables, nindexes, ncolumns;
};

struct want *wants_read(struct arena *, size_t *n);
enum err live_read(struct db *, struct arena *, struct live *, struct fail *);
/* In the order of schema.sql, so the gaps of one table stand together. */
struct gap *gaps_find(
    struct arena *, const struct want *, size_t nwants, const struct live *, size_t *n);
const struct row_names *live_index(
    const struct live *, const char *table, const char *name);
const struct row_column *live_column(
    const struct live *, const char *table, const char *name);

#endif
