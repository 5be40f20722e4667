/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy rec ("ClientSched"; client.md 4): a project's priority is its recent use, an
 * exponential average, over its share.
 */
#include "rules/client/policies.h"

#include <math.h>
#include "lib/banned.h"

/* The average is exact, however long the interval (client.md 4.1). */
static void account(struct client_world *w, const struct policy *policy)
{
	double dt = w->now - w->accounted_at, keep;

	cw_tally_tasks(w);
	if (dt <= 0)
		return;
	keep = exp2(-dt / policy->half_life_s);
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

/* Computes the scheduling priority of each project in set, relative to the others in it
 * (client.md 4.1). sp[] of the other projects is not to be read. */
static void rec_priorities(const struct client_world *w, const bool *set, double *sp)
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

		sp[i] = p->share <= 0 ? -1000 - part : -part / (p->share / share);
	}
}

/* A planned task counts as if it had run for one scheduling period (client.md 4.1 (row
 * 30)): relative to all work within REC's memory, that is period / half-life * ln 2. */
static void order(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct run_list *list)
{
	double *sp = NEWN(a, double, w->nprojects);
	double *bump = NEWN(a, double, w->nprojects);
	bool *set = NEWN(a, bool, w->nprojects);
	double slice = policy->bump_s > 0 ? policy->bump_s : w->prefs.period_s;
	double *over = NEWN(a, double, w->nprojects);
	double share = 0, planned = 1 - exp2(-slice / policy->half_life_s);

	for (size_t i = 0; i < w->nprojects; i++)
		for (size_t r = 0; r < w->nrsc; r++)
			set[i] |= rr->projects[i].nrunnable[r] > 0;
	rec_priorities(w, set, sp);
	for (size_t i = 0; i < w->nprojects; i++)
		share += set[i] ? w->projects[i].share : 0;
	for (size_t i = 0; i < w->nprojects; i++) {
		bump[i] = w->projects[i].share > 0 ?
		              planned / (w->projects[i].share / share) :
		              planned;
		over[i] = sp[i] < -1 - bump[i] ? 1 : 0;
	}
	choose_by_priority(w, a, rr,
	    &(struct choice_params){ .prio = sp,
		.bump = bump,
		.reserved = policy->reserve_instances ?
	                        choose_reserved(w, a, rr, over) :
	                        NULL,
		.edf_by_task = policy->edf_by_task,
		.stay_urgent = policy->stay_urgent },
	    list);
}

/* --- work fetch --- */

struct fetch_state { /* the projects' standing when work is to be fetched */
	const struct client_world *world;
	const struct policy *policy;
	const struct rr_sim *rr;
	double *sp; /* scheduling priority less queued work */
	bool *over; /* used more than its share recently */
};

/* Priority less queued work, as a part of what the buffer holds (client.md 4.1 (row
 * 33)). */
static void fetch_priorities(struct fetch_state *t, struct arena *a)
{
	const struct client_world *w = t->world;
	double horizon = fetch_buffer_s(w), buffer = horizon * cw_total_flops(w);
	bool *set = NEWN(a, bool, w->nprojects);

	for (size_t i = 0; i < w->nprojects; i++)
		set[i] = !w->projects[i].suspended && !w->projects[i].nci;
	rec_priorities(w, set, t->sp);
	for (size_t i = 0; i < w->nprojects; i++) {
		t->over[i] = t->sp[i] < -1;
		set[i] = set[i] && cw_contactable(w, i);
	}
	rec_priorities(w, set, t->sp);
	for (size_t i = 0; i < w->ntasks && buffer > 0; i++) {
		const struct cw_task *k = &w->tasks[i];
		double s = k->use * cw_min(k->remaining_s, horizon);

		if (!cw_nearly_runnable(w, k) || cw_nci(w, k))
			continue;
		t->sp[k->project] -= s * w->rsc[k->rsc].flops / buffer;
	}
}

static struct fetch_state load_fetch_state(const struct client_world *w,
    const struct policy *policy, struct arena *a, const struct rr_sim *rr)
{
	struct fetch_state t = { .world = w,
		.policy = policy,
		.rr = rr,
		.sp = NEWN(a, double, w->nprojects),
		.over = NEWN(a, bool, w->nprojects) };

	fetch_priorities(&t, a);
	return t;
}

/* The project's deadlines are too close for a full buffer. */
static bool has_close_deadlines(const struct fetch_state *t, size_t project, size_t rsc)
{
	return fetch_in_time_s(t->world, project, rsc) <
	       fetch_buffer_s(t->world) * t->world->rsc[rsc].ninst;
}

/* A project that used no more than its share may be asked. */
static bool has_rivals(const struct fetch_state *t, size_t rsc)
{
	for (size_t i = 0; i < t->world->nprojects; i++)
		if (!t->over[i] &&
		    fetch_able(t->world, t->policy, t->rr, i, rsc, false))
			return true;
	return false;
}

static bool fetchable(
    const struct fetch_state *t, size_t project, size_t rsc, bool ignore_backoff)
{
	if (!fetch_able(t->world, t->policy, t->rr, project, rsc, ignore_backoff))
		return false;
	/*
	 * "ClientSched" asks "the fetchable project" without saying which that is.
	 * "Client scheduling policies" holds a project back that used too much while
	 * others can be asked, so that close deadlines do not give it more than its
	 * share; this policy does the same. An idle instance has nothing to lose,
	 * however.
	 */
	return !(t->policy->fair_fetch && t->over[project] &&
		 t->rr->rsc[rsc].nidle <= 0 && has_close_deadlines(t, project, rsc) &&
		 has_rivals(t, rsc));
}

/* Seconds to ask for: the shortfall, or as much of it as can be done in time. */
static double request_s(const struct fetch_state *t, size_t project, size_t rsc)
{
	double s = t->rr->rsc[rsc].shortfall;

	if (t->policy->deadline_cap)
		s = cw_min(s, fetch_in_time_s(t->world, project, rsc) -
				  t->rr->projects[project].queued[rsc]);
	if (t->policy->deadline_cap && t->over[project] &&
	    has_close_deadlines(t, project, rsc))
		s = 0;
	return t->rr->rsc[rsc].nidle > 0 ? cw_max(s, 1) : s;
}

static void ask_secs(const struct fetch_state *t, struct arena *a, size_t project,
    size_t rsc, double secs, struct work_ask *ask)
{
	bool *able = NEWN(a, bool, t->world->nprojects);
	double part;

	if (secs <= 0)
		return;
	for (size_t i = 0; i < t->world->nprojects; i++)
		able[i] = fetch_able(t->world, t->policy, t->rr, i, rsc, false) ||
		          i == project;
	part = fetch_share(t->world, able, project) * t->world->rsc[rsc].ninst;
	fetch_ask(t->world, t->rr, project, rsc, secs,
	    cw_max(t->rr->rsc[rsc].nidle, part - t->rr->projects[project].used[rsc]),
	    ask);
}

/* The fetchable project with the greatest priority; -1 if there is none. */
static int32_t best_fetchable(const struct fetch_state *t, size_t rsc)
{
	int32_t top = CW_NONE;

	for (size_t i = 0; i < t->world->nprojects; i++)
		if ((top < 0 || t->sp[i] > t->sp[top]) && request_s(t, i, rsc) > 0 &&
		    fetchable(t, i, rsc, false))
			top = (int32_t)i;
	return top;
}

/* No project that may be asked for the resource has a greater priority. */
static bool is_first(const struct fetch_state *t, size_t project, size_t rsc)
{
	int32_t top = best_fetchable(t, rsc);

	return fetchable(t, project, rsc, true) &&
	       (top < 0 || t->sp[top] <= t->sp[project]);
}

/* A project whose deadlines rule out a full buffer is asked again when it has less than
 * half of what it may have, and used no more than its share: with a full buffer it
 * would still have tasks. Waiting tasks stay within the buffer. */
static void fetch_close_deadlines(const struct fetch_state *t, struct arena *a,
    size_t rsc, struct work_ask *ask, double *at)
{
	double room = fetch_room_s(t->world, rsc), most = room;
	int32_t top = CW_NONE;

	for (size_t i = 0; i < t->world->nprojects; i++) {
		double all = fetch_in_time_s(t->world, i, rsc);
		double lacks = all - t->rr->projects[i].queued[rsc];

		if (!has_close_deadlines(t, i, rsc) || lacks < all / 2 ||
		    !fetch_able(t->world, t->policy, t->rr, i, rsc, false))
			continue;
		if (t->over[i] || lacks > room) /* its turn will come */
			*at = cw_min(*at, t->world->now + t->world->prefs.period_s);
		else if (top < 0 || t->sp[i] > t->sp[top]) {
			top = (int32_t)i;
			most = lacks;
		}
	}
	if (top >= 0)
		ask_secs(t, a, (size_t)top, rsc, most, ask);
}

/* The project's part of the buffer, in instances, among projects that have or could
 * have tasks for the resource. */
static double buffer_part(
    const struct fetch_state *t, struct arena *a, size_t project, size_t rsc)
{
	bool *in = NEWN(a, bool, t->world->nprojects);

	for (size_t i = 0; i < t->world->nprojects; i++)
		in[i] = t->rr->projects[i].ntasks[rsc] > 0 ||
		        fetch_able(t->world, t->policy, t->rr, i, rsc, false);
	return fetch_share(t->world, in, project) * t->world->rsc[rsc].ninst;
}

/*
 * According to "ClientSched" no project is asked while all instances have tasks for
 * longer than the buffer, be it for months. In this case a project that has no task
 * and used less than its share is asked for its part of the buffer, as far as it can be
 * done in time. Waiting tasks stay within the buffer.
 */
static void fetch_when_full(const struct fetch_state *t, struct arena *a, size_t rsc,
    struct work_ask *ask, double *at)
{
	double most = 0, again = t->world->now + t->world->prefs.period_s;
	int32_t top = CW_NONE;

	if (t->rr->rsc[rsc].saturated_s < fetch_buffer_s(t->world))
		return;
	for (size_t i = 0; i < t->world->nprojects; i++) {
		double lacks;

		if (t->rr->projects[i].ntasks[rsc] > 0 ||
		    !fetch_able(t->world, t->policy, t->rr, i, rsc, false))
			continue;
		if (t->over[i]) { /* its turn will come */
			*at = cw_min(*at, again);
			continue;
		}
		lacks = cw_min(fetch_in_time_s(t->world, i, rsc),
		    buffer_part(t, a, i, rsc) * fetch_buffer_s(t->world));
		if (lacks > fetch_room_s(t->world, rsc))
			*at = cw_min(*at, again);
		else if (top < 0 || t->sp[i] > t->sp[top]) {
			top = (int32_t)i;
			most = lacks;
		}
	}
	if (top >= 0)
		ask_secs(t, a, (size_t)top, rsc, most, ask);
}

/* "Work fetch and GPUs" for a policy without debts: a project that has no runnable
 * task and recently used less than its share gets its part of the buffer, for each
 * resource. */
static void fetch_starved(
    const struct fetch_state *t, struct arena *a, struct work_ask *ask)
{
	const struct client_world *w = t->world;
	int32_t top = CW_NONE;

	for (size_t i = 0; i < w->nprojects; i++) {
		bool able = false, has_tasks = false;

		for (size_t r = 0; r < w->nrsc; r++) {
			able |= fetch_able(w, t->policy, t->rr, i, r, false);
			has_tasks |= t->rr->projects[i].ntasks[r] > 0;
		}
		if (able && !has_tasks && w->projects[i].share > 0 && !t->over[i] &&
		    (top < 0 || t->sp[i] > t->sp[top]))
			top = (int32_t)i;
	}
	for (size_t r = 0; r < w->nrsc && top >= 0; r++) {
		double part, all, room = fetch_room_s(w, r);

		if (!fetch_able(w, t->policy, t->rr, (size_t)top, r, false))
			continue;
		part = buffer_part(t, a, (size_t)top, r);
		all = fetch_buffer_s(w) * part; /* 0: a host without a buffer */
		if (room < all)
			part *= room / all;
		fetch_ask(w, t->rr, (size_t)top, r,
		    cw_min(
			fetch_in_time_s(w, (size_t)top, r), part * fetch_buffer_s(w)),
		    part, ask);
	}
}

/* The project that is first for some resource that runs short; -1 = none. */
static int32_t first_of_all(
    const struct fetch_state *t, const struct client_world *w, const struct rr_sim *rr)
{
	int32_t top = CW_NONE;

	for (size_t r = 0; r < w->nrsc; r++) {
		int32_t p;

		if (rr->rsc[r].saturated_s > w->prefs.min_s)
			continue;
		p = best_fetchable(t, r);
		if (p >= 0 && (top < 0 || t->sp[p] > t->sp[top]))
			top = p;
	}
	return top;
}

static void fetch(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct work_ask *ask, double *recheck_at)
{
	struct fetch_state t;
	int32_t top;

	for (size_t r = 0; r < w->nrsc; r++)
		fetch_recheck(w, rr, r, w->prefs.min_s, recheck_at);
	t = load_fetch_state(w, policy, a, rr);
	top = first_of_all(&t, w, rr);
	for (size_t r = 0; r < w->nrsc && top >= 0; r++)
		if (is_first(&t, (size_t)top, r))
			ask_secs(
			    &t, a, (size_t)top, r, request_s(&t, (size_t)top, r), ask);
	for (size_t r = 0; r < w->nrsc && ask->project < 0; r++) {
		if (policy->deadline_cap)
			fetch_close_deadlines(&t, a, r, ask, recheck_at);
		else if (policy->fair_fetch)
			fetch_when_full(&t, a, r, ask, recheck_at);
	}
	if (ask->project < 0 && policy->starved_rule)
		fetch_starved(&t, a, ask);
}

static void piggyback(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, size_t project, struct work_ask *ask)
{
	struct fetch_state t = load_fetch_state(w, policy, a, rr);

	for (size_t r = 0; r < w->nrsc; r++)
		if (is_first(&t, project, r))
			ask_secs(&t, a, project, r, request_s(&t, project, r), ask);
}

#define COMMON                                                                         \
	.half_life_s = 10 * 86400, .backoff_min_s = 600, .report_after_s = 3600,       \
	.report_before_s = 86400, .account = account, .order = order, .fetch = fetch,  \
	.piggyback = piggyback

const struct policy policy_rec = {
	.name = "rec",
	.about = "least recent work for its share comes first (ClientSched)",
	.edf_by_task = true,
	.miss_limit = true,
	.fair_fetch = true,
	COMMON,
};
const struct policy policy_hybrid = {
	.name = "hybrid",
	.about = "rec, plus: projects without tasks are asked before others run out",
	.edf_by_task = true,
	.miss_limit = true,
	.fair_fetch = true,
	.starved_rule = true,
	COMMON,
};
const struct policy policy_rec_letter = {
	.name = "rec:letter",
	.about = "rec without the two rules that its description lacks",
	.edf_by_task = true,
	COMMON,
};
const struct policy policy_rec_deadlines = {
	.name = "rec:deadlines",
	.about = "rec with requests limited by deadlines, whole CPUs by share",
	.deadline_cap = true,
	.reserve_instances = true,
	.miss_limit = true,
	COMMON,
};
const struct policy policy_rec_upstream = {
	.name = "rec:upstream",
	.about =
	    "rec as implemented upstream: misses counted per project, one-hour plans",
	.bump_s = 3600,
	.stay_urgent = true,
	COMMON,
};
