/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.sql as data, and the gaps of a live database. Filling a gap loses nothing: it
 * adds a table, column, default or index, renames an index, or widens a column.
 */
#ifndef DB_ADOPT_H
#define DB_ADOPT_H

#include <stdbool.h>
#include "db/db.h"

enum want_kind { WANT_TABLE, WANT_COLUMN, WANT_INDEX };

struct want { /* a table, column or index of schema.sql */
	enum want_kind kind;
	bool ours;      /* marked "ours": a BOINC project has none */
	bool needed;    /* of an index: ours, primary, or named by a statement */
	bool as_text;   /* of a column: bytes that may be stored as text */
	bool is_unique; /* of an index */
	char *table, *name;
	char *text;  /* the definition; WANT_TABLE: the whole statement */
	char *extra; /* a column's default or an index's columns; NULL = none */
};

struct gap {
	const struct want *want;
	char *what;   /* for people: "column ready", "default of opaque", "index q" */
	char *clause; /* a clause of ALTER TABLE; NULL for a missing table */
};

struct live {                     /* the database's dictionary, as read */
	struct row_names *tables; /* name, engine */
	struct row_index *indexes;
	struct row_column *columns;
	struct row_names *bound; /* table, column: both ends of foreign keys */
	size_t ntables, nindexes, ncolumns, nbound;
};

struct want *wants_read(struct arena *, size_t *n);
enum err live_read(struct db *, struct arena *, struct live *, struct fail *);
/* Finds all gaps, in the order of schema.sql, so those of one table are adjacent. */
struct gap *gaps_find(
    struct arena *, const struct want *, size_t nwants, const struct live *, size_t *n);
const struct row_index *live_index(
    const struct live *, const char *table, const char *name);
const struct row_column *live_column(
    const struct live *, const char *table, const char *name);

/* --- adopt.c: adopt columns --- */
/*
 * Can the live column hold what is written to the wanted one? Narrow: the right kind
 * of type, but too small. BOINC's 64 KB for documents fit; its 32 bits for ids and
 * times are too few.
 */
enum column_fit { COLUMN_FITS, COLUMN_NARROW, COLUMN_OTHER };
enum column_fit column_fit(const struct want *, const struct row_column *);
/* Returns the definition of schema.sql with the character set of the live column. */
char *column_definition(struct arena *, const struct want *, const struct row_column *);
/*
 * Returns a default that SET DEFAULT accepts for a column of this type: "0",
 * "(CONCAT(''))" ...; NULL if there is none.
 */
const char *column_default(struct arena *, const struct row_column *);
/*
 * Returns the clause of ALTER TABLE that gives one of our columns this default, as
 * written in schema.sql. The type stays; a long text is defined again, because MySQL
 * refuses SET DEFAULT for it.
 */
char *column_default_clause(
    struct arena *, const struct row_column *, const char *value);

#endif
