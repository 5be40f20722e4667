/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP that a project in one process needs: one request per connection, one
 * connection at a time. */
#ifndef TEST_FAKE_HTTP_H
#define TEST_FAKE_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"

struct http_in {
	char *path; /* "/sched" */
	bool post;
	char *body;
	size_t body_n;     /* bytes that arrived */
	size_t declared_n; /* Content-Length */
	int64_t from;      /* start of the Range, -1 = none */
};

/* Listens on a free loopback port. Returns the socket, or -1. */
int http_listen(int *port);
/* Reads a request; only the first half of its body if half() returns true for the path.
 * Returns false if the client has gone. */
bool http_read(struct arena *, int fd, struct http_in *,
    bool (*half)(void *ctx, const char *path), void *ctx);
/* Sends a head for a body of n bytes, but only the first `sent` of them. Returns the
 * number of bytes that the socket took. */
size_t http_answer(
    int fd, int status, int64_t from, const char *body, size_t n, size_t sent);

#endif
