/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of an array by their names: where a name stands, without looking at all. */
#ifndef LIB_INDEX_H
#define LIB_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include "lib/arena.h"

/*
 * Lives in an arena, the same for all calls, which may have moved meanwhile; the names
 * stay where they are.
 */
struct index;
struct index *index_new(struct arena *);
/* A name that is there already keeps its place. */
void index_put(struct arena *, struct index *, const char *name, size_t place);
/* False if there is no such name. */
bool index_find(const struct index *, const char *name, size_t *place);

#endif
