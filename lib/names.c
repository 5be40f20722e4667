/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing, at most half full. Short, because it is two whole containers, which
 * rules use, too.
 */
#include "lib/names.h"

#include <stdlib.h>
#include <string.h>
#include "lib/hash.h"
#include "lib/banned.h"

struct ids ids_unique(struct arena *a, const int64_t *v, size_t n)
{
	struct ids s = { NEWN(a, int64_t, n + 1), 0 };

	if (n == 0)
		return s;
	memcpy(s.v, v, n * sizeof(*v));
	qsort(s.v, n, sizeof(*s.v), id_order);
	for (size_t i = 0; i < n; i++)
		if (s.n == 0 || s.v[i] != s.v[s.n - 1])
			s.v[s.n++] = s.v[i];
	return s;
}

bool ids_has(const struct ids *s, int64_t id)
{
	return s->n > 0 && bsearch(&id, s->v, s->n, sizeof(*s->v), id_order) != NULL;
}

enum { FIRST_NAMES = 16 };

/* The slot that holds the name, or the one to put it in. */
static uint32_t *names_slot(const struct names *s, const char *name)
{
	uint64_t h = hash_text(HASH_SEED, name);
	size_t i = (size_t)(h ^ h >> 32) & (s->nslots - 1);

	while (s->slot[i] != 0 && strcmp(s->v[s->slot[i] - 1], name) != 0)
		i = (i + 1) & (s->nslots - 1);
	return &s->slot[i];
}

void names_reserve(struct arena *a, struct names *s, size_t n)
{
	*s = (struct names){ .cap = FIRST_NAMES };
	while (s->cap < n)
		s->cap *= 2;
	s->nslots = 2 * s->cap;
	s->v = NEWN(a, const char *, s->cap);
	s->value = NEWN(a, size_t, s->cap);
	s->slot = NEWN(a, uint32_t, s->nslots);
}

bool names_put(struct arena *a, struct names *s, const char *name, size_t value)
{
	uint32_t *slot;

	if (name == NULL)
		return false;
	if (s->n == s->cap) {
		struct names old = *s;

		names_reserve(a, s, old.n + 1);
		for (size_t i = 0; i < old.n; i++)
			names_put(a, s, old.v[i], old.value[i]);
	}
	slot = names_slot(s, name);
	if (*slot != 0)
		return false;
	s->v[s->n] = name;
	s->value[s->n++] = value;
	*slot = (uint32_t)s->n;
	return true;
}

bool names_find(const struct names *s, const char *name, size_t *value)
{
	uint32_t at = s->n == 0 || name == NULL ? 0 : *names_slot(s, name);

	if (at != 0)
		*value = s->value[at - 1];
	return at != 0;
}

bool names_has(const struct names *s, const char *name)
{
	return names_find(s, name, &(size_t){ 0 });
}
