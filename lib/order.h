/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison functions for qsort and bsearch, and sets of ids. */
#ifndef LIB_ORDER_H
#define LIB_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "lib/arena.h"

/* For int64_t elements. */
static inline int
id_order(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* For const char * elements. */
static inline int
name_order(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static inline void
ids_sort(int64_t *ids, size_t n)
{
	if (n > 0)
		qsort(ids, n, sizeof(*ids), id_order);
}

struct ids { /* in increasing order, each once */
	int64_t *v;
	size_t n;
};
/* Of n ids in any order; the set is a copy. */
struct ids ids_unique(struct arena *, const int64_t *, size_t n);
bool ids_has(const struct ids *, int64_t);

#endif
