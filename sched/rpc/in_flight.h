/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs that requests of this process have chosen and not yet committed.  No two
 * requests of a process choose the same job, so only other processes can win a job that
 * a request has chosen.
 */
#ifndef SCHED_RPC_IN_FLIGHT_H
#define SCHED_RPC_IN_FLIGHT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"

struct decision;
struct chosen_jobs { /* by one request; all 0 = none */
	struct chosen_job {
		int64_t id, fileset_id;
	} * v;
	size_t n;
	struct chosen_jobs *prev, *next; /* of the process */
};
struct in_flight { /* of one process */
	pthread_mutex_t lock;
	struct chosen_jobs all; /* the head of a ring */
};

void in_flight_begin(struct in_flight *);
void in_flight_close(struct in_flight *);
/*
 * Takes the jobs of a decision (not those sent again) unless another request has one of
 * them; returns false then, and nothing is taken.  The jobs that the request had chosen
 * before are given up first.
 */
bool in_flight_choose(struct in_flight *, struct arena *, struct chosen_jobs *own,
    const struct decision *);
/* Gives up the jobs of a request, because it is over or decides again. */
void in_flight_drop(struct in_flight *, struct chosen_jobs *own);
/* Returns all jobs that other requests have chosen. */
struct chosen_job *in_flight_others(
    struct in_flight *, struct arena *, const struct chosen_jobs *own, size_t *n);

#endif
