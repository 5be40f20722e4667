/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands show, in the three forms of -o: a table for people (sizes, times and
 * spans shortened), and tsv and json for programs (exact: bytes, seconds, RFC 3339).
 * A command describes its columns once; help, manual page and all three forms follow.
 */
#ifndef TOOLS_LISTING_H
#define TOOLS_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"

enum listing_type {
	LIST_TEXT,
	LIST_NUMBER,
	LIST_REAL,
	LIST_PERCENT, /* a fraction; "12 %" in a table */
	LIST_BYTES,
	LIST_TIME, /* s, UTC; 0 = never. A table shows how long ago it was */
	LIST_DATE, /* the same; a table shows the date */
	LIST_SPAN, /* s */
	LIST_FLAG
};

struct listing_column {   /* a table of columns ends with key NULL */
	const char *key;  /* in tsv and json: "in_progress" */
	const char *head; /* in a table: "IN PROGRESS"; NULL = not in a table */
	enum listing_type type;
	const char *help; /* for the manual page; NULL = the key says it */
};

struct cmd_ctx;
struct listing;
/*
 * Begins a list of rows in the form that x->format asks for. Rows of tsv and json are
 * printed at once, so a list of a million needs no memory; a table is printed in pieces
 * of 1,000 rows.
 */
struct listing *listing_begin(struct cmd_ctx *, const struct listing_column *);
/*
 * Begins a single record: a table has one line per column, json is one object instead
 * of an array.
 */
struct listing *listing_record(struct cmd_ctx *, const struct listing_column *);
/* Each puts the next cell of the row. A type that the column does not have is a bug. */
void listing_text(struct listing *, const char *); /* NULL = no value */
void listing_number(struct listing *, int64_t);    /* also bytes, times and spans */
void listing_real(struct listing *, double);       /* also fractions */
void listing_flag(struct listing *, bool);
void listing_null(struct listing *); /* no value: empty, in json null */
/* Ends the list, of which the last row must be complete; returns the number of rows. */
size_t listing_end(struct listing *);
/* Prints a text to standard output as a cell of tsv: a tab, a newline and a backslash
 * stand as \\t, \\n and \\\\. */
void tsv_print(const char *);
/*
 * The text of a cell for people; now is the time from which LIST_TIME counts.
 */
char *listing_human(struct arena *, enum listing_type, double value, int64_t now);

#endif
