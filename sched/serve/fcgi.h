/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One FastCGI request by libfcgi's reentrant calls: its head, its body into an arena,
 * one reply out of a buffer.  Who serves them is sched/serve/serve.h.
 */
#ifndef SCHED_SERVE_FCGI_H
#define SCHED_SERVE_FCGI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <fcgiapp.h>
#include "lib/buf.h"

struct fcgi_request {
	struct arena *a;    /* of whoever answers it */
	const char *method; /* "GET", "POST", ... */
	const char *uri;    /* REQUEST_URI without the query; never PATH_INFO */
	const char *query;  /* "" = none */
	const char *peer;   /* address of the client as far as known, "" = unknown */
	int64_t length;     /* Content-Length; -1: not given, as with chunked bodies */
	char *body;         /* NUL behind it */
	size_t body_n;
};

struct fcgi_reply {
	const char *status;  /* "200 OK"; NULL = that */
	const char *type;    /* Content-Type */
	const char *headers; /* further header lines, each with its end; NULL = none */
	struct buf body;
};

/*
 * Takes over a connection of the web server and reads its request up to the body, which
 * is left empty; strings are f's or the arena's.  false: it is none, and closed.
 */
bool fcgi_begin(
    FCGX_Request *f, int fd, struct arena *, int64_t proxies, struct fcgi_request *);

/*
 * Reads on until body_n is max, or the body's end.  room: asked before more memory is
 * taken, with the bytes that there are and will be; false ends it.
 */
enum fcgi_body {
	FCGI_MORE,    /* max bytes are there; more may come */
	FCGI_WHOLE,   /* all of it is there */
	FCGI_CUT_OFF, /* it ended early: less than its length, or the web server gave up
	               */
	FCGI_NO_ROOM
};
enum fcgi_body fcgi_read(FCGX_Request *f, struct arena *, size_t max,
    bool (*room)(void *ctx, size_t from, size_t to), void *ctx, struct fcgi_request *);

/*
 * Sends the reply and ends the connection.  whole: all of the request was read; else
 * what still comes is thrown away until the web server has seen the reply.
 */
void fcgi_end(FCGX_Request *f, const struct fcgi_reply *, bool whole);

/*
 * The address of the client: remote, or with proxies in front that one of the header
 * X-Forwarded-For that the outermost of them wrote.  Only characters of addresses, at
 * most 45, without brackets and port.
 */
const char *fcgi_peer(
    struct arena *, const char *forwarded, const char *remote, int64_t proxies);

#endif
