/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing, at most half full. */
#include "proto/names.h"

#include <stdint.h>
#include <string.h>
#include "lib/banned.h"

/* Returns the slot that holds s, or the one to put it in. */
static size_t
name_slot(const struct name_set *t, const char *s)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */
	size_t i;

	for (const char *p = s; *p != '\0'; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211u;
	i = (size_t)(h ^ h >> 32) & (t->cap - 1);
	while (t->slot[i] != NULL && strcmp(t->slot[i], s) != 0)
		i = (i + 1) & (t->cap - 1);
	return i;
}

static void
name_set_grow(struct name_set *t)
{
	struct name_set old = *t;

	t->cap = old.cap == 0 ? 64 : 2 * old.cap;
	t->slot = NEWN(t->a, const char *, t->cap);
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i] != NULL)
			t->slot[name_slot(t, old.slot[i])] = old.slot[i];
}

bool
name_set_add(struct name_set *t, const char *s)
{
	size_t i;

	if (2 * (t->n + 1) > t->cap)
		name_set_grow(t);
	i = name_slot(t, s);
	if (t->slot[i] != NULL)
		return false;
	t->slot[i] = s;
	t->n++;
	return true;
}

bool
name_set_has(const struct name_set *t, const char *s)
{
	return t->cap > 0 && t->slot[name_slot(t, s)] != NULL;
}
