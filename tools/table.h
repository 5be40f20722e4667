/* SPDX-License-Identifier: Apache-2.0 */
/* Prints text in columns, each as wide as its widest cell. */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stddef.h>
#include "lib/arena.h"

struct table {
	struct arena *a;
	size_t ncols;
	const char
	    *align; /* one letter per column: l for left, r for right (numbers) */
	const char **cells;
	size_t n, cap;
};

/* align has one letter per column, "l" or "r". */
struct table table_new(struct arena *, const char *align);
/* Adds the next cell, row by row; copies the text. */
void table_put(struct table *, const char *text);
/* The same for text of ours, which may have colour. */
void table_put_own(struct table *, const char *text);
void table_printf(struct table *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints to standard output; the last row must be complete. */
void table_print(const struct table *);

#endif
