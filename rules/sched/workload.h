/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Would a job end in time on this host (scheduling.md 2.6, 2.7)? If the client lists
 * the tasks of all its projects, they are simulated, earliest deadline first; else the
 * job waits until an instance is free, according to the client. All deadlines here are
 * absolute times.
 */
#ifndef RULES_SCHED_WORKLOAD_H
#define RULES_SCHED_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"

struct edf_task {
	int64_t deadline; /* time by which the task must end */
	double remaining; /* wall seconds, >= 0 */
	double usage;     /* instances, > 0; more than exist means all of them */
};
struct edf_running;
struct edf {
	struct arena *a;
	int64_t now;
	double instances;       /* > 0 */
	struct edf_task *tasks; /* by deadline; equal deadlines in order of arrival */
	size_t n, cap;
	/* end of each task: wall seconds from now; valid for ndone tasks */
	double *done;
	size_t ndone;
	/*
	 * The easiest task refused since the last one was added: no task that takes as
	 * long and is due as early can do better.
	 */
	struct edf_task refused;
	bool any_refused;
	/* Work space for all tasks and one more. */
	struct edf_task *trial;
	double *trial_done;
	struct edf_running *running;
	size_t room;
};

struct edf edf_new(struct arena *, int64_t now, double instances);
/* Adds a task of the host or of this reply. O(n). */
void edf_add(struct edf *, struct edf_task);
/*
 * May this task be added? Not if it would miss its deadline, make another task miss its
 * own, or delay one that misses it already. O(n log n); a refusal is remembered.
 */
bool edf_accepts(struct edf *, struct edf_task);
/* Number of tasks that miss their deadlines. */
size_t edf_misses(struct edf *);

#endif
