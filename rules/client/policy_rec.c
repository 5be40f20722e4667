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

	cw_look_at_tasks(w);
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
	bool *over = NEWN(a, bool, w->nprojects + 1);
	double slice = how->bump_s > 0 ? how->bump_s : w->prefs.period_s;
	double share = 0, planned = 1 - exp2(-slice / how->half_life_s);

	for (size_t i = 0; i < w->nprojects; i++)
		for (size_t r = 0; r < w->nrsc; r++)
			set[i] |= rr->p[i].nrunnable[r] > 0;
	priorities(w, set, sp);
	for (size_t i = 0; i < w->nprojects; i++)
		share += set[i] ? w->projects[i].share : 0;
	for (size_t i = 0; i < w->nprojects; i++) {
		bump[i] = w->projects[i].share > 0 ?
		              planned / (w->projects[i].share / share) :
		              planned;
		over[i] = sp[i] < -1 - bump[i];
	}
	choose_by_priority(w, a, rr,
	    &(struct choice_how){ .prio = sp,
		.bump = bump,
		.base = how->own_instances ? choose_own(w, a, rr, over) : NULL },
	    list);
}

/* --- work fetch --- */

struct turn { /* what is known of the projects when work is asked for */
	const struct client_world *w;
	const struct policy *how;
	const struct rr_sim *rr;
	double *sp;                   /* less what is queued */
	bool *over;                   /* had more than its share lately */
	double *in_time[CW_RSC_MOST]; /* see fetch_in_time_s() */
};

/* SP less what is queued, as a part of what the buffer holds (client.md 33). */
static void
fetch_priorities(struct turn *t, struct arena *a)
{
	const struct client_world *w = t->w;
	double horizon = fetch_buffer_s(w), buffer = horizon * cw_total_flops(w);
	bool *set = NEWN(a, bool, w->nprojects + 1);

	for (size_t i = 0; i < w->nprojects; i++)
		set[i] = !w->projects[i].suspended && !w->projects[i].nci;
	priorities(w, set, t->sp);
	for (size_t i = 0; i < w->nprojects; i++) {
		t->over[i] = t->sp[i] < -1;
		set[i] = set[i] && cw_contactable(w, i);
	}
	priorities(w, set, t->sp);
	for (size_t i = 0; i < w->ntasks && buffer > 0; i++) {
		const struct cw_task *k = &w->tasks[i];
		double s = k->use * fmin(k->remaining_s, horizon);

		if (!cw_nearly_runnable(w, k))
			continue;
		t->sp[k->project] -= s * w->rsc[k->rsc].flops / buffer;
	}
}

static struct turn
look(const struct client_world *w, const struct policy *how, struct arena *a,
    const struct rr_sim *rr)
{
	struct turn t = { .w = w,
		.how = how,
		.rr = rr,
		.sp = NEWN(a, double, w->nprojects + 1),
		.over = NEWN(a, bool, w->nprojects + 1) };

	fetch_priorities(&t, a);
	for (size_t r = 0; r < w->nrsc; r++) {
		t.in_time[r] = NEWN(a, double, w->nprojects + 1);
		for (size_t i = 0; i < w->nprojects; i++)
			t.in_time[r][i] = fetch_in_time_s(w, how, i, r);
	}
	return t;
}

/* Its deadlines are so close that it cannot have a full buffer. */
static bool
cut(const struct turn *t, size_t project, size_t rsc)
{
	return t->in_time[rsc][project] < fetch_buffer_s(t->w) * t->w->rsc[rsc].ninst;
}

/*
 * Seconds to ask for; 0 = nothing.  Who has close deadlines and had more than its share
 * would take the place of others by them; but what is idle has nothing to lose.
 */
static double
most_s(const struct turn *t, size_t project, size_t rsc)
{
	double s = fmin(t->rr->r[rsc].shortfall,
	    t->in_time[rsc][project] - t->rr->p[project].queued[rsc]);

	if (cut(t, project, rsc) && t->over[project])
		s = 0;
	return t->rr->r[rsc].nidle > 0 ? fmax(s, 1) : s;
}

static void
ask_for(const struct turn *t, struct arena *a, size_t project, size_t rsc, double secs,
    struct work_ask *ask)
{
	bool *able = NEWN(a, bool, t->w->nprojects + 1);
	double part;

	if (secs <= 0)
		return;
	for (size_t i = 0; i < t->w->nprojects; i++)
		able[i] = fetch_able(t->w, t->rr, i, rsc, false) || i == project;
	part = fetch_share(t->w, able, project) * t->w->rsc[rsc].ninst;
	fetch_ask(t->w, t->rr, project, rsc, secs,
	    fmax(t->rr->r[rsc].nidle, part - t->rr->p[project].used[rsc]), ask);
}

/* The able project of greatest priority; -1 if there is none. */
static int32_t
best(const struct turn *t, size_t rsc)
{
	int32_t top = -1;

	for (size_t i = 0; i < t->w->nprojects; i++)
		if ((top < 0 || t->sp[i] > t->sp[top]) && most_s(t, i, rsc) > 0 &&
		    fetch_able(t->w, t->rr, i, rsc, false))
			top = (int32_t)i;
	return top;
}

/* Nobody who may be asked for the resource has a greater priority. */
static bool
is_first(const struct turn *t, size_t project, size_t rsc)
{
	int32_t top = best(t, rsc);

	return fetch_able(t->w, t->rr, project, rsc, true) &&
	       (top < 0 || t->sp[top] <= t->sp[project]);
}

/*
 * Who gets no full buffer because of its deadlines is asked again when it has less than
 * half of what it may have and not had its share: it would still have tasks otherwise.
 * What waits stays within the buffer.
 */
static void
fetch_cut(
    const struct turn *t, struct arena *a, struct work_ask *ask, double *recheck_at)
{
	for (size_t r = 0; r < t->w->nrsc && ask->project < 0; r++) {
		double room = fetch_room_s(t->w, r);
		double most = room;
		int32_t top = -1;

		for (size_t i = 0; i < t->w->nprojects; i++) {
			double lacks = t->in_time[r][i] - t->rr->p[i].queued[r];

			if (!cut(t, i, r) || lacks < t->in_time[r][i] / 2 ||
			    !fetch_able(t->w, t->rr, i, r, false))
				continue;
			if (t->over[i] || lacks > room) { /* its turn will come */
				*recheck_at = fmin(
				    *recheck_at, t->w->now + t->w->prefs.period_s);
				continue;
			}
			if (top < 0 || t->sp[i] > t->sp[top]) {
				top = (int32_t)i;
				most = lacks;
			}
		}
		if (top >= 0)
			ask_for(t, a, (size_t)top, r, most, ask);
	}
}

/*
 * Seed 004, for a policy that has no debts: who has no runnable task at all and had
 * less than its share lately gets its part of the buffer, of each resource.
 */
static void
fetch_starved(const struct turn *t, struct arena *a, struct work_ask *ask)
{
	const struct client_world *w = t->w;
	int32_t top = -1;

	for (size_t i = 0; i < w->nprojects; i++) {
		bool able = false, has_tasks = false;

		for (size_t r = 0; r < w->nrsc; r++) {
			able |= fetch_able(w, t->rr, i, r, false);
			has_tasks |= t->rr->p[i].ntasks[r] > 0;
		}
		if (able && !has_tasks && w->projects[i].share > 0 && !t->over[i] &&
		    (top < 0 || t->sp[i] > t->sp[top]))
			top = (int32_t)i;
	}
	for (size_t r = 0; r < w->nrsc && top >= 0; r++) {
		bool *able = NEWN(a, bool, w->nprojects + 1);
		double part;

		if (!fetch_able(w, t->rr, (size_t)top, r, false))
			continue;
		for (size_t i = 0; i < w->nprojects; i++)
			able[i] = i == (size_t)top || t->rr->p[i].ntasks[r] > 0 ||
			          fetch_able(w, t->rr, i, r, false);
		part = fetch_share(w, able, (size_t)top) * w->rsc[r].ninst;
		part *= fmin(1, fetch_room_s(w, r) / (fetch_buffer_s(w) * part));
		fetch_ask(w, t->rr, (size_t)top, r,
		    fmin(t->in_time[r][top], part * fetch_buffer_s(w)), part, ask);
	}
}

static void
fetch(const struct client_world *w, const struct policy *how, struct arena *a,
    const struct rr_sim *rr, struct work_ask *ask, double *recheck_at)
{
	struct turn t = look(w, how, a, rr);
	int32_t top = -1;

	for (size_t r = 0; r < w->nrsc; r++) {
		int32_t p;

		fetch_recheck(w, rr, r, w->prefs.min_s, recheck_at);
		if (rr->r[r].saturated_s > w->prefs.min_s)
			continue;
		p = best(&t, r);
		if (p >= 0 && (top < 0 || t.sp[p] > t.sp[top]))
			top = p;
	}
	for (size_t r = 0; r < w->nrsc && top >= 0; r++)
		if (rr->r[r].saturated_s < fetch_buffer_s(w) &&
		    is_first(&t, (size_t)top, r))
			ask_for(&t, a, (size_t)top, r, most_s(&t, (size_t)top, r), ask);
	if (ask->project < 0 && how->deadline_cap)
		fetch_cut(&t, a, ask, recheck_at);
	if (ask->project < 0 && how->starved_rule)
		fetch_starved(&t, a, ask);
}

static void
piggyback(const struct client_world *w, const struct policy *how, struct arena *a,
    const struct rr_sim *rr, size_t project, struct work_ask *ask)
{
	struct turn t = look(w, how, a, rr);

	for (size_t r = 0; r < w->nrsc; r++)
		if (rr->r[r].saturated_s < fetch_buffer_s(w) &&
		    is_first(&t, project, r))
			ask_for(&t, a, project, r, most_s(&t, project, r), ask);
}

#define COMMON                                                                         \
	.half_life_s = 10 * 86400, .backoff_min_s = 600, .report_after_s = 3600,       \
	.report_before_s = 86400, .account = account, .order = order, .fetch = fetch,  \
	.piggyback = piggyback

const struct policy policy_rec = {
	.name = "rec",
	.about = "who had least work for its share lately (seed 001)",
	.deadline_cap = true,
	.own_instances = true,
	COMMON,
};
const struct policy policy_hybrid = {
	.name = "hybrid",
	.about = "rec, and projects without tasks are asked before others run out",
	.deadline_cap = true,
	.own_instances = true,
	.starved_rule = true,
	COMMON,
};
const struct policy policy_rec_upstream = {
	.name = "rec:upstream",
	.about = "rec that asks for all that is short and plans by the hour",
	.bump_s = 3600,
	COMMON,
};
