/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy classic ("RPC policy"; client.md 1.1): get-work sessions between a low- and a
 * high-water mark, projects in order of their resource debt. The document does not say
 * what runs: tasks run in order of arrival, and none is preempted.
 */
#include "rules/client/policies.h"

#include <math.h>
#include "lib/banned.h"

static const double DECAY_S = 7 * 86400; /* by a factor of e (EXP_DECAY_RATE) */

/* Estimated queued work, in seconds of the whole resource. */
static double work_s(const struct client_world *w, size_t rsc)
{
	double sum = 0;

	for (size_t i = 0; i < w->ntasks; i++)
		if (w->tasks[i].rsc == (int32_t)rsc && !w->tasks[i].nci)
			sum += w->tasks[i].remaining_s * w->tasks[i].use;
	return sum / w->rsc[rsc].ninst / w->rsc[rsc].avail;
}

/* share / exp_avg_cpu; a backup project comes last. A project that had nothing comes
 * before all others; among such projects the share decides. */
static double resource_debt(const struct cw_project *p)
{
	if (p->share <= 0)
		return CW_NONE;
	return p->acct.exp_avg_cpu > 0 ? p->share / p->acct.exp_avg_cpu : INFINITY;
}

static bool goes_before(const struct cw_project *a, const struct cw_project *b)
{
	double da = resource_debt(a), db = resource_debt(b);

	return da > db || (da == INFINITY && a->share > b->share);
}

/* The project has too much to be asked for more: a limit or the memory keeps tasks of
 * it from running. */
static bool is_full(
    const struct client_world *w, const struct rr_sim *rr, size_t project)
{
	for (size_t r = 0; r < w->nrsc && rr != NULL; r++)
		if (fetch_held_back(w, rr, project, r))
			return true;
	return false;
}

/* The project to ask next: the greatest debt among those not yet asked in this
 * session. */
static int32_t next_project(const struct client_world *w, const struct rr_sim *rr)
{
	int32_t top = CW_NONE;

	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *p = &w->projects[i];

		if (cw_contactable(w, i) && !cw_spaced(w, i) && !p->nci &&
		    !p->rpc.in_session && !is_full(w, rr, i) &&
		    (top < 0 || goes_before(p, &w->projects[top])))
			top = (int32_t)i;
	}
	return top;
}

static bool has_work_for(const struct client_world *w, double s)
{
	for (size_t r = 0; r < w->nrsc; r++)
		if (work_s(w, r) < s)
			return false;
	return true;
}

/* A session ends when there is enough work, or no project is left to ask. */
static void end_session(struct client_world *w)
{
	if (!w->in_session ||
	    (!has_work_for(w, fetch_buffer_s(w)) && next_project(w, NULL) >= 0))
		return;
	w->in_session = false;
	for (size_t i = 0; i < w->nprojects; i++)
		w->projects[i].rpc.in_session = false;
}

static void account(struct client_world *w, const struct policy *policy)
{
	double dt = w->now - w->accounted_at, keep = exp(-dt / DECAY_S);

	(void)policy;
	cw_tally_tasks(w);
	for (size_t i = 0; i < w->nprojects && dt > 0; i++) {
		struct cw_project *p = &w->projects[i];

		/* Use within the interval decays as it accrued: evenly. */
		p->acct.exp_avg_cpu = p->acct.exp_avg_cpu * keep +
		                      p->used[CW_CPU] * (1 - keep) * DECAY_S / dt;
		for (size_t r = 0; r < w->nrsc; r++)
			p->used[r] = 0;
	}
	w->accounted_at = w->now;
	end_session(w);
}

/* Running tasks count as urgent, so that nothing preempts them. */
static void order(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct run_list *list)
{
	(void)policy;
	(void)rr;
	list->item = NEWN(a, struct run_item, w->ntasks);
	list->n = 0;
	for (int running = 1; running >= 0; running--)
		for (uint32_t i = 0; i < w->ntasks; i++)
			if (w->tasks[i].running == running &&
			    cw_runnable(w, &w->tasks[i]))
				list->item[list->n++] = (struct run_item){ i,
					w->tasks[i].running };
}

/* An instance is idle although there are tasks: a limit or the memory keeps them from
 * running, so they are not work for it. */
static bool waits_in_vain(const struct client_world *w, const struct rr_sim *rr)
{
	for (size_t i = 0; i < w->nprojects; i++)
		if (is_full(w, rr, i))
			return true;
	return false;
}

/* Asks for work up to the high-water mark, of all resources. */
static void ask_to_high_water(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, size_t project, struct work_ask *ask)
{
	for (size_t r = 0; r < w->nrsc; r++)
		if (fetch_able(w, policy, rr, project, r, true))
			fetch_ask(w, rr, project, r,
			    cw_max(rr->rsc[r].nidle > 0 ? rr->rsc[r].shortfall : 0,
				(fetch_buffer_s(w) - work_s(w, r)) * w->rsc[r].avail *
				    w->rsc[r].ninst),
			    0, ask);
}

static void fetch(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct work_ask *ask, double *recheck_at)
{
	int32_t top;

	(void)a;
	for (size_t r = 0; r < w->nrsc; r++) {
		double until = (work_s(w, r) - w->prefs.min_s) * w->rsc[r].avail;

		if (until > 0) /* with all instances busy */
			*recheck_at = fmin(*recheck_at, w->now + until);
	}
	if (!w->in_session && has_work_for(w, w->prefs.min_s) && !waits_in_vain(w, rr))
		return;
	top = next_project(w, rr);
	if (top >= 0)
		ask_to_high_water(w, policy, rr, (size_t)top, ask);
}

/* A report asks for work only if its project has the greatest debt. */
static void piggyback(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, size_t project, struct work_ask *ask)
{
	(void)a;
	for (size_t i = 0; i < w->nprojects; i++)
		if (goes_before(&w->projects[i], &w->projects[project]))
			return;
	ask_to_high_water(w, policy, rr, project, ask);
}

#define COMMON                                                                         \
	.backoff_min_s = 600, .sessions = true, .account = account, .order = order,    \
	.fetch = fetch, .piggyback = piggyback

const struct policy policy_classic = {
	.name = "classic",
	.about =
	    "sessions between two water marks, greatest resource debt first (RPC policy)",
	.backoff = BACKOFF_2003,
	.report_before_s = 6 * 3600,
	COMMON,
};
const struct policy policy_classic_upstream = {
	.name = "classic:upstream",
	.about = "classic as of 2002: fixed back-offs, reports at the deadline",
	.backoff = BACKOFF_2002,
	COMMON,
};
