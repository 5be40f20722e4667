/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names are kept only if they were read after their directory was checked and had not
 * changed within that second.  So a later change is certain to give the directory
 * another time.
 */
#include "trigger/cache.h"

#include "lib/banned.h"

enum { KEPT_MOST = 4096 }; /* names, about 100 KB per process */

static void
working_set_keep(struct working_set_cache *w, char *const *names, size_t n)
{
	w->kept = w->dir.there && !w->dir.fresh && n <= KEPT_MOST;
	if (!w->kept)
		return;
	w->names = NEWN(&w->a, char *, n + 1);
	for (size_t i = 0; i < n; i++)
		w->names[i] = arena_strdup(&w->a, names[i]);
	w->n = n;
}

enum err
working_set_names(
    const struct triggers *t, struct arena *a, char ***names, size_t *n, struct fail *f)
{
	struct working_set_cache *w = &t->cache->working_set;

	if (triggers_in_rows(t->conf))
		return trigger_list(t, a, TRIGGER_WORKING_SET, names, n, f);
	if (!trigger_changed(t, TRIGGER_WORKING_SET, &w->dir) && w->kept) {
		*names = arena_memdup(a, w->names, w->n * sizeof(*w->names));
		*n = w->n;
		return OK;
	}
	w->kept = false;
	arena_reset(&w->a);
	TRY(trigger_list(t, a, TRIGGER_WORKING_SET, names, n, f));
	working_set_keep(w, *names, *n);
	return OK;
}

void
trigger_cache_free(struct trigger_cache *c)
{
	arena_free(&c->working_set.a);
}
