/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weighted round-robin simulation (client.md 2.2 in the exact,
 * work-conserving form): what becomes of the tasks in the queue if every resource is
 * shared at each instant among the projects in proportion to their shares.  A project
 * takes no more than its running tasks can use, what it leaves goes to the others;
 * within a project the running tasks go on evenly, and wait in order of arrival.
 */
#ifndef RULES_CLIENT_RR_SIM_H
#define RULES_CLIENT_RR_SIM_H

#include "lib/arena.h"
#include "rules/client/world.h"

struct rr_resource {
	double shortfall; /* idle instance-seconds from now to the end of the buffer */
	double nidle;     /* instances idle now */
	double saturated_s; /* from now until the first instance is idle */
	double busy_s; /* all instances are busy with tasks that would miss (by EDF) */
	double missed_use; /* instances that tasks which would miss could take */
};
struct rr_project {
	/* Entitled instance-seconds up to the end of the buffer that it cannot use. */
	double shortfall[CW_RSC_MOST];
	double queued[CW_RSC_MOST];   /* instance-seconds of work in the queue */
	double used[CW_RSC_MOST];     /* instances of it taken by the queue now */
	uint32_t ntasks[CW_RSC_MOST]; /* nearly runnable */
	uint32_t nrunnable[CW_RSC_MOST];
	uint32_t misses[CW_RSC_MOST];
};
struct rr_task {
	double finish_s; /* from now; 0 for what is not in the simulation */
	bool miss;       /* not before its deadline less the cushion */
};
struct rr_sim {
	struct rr_resource rsc[CW_RSC_MOST];
	struct rr_project *projects; /* nprojects */
	struct rr_task *tasks;       /* ntasks */
	/*
	 * When to look again though nothing happened, from now: a task that does not
	 * run loses its slack, a second each second.  Not before half of its cushion
	 * would be gone.  INFINITY: never.
	 */
	double recheck_s;
};

/*
 * O(n log n) for n tasks and projects.  The buffer is prefs.min_s + prefs.extra_s of
 * wall time; availability stretches the tasks.  Tasks that are suspended or not
 * CPU-intensive are left out.
 */
void rr_simulate(const struct client_world *, struct arena *, struct rr_sim *);
#endif
