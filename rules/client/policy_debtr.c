/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy debtR ("Work fetch and GPUs"; client.md 3): a long-term debt per resource, in
 * instance-seconds. Their sum, weighted by the resources' speeds, decides which
 * project is asked for work; it also decides what runs, because nothing else would let
 * a project with one resource catch up there.
 */
#include "rules/client/policies.h"

#include <math.h>
#include "lib/banned.h"

static const double BACKOFF_MOST_S = 86400;

/* --- debts --- */

static double speed(const struct client_world *w, size_t rsc)
{
	return w->rsc[rsc].flops / w->rsc[CW_CPU].flops;
}

static double overall_debt(const struct client_world *w, size_t project)
{
	const struct cw_project *p = &w->projects[project];
	double sum = 0;

	for (size_t r = 0; r < w->nrsc; r++)
		sum += p->acct.ltd[r] * speed(w, r);
	return sum;
}

/* "Debt eligible": the project could have tasks for the resource (client.md 3 (row
 * 23)). */
static bool debt_eligible(const struct client_world *w, size_t project, size_t rsc)
{
	const struct cw_project *p = &w->projects[project];

	if (p->nci || p->suspended || p->no_new_work || p->share <= 0)
		return false;
	if (p->acct.runnable_mask & 1U << rsc)
		return true;
	return !p->rsc[rsc].no_apps && !p->rsc[rsc].excluded &&
	       p->rsc[rsc].backoff_until <= w->now &&
	       p->rsc[rsc].backoff_s < BACKOFF_MOST_S && cw_contactable(w, project);
}

/* Upstream 2009: the debts shift so that the greatest becomes zero, but up by no more
 * than twice the limit. */
static double drift_offset(
    const struct client_world *w, size_t rsc, double most, double used)
{
	double limit = used * w->rsc[rsc].ninst;

	return most > -2 * limit ? -most : 2 * limit;
}

static void update_debts(
    struct client_world *w, const struct policy *policy, size_t rsc)
{
	double shares = 0, used = 0, change = 0, most = -INFINITY, top = -INFINITY, by;
	size_t n = 0;

	for (size_t i = 0; i < w->nprojects; i++) {
		used += w->projects[i].used[rsc];
		if (debt_eligible(w, i, rsc)) {
			shares += w->projects[i].share;
			n++;
		}
	}
	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];
		double net = used * p->share / shares - p->used[rsc];

		if (!debt_eligible(w, i, rsc))
			continue;
		p->acct.ltd[rsc] += net;
		change += net;
		most = fmax(most, p->acct.ltd[rsc]);
	}
	by = n == 0                ? 0 :
	     policy->drifting_debt ? drift_offset(w, rsc, most, used) :
	                             -change / (double)n;
	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];

		if (debt_eligible(w, i, rsc))
			p->acct.ltd[rsc] += by;
		if (!p->nci)
			top = fmax(top, p->acct.ltd[rsc]);
	}
	for (size_t i = 0; i < w->nprojects && !policy->drifting_debt; i++)
		if (!w->projects[i].nci)
			w->projects[i].acct.ltd[rsc] -= top;
}

static void account(struct client_world *w, const struct policy *policy)
{
	cw_tally_tasks(w);
	if (w->now <= w->accounted_at)
		return;
	w->accounted_at = w->now;
	for (size_t r = 0; r < w->nrsc; r++) {
		update_debts(w, policy, r);
		for (size_t i = 0; i < w->nprojects; i++)
			w->projects[i].used[r] = 0;
	}
}

static void order(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct run_list *list)
{
	double *debt = NEWN(a, double, w->nprojects);
	double *bump = NEWN(a, double, w->nprojects);
	double *over = NEWN(a, double, w->nprojects);
	double most = -INFINITY;

	for (size_t i = 0; i < w->nprojects; i++)
		most = fmax(most, overall_debt(w, i));
	for (size_t i = 0; i < w->nprojects; i++) {
		debt[i] = w->projects[i].share > 0 ? overall_debt(w, i) : -1e15;
		bump[i] = w->prefs.period_s * cw_total_flops(w) / w->rsc[CW_CPU].flops;
		over[i] = overall_debt(w, i) < most - 2 * w->prefs.period_s ? 1 : 0;
	}
	choose_by_priority(w, a, rr,
	    &(struct choice_params){ .prio = debt,
		.bump = bump,
		.reserved = policy->reserve_instances ?
	                        choose_reserved(w, a, rr, over) :
	                        NULL },
	    list);
}

/* --- work fetch --- */

static bool debtr_overworked(const struct client_world *w, size_t project)
{
	return overall_debt(w, project) <
	       -fmax(86400, fetch_buffer_s(w) + w->prefs.period_s);
}

enum fetch_step { IDLE, MAJOR, MINOR, STARVED, STEPS };

static bool has_queued_tasks(
    const struct client_world *w, const struct rr_sim *rr, size_t project)
{
	for (size_t r = 0; r < w->nrsc; r++)
		if (rr->projects[project].ntasks[r] > 0)
			return true;
	return false;
}

static bool step_applies(const struct client_world *w, const struct rr_sim *rr,
    enum fetch_step s, size_t rsc)
{
	switch (s) {
	case IDLE:
		return rr->rsc[rsc].nidle > 0;
	case MAJOR:
		return rr->rsc[rsc].saturated_s < w->prefs.min_s;
	case MINOR:
		return rr->rsc[rsc].saturated_s < fetch_buffer_s(w);
	default: /* no variety while tasks in danger take every instance */
		return rr->rsc[rsc].missed_use < w->rsc[rsc].ninst;
	}
}

/* The project with the greatest overall debt among those that the step may ask; -1 if
 * none. */
static int32_t best_in_step(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, enum fetch_step s, size_t rsc, int32_t only)
{
	int32_t top = CW_NONE;

	for (size_t i = 0; i < w->nprojects; i++) {
		if (!fetch_able(w, policy, rr, i, rsc, only == (int32_t)i) ||
		    (s >= MINOR && debtr_overworked(w, i)) ||
		    (s == STARVED && has_queued_tasks(w, rr, i)))
			continue;
		if (top < 0 || overall_debt(w, i) > overall_debt(w, (size_t)top))
			top = (int32_t)i;
	}
	return top;
}

/* Parameters: all of these rules look at the world, its simulation and the policy. */
static void ask_in_step(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, enum fetch_step s, size_t project,
    size_t rsc, struct work_ask *ask)
{
	bool *able = NEWN(a, bool, w->nprojects);
	double part, secs = rr->rsc[rsc].shortfall;

	for (size_t i = 0; i < w->nprojects; i++)
		able[i] = i == project || rr->projects[i].ntasks[rsc] > 0 ||
		          fetch_able(w, policy, rr, i, rsc, false);
	part = fetch_share(w, able, project);
	if (s != MINOR) {
		double most = part * fetch_buffer_s(w) * w->rsc[rsc].ninst;

		secs = s == STARVED ? fmin(most, fetch_room_s(w, rsc)) :
		                      fmin(secs, most);
	}
	if (policy->deadline_cap)
		secs = fmin(secs, fetch_in_time_s(w, project, rsc) -
				      rr->projects[project].queued[rsc]);
	if (secs <= 0 && s != IDLE)
		return;
	fetch_ask(w, rr, project, rsc, secs,
	    s == STARVED ? ceil(part * w->rsc[rsc].ninst) :
			   ceil(part * rr->rsc[rsc].nidle),
	    ask);
}

/* Tries the steps in turn, each for coprocessors before the CPU; the first step with a
 * project wins. Ignores the back-offs of one project, only; -1 = of none. */
static void choose_by_steps(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, int32_t only, struct work_ask *ask)
{
	for (int s = IDLE; s < STEPS; s++)
		for (size_t k = 0; k < w->nrsc; k++) {
			size_t r = w->nrsc - 1 - k;
			int32_t p = step_applies(w, rr, (enum fetch_step)s, r) ?
			                best_in_step(w, policy, rr, (enum fetch_step)s,
					    r, only) :
			                CW_NONE;

			if (p < 0)
				continue;
			ask_in_step(
			    w, policy, a, rr, (enum fetch_step)s, (size_t)p, r, ask);
			for (size_t o = 0; o < w->nrsc && s == MINOR; o++)
				if (o != r && rr->rsc[o].shortfall > 0 &&
				    fetch_able(w, policy, rr, (size_t)p, o, false))
					ask_in_step(
					    w, policy, a, rr, MINOR, (size_t)p, o, ask);
			if (ask->project >= 0)
				return;
		}
}

static void fetch(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct work_ask *ask, double *recheck_at)
{
	for (size_t r = 0; r < w->nrsc; r++) {
		fetch_recheck(w, rr, r, w->prefs.min_s, recheck_at);
		fetch_recheck(w, rr, r, fetch_buffer_s(w), recheck_at);
	}
	if (!fetch_too_soon(w, policy, rr, recheck_at))
		choose_by_steps(w, policy, a, rr, CW_NONE, ask);
}

/* The project is asked if the choice falls on it. */
static void piggyback(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, size_t project, struct work_ask *ask)
{
	struct work_ask would = { .project = CW_NONE };

	choose_by_steps(w, policy, a, rr, (int32_t)project, &would);
	if (would.project == (int32_t)project)
		*ask = would;
}

#define COMMON                                                                         \
	.backoff_min_s = 60, .ask_every_s = 60, .report_after_s = 3600,                \
	.report_before_s = 86400, .starved_rule = true, .account = account,            \
	.order = order, .fetch = fetch, .piggyback = piggyback

const struct policy policy_debtr = {
	.name = "debtR",
	.about =
	    "a long-term debt per resource, weighted by speed (Work fetch and GPUs)",
	COMMON,
};
const struct policy policy_debtr_deadlines = {
	.name = "debtR:deadlines",
	.about = "debtR with requests limited by deadlines, whole CPUs by share",
	.deadline_cap = true,
	.reserve_instances = true,
	.miss_limit = true,
	COMMON,
};
const struct policy policy_debtr_upstream = {
	.name = "debtR:upstream",
	.about = "debtR with the offsets of April 2009",
	.drifting_debt = true,
	COMMON,
};
