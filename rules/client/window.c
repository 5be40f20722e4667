/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy window, Locus's own: a project is owed its entitlement, which is its share of
 * the host as far as the project can use it (entitle.c), less what it used. The
 * balance is exact and does not decay; only what exceeds a year of the host is
 * forgotten.
 *
 *	- What a project cannot use is owed to nobody: a project that had nothing
 *	  because it had no application for a resource does not claim it later
 *	  ("Work fetch and GPUs", example 3). One balance spans all resources, so
 *	  that a project bound to one of them catches up there (example 1).
 *	- As nothing decays, a project that waited for a year gets a year
 *	  (example 2); a new project starts level with the one that is owed most, so
 *	  it shares at once.
 *	- What runs: the whole instances of a project's share are its own, so that a
 *	  project of short tasks keeps its CPU while others take turns on the rest in
 *	  whole time slices ("Client scheduling policies", scenario 1). The rest goes
 *	  to the project that is owed most, for a slice that its tasks share.
 *	- Work is asked by share: the buffer is divided so that using it up would
 *	  bring all balances to zero, and each project is asked for what its part
 *	  lacks. So long tasks cannot take the instances of others (P1(1000, 2000,
 *	  .5) P2(1, 10, .5)), a project that is often down is asked for more when it
 *	  is up, and one with close deadlines for no more than can be done in time.
 */
#include "rules/client/window.h"

#include <math.h>
#include "lib/banned.h"

static const double WINDOW_S = 366 * 86400.0;
static const double TAKES_S = 10; /* so long it takes to fetch or to start a task */

/* --- the balance --- */

/* New projects start level with the project that is owed most for its share. */
static void admit_new_projects(struct client_world *w)
{
	double most = -INFINITY;
	bool any = false;

	for (size_t i = 0; i < w->nprojects; i++)
		any |= !w->projects[i].acct.known;
	if (!any)
		return;
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *p = &w->projects[i];

		if (p->acct.known && p->acct.entitled > 0)
			most = cw_max(most, p->acct.owed / p->share);
	}
	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];

		if (p->acct.known)
			continue;
		p->acct.known = true;
		p->acct.owed = most > -INFINITY ? most * p->share : 0;
	}
}

/* Notes how many CPUs each project had before some of its tasks ended. */
static void note_turns(struct client_world *w)
{
	bool any = false;

	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_turn *turn = &w->projects[i].acct.turn;

		if (turn->ended <= 0)
			continue;
		turn->had = turn->ended;
		turn->had_at = w->now;
		any = true;
	}
	for (size_t i = 0; i < w->ntasks && any; i++) {
		const struct cw_task *t = &w->tasks[i];
		struct cw_turn *turn = &w->projects[t->project].acct.turn;

		if (turn->ended > 0 && t->rsc == CW_CPU && t->running)
			turn->had += t->use;
	}
	for (size_t i = 0; i < w->nprojects && any; i++)
		w->projects[i].acct.turn.ended = 0;
}

/* Great tasks may keep CPUs idle that no project but a backup project can use. */
static bool memory_crowds(const struct client_world *w)
{
	double most = 0;

	for (size_t i = 0; i < w->nprojects; i++)
		most = cw_max(most, w->projects[i].acct.rss_bytes);
	return w->prefs.ram_bytes > 0 &&
	       most * w->rsc[CW_CPU].ninst > w->prefs.ram_bytes;
}

/* What a backup project uses for want of memory is owed to nobody; otherwise the
 * others could have used it. */
static void account(struct client_world *w, const struct policy *policy)
{
	double total = 0, most = WINDOW_S * cw_total_flops(w);
	bool crowded;

	(void)policy;
	w->small_first = true;
	cw_tally_tasks(w);
	crowded = memory_crowds(w);
	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];

		p->acct.usable_mask = 0;
		for (size_t r = 0; r < w->nrsc; r++) {
			p->acct.usable_mask |= window_can_use(w, p, r) ? 1U << r : 0;
			total += crowded && p->share <= 0 ?
			             0 :
			             p->used[r] * w->rsc[r].flops;
		}
	}
	entitle(w);
	admit_new_projects(w);
	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];

		p->acct.owed += p->acct.entitled * total;
		for (size_t r = 0; r < w->nrsc; r++) {
			p->acct.owed -= p->used[r] * w->rsc[r].flops;
			p->used[r] = 0;
		}
		p->acct.owed = cw_max(-most, cw_min(most, p->acct.owed));
	}
	note_turns(w);
	w->accounted_at = w->now;
}

/* --- what runs --- */

static void order(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct run_list *list)
{
	double *prio = NEWN(a, double, w->nprojects);
	double *bump = NEWN(a, double, w->nprojects);
	double *over = NEWN(a, double, w->nprojects);
	double total = cw_total_flops(w), slice = w->prefs.period_s, *reserved;

	(void)policy;
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *p = &w->projects[i];

		prio[i] = p->share > 0 ? p->acct.owed / p->share : -1e30;
		bump[i] = p->share > 0 ? slice * total / p->share : 0;
		over[i] = -p->acct.owed / (slice * w->rsc[CW_CPU].flops);
	}
	reserved = choose_reserved(w, a, rr, over);
	/* A project whose tasks end before its time slice does goes on with others
	 * until then: projects take turns, not tasks, however short these are. So
	 * results come together, too, and are reported together. */
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_turn *turn = &w->projects[i].acct.turn;
		double *cpus = &reserved[i * w->nrsc + CW_CPU];

		if (w->now < turn->ends && w->now <= turn->had_at + TAKES_S)
			*cpus = cw_max(*cpus, turn->had);
	}
	choose_by_priority(w, a, rr,
	    &(struct choice_params){ .prio = prio,
		.bump = bump,
		.reserved = reserved,
		.brief = true,
		.hurry = true },
	    list);
}

static void window_fetch(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct work_ask *ask, double *recheck_at);

static void window_piggyback(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, size_t project, struct work_ask *ask);

const struct policy policy_window = {
	.name = "window",
	.about =
	    "exact balance over a year of what each can use; work by share (Locus)",
	.miss_limit = true,
	.needs_low_water = true,
	.backoff_min_s = 600,
	.report_after_s = 3600,
	.report_before_s = 86400,
	.patient = true,
	.slice_gives_way_s = TAKES_S,
	.account = account,
	.order = order,
	.fetch = window_fetch,
	.piggyback = window_piggyback,
};

/* Policy window: whom to ask for work, and for how much. */

static const double SOME = 0.1; /* of what a project should have */

/* Instances in the project's part of the buffer that its tasks do not take. */
static double lacking_instances(const struct client_world *w, const struct rr_sim *rr,
    const struct plan *p, size_t project, size_t rsc)
{
	double part = fetch_share_of(w, p->in, p->shares, project) * p->ninst;

	return floor(part - rr->projects[project].used[rsc] + 0.5);
}

/* Lacks enough to be worth a request. */
static bool lacks_work(const struct plan *p, size_t project)
{
	return p->want[project] - p->have[project] > SOME * p->want[project];
}

/* Less than the project's part of the low-water mark is left, or it has too few tasks
 * for its instances. */
static bool runs_low(const struct client_world *w, const struct rr_sim *rr,
    const struct plan *p, size_t project, size_t rsc)
{
	double low = p->want[project] * w->prefs.min_s / cw_max(fetch_buffer_s(w), 1);

	if (rr->rsc[rsc].saturated_s < w->prefs.min_s)
		return lacks_work(p, project);
	return lacks_work(p, project) &&
	       (p->have[project] < low ||
		   lacking_instances(w, rr, p, project, rsc) >= 1);
}

static void ask_part(const struct client_world *w, const struct rr_sim *rr,
    const struct plan *p, size_t project, size_t rsc, struct work_ask *ask)
{
	double inst = lacking_instances(w, rr, p, project, rsc);
	int32_t most = fetch_limit(w, project, rsc);

	if (most > 0) /* no task for an instance that it cannot have */
		inst = cw_min(inst, most - (double)rr->projects[project].ntasks[rsc]);
	fetch_ask(w, rr, project, rsc, cw_max(0, p->want[project] - p->have[project]),
	    cw_max(0, inst), ask);
}

/* Tasks of a project with a share wait although CPUs are idle. */
static bool waits_for_memory(
    const struct client_world *w, const struct rr_sim *rr, size_t rsc)
{
	for (size_t i = 0; i < w->nprojects; i++)
		if (w->projects[i].share > 0 && w->prefs.ram_bytes > 0 &&
		    rsc == CW_CPU && fetch_held_back(w, rr, i, rsc))
			return true;
	return false;
}

static bool window_may_ask(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, size_t project, size_t rsc);

/* For an idle instance, whatever the balances: a project that lacks instances of its
 * share comes first, then the one that is owed most. While tasks of others wait for
 * memory, a project that used too much by a slice comes after the backup projects: more
 * of its small tasks would only keep those waiting. */
static int32_t pick_for_idle(const struct client_world *w, const struct policy *policy,
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
static double stuck_instances(const struct client_world *w, size_t rsc)
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
static bool ask_for_idle(const struct client_world *w, const struct policy *policy,
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
static void wait_for_balance(
    const struct client_world *w, const struct plan *p, size_t rsc, double *recheck_at)
{
	double then = w->now + w->prefs.period_s;

	for (size_t i = 0; i < w->nprojects && then < *recheck_at; i++)
		if (p->have[i] < fetch_share_of(w, p->in, p->shares, i) *
				     w->rsc[rsc].ninst * w->prefs.min_s)
			*recheck_at = then;
}

static struct plan window_plan(const struct client_world *w,
    const struct policy *policy, struct arena *a, const struct rr_sim *rr, size_t rsc,
    const struct queues *q);

static struct queues window_queues(const struct client_world *w, struct arena *a);

static void window_fetch(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct work_ask *ask, double *recheck_at)
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

static void window_piggyback(const struct client_world *w, const struct policy *policy,
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

/* Policy window: how the buffer should be divided among the projects. */

static const double ALWAYS = 0.99; /* of the time */

/* Deadlines kept the project from sending work, and most of what the host had to do
 * then is done: it need not wait for the end of its back-off. */
static bool refusal_is_over(
    const struct client_world *w, const struct rr_sim *rr, size_t project)
{
	const struct cw_rpc *rpc = &w->projects[project].rpc;
	double queue = 0;

	if (rpc->latency_limited_until <= w->now)
		return false;
	for (size_t i = 0; i < w->nprojects; i++)
		for (size_t r = 0; r < w->nrsc; r++)
			queue += rr->projects[i].queued[r];
	return queue < rpc->refused_queue_s / 2;
}

/* May the project be asked for the resource now? Not while it backs off, unless what
 * made it refuse tasks is done. */
static bool window_may_ask(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, size_t project, size_t rsc)
{
	return fetch_able(w, policy, rr, project, rsc, refusal_is_over(w, rr, project));
}

static struct queues window_queues(const struct client_world *w, struct arena *a)
{
	size_t n = w->nprojects * w->nrsc;
	struct queues q = { NEWN(a, double, n), NEWN(a, double, n), NEWN(a, double, n),
		0 };
	double horizon = fetch_buffer_s(w), low = w->prefs.min_s;

	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];
		size_t k = (size_t)t->rsc * w->nprojects + (size_t)t->project;
		double left = t->remaining_s / w->rsc[t->rsc].avail, use = t->use;

		if (!cw_nearly_runnable(w, t) || t->nci)
			continue;
		q.have[k] += use * cw_min(horizon, left);
		q.soon[k] += use * cw_min(low, left);
		q.all[k] += use * left;
		if (t->rsc != CW_CPU && t->running)
			q.cpus += t->ncpus;
	}
	return q;
}

/* What the project is owed of the resource, in instance-seconds of wall time. Up to a
 * time slice too much is no reason to ask for less: without tasks it would lose its
 * instances to slices of others, and then be late. */
static double owed_s(
    const struct client_world *w, const struct cw_project *p, size_t rsc)
{
	double slice = w->prefs.period_s * w->rsc[CW_CPU].flops, owed = p->acct.owed;

	return (owed >= 0 ? owed : cw_min(0, owed + slice)) / w->rsc[rsc].flops /
	       w->rsc[rsc].avail;
}

/* want = max(have, share * level + owed), where the level makes the sum equal to the
 * buffer. Projects that have more than the level gives are set aside until none is
 * left; the level sinks each time. */
static void fill_to_level(const struct client_world *w, const struct plan *p)
{
	double *want = p->want, level;
	bool *rising = p->rising, again = true;

	while (again) {
		double left = fetch_buffer_s(w) * p->ninst, shares = 0;

		again = false;
		for (size_t i = 0; i < w->nprojects; i++) {
			left -= rising[i] ? p->owed[i] : p->have[i];
			shares += rising[i] ? w->projects[i].share : 0;
		}
		level = shares > 0 ? left / shares : 0;
		for (size_t i = 0; i < w->nprojects; i++) {
			if (!rising[i])
				continue;
			want[i] = w->projects[i].share * level + p->owed[i];
			if (want[i] >= p->have[i])
				continue;
			want[i] = p->have[i];
			rising[i] = false;
			again = true;
			left -= p->have[i] - p->owed[i];
			shares -= w->projects[i].share;
			level = shares > 0 ? left / shares : 0;
		}
	}
}

/* The part of projects that do not answer goes to those that are owed work, too. */
static void pass_on(const struct client_world *w, struct plan *p)
{
	double lost = 0, shares = 0;

	for (size_t i = 0; i < w->nprojects; i++) {
		if (!p->in[i])
			continue;
		if (!p->answers[i])
			lost += cw_max(0, p->want[i] - p->have[i]);
		else if (p->owed[i] > 0)
			shares += w->projects[i].share;
	}
	for (size_t i = 0; i < w->nprojects && lost > 0; i++)
		if (p->in[i] && p->answers[i] && p->owed[i] > 0)
			p->want[i] += lost * w->projects[i].share / shares;
}

/* What a project is owed can be repaid soon: the host computes all the time, and no
 * backup project runs in the place of those that are owed. */
static bool can_repay(const struct client_world *w)
{
	for (size_t i = 0; i < w->nprojects; i++)
		if (w->projects[i].share <= 0)
			return false;
	return w->rsc[CW_CPU].avail > ALWAYS;
}

/* Limits each project to what can be done before its deadlines: at the pace of its
 * share plus what it is owed, and at the pace that its part of the buffer stands for
 * or, if it is owed work that can be repaid, that of the whole host. The host may
 * pause for longer than on average, so only the time in which it computes counts. */
static void cap_at_deadlines(const struct client_world *w, size_t rsc, struct plan *p)
{
	double horizon = fetch_buffer_s(w);
	bool repay = can_repay(w);

	for (size_t i = 0; i < w->nprojects; i++) {
		double usable = fetch_usable_s(w, i) * w->rsc[rsc].avail, part, pace;

		if (usable >= horizon)
			continue;
		part = fetch_share_of(w, p->in, p->shares, i) * p->ninst * usable;
		pace = repay && p->owed[i] > 0 ? p->ninst * usable :
		                                 p->want[i] * usable / horizon;
		p->want[i] = cw_max(0, cw_min(pace, part + p->owed[i]));
	}
}

/* The project's deadlines allow a full buffer, and nothing keeps the host from asking
 * for it soon. */
static bool can_fill(const struct client_world *w, const struct plan *p, size_t project)
{
	return p->in[project] && p->answers[project] &&
	       fetch_usable_s(w, project) >= w->prefs.min_s;
}

/* Could the project do one more task in time, at the pace of its share? */
static bool has_time(
    const struct client_world *w, const struct plan *p, size_t project, size_t rsc)
{
	double pace = fetch_share_of(w, p->in, p->shares, project) * p->ninst;
	double longest = w->projects[project].acct.longest_s / w->rsc[rsc].avail;

	return p->all[project] + longest <= pace * fetch_usable_s(w, project);
}

/* Adds what is lacking to the projects that can be asked for it, by share; with
 * in_time, to those that have time for it. */
static void share_lack(const struct client_world *w, size_t rsc, struct plan *p,
    double lacks, bool in_time)
{
	double shares = 0;

	for (size_t i = 0; i < w->nprojects && lacks > 0; i++)
		if (can_fill(w, p, i))
			shares += w->projects[i].share;
	for (size_t i = 0; i < w->nprojects && lacks > 0; i++)
		if (can_fill(w, p, i) && (!in_time || has_time(w, p, i, rsc)))
			p->want[i] += lacks * w->projects[i].share / shares;
}

/* A project that has no task and is owed work gets its part although others have more
 * than theirs, as far as there is room beside the waiting tasks: a running task may be
 * so long that it fills the buffer for weeks. So does one whose tasks will not occupy
 * the whole instances of its share: others would begin slices there, and its tasks,
 * having waited, would be urgent. */
static void let_in_taskless(const struct client_world *w, size_t rsc, struct plan *p)
{
	double room = -INFINITY, horizon = fetch_buffer_s(w); /* room: once needed */
	double slice = w->prefs.period_s * w->rsc[CW_CPU].flops;

	for (size_t i = 0; i < w->nprojects; i++) {
		double part, whole, owed = w->projects[i].acct.owed;
		bool taskless, few;

		if (owed <= -slice)
			continue;
		part = fetch_share_of(w, p->in, p->shares, i) * p->ninst;
		whole = choose_whole(part);
		taskless = p->have[i] <= 0 && owed > 0;
		few = p->have[i] < whole * w->prefs.min_s;
		if ((taskless || few) && room == -INFINITY)
			room = fetch_room_s(w, rsc);
		if (taskless)
			p->want[i] = cw_max(p->want[i], cw_min(part * horizon, room));
		if (few)
			p->want[i] = cw_max(p->want[i], cw_min(whole * horizon, room));
	}
}

/* A backup project that may be asked when instances are idle. */
static bool spare_for(const struct cw_project *p, size_t rsc)
{
	return p->share <= 0 && !p->suspended && !p->no_new_work &&
	       !p->rsc[rsc].no_apps && !p->rsc[rsc].excluded &&
	       p->rpc.nrpc_failures == 0 && p->rsc[rsc].backoff_s <= 0;
}

/* The project whose CPU tasks take least memory, of those that have tasks or can be
 * asked for some; none if memory is no limit. A backup project counts. */
static bool find_small(
    const struct client_world *w, const struct plan *p, size_t *small)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *c = &w->projects[i];
		double rss = c->acct.rss_bytes;

		if (!p->in[i] && !spare_for(c, CW_CPU))
			continue;
		most = cw_max(most, rss);
		if (rss < least) {
			least = rss;
			*small = i;
		}
	}
	return least > 0 && most * p->ninst > w->prefs.ram_bytes;
}

/* Where memory keeps a project from using all CPUs, the one with the smallest tasks
 * gets enough of them for every CPU when half of these are gone: beside too few, the
 * great ones of others would leave CPUs idle, and so would wait. A backup project is
 * asked once they are idle. */
static void keep_small_tasks(const struct client_world *w, size_t rsc, struct plan *p)
{
	double all = p->ninst * w->prefs.min_s;
	size_t small = 0;

	if (rsc != CW_CPU || w->prefs.ram_bytes <= 0 || !find_small(w, p, &small))
		return;
	/* Great tasks beside which small ones can still use the other CPUs: no more
	 * will run at a time, so no more than these can do are asked for. */
	double least = w->projects[small].acct.rss_bytes, horizon = fetch_buffer_s(w);
	double left = w->prefs.ram_bytes - p->ninst * least;

	for (size_t i = 0; i < w->nprojects; i++) {
		double more = w->projects[i].acct.rss_bytes - least;

		if (more > 0)
			p->want[i] = cw_min(
			    p->want[i], cw_max(p->have[i],
					    horizon * cw_max(0, floor(left / more))));
	}
	if (p->in[small] && p->soon[small] < all / 2)
		p->want[small] = cw_max(
		    p->want[small], p->have[small] + all - p->soon[small]);
}

/* How the buffer of a resource should be divided among the projects. */
static struct plan window_plan(const struct client_world *w,
    const struct policy *policy, struct arena *a, const struct rr_sim *rr, size_t rsc,
    const struct queues *q)
{
	struct plan p = { .want = NEWN(a, double, w->nprojects),
		.have = &q->have[rsc * w->nprojects],
		.soon = &q->soon[rsc * w->nprojects],
		.all = &q->all[rsc * w->nprojects],
		.owed = NEWN(a, double, w->nprojects),
		.in = NEWN(a, bool, w->nprojects),
		.rising = NEWN(a, bool, w->nprojects),
		.answers = NEWN(a, bool, w->nprojects),
		.ninst = rsc == CW_CPU ? cw_max(0, w->rsc[rsc].ninst - q->cpus) :
		                         w->rsc[rsc].ninst };

	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *c = &w->projects[i];

		/* A project whose back-off is over has a part, too, to find out whether
		 * it has such tasks now. */
		p.in[i] = p.rising[i] = w->projects[i].share > 0 &&
		                        (window_can_use(w, &w->projects[i], rsc) ||
					    window_may_ask(w, policy, rr, i, rsc));
		p.shares += p.in[i] ? c->share : 0;
		p.want[i] = p.have[i];
		p.owed[i] = owed_s(w, c, rsc);
		p.answers[i] = c->rpc.nrpc_failures == 0 && !c->rpc.master_pending;
	}
	fill_to_level(w, &p);
	pass_on(w, &p);
	let_in_taskless(w, rsc, &p);
	cap_at_deadlines(w, rsc, &p);
	/* What close deadlines and projects that do not answer leave of the low-water
	 * mark goes to the others: a host that reaches no project for hours would have
	 * nothing else to run. So does what is left of it because there are fewer
	 * tasks than instances. */
	double lacks = w->prefs.min_s * p.ninst, few = 0;

	for (size_t i = 0; i < w->nprojects; i++) {
		lacks -= p.answers[i] ? cw_max(p.want[i], p.have[i]) : p.have[i];
		few += p.have[i] - p.soon[i];
	}
	share_lack(w, rsc, &p, lacks, false);
	share_lack(w, rsc, &p, few + cw_min(0, lacks), true);
	keep_small_tasks(w, rsc, &p);
	return p;
}
