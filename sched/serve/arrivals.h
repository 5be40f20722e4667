/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections whose request is still to come. A service accepts as many as are offered,
 * watches them all, and gives a thread only to one whose head (the FastCGI records up
 * to the end of the parameters) has arrived: a connection that says nothing, or not
 * all, costs no thread. Those that say too little for ARRIVALS_WAIT_MS are closed, and
 * the oldest of them as soon as there are too many. Connections of accounts that may
 * not speak to the service are closed at once.
 *
 * One thread at a time uses it.
 */
#ifndef SCHED_SERVE_ARRIVALS_H
#define SCHED_SERVE_ARRIVALS_H

#include "lib/arena.h"
#include "lib/err.h"
#include "model/owner.h"

enum {
	ARRIVALS_MOST = 512,     /* watched at once; each has a descriptor */
	ARRIVALS_WAIT_MS = 5000, /* for the head of a request */
	ARRIVALS_END_MS = 250    /* the same, once the service ends */
};

struct arrival {
	int fd;
	int64_t since_ms; /* monotonic clock */
	struct arrival *prev, *next;
};

struct arrival_list {
	struct arrival *first, *last;
	size_t n;
};

struct arrivals {
	int events; /* an epoll descriptor: readable when arrivals_take() has work */
	int listening;
	struct web_peer peer;
	struct arrival_list unused, silent, ready; /* silent: oldest first */
	char *head;                                /* a copy of what one has said */
	int64_t wait_ms;
	bool ended; /* accepts no more */
	/* for the log */
	int64_t strangers, closed, told_ms;
	uid_t stranger;
};

/* E_SYS: no descriptor or memory. The listening socket becomes non-blocking. */
enum err arrivals_begin(struct arrivals *, struct arena *, int listening,
    const struct web_peer *, struct fail *);
/* Closes all that is left. */
void arrivals_close(struct arrivals *);

/* Accepts, watches and closes; returns a connection whose head is there, or -1. */
int arrivals_take(struct arrivals *);
/*
 * For poll(2) on `events`, before the next arrivals_take(): 0 = another one may be
 * ready, -1 = no limit.
 */
int arrivals_timeout_ms(const struct arrivals *);

/*
 * The service ends: those that are silent have little time left. more: what the
 * socket's queue holds is still accepted.
 */
void arrivals_end(struct arrivals *, bool more);
/* Is any connection watched? */
bool arrivals_left(const struct arrivals *);

#endif
