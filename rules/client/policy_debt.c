/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy debt1 ("Client scheduling policies"; client.md 2): a short-term debt per
 * project decides what runs, a long-term debt which project is asked for work; both
 * count CPU seconds. The document does not know coprocessors: this policy asks for
 * their shortfall, and runs their tasks by the same debts.
 */
#include "rules/client/policies.h"

#include <math.h>
#include "lib/banned.h"

static const double DEBT_MOST_S = 86400;

static bool intensive(const struct cw_project *p)
{
	return !p->nci;
}

/* Takes part in the long-term debt: potentially runnable, or ran just now. */
static bool shares_ltd(const struct client_world *w, size_t project)
{
	const struct cw_project *p = &w->projects[project];

	return intensive(p) &&
	       (p->acct.runnable_mask != 0 || p->used[CW_CPU] > 0 ||
		   cw_contactable(w, project) || p->rpc.latency_limited_until > w->now);
}

static void shift_std(struct client_world *w, bool mean)
{
	double least = INFINITY, sum = 0, by;
	size_t n = 0;

	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *p = &w->projects[i];

		if (!intensive(p) || p->acct.runnable_mask == 0)
			continue;
		least = fmin(least, p->acct.std[CW_CPU]);
		sum += p->acct.std[CW_CPU];
		n++;
	}
	by = mean ? sum / (double)n : least;
	for (size_t i = 0; i < w->nprojects && n > 0; i++) {
		struct cw_project *p = &w->projects[i];

		if (intensive(p) && p->acct.runnable_mask != 0)
			p->acct.std[CW_CPU] = fmax(mean ? -DEBT_MOST_S : 0,
			    fmin(DEBT_MOST_S, p->acct.std[CW_CPU] - by));
	}
}

/* Keeps the mean over all projects at zero. */
static void shift_ltd(struct client_world *w)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < w->nprojects; i++)
		if (intensive(&w->projects[i])) {
			sum += w->projects[i].acct.ltd[CW_CPU];
			n++;
		}
	for (size_t i = 0; i < w->nprojects; i++)
		if (intensive(&w->projects[i]))
			w->projects[i].acct.ltd[CW_CPU] -= sum / (double)n;
}

static void account(struct client_world *w, const struct policy *policy)
{
	double all = 0, std_shares = 0, ltd_shares = 0;

	cw_tally_tasks(w);
	if (w->now <= w->accounted_at)
		return;
	w->accounted_at = w->now;
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *p = &w->projects[i];

		all += intensive(p) ? p->used[CW_CPU] : 0;
		std_shares += intensive(p) && p->acct.runnable_mask != 0 ? p->share : 0;
		ltd_shares += shares_ltd(w, i) ? p->share : 0;
	}
	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];

		if (shares_ltd(w, i) && ltd_shares > 0)
			p->acct.ltd[CW_CPU] += all * p->share / ltd_shares -
			                       p->used[CW_CPU];
		if (intensive(p) && p->acct.runnable_mask != 0 && std_shares > 0)
			p->acct.std[CW_CPU] += all * p->share / std_shares -
			                       p->used[CW_CPU];
		else
			p->acct.std[CW_CPU] = 0;
		for (size_t r = 0; r < w->nrsc; r++)
			p->used[r] = 0;
	}
	shift_std(w, policy->mean_debt);
	shift_ltd(w);
}

/* Used too much by more than a time slice. */
static bool debt1_overworked(const struct client_world *w, size_t project)
{
	return w->projects[project].acct.ltd[CW_CPU] < -w->prefs.period_s;
}

static void order(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct run_list *list)
{
	double *debt = NEWN(a, double, w->nprojects), shares = 0;
	double *bump = NEWN(a, double, w->nprojects);
	double *over = NEWN(a, double, w->nprojects);

	for (size_t i = 0; i < w->nprojects; i++)
		for (size_t r = 0; r < w->nrsc; r++)
			if (rr->projects[i].nrunnable[r] > 0) {
				shares += w->projects[i].share;
				break;
			}
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *p = &w->projects[i];

		debt[i] = p->share > 0 ? p->acct.std[CW_CPU] : -2 * DEBT_MOST_S;
		bump[i] = w->prefs.period_s;
		over[i] = debt1_overworked(w, i) ? 1 : 0;
		if (policy->mean_debt && shares > 0)
			bump[i] *= p->share / shares * w->rsc[CW_CPU].ninst;
	}
	choose_by_priority(w, a, rr,
	    &(struct choice_params){ .prio = debt,
		.bump = bump,
		.reserved = policy->reserve_instances ?
	                        choose_reserved(w, a, rr, over) :
	                        NULL,
		.slice_first = !policy->mean_debt },
	    list);
}

/* --- work fetch --- */

struct sizing {
	const struct client_world *w;
	const struct policy *policy;
	const struct rr_sim *rr;
	size_t rsc;
	double *size; /* per project */
};

/* Gives all projects that may be asked the same size; false if there are none. With
 * deadline_cap, only below the low-water mark: otherwise a project that has the tasks
 * for its share would get one more each time. */
static bool size_one_each(const struct sizing *s, bool overworked_too)
{
	bool any = false;

	if (s->policy->deadline_cap &&
	    s->rr->rsc[s->rsc].saturated_s > s->w->prefs.min_s)
		return false;

	for (size_t i = 0; i < s->w->nprojects; i++) {
		bool ask = fetch_able(s->w, s->policy, s->rr, i, s->rsc, false) &&
		           (overworked_too || !debt1_overworked(s->w, i));

		s->size[i] = ask ? 1 : 0;
		any |= ask;
	}
	return any;
}

/* Work that the project could still do in time. */
static double left_in_time(const struct sizing *s, size_t project)
{
	return !s->policy->deadline_cap ? INFINITY :
	                                  fetch_in_time_s(s->w, project, s->rsc) -
	                                      s->rr->projects[project].queued[s->rsc];
}

/* A project that lacks tasks for its share is asked, even if overworked, before others
 * get more than their shares: a task may be so long that they could never make up for
 * it. */
static bool size_by_shortfall(const struct sizing *s)
{
	bool any = false;

	if (!s->policy->deadline_cap ||
	    s->rr->rsc[s->rsc].saturated_s > s->w->prefs.min_s)
		return false;
	for (size_t i = 0; i < s->w->nprojects; i++)
		if (fetch_able(s->w, s->policy, s->rr, i, s->rsc, false)) {
			s->size[i] = fmin(
			    s->rr->projects[i].shortfall[s->rsc], left_in_time(s, i));
			any |= s->size[i] > 0;
		}
	return any;
}

/* The document's work_request_size of each project, for one resource. */
static void request_sizes(const struct sizing *s)
{
	double total = s->rr->rsc[s->rsc].shortfall, shares = 0;
	bool any = false;

	for (size_t i = 0; i < s->w->nprojects; i++) {
		bool ask = fetch_able(s->w, s->policy, s->rr, i, s->rsc, false) &&
		           !debt1_overworked(s->w, i);

		s->size[i] = ask ? fmin(s->rr->projects[i].shortfall[s->rsc],
				       left_in_time(s, i)) :
		                   0;
		any |= s->size[i] > 0;
	}
	if (!any && (total <= 0 || (!size_by_shortfall(s) && !size_one_each(s, false) &&
				       !size_one_each(s, true))))
		return;
	for (size_t i = 0; i < s->w->nprojects; i++)
		shares += s->size[i] > 0 ? s->w->projects[i].share : 0;
	for (size_t i = 0; i < s->w->nprojects && shares > 0; i++)
		if (s->size[i] > 0)
			s->size[i] = fmin(total * s->w->projects[i].share / shares,
			    fmax(1, left_in_time(s, i)));
}

static double work_claim(
    const struct client_world *w, const struct rr_sim *rr, size_t project)
{
	double x = w->projects[project].acct.ltd[CW_CPU];

	for (size_t r = 0; r < w->nrsc; r++)
		x += rr->projects[project].shortfall[r];
	return x;
}

/* Computes the sizes for all resources, [rsc][project]; returns the project with a size
 * and the greatest claim. */
static int32_t all_sizes(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, double *size[CW_RSC_MOST])
{
	int32_t top = CW_NONE;

	for (size_t r = 0; r < w->nrsc; r++) {
		size[r] = NEWN(a, double, w->nprojects);
		request_sizes(&(struct sizing){ w, policy, rr, r, size[r] });
		for (size_t i = 0; i < w->nprojects; i++)
			if (size[r][i] > 0 &&
			    (top < 0 ||
				work_claim(w, rr, i) > work_claim(w, rr, (size_t)top)))
				top = (int32_t)i;
	}
	return top;
}

static void ask_size(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, double *size[CW_RSC_MOST], size_t project,
    struct work_ask *ask)
{
	for (size_t r = 0; r < w->nrsc; r++) {
		double secs = size[r][project];

		/* Upstream: the project's own gap, if greater. */
		if (policy->mean_debt && secs > 0)
			secs = fmax(secs, rr->projects[project].shortfall[r]);
		fetch_ask(w, rr, project, r, secs, 0, ask);
	}
}

static void fetch(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct work_ask *ask, double *recheck_at)
{
	double *size[CW_RSC_MOST];
	int32_t top;

	for (size_t r = 0; r < w->nrsc; r++)
		fetch_recheck(w, rr, r, fetch_buffer_s(w), recheck_at);
	if (fetch_too_soon(w, policy, rr, recheck_at))
		return;
	top = all_sizes(w, policy, a, rr, size);
	if (top >= 0)
		ask_size(w, policy, rr, size, (size_t)top, ask);
}

/* A project contacted for another reason is asked for its size, too. */
static void piggyback(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, size_t project, struct work_ask *ask)
{
	double *size[CW_RSC_MOST];

	all_sizes(w, policy, a, rr, size);
	ask_size(w, policy, rr, size, project, ask);
}

#define COMMON                                                                         \
	.backoff_min_s = 600, .ask_every_s = 300, .report_after_s = 3600,              \
	.report_before_s = 86400, .account = account, .order = order, .fetch = fetch,  \
	.piggyback = piggyback

const struct policy policy_debt1 = {
	.name = "debt1",
	.about =
	    "short-term debt chooses tasks, long-term debt asks (Client scheduling)",
	.victim_least_since_checkpoint = true,
	COMMON,
};
const struct policy policy_debt1_deadlines = {
	.name = "debt1:deadlines",
	.about = "debt1 with requests limited by deadlines, whole CPUs by share",
	.victim_least_since_checkpoint = true,
	.deadline_cap = true,
	.reserve_instances = true,
	.miss_limit = true,
	COMMON,
};
const struct policy policy_debt1_upstream = {
	.name = "debt1:upstream",
	.about =
	    "debt1 as of 2007: debts centred on zero, slices ended by the task choice",
	.mean_debt = true,
	.miss_limit = true,
	COMMON,
};
