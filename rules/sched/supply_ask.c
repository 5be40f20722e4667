/* SPDX-License-Identifier: Apache-2.0 */
/* What several readers of supply ask for, and when they lock. */
#include "rules/sched/supply_own.h"

#include <assert.h>
#include "lib/banned.h"

/* Where locks of other nodes are not seen, each round begins elsewhere.  Plain jobs are
 * many and mostly not locked. */
int64_t
supply_skip(const struct supply *p, int64_t fileset_id)
{
	struct rng rng = rng_seed(p->in.seed ^ 7 ^ ((uint64_t)p->in.nlost << 8));

	if (!p->until_enough || (fileset_id > 0 && !p->in.in_cluster))
		return 0;
	return contention_skip(&p->contention, fileset_id, p->in.now, &rng);
}

/* Each request begins at another shard of plain jobs, so they are locked only after a
 * loss. */
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
