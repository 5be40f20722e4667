/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a host by share among projects that cannot all use all of it. */
#include "rules/client/policy.h"

#include <math.h>
#include "lib/banned.h"

/* CPUs of the greatest CPU task that the project has; 0: it has none. */
static double
cpus_of_task(const struct client_world *w, size_t project)
{
	double most = 0;

	for (size_t i = 0; i < w->ntasks; i++)
		if (w->tasks[i].project == (int32_t)project &&
		    w->tasks[i].rsc == CW_CPU)
			most = cw_max(most, w->tasks[i].ncpus);
	return most;
}

/* What a limit of its running tasks lets a project use that can use nothing but CPUs;
 * INFINITY: it has no such limit. */
static double
limit_of(const struct client_world *w, size_t project)
{
	int32_t most = fetch_configured_limit(w, project);
	double cpus;

	if (most <= 0 || w->projects[project].acct.usable_mask != 1U << CW_CPU)
		return INFINITY;
	cpus = cpus_of_task(w, project);
	return cpus > 0 ? most * cpus * w->rsc[CW_CPU].flops : INFINITY;
}

/* The FLOPS of the set, without those of projects that are settled at their limits. */
static double
flops_of(const struct client_world *w, unsigned set)
{
	double sum = 0;

	for (size_t r = 0; r < w->nrsc; r++)
		sum += set & 1U << r ? w->rsc[r].ninst * w->rsc[r].flops : 0;
	for (size_t i = 0; i < w->nprojects && set & 1U << CW_CPU; i++)
		if (w->projects[i].acct.limited)
			sum -= w->projects[i].acct.entitled;
	return cw_max(0, sum);
}

/* The project is not settled yet, and all resources left to it are in the set. */
static bool
bound_by(const struct cw_project *p, unsigned gone, unsigned set)
{
	return p->acct.usable_mask != 0 && p->acct.entitled == 0 &&
	       ((p->acct.usable_mask & ~gone) & ~set) == 0;
}

/* What the set gives per share to the projects bound by it; -1 if there are none. */
static double
level_of(const struct client_world *w, unsigned gone, unsigned set)
{
	double shares = 0;

	for (size_t i = 0; i < w->nprojects; i++)
		shares += bound_by(&w->projects[i], gone, set) ? w->projects[i].share :
		                                                 0;
	return shares > 0 ? flops_of(w, set) / shares : -1;
}

static unsigned
tightest_set(const struct client_world *w, unsigned gone, double *least)
{
	unsigned all = (1U << w->nrsc) - 1, tightest = 0;

	for (unsigned set = 1; set <= all; set++) {
		double level = set & gone ? -1 : level_of(w, gone, set);

		if (level >= 0 && (tightest == 0 || level < *least)) {
			tightest = set;
			*least = level;
		}
	}
	return tightest;
}

/* Settles the projects that could use less than the level gives them. */
static bool
settle_limited(struct client_world *w, unsigned gone, double level)
{
	bool any = false;

	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];
		double most;

		if (!bound_by(p, gone, ~0U))
			continue;
		most = limit_of(w, i);
		if (most >= level * p->share)
			continue;
		p->acct.entitled = most;
		p->acct.limited = any = true;
	}
	return any;
}

/* The set of resources that gives least per share to the projects restricted to it
 * binds them: they get exactly that, and the others share the rest.  Four resources
 * make 15 sets. */
void
entitle(struct client_world *w)
{
	unsigned gone = 0, set;
	double total = 0, level = 0;

	for (size_t i = 0; i < w->nprojects; i++) {
		w->projects[i].acct.limited = false;
		w->projects[i].acct.entitled = 0;
	}
	while ((set = tightest_set(w, gone, &level)) != 0) {
		if (settle_limited(w, gone, level))
			continue;
		for (size_t i = 0; i < w->nprojects; i++) {
			struct cw_project *p = &w->projects[i];

			if (bound_by(p, gone, set))
				p->acct.entitled = level * p->share;
		}
		gone |= set;
	}
	for (size_t i = 0; i < w->nprojects; i++)
		total += w->projects[i].acct.entitled;
	for (size_t i = 0; i < w->nprojects && total > 0; i++)
		w->projects[i].acct.entitled /= total;
}
