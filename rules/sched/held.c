/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because it decides one thing: which of the held files are read. */
#include "rules/sched/held.h"

#include <stdlib.h>
#include <string.h>
#include "rules/sched/large.h"
#include "lib/banned.h"

enum {
	SETS_MOST = 256,  /* sets to read for one request */
	READY_FIRST = 4,  /* sets with work to read at once; most hold many jobs */
	DRAINS_MOST = 32, /* sets to ask for more work */
	CLOSED_MOST = 4,
};

struct ranked {
	const struct held_set *set;
	size_t drawn;
	bool sorted; /* by name */
};

/* The order of sets that are alike otherwise. */
static int draw_order(const struct ranked *x, const struct ranked *y)
{
	int by_name = x->sorted ? strcmp(x->set->name, y->set->name) : 0;

	return by_name != 0 ? by_name : (x->drawn > y->drawn) - (x->drawn < y->drawn);
}

static size_t files_missing(const struct held_set *s)
{
	return s->files > s->held ? s->files - s->held : 0;
}

static int held_order(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	const struct held_set *x = a->set, *y = b->set;

	if (x->is != y->is)
		return x->is < y->is ? -1 : 1;
	if (x->is == HELD_UNKNOWN) {
		if (x->held != y->held)
			return x->held > y->held ? -1 : 1;
		return (x->id > y->id) - (x->id < y->id);
	}
	if (files_missing(x) != files_missing(y))
		return files_missing(x) < files_missing(y) ? -1 : 1;
	return draw_order(a, b);
}

/* Takes the ids of at most `most` sets that are this, and tells how many there are. */
static size_t take_sets(const struct ranked *v, size_t n, enum held_is is, size_t most,
    int64_t *ids, size_t *nids)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].set->is != is)
			continue;
		if (all++ < most)
			ids[(*nids)++] = v[i].set->id;
	}
	return all;
}

struct held_choice held_choose(struct arena *a, const struct conf *cf, struct rng *rng,
    const struct held_set *sets, size_t n)
{
	struct ranked *v = NEWN(a, struct ranked, n + 1);
	int64_t *ready = NEWN(a, int64_t, SETS_MOST + 1);
	struct held_choice c = { .now = NEWN(a, int64_t, SETS_MOST + DRAINS_MOST) };
	size_t nready = 0, all, most;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct ranked){ &sets[i], rng_below(rng, UINT32_MAX),
			cf->locality_scheduling_sorted_order };
	qsort(v, n, sizeof(*v), held_order);
	all = take_sets(v, n, HELD_READY, SETS_MOST, ready, &nready);
	for (size_t i = 0; i < nready && i < READY_FIRST; i++)
		c.now[c.n++] = ready[i];
	c.later = ready + c.n;
	c.nlater = nready - c.n;
	most = SETS_MOST - c.n;
	c.cut = take_sets(v, n, HELD_UNKNOWN, most, c.now, &c.n) > most || all > nready;
	if (nready < READY_FIRST)
		take_sets(v, n, HELD_DRAINS, DRAINS_MOST, c.now, &c.n);
	if (c.n == 0)
		take_sets(v, n, HELD_CLOSED, CLOSED_MOST, c.now, &c.n);
	return c;
}

enum held_is held_is_of(const struct conf *cf, const struct snap_file *f)
{
	if (snap_file_held_back(f))
		return HELD_CLOSED;
	return fileset_state(cf, f) == FILE_DRAINING ? HELD_DRAINS : HELD_UNKNOWN;
}
