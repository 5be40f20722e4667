/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Earliest deadline first on one resource of a host: which tasks would miss their
 * deadlines, and would one more task make it worse (scheduling.md 2.7)?  Points in time
 * are absolute, in s UTC; spans are in s.  Nothing here is a span from a past request.
 */
#ifndef RULES_SCHED_EDF_H
#define RULES_SCHED_EDF_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"

struct edf_task {
	int64_t deadline; /* point in time by which it is to be done */
	double remaining; /* wall seconds, >= 0 */
	double usage;     /* instances, > 0; more than there are: all of them */
};
struct edf_running;
struct edf {
	struct arena *a;
	int64_t now;
	double instances;       /* > 0 */
	struct edf_task *tasks; /* by deadline, among equals the first that came */
	size_t n, cap;
	double *done; /* of tasks: wall seconds from now; as of ndone tasks */
	size_t ndone;
	/* The easiest task that was refused since the last one was added: none that
	 * takes as long and is due as early can do better. */
	struct edf_task refused;
	bool any_refused;
	/* Room to try in, for as many tasks as there are and one more. */
	struct edf_task *trial;
	double *trial_done;
	struct edf_running *running;
	size_t room;
};

struct edf edf_new(struct arena *, int64_t now, double instances);
/* The task is on the host, or in this reply.  O(n). */
void edf_add(struct edf *, struct edf_task);
/*
 * May this task come as well?  Not if it would miss its deadline, make another miss
 * one, or make one that misses later still.  O(n log n); a refusal is remembered.
 */
bool edf_accepts(struct edf *, struct edf_task);
/* How many of the tasks miss their deadlines. */
size_t edf_misses(struct edf *);

#endif
