/* SPDX-License-Identifier: Apache-2.0 */
/* A set of names, each with a number: for "is it there?", and for places in an array.
 */
#ifndef LIB_NAMES_H
#define LIB_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "lib/arena.h"

/* Comparison functions for qsort and bsearch, and sets of ids. */

/* For int64_t elements. */
static inline int id_order(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* For const char * elements. */
static inline int name_order(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static inline void ids_sort(int64_t *ids, size_t n)
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

/*
 * Zero is the empty set. It lives in an arena; pass the same arena, which may have
 * moved meanwhile, to every names_put(). Names are not copied.
 */
struct names {
	const char **v; /* in the order in which they came */
	size_t *value;  /* of v[i] */
	size_t n, cap;
	uint32_t *slot; /* index into v, plus 1; 0 is free */
	size_t nslots;  /* 0 or a power of two, at least 2 * cap */
};
/* Makes room for n names in an empty set. */
void names_reserve(struct arena *, struct names *, size_t n);
/* Returns false if the name is there already, which keeps its number, or is NULL. */
bool names_put(struct arena *, struct names *, const char *name, size_t value);
bool names_has(const struct names *, const char *name); /* NULL is in no set */
/* Returns false, and leaves *value alone, if there is no such name. */
bool names_find(const struct names *, const char *name, size_t *value);

#endif
