/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because it decides one thing: which of the held files are read. */
#include "rules/sched/held.h"

#include <stdlib.h>
#include <string.h>
#include "lib/names.h"
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
	uint64_t rank; /* smaller ones first */
};

static int rank_order(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Of sets that are unknown, those of which most is held come first, then the oldest. */
static int unknown_order(const void *pa, const void *pb)
{
	const struct held_set *x = ((const struct ranked *)pa)->set,
			      *y = ((const struct ranked *)pb)->set;

	if (x->held != y->held)
		return x->held > y->held ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

/* The same as rank_order(), but by name instead of as drawn. */
static int name_rank_order(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	uint64_t x = a->rank >> 32, y = b->rank >> 32;

	return x != y ? (x > y) - (x < y) : strcmp(a->set->name, b->set->name);
}

/* Whole sets come first, then those of which least is missing. */
static uint64_t set_rank(const struct held_set *s, uint32_t drawn)
{
	uint64_t missing = s->files > s->held ? s->files - s->held : 0;

	return (missing < UINT32_MAX ? missing : UINT32_MAX) << 32 | drawn;
}

/* Takes the ids of at most `most` sets that are this, and tells how many there are. */
static size_t take_sets(struct ranked *v, size_t n, enum held_is is,
    int (*order)(const void *, const void *), size_t most, struct ids *to)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++) {
		struct ranked r = v[i];

		if (r.set->is != is)
			continue;
		v[i] = v[all];
		v[all++] = r;
	}
	if (all > 1)
		qsort(v, all, sizeof(*v), order);
	for (size_t i = 0; i < all && i < most; i++)
		to->v[to->n++] = v[i].set->id;
	return all;
}

struct held_choice held_choose(struct arena *a, const struct conf *cf, struct rng *rng,
    const struct held_set *sets, size_t n)
{
	int (*order)(const void *, const void *) = rank_order;
	struct ranked *v = NEWN(a, struct ranked, n + 1);
	struct ids ready = { NEWN(a, int64_t, SETS_MOST), 0 };
	struct ids now = { NEWN(a, int64_t, SETS_MOST + DRAINS_MOST), 0 };
	size_t nready, first, most, nunknown;

	if (cf->locality_scheduling_sorted_order)
		order = name_rank_order;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct ranked){ &sets[i],
			set_rank(&sets[i], (uint32_t)rng_below(rng, UINT32_MAX)) };
	nready = take_sets(v, n, HELD_READY, order, SETS_MOST, &ready);
	first = ready.n < READY_FIRST ? ready.n : READY_FIRST;
	for (; now.n < first; now.n++)
		now.v[now.n] = ready.v[now.n];
	most = SETS_MOST - first;
	nunknown = take_sets(v, n, HELD_UNKNOWN, unknown_order, most, &now);
	if (ready.n < READY_FIRST)
		take_sets(v, n, HELD_DRAINS, order, DRAINS_MOST, &now);
	if (now.n == 0)
		take_sets(v, n, HELD_CLOSED, order, CLOSED_MOST, &now);
	return (struct held_choice){ .now = now.v,
		.n = now.n,
		.later = ready.v + first,
		.nlater = ready.n - first,
		.cut = nunknown > most || nready > ready.n };
}

enum held_is held_is_of(const struct conf *cf, const struct snap_file *f)
{
	if (snap_file_held_back(f))
		return HELD_CLOSED;
	return fileset_state(cf, f) == FILE_DRAINING ? HELD_DRAINS : HELD_UNKNOWN;
}
