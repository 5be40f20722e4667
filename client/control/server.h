/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to a running host: never block it, and are bounded in number, size and
 * time. Requests that only look are answered at once, even while a transfer runs;
 * those that change the host wait for the end of the step.
 */
#ifndef CLIENT_CONTROL_SERVER_H
#define CLIENT_CONTROL_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include "client/client.h"
#include "lib/buf.h"

enum { CONTROL_FDS = 60 };

struct dialog { /* what a protocol remembers of one connection */
	bool authorized;
	bool close; /* when the answer is sent */
	char nonce[64];
};
struct protocol {
	size_t request_most; /* bytes */
	int idle_s;          /* closed after so long without a byte */
	/* Closed so long after it was opened, while it is not authorized; 0: never. */
	int stranger_s;
	char end; /* the last byte of each request */
	/* Answers a request, NUL-terminated without its end byte. Returns false, and
	 * has done nothing, if the request changes the host and may_change is not
	 * set. */
	bool (*answer)(struct client *, struct dialog *, char *text, size_t n,
	    bool may_change, struct buf *out);
};

/* Opens the sockets; an error is logged, and the host runs without them. */
void control_open(struct client *);
void control_close(struct client *);
/* Fills in what to poll for; returns how many, at most CONTROL_FDS. */
size_t control_fds(struct client *, struct pollfd *);
/* Accepts, reads, answers requests that only look, and writes. */
void control_look(struct client *);
/* Does a request wait that changes the host? */
bool control_waiting(const struct client *);
/* Carries out the requests that wait. Answers are sent once the state is saved. */
void control_serve(struct client *);
/* Sleeps up to ms, but wakes for a request. */
void control_nap(struct client *, int ms);

#endif
