/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that several readers of supply make, and the rule that says when to lock. */
#include "rules/sched/supply_own.h"

#include <assert.h>
#include "lib/banned.h"

/*
 * Skips plain jobs, and on a cluster, where locks of other nodes are invisible, jobs
 * of file sets too: each round then begins at another place. Plain jobs are many and
 * rarely locked.
 */
int64_t
supply_skip(const struct supply *p, int64_t fileset_id)
{
	struct rng rng = rng_seed(p->in.seed ^ 7 ^ ((uint64_t)p->in.nlost << 8));

	if (!p->until_enough || (fileset_id > 0 && !p->in.in_cluster))
		return 0;
	return contention_skip(&p->contention, fileset_id, p->in.now, &rng);
}

/* Plain jobs are locked only after a lost claim, because each request begins at
 * another shard. */
bool
supply_locks(const struct supply *p, int64_t fileset_id)
{
	return p->until_enough && p->in.may_lock &&
	       contention_is(&p->contention, fileset_id, p->in.now) &&
	       (fileset_id > 0 || p->in.nlost > 0);
}

void
supply_unlock(struct supply *p)
{
	p->unlock = p->locked && !snapshot_any_candidate(p->in.snap);
}

void
supply_ask_lasts(struct supply_query *q)
{
	q->kind = SUPPLY_LASTS;
}

void
supply_take_lasts(struct supply *p, const struct supply_rows *rows)
{
	struct snap_glance *g = &p->in.snap->glance;

	assert(rows->n == 1);
	g->last_ready = rows->pairs[0].id;
	g->last_fileset = rows->pairs[0].value;
	g->has_last = true;
}

void
supply_ask_sets(
    struct supply_query *q, const int64_t *ids, size_t n, enum set_origin origin)
{
	q->kind = SUPPLY_SETS;
	q->ids = ids;
	q->nids = q->most = n;
	q->origin = origin;
}
