/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: which complete requests of a process are served, in which order, and when
 * those that are turned away come back.
 *
 * The queue is first come, first served, and bounded by a number of requests and by
 * their expected wait at the measured rate. A host has one place in it: a second
 * request means that the client has given up on the first one, so it replaces the first
 * if that still waits, and follows it if that is being served.
 *
 * Requests beyond the bound are told to come back when the queue and those turned away
 * before them will have been served, so that a crowd spreads out at the measured rate.
 *
 * Plain data: the caller serialises all calls and gives the time, in ms on the
 * monotonic clock.
 */
#ifndef SCHED_SERVE_ADMISSION_H
#define SCHED_SERVE_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/rng.h"

enum {
	ADMISSION_WAIT_S = 30,    /* longest wait in the queue */
	ADMISSION_DELAY_S = 3600, /* longest delay of a request that is turned away */
	ADMISSION_BUCKETS = 1024, /* of the table of hosts */
};

enum ticket_state {
	TICKET_OUT,    /* not admitted, answered or replaced */
	TICKET_QUEUED, /* waits for a worker */
	TICKET_SERVED, /* a worker works on it */
	TICKET_PARKED, /* waits for something else and needs no worker */
};

struct ticket {        /* of one request; zero at first, but for the host */
	uint64_t host; /* key of the host; 0 = unknown: no other is like it */
	enum ticket_state state;
	bool resumed;               /* it was parked before it was queued */
	bool follows;               /* another request of the host is being served */
	struct ticket *prev, *next; /* in its queue */
	struct ticket *chain;       /* in its bucket */
};

struct ticket_queue {
	struct ticket *first, *last;
};

struct admission {
	int64_t max_queued;
	struct ticket_queue resumed, fresh; /* the resumed ones are served first */
	int64_t queued;                     /* in both queues */
	struct ticket *hosts[ADMISSION_BUCKETS];
	/* the measurement: answered requests per s while some are queued */
	double rate;
	int64_t measured_ms; /* time that the rate rests on; 0 = unknown */
	int64_t measured_at_ms;
	int64_t window_ms; /* begin of the current window */
	int64_t answered;  /* in the window */
	bool idle;         /* the queue was empty at some time in the window */
	/* the virtual queue of those turned away */
	double turned_away; /* whose time has not come, at turned_ms */
	int64_t turned_ms;
	struct rng jitter;
};

/* max_queued: requests that may be queued at once. */
void admission_begin(
    struct admission *, int64_t max_queued, uint64_t seed, int64_t now_ms);

/*
 * Queues a request. Returns false if it is to be turned away. *replaced is the
 * earlier request of the host that leaves for it and is to be turned away too, or NULL;
 * the later request takes its place in the queue.
 */
bool admission_enter(
    struct admission *, struct ticket *, int64_t now_ms, struct ticket **replaced);

/* Returns the request to serve next; NULL if there is none. */
struct ticket *admission_first(const struct admission *);
/* Takes it out of the queue: it is TICKET_SERVED now. */
struct ticket *admission_next(struct admission *, int64_t now_ms);

/*
 * Parks a request that is being served. Returns false if a later request of its host
 * is queued: the caller then turns the earlier one away.
 */
bool admission_park(struct admission *, struct ticket *);
/* Queues a parked request again, ahead of requests that were not parked. */
void admission_resume(struct admission *, struct ticket *);

/*
 * A request leaves, whatever its state (TICKET_OUT: no effect). answered: a worker
 * made its reply.
 */
void admission_leave(
    struct admission *, struct ticket *, bool answered, int64_t now_ms);

/*
 * Returns the delay in s for a request that is turned away, and counts the request
 * among those that will come back: at least min_s, at most ADMISSION_DELAY_S or min_s.
 */
double admission_delay_s(struct admission *, double min_s, int64_t now_ms);

#endif
