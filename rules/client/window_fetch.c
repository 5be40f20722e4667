/* SPDX-License-Identifier: Apache-2.0 */
/* Policy window: whom to ask for work, and for how much. */
#include "rules/client/window.h"

#include <math.h>
#include "lib/banned.h"

static const double SOME = 0.1; /* of what a project should have */

/* Instances in the project's part of the buffer that its tasks do not take. */
static double
lacking_instances(const struct client_world *w, const struct rr_sim *rr,
    const struct plan *p, size_t project, size_t rsc)
{
	double part = fetch_share_of(w, p->in, p->shares, project) * p->ninst;

	return floor(part - rr->projects[project].used[rsc] + 0.5);
}

/* Lacks enough to be worth a request. */
static bool
lacks_work(const struct plan *p, size_t project)
{
	return p->want[project] - p->have[project] > SOME * p->want[project];
}

/* Less than the project's part of the low-water mark is left, or it has too few tasks
 * for its instances. */
static bool
runs_low(const struct client_world *w, const struct rr_sim *rr, const struct plan *p,
    size_t project, size_t rsc)
{
	double low = p->want[project] * w->prefs.min_s / cw_max(fetch_buffer_s(w), 1);

	if (rr->rsc[rsc].saturated_s < w->prefs.min_s)
		return lacks_work(p, project);
	return lacks_work(p, project) &&
	       (p->have[project] < low ||
		   lacking_instances(w, rr, p, project, rsc) >= 1);
}

static void
ask_part(const struct client_world *w, const struct rr_sim *rr, const struct plan *p,
    size_t project, size_t rsc, struct work_ask *ask)
{
	double inst = lacking_instances(w, rr, p, project, rsc);
	int32_t most = fetch_limit(w, project, rsc);

	if (most > 0) /* no task for an instance that it cannot have */
		inst = cw_min(inst, most - (double)rr->projects[project].ntasks[rsc]);
	fetch_ask(w, rr, project, rsc, cw_max(0, p->want[project] - p->have[project]),
	    cw_max(0, inst), ask);
}

/* Tasks of a project with a share wait although CPUs are idle. */
static bool
waits_for_memory(const struct client_world *w, const struct rr_sim *rr, size_t rsc)
{
	for (size_t i = 0; i < w->nprojects; i++)
		if (w->projects[i].share > 0 && w->prefs.ram_bytes > 0 &&
		    rsc == CW_CPU && fetch_held_back(w, rr, i, rsc))
			return true;
	return false;
}

/* For an idle instance, whatever the balances: a project that lacks instances of its
 * share comes first, then the one that is owed most.  While tasks of others wait for
 * memory, a project that used too much by a slice comes after the backup projects: more
 * of its small tasks would only keep those waiting. */
static int32_t
pick_for_idle(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, const struct plan *p, size_t rsc)
{
	int32_t top = CW_NONE;
	double most = 0, slice = w->prefs.period_s * w->rsc[CW_CPU].flops;
	bool top_lacks = false, crowded = waits_for_memory(w, rr, rsc);

	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *c = &w->projects[i];
		bool last = crowded && c->share > 0 && c->acct.owed < -slice;
		bool lacks = !last && lacking_instances(w, rr, p, i, rsc) >= 1;
		double claim = last         ? -INFINITY :
		               c->share > 0 ? c->acct.owed / c->share :
		                              -1e30;

		if (!window_may_ask(w, policy, rr, i, rsc))
			continue;
		if (top < 0 || lacks > top_lacks ||
		    (lacks == top_lacks && claim > most)) {
			top = (int32_t)i;
			most = claim;
			top_lacks = lacks;
		}
	}
	return top;
}

/* Instances of a coprocessor that are free although tasks wait, as each of these takes
 * more: the simulation, which shares instances out, counts them as busy. */
static double
stuck_instances(const struct client_world *w, size_t rsc)
{
	double left = w->rsc[rsc].ninst, least = INFINITY;

	for (size_t i = 0; i < w->ntasks && rsc != CW_CPU; i++) {
		const struct cw_task *t = &w->tasks[i];

		if (t->rsc != (int32_t)rsc || !cw_runnable(w, t))
			continue;
		if (t->running)
			left -= t->use;
		else
			least = cw_min(least, t->use);
	}
	return least < INFINITY && least > left ? cw_max(0, left) : 0;
}

/* Returns true if a project is asked. */
static bool
ask_for_idle(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, const struct plan *p, size_t rsc, struct work_ask *ask)
{
	double idle = rr->rsc[rsc].nidle, secs = idle * w->prefs.min_s;
	int32_t top;

	if (idle <= 0) {
		idle = floor(stuck_instances(w, rsc));
		secs = 1; /* one task each */
	}
	if (idle <= 0 || (top = pick_for_idle(w, policy, rr, p, rsc)) < 0)
		return false;
	fetch_ask(w, rr, (size_t)top, rsc, secs, idle, ask);
	return true;
}

/* A project with too few tasks that is owed none now will be owed some in time. */
static void
wait_for_balance(
    const struct client_world *w, const struct plan *p, size_t rsc, double *recheck_at)
{
	double then = w->now + w->prefs.period_s;

	for (size_t i = 0; i < w->nprojects && then < *recheck_at; i++)
		if (p->have[i] < fetch_share_of(w, p->in, p->shares, i) *
				     w->rsc[rsc].ninst * w->prefs.min_s)
			*recheck_at = then;
}

void
window_fetch(const struct client_world *w, const struct policy *policy, struct arena *a,
    const struct rr_sim *rr, struct work_ask *ask, double *recheck_at)
{
	struct plan p[CW_RSC_MOST];
	double most = 0;
	struct queues q = window_queues(w, a);
	int32_t top = CW_NONE;

	for (size_t r = 0; r < w->nrsc; r++) {
		fetch_recheck(w, rr, r, w->prefs.min_s, recheck_at);
		p[r] = window_plan(w, policy, a, rr, r, &q);
		wait_for_balance(w, &p[r], r, recheck_at);
		for (size_t i = 0; i < w->nprojects; i++) {
			double gap = p[r].want[i] - p[r].have[i];

			if (gap > most * p[r].want[i] && runs_low(w, rr, &p[r], i, r) &&
			    window_may_ask(w, policy, rr, i, r)) {
				most = gap / p[r].want[i];
				top = (int32_t)i;
			}
		}
	}
	for (size_t r = 0; r < w->nrsc && top >= 0; r++)
		if (lacks_work(&p[r], (size_t)top) &&
		    fetch_able(w, policy, rr, (size_t)top, r, true))
			ask_part(w, rr, &p[r], (size_t)top, r, ask);
	for (size_t r = 0; r < w->nrsc && top < 0; r++)
		if (ask_for_idle(w, policy, rr, &p[r], r, ask))
			break;
}

void
window_piggyback(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, size_t project, struct work_ask *ask)
{
	struct queues q = window_queues(w, a);

	for (size_t r = 0; r < w->nrsc; r++) {
		struct plan p = window_plan(w, policy, a, rr, r, &q);

		if (lacks_work(&p, project) &&
		    fetch_able(w, policy, rr, project, r, true))
			ask_part(w, rr, &p, project, r, ask);
	}
}
