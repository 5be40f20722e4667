/* SPDX-License-Identifier: Apache-2.0 */
/* Text in columns, for people: as wide as what stands in them. */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stddef.h>
#include "lib/arena.h"

struct table {
	struct arena *a;
	size_t ncols;
	const char *align; /* a letter per column: l, or r where numbers stand */
	const char **cells;
	size_t n, cap;
};

/* align has one letter per column, "l" or "r". */
struct table table_new(struct arena *, const char *align);
/* The next cell, row by row; its text is copied. */
void table_put(struct table *, const char *text);
void table_printf(struct table *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* To standard output; the last row must be whole. */
void table_print(const struct table *);

#endif
