/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy rec (seed 001; client.md 4): a project's priority is what it had recently, by
 * an exponential average, over its share.
 */
#include "rules/client/policies.h"

#include <math.h>
#include "lib/banned.h"

/* The average over the interval is exact, however long that is (client.md 4.1). */
static void
account(struct client_world *w, const struct policy *how)
{
	double dt = w->now - w->accounted_at, keep;

	if (dt <= 0)
		return;
	keep = exp2(-dt / how->half_life_s);
	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];
		double work = 0;

		for (size_t r = 0; r < w->nrsc; r++) {
			work += p->used[r] * w->rsc[r].flops;
			p->used[r] = 0;
		}
		p->acct.rec = p->acct.rec * keep + (1 - keep) * work / dt;
	}
	w->accounted_at = w->now;
}

/* SP of each project; only those in set count (client.md 4.1). */
static void
priorities(const struct client_world *w, const bool *set, double *sp)
{
	double rec = 0, share = 0;

	for (size_t i = 0; i < w->nprojects; i++)
		if (set[i]) {
			rec += w->projects[i].acct.rec;
			share += w->projects[i].share;
		}
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *p = &w->projects[i];
		double part = p->acct.rec / (rec > 0 ? rec : 1);

		sp[i] = !set[i]       ? 0 :
		        p->share <= 0 ? -1000 - part :
		                        -part / (p->share / share);
	}
}

/*
 * A task planned counts as if it had run for one scheduling period (client.md 30): of
 * what the host does in the REC's memory, that is period / half life * ln 2.
 */
static void
order(const struct client_world *w, const struct policy *how, struct arena *a,
    const struct rr_sim *rr, struct run_list *list)
{
	double *sp = NEWN(a, double, w->nprojects + 1);
	double *bump = NEWN(a, double, w->nprojects + 1);
	bool *set = NEWN(a, bool, w->nprojects + 1);
	double share = 0, planned = 1 - exp2(-w->prefs.period_s / how->half_life_s);

	for (size_t i = 0; i < w->nprojects; i++)
		for (size_t r = 0; r < w->nrsc; r++)
			set[i] |= rr->p[i].nrunnable[r] > 0;
	priorities(w, set, sp);
	for (size_t i = 0; i < w->nprojects; i++)
		share += set[i] ? w->projects[i].share : 0;
	for (size_t i = 0; i < w->nprojects; i++)
		bump[i] = w->projects[i].share > 0 ?
		              planned / (w->projects[i].share / share) :
		              planned;
	choose_by_priority(w, a, rr, sp, bump, list);
}

/* SP less what is queued, as a part of what the buffer holds (client.md 33). */
static void
fetch_priorities(
    const struct client_world *w, const struct rr_sim *rr, double *sp, bool *set)
{
	double buffer = (w->prefs.min_s + w->prefs.extra_s) * cw_total_flops(w);

	for (size_t i = 0; i < w->nprojects; i++)
		set[i] = cw_contactable(w, i) && !w->projects[i].nci;
	priorities(w, set, sp);
	for (size_t i = 0; i < w->nprojects; i++)
		for (size_t r = 0; r < w->nrsc; r++)
			sp[i] -= rr->p[i].queued[r] * w->rsc[r].flops /
			         (buffer > 0 ? buffer : 1);
}

static void
ask_for(const struct client_world *w, struct arena *a, const struct rr_sim *rr,
    size_t project, size_t rsc, struct work_ask *ask)
{
	bool *able = NEWN(a, bool, w->nprojects + 1);
	double part;

	for (size_t i = 0; i < w->nprojects; i++)
		able[i] = fetch_able(w, rr, i, rsc, false) || i == project;
	part = fetch_share(w, able, project) * w->rsc[rsc].ninst;
	ask->project = (int32_t)project;
	ask->secs[rsc] = rr->r[rsc].shortfall;
	ask->inst[rsc] = fmax(rr->r[rsc].nidle, part - rr->p[project].used[rsc]);
	ask->inst[rsc] = fmax(ask->inst[rsc], 0);
	if (ask->inst[rsc] > 0)
		ask->secs[rsc] = fmax(ask->secs[rsc], 1);
}

/* The able project of greatest priority; -1 if there is none. */
static int32_t
best(
    const struct client_world *w, const struct rr_sim *rr, const double *sp, size_t rsc)
{
	int32_t top = -1;

	for (size_t i = 0; i < w->nprojects; i++)
		if (fetch_able(w, rr, i, rsc, false) && (top < 0 || sp[i] > sp[top]))
			top = (int32_t)i;
	return top;
}

/* Nobody who may be asked for the resource has a greater priority. */
static bool
is_first(const struct client_world *w, const struct rr_sim *rr, const double *sp,
    size_t project, size_t rsc)
{
	int32_t top = best(w, rr, sp, rsc);

	return fetch_able(w, rr, project, rsc, true) &&
	       (top < 0 || sp[top] <= sp[project]);
}

static void
fetch(const struct client_world *w, const struct policy *how, struct arena *a,
    const struct rr_sim *rr, struct work_ask *ask, double *recheck_at)
{
	double *sp = NEWN(a, double, w->nprojects + 1), total;
	bool *set = NEWN(a, bool, w->nprojects + 1);
	int32_t top = -1;

	(void)how;
	total = w->prefs.min_s + w->prefs.extra_s;
	fetch_priorities(w, rr, sp, set);
	for (size_t r = 0; r < w->nrsc; r++) {
		double until = rr->r[r].saturated_s - w->prefs.min_s;
		int32_t p;

		if (until > 0) {
			*recheck_at = fmin(*recheck_at, w->now + until);
			continue;
		}
		p = best(w, rr, sp, r);
		if (p >= 0 && (top < 0 || sp[p] > sp[top]))
			top = p;
	}
	for (size_t r = 0; r < w->nrsc && top >= 0; r++)
		if (rr->r[r].saturated_s < total && is_first(w, rr, sp, (size_t)top, r))
			ask_for(w, a, rr, (size_t)top, r, ask);
}

static void
piggyback(const struct client_world *w, const struct policy *how, struct arena *a,
    const struct rr_sim *rr, size_t project, struct work_ask *ask)
{
	double *sp = NEWN(a, double, w->nprojects + 1);
	bool *set = NEWN(a, bool, w->nprojects + 1);

	(void)how;
	fetch_priorities(w, rr, sp, set);
	for (size_t r = 0; r < w->nrsc; r++)
		if (rr->r[r].saturated_s < w->prefs.min_s + w->prefs.extra_s &&
		    is_first(w, rr, sp, project, r))
			ask_for(w, a, rr, project, r, ask);
}

const struct policy policy_rec = {
	.name = "rec",
	.about = "recent work over share, exponential average (seed 001)",
	.half_life_s = 10 * 86400,
	.backoff_min_s = 600,
	.account = account,
	.order = order,
	.fetch = fetch,
	.piggyback = piggyback,
};
