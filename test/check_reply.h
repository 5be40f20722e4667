/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that a stock client takes the whole of a reply (protocol.md 13.6, 0.3). The
 * scanner is its own, so that the check does not rest on the code that renders replies.
 */
#ifndef TEST_CHECK_REPLY_H
#define TEST_CHECK_REPLY_H

#include "lib/arena.h"

struct violations {
	struct arena *a;
	char **v;
	size_t n, cap;
};
/*
 * Appends one sentence per violation. If request is NULL, checks that depend on it are
 * left out.
 */
void check_reply(struct violations *, const char *request, size_t nrequest,
    const char *reply, size_t nreply);

#endif
