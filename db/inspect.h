/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements as data: what stmts.def says about each, and how the server would run it.
 * For the check of all statements and for locus' diagnostics; other code uses db.h.
 */
#ifndef DB_INSPECT_H
#define DB_INSPECT_H

#include "db/stmts.h"

struct stmt_info { /* one entry of stmts.def */
	const char *name, *key, *sql;
	bool prepared;    /* false = sent as text */
	size_t args_size; /* size of its struct args_NAME */
	const struct row_shape *shape;
	int64_t base, per_row, per_item; /* Handler_read_% rows allowed */
};
extern const struct stmt_info stmt_infos[SQL__MAX];

/* The types of arguments in stmts.def, and of columns of rows. */
enum arg_type {
	ARG_END,
	ARG_I64,
	ARG_F64,
	ARG_STR,
	ARG_MEDIUMTEXT,
	ARG_BLOB,
	ARG_ROW,
	ARG_IDS,
	ARG_LONG_IDS,
	ARG_NAMES,
	ARG_LONG_NAMES,
	ARG_PAIRS,
	ARG_HEADS,
	ARG_I32, /* from here on, only types of columns */
	ARG_TEXT
};
struct stmt_arg { /* a member of the struct args_NAME */
	const char *name;
	enum arg_type type;
	size_t off;
	const struct row_shape *shape; /* for ARG_ROW */
};
/*
 * Returns a statement's arguments, ended by ARG_END; statements that are LIKE one
 * another share one array.
 */
const struct stmt_arg *stmt_args(enum stmt_id);

/* A parameter :name or :row.column in a statement's text. */
struct stmt_param {
	const char *name;           /* its name in the text, not terminated */
	const struct stmt_arg *arg; /* NULL = the statement has no such argument */
	const struct field *col;    /* NULL = the whole argument */
	bool known;                 /* false = no such argument or column */
};
/* If *text starts with a parameter, steps over it and returns true. */
bool stmt_param_next(enum stmt_id, const char **text, struct stmt_param *);

/* Prepares the statement for lists of n items (0 = it has no list). */
enum err db_prepare(struct db *, enum stmt_id, size_t n, struct fail *);

struct plan_row { /* one row of EXPLAIN; "" = NULL */
	char *table, *type, *key;
};
enum err db_explain(struct db *, struct arena *, struct fail *, struct plan_row **,
    size_t *n, enum stmt_id, const void *args);

/*
 * Returns the rows read so far by this connection: the sum of the server's Handler_read
 * counters.
 */
enum err db_rows_read(struct db *, int64_t *rows, struct fail *);

#endif
