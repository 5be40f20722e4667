/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/order.h"

#include <stdlib.h>
#include "lib/banned.h"

struct ids
ids_unique(struct arena *a, const int64_t *v, size_t n)
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

bool
ids_has(const struct ids *s, int64_t id)
{
	return s->n > 0 && bsearch(&id, s->v, s->n, sizeof(*s->v), id_order) != NULL;
}
