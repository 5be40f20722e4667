/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that several readers of supply make, and the rule that says when to lock. */
#include <assert.h>
#include <math.h>
#include "rules/sched/ctx.h"
#include "rules/sched/supply_own.h"
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

/* When the candidates read so far are enough to fill the reply. */

enum {
	LOCKED_PER_JOB = 2, /* as CANDIDATES_PER_JOB, but fewer: locks keep jobs from
	                       other requests */
	NEED_MOST = 256,
};
#define SLOW_FLOPS 1e9 /* assumed speed of a host without benchmarks */

int64_t
supply_once_key(const struct conf *cf, const struct snapshot *s)
{
	if (cf->one_result_per_user_per_wu)
		return s->user.id;
	return cf->one_result_per_host_per_wu ? -s->host.id : 0;
}

size_t
supply_need(
    const struct conf *cf, const struct request *rq, const struct snapshot *snap)
{
	struct machine m = machine_of(cf, rq, snap);
	size_t jobs = limits_per_rpc(cf, rq, &m);

	return jobs > NEED_MOST / CANDIDATES_PER_JOB ? NEED_MOST :
	                                               jobs * CANDIDATES_PER_JOB;
}

bool
supply_asks(const struct supply *p, size_t r)
{
	return work_req_wants(&p->goal.work, r) && serving_any(&p->goal.apps, r);
}

struct tally { /* candidates for one resource */
	double have_s;
	size_t n;
	size_t per_job; /* candidates to read per job that will fit */
};

/* Few candidates are locked, so count only those that the once rule may allow. */
static bool
may_fit(const struct supply *p, const struct job *jobs, size_t i)
{
	const struct job *j = &jobs[i];

	if (!p->locked || p->once == 0)
		return true;
	for (size_t k = 0; k < i; k++)
		if (jobs[k].workunitid == j->workunitid)
			return false;
	return j->taken <= 0;
}

static struct tally
tally_new(const struct supply *p)
{
	return (
	    struct tally){ .per_job = p->locked ? LOCKED_PER_JOB : CANDIDATES_PER_JOB };
}

static void
tally_add(
    struct tally *t, const struct supply *p, size_t r, const struct job *jobs, size_t n)
{
	const struct snapshot *s = p->in.snap;
	double speed = r > 0 ? p->in.req->resources[r].peak_flops : s->host.p_fpops;

	for (size_t i = 0; i < n; i++) {
		const struct app *app = catalog_app(s->cat, jobs[i].appid);

		if (!serving_app(&p->goal.apps, app, r) || !may_fit(p, jobs, i))
			continue;
		t->have_s += jobs[i].rsc_fpops_est / (speed > 0 ? speed : SLOW_FLOPS);
		t->n++;
	}
}

/* Decides only what is read; the decision chooses what is sent. */
static bool
is_enough(const struct tally *t, const struct supply_goal *g, size_t r)
{
	const struct work_left *left = &g->work.left[r];
	double secs = g->work.new_style ? left->secs : g->work.old_secs;

	return t->n >= g->need ||
	       (t->have_s >= (double)t->per_job * secs &&
		   (double)t->n >= (double)t->per_job * (1 + fmax(left->instances, 0)));
}

bool
supply_enough_for(const struct supply *p, size_t r)
{
	const struct snapshot *s = p->in.snap;
	struct tally t = tally_new(p);

	for (size_t i = 0; i < s->nfiles; i++)
		tally_add(&t, p, r, s->files[i].jobs, s->files[i].njobs);
	return is_enough(&t, &p->goal, r);
}

bool
supply_enough(const struct supply *p)
{
	bool all = true;

	for (size_t r = 0; r < p->goal.apps.nresources && all; r++)
		all = !supply_asks(p, r) || supply_enough_for(p, r);
	return all;
}

bool
supply_enough_plain(const struct supply *p)
{
	const struct snapshot *s = p->in.snap;
	struct tally t = tally_new(p);
	size_t from = p->plain.from;

	tally_add(&t, p, p->plain.resource, s->plain + from, s->nplain - from);
	return is_enough(&t, &p->goal, p->plain.resource);
}
