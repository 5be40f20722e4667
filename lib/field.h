/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One member of a struct by its name: how a text becomes its value, and how it becomes
 * a text. A table of fields ends with name NULL, unless it has a count. How strict a
 * value is taken is up to the reader of the table.
 */
#ifndef LIB_FIELD_H
#define LIB_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/pattern.h"

enum field_type {
	FIELD_FLAG,      /* bool */
	FIELD_I32,       /* int32_t, or an enum */
	FIELD_I64,       /* int64_t, or a count */
	FIELD_F64,       /* double */
	FIELD_I64_GIVEN, /* const int64_t *, NULL if it is not set */
	FIELD_F64_GIVEN, /* const double *, the same */
	FIELD_TEXT,      /* char *, not copied */
	FIELD_LIST,      /* struct text_list: may be set several times */
	FIELD_PAIR,      /* int64_t[2]: n and i, 0 <= i < n */
	FIELD_NUMBERS,   /* struct number_list */
	FIELD_PATTERN,   /* const struct pattern *, NULL if it is not set */
	FIELD_PATTERNS,  /* struct pattern_list */
	FIELD_ROW,       /* a struct, with the fields child */
	FIELD_ROWS,      /* a pointer to several; to texts if there is no child */
};

struct text_list { /* in the order in which they came */
	char **v;
	size_t n;
};

struct number_list {
	int64_t *v;
	size_t n;
};

/* The member of struct T that a row of a table is about. */
#define FIELD_OF(T, member)                                                            \
	.type = _Generic(((T *)0)->member,                                             \
	    bool: FIELD_FLAG, int32_t: FIELD_I32, unsigned: FIELD_I32,                 \
	    int64_t: FIELD_I64, uint64_t: FIELD_I64, double: FIELD_F64,                \
	    const int64_t *: FIELD_I64_GIVEN, const double *: FIELD_F64_GIVEN,         \
	    char *: FIELD_TEXT, const char *: FIELD_TEXT,                              \
	    struct text_list: FIELD_LIST, int64_t *: FIELD_PAIR,                       \
	    struct number_list: FIELD_NUMBERS,                                         \
	    const struct pattern *: FIELD_PATTERN,                                     \
	    struct pattern_list: FIELD_PATTERNS),                                      \
	.off = offsetof(T, member)

struct field {
	const char *name;
	enum field_type type;
	size_t off;
	const char *value; /* what its value is called, "DIR"; NULL for a flag */
	const char *help;
	double min, max;   /* of a number, a text's bytes, the rows; max 0: none */
	bool above;        /* min itself is too small */
	double scale;      /* of a double: the number times this; 0 = 1 */
	bool required;     /* a text */
	bool maybe;        /* a text, "" if it is named without a value */
	bool cut;          /* a text longer than max is cut, else left out */
	char letter;       /* 0 = none */
	const char *takes; /* what a value must be, in words; NULL = by its range */
	const char *def;   /* default, in the same syntax; NULL = zero */
	const struct field *child;
	size_t n_off, size; /* of rows: where their number is, a size_t; of each */
	size_t seen_off;    /* of a bool that is set if the field occurs; 0 = none */
	/* Called when a row is complete; ctx is the reader's. */
	void (*done)(void *row, void *ctx);
	/* Sets what one member cannot hold; returns as field_set(). */
	const char *(*take)(void *row, char *text);
};

/* The member as a number; a flag is 0 or 1. */
int64_t field_whole(const struct field *, const void *row); /* not of FIELD_F64 */
double field_number(const struct field *, const void *row);
const char *field_text(const struct field *, const void *row); /* of FIELD_TEXT */
/* Is it a zero, a false, or an empty text or none? */
bool field_is_zero(const struct field *, const void *row);
/* Is the number in the field's range? */
bool field_within(const struct field *, double);
/* Sets a number or a flag. Returns false if the member cannot hold it. */
bool field_put_whole(const struct field *, void *row, int64_t);
bool field_put_number(const struct field *, void *row, double);
/* Copies the member from one row to another; pointers stay the same. */
void field_copy(const struct field *, void *to, const void *from);
/*
 * A flag, number, text or list as a text that sets the member; items are separated by
 * blanks.
 */
const char *field_get(struct arena *, const struct field *, const void *row);
/*
 * Sets the member of row. Returns NULL, or what it takes, such as "a whole number from
 * 1 to 9", if text is something else.
 */
const char *field_set(struct arena *, const struct field *, void *row, char *text);
void field_defaults(struct arena *, const struct field *table, void *row);
/*
 * Returns the field of this name, in which "-" and "_" are one if loose; else NULL. In
 * *near, if near is not NULL, its name, or a similar one, or NULL.
 */
const struct field *field_find(
    const struct field *table, const char *name, bool loose, const char **near);

#endif
