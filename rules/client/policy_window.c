/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy window, Locus's own: a project is owed its entitlement, which is its share of
 * the host as far as the project can use it (entitle.c), less what it used.  The
 * balance is exact and does not decay; only what exceeds a year of the host is
 * forgotten.
 *
 *	- What a project cannot use is owed to nobody: a project that had nothing
 *	  because it had no application for a resource does not claim it later
 *	  ("Work fetch and GPUs", example 3).  One balance spans all resources, so
 *	  that a project bound to one of them catches up there (example 1).
 *	- As nothing decays, a project that waited for a year gets a year
 *	  (example 2); a new project starts level with the one that is owed most, so
 *	  it shares at once.
 *	- What runs: the whole instances of a project's share are its own, so that a
 *	  project of short tasks keeps its CPU while others take turns on the rest in
 *	  whole time slices ("Client scheduling policies", scenario 1).  The rest goes
 *	  to the project that is owed most, for a slice that its tasks share.
 *	- Work is asked by share: the buffer is divided so that using it up would
 *	  bring all balances to zero, and each project is asked for what its part
 *	  lacks.  So long tasks cannot take the instances of others (P1(1000, 2000,
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
static void
admit_new_projects(struct client_world *w)
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
static void
note_turns(struct client_world *w)
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
static bool
memory_crowds(const struct client_world *w)
{
	double most = 0;

	for (size_t i = 0; i < w->nprojects; i++)
		most = cw_max(most, w->projects[i].acct.rss_bytes);
	return w->prefs.ram_bytes > 0 &&
	       most * w->rsc[CW_CPU].ninst > w->prefs.ram_bytes;
}

/* What a backup project uses for want of memory is owed to nobody; otherwise the
 * others could have used it. */
static void
account(struct client_world *w, const struct policy *policy)
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

/* A project whose tasks end before its time slice does goes on with others until then:
 * projects take turns, not tasks, however short these are.  So results come together,
 * too, and are reported together. */
static void
reserve_turns(const struct client_world *w, double *reserved)
{
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_turn *turn = &w->projects[i].acct.turn;
		double *cpus = &reserved[i * w->nrsc + CW_CPU];

		if (w->now < turn->ends && w->now <= turn->had_at + TAKES_S)
			*cpus = cw_max(*cpus, turn->had);
	}
}

static void
order(const struct client_world *w, const struct policy *policy, struct arena *a,
    const struct rr_sim *rr, struct run_list *list)
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
	reserve_turns(w, reserved);
	choose_by_priority(w, a, rr,
	    &(struct choice_params){ .prio = prio,
		.bump = bump,
		.reserved = reserved,
		.brief = true,
		.hurry = true },
	    list);
}

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
