/* SPDX-License-Identifier: Apache-2.0 */
/* Sets as sorted arrays, because requests may list many thousands of names. */
#include "rules/sets.h"

#include <stdlib.h>
#include <string.h>
#include "lib/banned.h"

static int
compare_ids(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

struct ids
ids_make(struct arena *a, const int64_t *v, size_t n)
{
	struct ids s = { NEWN(a, int64_t, n + 1), n };

	if (n > 0)
		memcpy(s.v, v, n * sizeof(*v));
	qsort(s.v, n, sizeof(*s.v), compare_ids);
	return s;
}

struct ids
ids_unique(struct arena *a, const int64_t *v, size_t n)
{
	struct ids s = ids_make(a, v, n);

	s.n = 0;
	for (size_t i = 0; i < n; i++)
		if (s.n == 0 || s.v[i] != s.v[s.n - 1])
			s.v[s.n++] = s.v[i];
	return s;
}

bool
ids_has(const struct ids *s, int64_t id)
{
	return s->n > 0 && bsearch(&id, s->v, s->n, sizeof(*s->v), compare_ids) != NULL;
}

static int
compare_name_ptrs(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names
names_new(struct arena *a, size_t cap)
{
	return (struct names){ NEWN(a, const char *, cap + 1), 0 };
}

void
names_add(struct names *s, const char *name)
{
	if (name != NULL)
		s->v[s->n++] = name;
}

void
names_sort(struct names *s)
{
	qsort(s->v, s->n, sizeof(*s->v), compare_name_ptrs);
}

bool
names_has(const struct names *s, const char *name)
{
	return name != NULL && s->n > 0 &&
	       bsearch(&name, s->v, s->n, sizeof(*s->v), compare_name_ptrs) != NULL;
}
