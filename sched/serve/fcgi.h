/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One FastCGI request through libfcgi's reentrant calls: its head, its body in an arena
 * or in pieces, and one reply from a buffer. sched/serve/serve.h runs the threads that
 * serve them.
 */
#ifndef SCHED_SERVE_FCGI_H
#define SCHED_SERVE_FCGI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <fcgiapp.h>
#include "lib/buf.h"

struct fcgi_request {
	FCGX_Request *f;    /* brings the body */
	struct arena *a;    /* of the thread that answers the request */
	const char *method; /* "GET", "POST", ... */
	const char *uri;    /* REQUEST_URI without the query; never PATH_INFO */
	const char *query;  /* "" = no query */
	const char *peer;   /* address of the client; "" = unknown */
	const char *auth;   /* header Authorization; "" = none */
	int64_t length;     /* Content-Length; -1 = not given, as with chunked bodies */
	char *body;         /* NUL-terminated; "" before fcgi_read() */
	size_t body_n;      /* bytes of the body that have been read */
};

struct fcgi_reply {
	const char *status;  /* NULL = "200 OK" */
	const char *type;    /* Content-Type */
	const char *headers; /* more header lines with line ends; NULL = none */
	struct buf body;
};

/*
 * Takes over a connection from the web server and reads the request's head; the body
 * stays empty. Strings belong to f or the arena. Returns false if there is no
 * request; the connection is then closed.
 */
bool fcgi_begin(
    FCGX_Request *f, int fd, struct arena *, int64_t proxies, struct fcgi_request *);

/*
 * Reads up to n bytes of the body, fewer only at its end; 0 = it has ended. For a
 * program that takes the body in pieces (struct serve_program, stream).
 */
size_t fcgi_body(struct fcgi_request *, char *to, size_t n);
/*
 * Did the body, which has ended, end before its Content-Length, or did the web server
 * give up?
 */
bool fcgi_cut_off(const struct fcgi_request *);

/*
 * Continues to read the body until body_n is max or the body ends. Before taking more
 * memory it calls room() with the new number of bytes; reading stops if room() returns
 * false.
 */
enum fcgi_got {
	FCGI_MORE,    /* max bytes have been read; more may follow */
	FCGI_WHOLE,   /* the whole body has been read */
	FCGI_CUT_OFF, /* fcgi_cut_off() */
	FCGI_NO_ROOM  /* room() refused */
};
enum fcgi_got fcgi_read(struct fcgi_request *, size_t max,
    bool (*room)(void *ctx, size_t bytes), void *ctx);

/*
 * Sends the reply and closes the connection. whole: all of the request was read;
 * otherwise the rest is discarded until the web server has seen the reply.
 */
void fcgi_end(const struct fcgi_request *, const struct fcgi_reply *, bool whole);

/*
 * Returns the address of the client: remote or, behind proxies, the X-Forwarded-For
 * entry written by the outermost of them. The result has only characters of addresses,
 * at most 45, without brackets and port.
 */
const char *fcgi_peer(
    struct arena *, const char *forwarded, const char *remote, int64_t proxies);

#endif
