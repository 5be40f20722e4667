/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FastCGI by libfcgi, as thin as it goes: accept on descriptor 0, the body into an
 * arena, one reply out of a buffer.  One request at a time; the web server starts as
 * many processes as it wants.
 */
#ifndef SCHED_FCGI_H
#define SCHED_FCGI_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/buf.h"

struct fcgi_request {
	struct arena *a;
	const char *method; /* "GET", "POST", ... */
	const char *uri;    /* REQUEST_URI without the query; never PATH_INFO */
	const char *query;  /* "" = none */
	const char *peer;   /* address of the client as far as known, "" = unknown */
	char *body;         /* NUL behind it */
	size_t body_n;
	bool too_large; /* the body is over the cap and was not kept */
};

struct fcgi_reply {
	const char *status;  /* "200 OK"; NULL = that */
	const char *type;    /* Content-Type */
	const char *headers; /* further header lines, each with its end; NULL = none */
	struct buf body;
};

struct fcgi_terms { /* what is asked for at each request, as it may change */
	size_t body_max;
	int64_t proxies; /* how many entries of X-Forwarded-For are our own proxies' */
};

/*
 * Serves requests until the process is told to stop.  The arena is reset after each.
 */
void fcgi_serve(struct fcgi_terms (*terms)(void *ctx),
    void (*handle)(void *ctx, const struct fcgi_request *, struct fcgi_reply *),
    void *ctx);

/*
 * The address of the client: remote, or with proxies in front that one of the header
 * X-Forwarded-For that the outermost of them wrote.  Only characters of addresses, at
 * most 45, without brackets and port.
 */
const char *fcgi_peer(
    struct arena *, const char *forwarded, const char *remote, int64_t proxies);

#endif
