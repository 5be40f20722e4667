/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FastCGI by libfcgi, as thin as it goes: accept on descriptor 0, the body into an
 * arena, one reply out of a buffer.  One request at a time; the web server starts as
 * many processes as it wants.
 */
#ifndef SCHED_FCGI_H
#define SCHED_FCGI_H

#include <stdbool.h>
#include "lib/buf.h"

struct fcgi_request {
	struct arena *a;
	const char *method; /* "GET", "POST", ... */
	const char *uri;    /* REQUEST_URI without the query; never PATH_INFO */
	const char *query;  /* "" = none */
	const char *peer; /* address of the client, proxies trusted; only ever stored */
	char *body;       /* NUL behind it */
	size_t body_n;
	bool too_large; /* the body is over the cap and was not kept */
};

struct fcgi_reply {
	const char *status;  /* "200 OK"; NULL = that */
	const char *type;    /* Content-Type */
	const char *headers; /* further header lines, each with its end; NULL = none */
	struct buf body;
};

/*
 * Serves requests until the process is told to stop.  The arena is reset after each.
 * body_max is asked for at each request, as the configuration may change.
 */
void fcgi_serve(size_t (*body_max)(void *ctx),
    void (*handle)(void *ctx, const struct fcgi_request *, struct fcgi_reply *),
    void *ctx);

/* The address in an X-Forwarded-For header, else the peer's; only characters of
 * addresses, at most 45. */
const char *fcgi_peer(struct arena *, const char *forwarded, const char *remote);

#endif
