/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.sql as data, and what a live database lacks of it.  A gap is filled without
 * loss: a table, a column, a default or an index is added, an index gets our name, a
 * column holds more.
 */
#ifndef DB_ADOPT_H
#define DB_ADOPT_H

#include <stdbool.h>
#include "db/db.h"

enum want_kind { WANT_TABLE, WANT_COLUMN, WANT_INDEX };

struct want { /* one table, column or index of schema.sql */
	enum want_kind kind;
	bool ours; /* marked so: a BOINC project has none */
	bool
	    needed; /* an index: ours, the primary key, or one that a statement names */
	bool as_text;   /* a column of bytes that may be text */
	bool is_unique; /* an index */
	char *table, *name;
	char *text;  /* its definition; WANT_TABLE: the whole statement */
	char *extra; /* a column's default, an index's columns; NULL if it has none */
};

struct gap {
	const struct want *want;
	char *what;   /* for people: "column ready", "default of opaque", "index q" */
	char *clause; /* of ALTER TABLE; NULL for a missing table */
};

struct live {                     /* the dictionary of the database, as read */
	struct row_names *tables; /* name, engine */
	struct row_index *indexes;
	struct row_column *columns;
	size_t ntables, nindexes, ncolumns;
};

struct want *wants_read(struct arena *, size_t *n);
enum err live_read(struct db *, struct arena *, struct live *, struct fail *);
/* In the order of schema.sql, so the gaps of one table stand together. */
struct gap *gaps_find(
    struct arena *, const struct want *, size_t nwants, const struct live *, size_t *n);
const struct row_index *live_index(
    const struct live *, const char *table, const char *name);
const struct row_column *live_column(
    const struct live *, const char *table, const char *name);

/* --- adopt_columns.c --- */
/*
 * Can the live column take what is written to the wanted one?  Narrow: it is of the
 * kind, but holds less.  What a project of BOINC's has by itself fits: 32 bits for ids
 * and times, 64 KB for documents.
 */
enum column_fit { COLUMN_FITS, COLUMN_NARROW, COLUMN_OTHER };
enum column_fit column_fit(const struct want *, const struct row_column *);
/* The definition of schema.sql with the character set that the live column has. */
char *column_definition(struct arena *, const struct want *, const struct row_column *);
/* A default for a column of such a type, which SET DEFAULT takes: "0", "(CONCAT(''))"
 * ...; NULL if there is none. */
const char *column_default(struct arena *, const struct row_column *);
/*
 * The clause of ALTER TABLE that gives a column of ours this default, as it stands in
 * schema.sql.  The type stays; a long text is defined again, as SET DEFAULT is refused
 * for it by MySQL.
 */
char *column_default_clause(
    struct arena *, const struct row_column *, const char *value);

#endif
