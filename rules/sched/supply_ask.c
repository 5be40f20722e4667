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
int64_t supply_skip(const struct supply *p, int64_t fileset_id)
{
	struct rng rng = rng_seed(p->in.seed ^ 7 ^ ((uint64_t)p->in.nlost << 8));

	if (!p->until_enough || (fileset_id > 0 && !p->in.in_cluster))
		return 0;
	return contention_skip(&p->contention, fileset_id, p->in.now, &rng);
}

/* Plain jobs are locked only after a lost claim, because each request begins at
 * another shard. */
bool supply_locks(const struct supply *p, int64_t fileset_id)
{
	return p->until_enough && p->in.may_lock &&
	       contention_is(&p->contention, fileset_id, p->in.now) &&
	       (fileset_id > 0 || p->in.nlost > 0);
}

void supply_unlock(struct supply *p)
{
	p->unlock = p->locked && !snapshot_any_candidate(p->in.snap);
}

void supply_ask_lasts(struct supply_query *q)
{
	q->kind = SUPPLY_LASTS;
}

void supply_take_lasts(struct supply *p, const struct supply_rows *rows)
{
	struct snap_glance *g = &p->in.snap->glance;

	assert(rows->n == 1);
	g->last_ready = rows->pairs[0].id;
	g->last_fileset = rows->pairs[0].value;
	g->has_last = true;
}

void supply_ask_sets(
    struct supply_query *q, const int64_t *ids, size_t n, enum set_origin origin)
{
	q->kind = SUPPLY_SETS;
	q->ids = ids;
	q->nids = q->most = n;
	q->origin = origin;
}

/* When the candidates read so far are enough to fill the reply. */

enum {
	ENOUGH_PER_JOB =
	    2, /* candidates that the once rule may allow, per job wanted */
	NEED_MOST = 256,
};
#define SLOW_FLOPS 1e9 /* assumed speed of a host without benchmarks */

int64_t supply_once_key(const struct conf *cf, const struct snapshot *s)
{
	if (cf->one_result_per_user_per_wu)
		return s->user.id;
	return cf->one_result_per_host_per_wu ? -s->host.id : 0;
}

size_t supply_need(
    const struct conf *cf, const struct request *rq, const struct snapshot *snap)
{
	struct machine m = machine_of(cf, rq, snap);
	size_t jobs = limits_per_rpc(cf, rq, &m);

	return jobs > NEED_MOST / CANDIDATES_PER_JOB ? NEED_MOST :
	                                               jobs * CANDIDATES_PER_JOB;
}

bool supply_asks(const struct supply *p, size_t r)
{
	return work_req_wants(&p->goal.work, r) && serving_any(&p->goal.apps, r);
}

struct tally { /* candidates for one resource */
	double have_s;
	size_t n;
};

/* Counts only those that the once rule may allow. */
static bool may_fit(const struct supply *p, const struct job *jobs, size_t i)
{
	const struct job *j = &jobs[i];

	if (p->once == 0)
		return true;
	for (size_t k = 0; k < i; k++)
		if (jobs[k].workunitid == j->workunitid)
			return false;
	return j->taken <= 0;
}

static void tally_add(
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

/*
 * Number of candidates to read beyond these; 0 = they suffice to fill the reply for the
 * resource, even if every other one does not fit. Decides only what is read; the
 * decision chooses what is sent.
 */
static size_t missing(const struct tally *t, const struct supply_goal *g, size_t r)
{
	const struct work_left *left = &g->work.left[r];
	double secs = g->work.new_style ? left->secs : g->work.old_secs;
	double n = ENOUGH_PER_JOB * (1 + fmax(left->instances, 0)) - (double)t->n;

	if (t->n >= g->need)
		return 0;
	if (t->n > 0 && secs > 0) /* jobs without an estimate fill no second */
		n = fmax(n, (ENOUGH_PER_JOB * secs / t->have_s - 1) * (double)t->n);
	if (n >= (double)(g->need - t->n))
		return g->need - t->n;
	return (size_t)ceil(fmax(n, 0));
}

/* As missing(), for what was read of file sets. */
static size_t missing_for(const struct supply *p, size_t r)
{
	const struct snapshot *s = p->in.snap;
	struct tally t = { 0 };

	for (size_t i = 0; i < s->nfiles; i++)
		tally_add(&t, p, r, s->files[i].jobs, s->files[i].njobs);
	return missing(&t, &p->goal, r);
}

bool supply_enough_for(const struct supply *p, size_t r)
{
	return missing_for(p, r) == 0;
}

size_t supply_missing(const struct supply *p)
{
	size_t most = 0;

	for (size_t r = 0; r < p->goal.apps.nresources; r++) {
		size_t n = supply_asks(p, r) ? missing_for(p, r) : 0;

		most = n > most ? n : most;
	}
	return most;
}

bool supply_enough(const struct supply *p)
{
	return supply_missing(p) == 0;
}

bool supply_enough_plain(const struct supply *p)
{
	const struct snapshot *s = p->in.snap;
	struct tally t = { 0 };
	size_t from = p->plain.from;

	tally_add(&t, p, p->plain.resource, s->plain + from, s->nplain - from);
	return missing(&t, &p->goal, p->plain.resource) == 0;
}
