/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands show, said once and printed in the three forms of -o: text for people
 * (sizes, times and spans shortened), and tsv and json for programs (exact: bytes,
 * seconds, RFC 3339).
 *
 * A list or a record is described by columns, from which help and manual page follow,
 * too. All other output is a tree of members, with lines for people beside them; its
 * tsv has a line per value: the path, as in "sent.jobs" or "files.0.name", and the
 * value. Members are ignored where people read, and lines where programs do.
 */
#ifndef TOOLS_PRINT_PRINT_H
#define TOOLS_PRINT_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "tools/cmd.h"

/* Colour on terminals: --color, NO_COLOR and TERM decide. */

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum color { COLOR_NONE, COLOR_GOOD, COLOR_WARN, COLOR_BAD, COLOR_BOLD };

/* Sets what --color says. The default is COLOR_AUTO: colour if standard output is a
 * terminal, NO_COLOR is unset or empty, and TERM is not "dumb". */
void color_choose(enum color_when);
bool color_used(void);
/* Returns the text in that colour, or as it is if no colour is used. */
const char *color_text(struct arena *, enum color, const char *);

enum print_type {
	PRINT_NONE = 1, /* no value: empty, in json null */
	PRINT_TEXT,
	PRINT_LINES, /* text of which control characters stay in json */
	PRINT_OWN,   /* text of ours, which may have colour; in aligned rows */
	PRINT_NUMBER,
	PRINT_REAL,
	PRINT_PERCENT, /* a fraction; "12 %" in a table */
	PRINT_BYTES,
	PRINT_TIME, /* s, UTC; 0 = never. A table shows how long ago it was */
	PRINT_DATE, /* the same; a table shows the date */
	PRINT_SPAN, /* s */
	PRINT_FLAG
};

struct print_column {     /* a table of columns ends with key NULL */
	const char *key;  /* in tsv and json: "in_progress" */
	const char *head; /* in a table: "IN PROGRESS"; NULL = not in a table */
	enum print_type type;
	const char *help; /* for the manual page; NULL = the key says it */
};

struct print_value { /* a row of them ends with type 0 */
	enum print_type type;
	int64_t number;
	double real;
	const char *text;
};
struct print_value print_of_text(const char *); /* NULL = no value */
struct print_value print_of_number(int64_t);
struct print_value print_of_real(double);
struct print_value print_of_flag(bool);
struct print_value print_of_none(const void *);
struct print_value print_of_value(struct print_value);
/* Any text, number, flag or struct print_value as a value. */
#define PRINT_VALUE(x)                                                                 \
	_Generic((x), char *: print_of_text, const char *: print_of_text,              \
	    bool: print_of_flag, float: print_of_real, double: print_of_real,          \
	    void *: print_of_none, struct print_value: print_of_value,                 \
	    default: print_of_number)(x)
/* No value if the condition holds; x is evaluated all the same. */
#define print_unless(condition, x) print_of_either(condition, PRINT_VALUE(x))
struct print_value print_of_either(bool none, struct print_value);
#define print_time(t)                                                                  \
	((struct print_value){ .type = PRINT_TIME, .number = (t) }) /* 0: no value */
#define print_lines(s) ((struct print_value){ .type = PRINT_LINES, .text = (s) })
#define print_own(s)   ((struct print_value){ .type = PRINT_OWN, .text = (s) })

/*
 * PRINT_ROW(a, b, ...): at most 80 values as an array that print_value of type 0 ends.
 * Each of the scans expands PRINT_EACH for one more of them.
 */
#ifdef LINT /* cppcheck does not survive the scans */
#define PRINT_ROW(...) ((void)(__VA_ARGS__), (const struct print_value *)NULL)
#else
#define PRINT_ROW(...)                                                                 \
	((const struct print_value[]){ PRINT_SCAN(PRINT_EACH(__VA_ARGS__)){ 0 } })
#endif
#define PRINT_EACH(x, ...)                                                             \
	PRINT_VALUE(x), __VA_OPT__(PRINT_AGAIN PRINT_PARENS(__VA_ARGS__))
#define PRINT_AGAIN()    PRINT_EACH
#define PRINT_PARENS     ()
#define PRINT_SCAN(...)  PRINT_SCAN1(PRINT_SCAN1(PRINT_SCAN1(PRINT_SCAN1(__VA_ARGS__))))
#define PRINT_SCAN1(...) PRINT_SCAN2(PRINT_SCAN2(PRINT_SCAN2(PRINT_SCAN2(__VA_ARGS__))))
#define PRINT_SCAN2(...) PRINT_SCAN3(PRINT_SCAN3(PRINT_SCAN3(PRINT_SCAN3(__VA_ARGS__))))
#define PRINT_SCAN3(...) __VA_ARGS__

struct print;

/* --- lists and records --- */

/*
 * Where no column has a head, people get the lines that are printed beside the rows.
 *
 * Begins a list of rows in the form that x->format asks for. Rows of tsv and json are
 * printed at once, so a list of a million needs no memory; a table is printed in pieces
 * of 1,000 rows.
 */
struct print *print_list(struct cmd_ctx *, const struct print_column *);
/* The same, but json is no array: each row is an object on a line of its own. */
struct print *print_stream(struct cmd_ctx *, const struct print_column *);
/*
 * Begins a single record: a table has one line per column, json is one object instead
 * of an array.
 */
struct print *print_record_begin(struct cmd_ctx *, const struct print_column *);
/* Prints a whole one. */
#define print_record(x, columns, ...)                                                  \
	print_record_of(x, columns, PRINT_ROW(__VA_ARGS__))
void print_record_of(
    struct cmd_ctx *, const struct print_column *, const struct print_value *);
/*
 * Puts the next cells of the row. A value that its column does not take is a bug;
 * columns of bytes take numbers and reals, those of flags numbers, too.
 */
#define print_cells(p, ...) print_cells_of(p, PRINT_ROW(__VA_ARGS__))
void print_cells_of(struct print *, const struct print_value *);

/* --- trees --- */

enum print_shape { PRINT_OBJECT, PRINT_ARRAY };
struct print *print_tree(struct cmd_ctx *, enum print_shape);
/*
 * Puts members: keys and values in turn; NULL for a key in an array. One that is there
 * gets the value and keeps its place.
 */
#define print_put(p, ...) print_members(p, PRINT_ROW(__VA_ARGS__))
void print_members(struct print *, const struct print_value *);
/* Begins an object or array in the one that is open, or goes on with it if it is there;
 * key NULL in an array. */
void print_open(struct print *, const char *key, enum print_shape);
void print_close(struct print *);
/* Puts a value that was read as json; it stays the caller's. */
void print_json(struct print *, const char *key, json_t *);
/* Puts a whole object. */
#define print_object(p, key, ...) print_object_of(p, key, PRINT_ROW(__VA_ARGS__))
void print_object_of(struct print *, const char *key, const struct print_value *);

/* --- beside them, for people only --- */

/* Sets the width of the labels of lines. */
void print_label(struct print *, int width);
/* Prints a line; label NULL = it has none. */
#define print_line(p, ...) print_alert(p, COLOR_NONE, __VA_ARGS__)
/* The same with a label in that colour. */
void print_alert(struct print *, enum color, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/*
 * Prints a row of a table, which ends when something else is printed. align has a
 * letter for each value: l for left, r for right; it lives as long as the table.
 */
#define print_aligned(p, align, ...) print_aligned_of(p, align, PRINT_ROW(__VA_ARGS__))
void print_aligned_of(struct print *, const char *align, const struct print_value *);

/* Ends the output; the last row of a list must be complete. Returns the number of rows.
 */
size_t print_end(struct print *);
/* Ends it instead, without the tree. */
void print_drop(struct print *);

#endif
