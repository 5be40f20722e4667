/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs that requests of this process have chosen. No two requests of a process
 * choose the same job, so only other processes can win a job that a request has chosen.
 *
 * A request that is over has given its jobs up or sent them; either way they stay
 * chosen for the requests that had begun to read before.
 */
#ifndef SCHED_RPC_IN_FLIGHT_H
#define SCHED_RPC_IN_FLIGHT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"

enum { CHOSEN_BEFORE = 1024 };

struct decision;
struct chosen_job {
	int64_t id, fileset_id;
};
struct chosen_jobs { /* by one request; all 0 = none */
	struct chosen_job *v;
	size_t n;
	uint64_t began; /* in_flight.dropped when the request began to read */
	/* until it has chosen: a set of which it reads jobs, to take about so many */
	int64_t reads, expects;
	struct chosen_jobs *prev, *next; /* of the process */
};
struct in_flight { /* of one process */
	pthread_mutex_t lock;
	struct chosen_jobs all;                  /* the head of a ring */
	struct chosen_job before[CHOSEN_BEFORE]; /* of requests that are over */
	uint64_t dropped; /* how many there were so far; the last is at dropped - 1 */
};

void in_flight_begin(struct in_flight *);
void in_flight_close(struct in_flight *);
/* A request begins to read candidates. */
void in_flight_reads(struct in_flight *, struct chosen_jobs *own);
/*
 * Takes the jobs of a decision (not those sent again) unless another request has one of
 * them; returns false then, and nothing is taken. The jobs that the request had chosen
 * before are given up first.
 */
bool in_flight_choose(struct in_flight *, struct arena *, struct chosen_jobs *own,
    const struct decision *);
/* Gives up the jobs of a request, because it is over or decides again. */
void in_flight_drop(struct in_flight *, struct chosen_jobs *own);
/*
 * Returns the largest id of a job of the file set that another request has chosen and
 * not yet given up; 0 = none.
 */
int64_t in_flight_last(
    struct in_flight *, const struct chosen_jobs *own, int64_t fileset_id);
/*
 * The request is about to read jobs of a file set, of which it will choose about n.
 * Returns how many jobs the others that do so will choose, to be left to them.
 */
int64_t in_flight_expect(
    struct in_flight *, struct chosen_jobs *own, int64_t fileset_id, int64_t n);
/* Returns all jobs that other requests have chosen since this one began to read. */
struct chosen_job *in_flight_others(
    struct in_flight *, struct arena *, const struct chosen_jobs *own, size_t *n);

#endif
