/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weighted round-robin simulation (client.md 2.2 in its exact, work-conserving
 * form): predicts what becomes of the queued tasks if each resource is shared at every
 * instant among the projects in proportion to their shares.  A project takes no more
 * than its running tasks can use, and the surplus goes to the others; within a project
 * the running tasks advance evenly, and the others wait in order of arrival.  Tasks
 * that do not fit into memory together run one after the other, and the CPUs that this
 * leaves unused count as idle.  Leaves out tasks that need more memory than there is.
 */
#ifndef RULES_CLIENT_RR_SIM_H
#define RULES_CLIENT_RR_SIM_H

#include "lib/arena.h"
#include "rules/client/world.h"

struct rr_resource {
	double shortfall; /* idle instance-seconds from now to the end of the buffer */
	double nidle;     /* instances idle now */
	double saturated_s; /* time from now until the first instance is idle */
	/* Time for which all instances are busy with tasks that would miss (by EDF). */
	double busy_s;
	double missed_use; /* instances that tasks which would miss could use */
};
struct rr_project {
	/* Entitled instance-seconds up to the end of the buffer that it cannot use. */
	double shortfall[CW_RSC_MOST];
	double queued[CW_RSC_MOST];   /* instance-seconds of queued work */
	double used[CW_RSC_MOST];     /* instances that its queue takes now */
	uint32_t ntasks[CW_RSC_MOST]; /* nearly runnable */
	uint32_t nrunnable[CW_RSC_MOST];
	uint32_t misses[CW_RSC_MOST];
};
struct rr_task {
	double finish_s; /* from now; 0 for tasks outside the simulation */
	bool miss;       /* not finished by its deadline less the cushion */
};
struct rr_sim {
	struct rr_resource rsc[CW_RSC_MOST];
	struct rr_project *projects; /* nprojects */
	struct rr_task *tasks;       /* ntasks */
	/* When to simulate again without an event, from now: a task that does not run
	 * loses a second of slack each second.  Not before half of its cushion would be
	 * gone.  INFINITY: never. */
	double recheck_s;
};

/* Runs in O(n log n) for n tasks and projects.  The buffer is prefs.min_s +
 * prefs.extra_s of wall time; availability stretches the tasks.  Leaves out tasks that
 * are suspended or not CPU-intensive. */
void rr_simulate(const struct client_world *, struct arena *, struct rr_sim *);
#endif
