/* SPDX-License-Identifier: Apache-2.0 */
/* A uthash table whose memory is all in an arena. */
#include "lib/index.h"

#include <string.h>

/* The macros below expect the arena to be named a. */
#define uthash_malloc(size)     arena_alloc(a, (size))
#define uthash_free(what, size) ((void)(what))
#include <uthash.h>

struct entry {
	size_t place;
	const char *name;
	UT_hash_handle hh;
};
struct index {
	struct entry *table;
};

struct index *
index_new(struct arena *a)
{
	return NEW(a, struct index);
}

void
index_put(struct arena *a, struct index *ix, const char *name, size_t place)
{
	struct entry *e;

	if (index_find(ix, name, &(size_t){ 0 }))
		return;
	e = NEW(a, struct entry);
	e->place = place;
	e->name = name;
	HASH_ADD_KEYPTR(hh, ix->table, name, strlen(name), e);
}

bool
index_find(const struct index *ix, const char *name, size_t *place)
{
	struct entry *e;

	HASH_FIND(hh, ix->table, name, strlen(name), e);
	if (e != NULL)
		*place = e->place;
	return e != NULL;
}
