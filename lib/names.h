/* SPDX-License-Identifier: Apache-2.0 */
/* A set of names, each with a number: for "is it there?", and for places in an array.
 */
#ifndef LIB_NAMES_H
#define LIB_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"

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
/* Returns false if the name is there already, which keeps its number, or is NULL. */
bool names_put(struct arena *, struct names *, const char *name, size_t value);
bool names_has(const struct names *, const char *name); /* NULL is in no set */
/* Returns false, and leaves *value alone, if there is no such name. */
bool names_find(const struct names *, const char *name, size_t *value);

#endif
