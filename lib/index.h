/* SPDX-License-Identifier: Apache-2.0 */
/* Maps names to positions in an array, so that a look-up need not scan it. */
#ifndef LIB_INDEX_H
#define LIB_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include "lib/arena.h"

/*
 * Lives in an arena; pass the same arena, which may have moved meanwhile, to every
 * call. Names are not copied.
 */
struct index;
struct index *index_new(struct arena *);
/* A name that exists already keeps its position. */
void index_put(struct arena *, struct index *, const char *name, size_t place);
/* Returns false if there is no such name. */
bool index_find(const struct index *, const char *name, size_t *place);

#endif
