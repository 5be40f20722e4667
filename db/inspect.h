/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements as data: what stmts.def says of each, how the server would run it.  For
 * the check of all statements and for the admin's doctor; the product's code calls
 * db.h.
 */
#ifndef DB_INSPECT_H
#define DB_INSPECT_H

#include "db/db.h"

struct stmt_info { /* one line of stmts.def */
	const char *name, *args, *key, *sql;
	const struct row_shape *shape;
	int64_t base, per_row, per_item; /* Handler_read_% allowed */
};
extern const struct stmt_info stmt_infos[SQL__MAX];

/* One argument, by the letter of the args string. */
struct db_arg {
	int64_t i;
	double f;
	const void *p; /* s t b R I P S */
	size_t n;      /* I P S */
};
/* Runs a statement with its arguments as data, one per letter.  rows may be NULL. */
enum err db_run(struct db *, struct arena *, struct fail *, void **rows, size_t *n,
    int64_t *affected, enum stmt_id, const struct db_arg *);

/* Prepares it for lists of n items (0: it has none). */
enum err db_prepare(struct db *, enum stmt_id, size_t n, struct fail *);

struct plan_row { /* one line of EXPLAIN; "" is NULL */
	char *table, *type, *key;
};
enum err db_explain(struct db *, struct arena *, struct fail *, struct plan_row **,
    size_t *n, enum stmt_id, const struct db_arg *);

/* Rows read so far by this connection: the sum of the server's Handler_read counters.
 */
enum err db_rows_read(struct db *, int64_t *rows, struct fail *);

#endif
