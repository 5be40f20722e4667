/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the stages of model/supply_stages.def in order. supply_stages.c says whether
 * a stage reads anything, and what. */
#include "rules/sched/supply_own.h"

#include <assert.h>
#include "rules/sched/decide.h"
#include "lib/banned.h"

enum { ANY_HOST = 1, WORK = 2, ONLY = 4, MORE_NCI = 8, MORE_WORK = 16 };

static const struct {
	unsigned passes;
	bool (*begin)(struct supply *);
	bool (*next)(struct supply *, struct supply_query *);
	void (*take)(struct supply *, const struct supply_rows *);
} stages[] = {
#define STAGE(name, passes, reader, why)                                               \
	{ passes, supply_begin_##name, supply_##reader##_next, supply_##reader##_take },
#include "model/supply_stages.def"
#undef STAGE
};

static unsigned
first_passes(const struct supply *p)
{
	const struct supply_in *in = &p->in;

	if (p->wants && in->only_job != 0)
		return ONLY;
	if (in->gets_no_job || in->conf->dont_send_jobs || in->req->dont_send_work)
		return 0;
	return p->wants ? ANY_HOST | WORK : ANY_HOST;
}

struct supply *
supply_new(struct arena *a, const struct supply_in *in)
{
	struct supply *p = NEW(a, struct supply);
	struct snapshot *s = in->snap;
	struct rng rng = rng_seed(in->seed);

	*p = (struct supply){ .a = a, .in = *in };
	if (in->contention != NULL)
		p->contention = *in->contention;
	p->wants = !in->gets_no_job && decide_wants_work(in->conf, in->req);
	p->once = supply_once_key(in->conf, s);
	p->passes = first_passes(p);
	if (!catalog_locality(s->cat, in->conf))
		s->nfiles = s->nmembers = 0; /* no job is preferred for its files */
	locality_order(a, in->conf, &rng, s->files, s->nfiles);
	if (p->wants)
		p->goal = (struct supply_goal){ .apps = serving_of(a, in->req, s->cat),
			.work = work_req_new(a, in->req),
			.need = supply_need(in->conf, in->req, s) };
	return p;
}

/* Begins the next stage that has something to read; false if all stages are done. */
static bool
begin_stage(struct supply *p)
{
	for (; p->stage < STAGE__MAX; p->stage++, p->round = 0)
		if ((stages[p->stage].passes & p->passes) != 0 &&
		    stages[p->stage].begin(p)) {
			p->round++;
			return true;
		}
	return false;
}

const struct supply_query *
supply_next(struct supply *p, bool locked)
{
	p->locked = locked;
	while (!p->pending) {
		p->query = (struct supply_query){ .once = p->once,
			.userid = p->in.snap->user.id };
		p->begun = p->begun || begin_stage(p);
		if (!p->begun)
			return NULL;
		p->pending = p->begun = stages[p->stage].next(p, &p->query);
		p->query.stage = p->stage;
		p->query.unlock = p->unlock;
		p->unlock = false;
	}
	return &p->query;
}

/* Merges consecutive queries about several file sets, such as the steps of a search,
 * into one line of the trace. */
static bool
continues_last(const struct snap_query *last, const struct snap_query *q)
{
	return q->subject == 0 && last->subject == 0 && last->stage == q->stage &&
	       last->query == q->query && last->lock == q->lock;
}

static void
note_query(struct supply *p, const struct supply_rows *rows)
{
	const struct supply_query *q = &p->query;
	struct snapshot *s = p->in.snap;
	bool for_one = q->stage == STAGE_plain;
	struct snap_query *last = s->nqueries > 0 ? &s->queries[s->nqueries - 1] : NULL;
	const struct snap_query made = { .stage = supply_stage_name(q->stage),
		.query = supply_kind_name(q->kind),
		.resource = for_one ? p->in.req->resources[p->plain.resource].type : "",
		.subject = q->subject,
		.most = (int64_t)q->most,
		.rows = (int64_t)(rows->found ? 1 : rows->n),
		.times = 1,
		.lock = q->lock };

	if (last != NULL && continues_last(last, &made)) {
		last->rows += made.rows;
		last->times++;
		return;
	}
	PUSH(p->a, s->queries, s->nqueries, s->queries_cap) = made;
}

void
supply_take(struct supply *p, const struct supply_rows *rows)
{
	assert(p->pending);
	p->pending = false;
	p->locked = (p->locked && !p->query.unlock) || p->query.lock;
	note_query(p, rows);
	stages[p->stage].take(p, rows);
}

bool
supply_pending(const struct supply *p)
{
	return p->pending;
}

void
supply_more(struct supply *p, const struct decision *d)
{
	p->more = d->more;
	p->first_more = d->more && !p->in.snap->search.began;
	p->app_refused = d->apps_refused;
	p->passes = (d->more_nci ? MORE_NCI : 0) | (d->more ? MORE_WORK : 0);
	p->rng = rng_seed(p->in.seed ^ 4);
	p->stage = 0;
	p->round = 0;
	p->begun = p->unlock = false;
}
