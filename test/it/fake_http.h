/* SPDX-License-Identifier: Apache-2.0 */
/* As little HTTP as a project in one process needs: one request per connection, one at
 * a time. */
#ifndef TEST_FAKE_HTTP_H
#define TEST_FAKE_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"

struct http_in {
	char *path; /* "/sched" */
	bool post;
	char *body;
	size_t body_n;     /* that arrived */
	size_t declared_n; /* of the body */
	int64_t from;      /* of the Range asked for, -1 = none */
};

int http_listen(int *port); /* on a free loopback port; a socket, or -1 */
/* Reads a request; of the body only the first half if half() says so for its path. */
bool http_read(struct arena *, int fd, struct http_in *,
    bool (*half)(void *ctx, const char *path), void *ctx);
/* Sends a head for n bytes, and then only the first sent of them; how many of them went
 * out. */
size_t http_answer(
    int fd, int status, int64_t from, const char *body, size_t n, size_t sent);

#endif
