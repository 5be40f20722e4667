/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this reply one that a stock client takes whole (protocol.md 13.6, 0.3)?
 * Reads the bytes with a scanner of its own, so that it can be held against what Locus
 * renders.
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
 * Appends one sentence per violation.  request NULL: what depends on it is not checked.
 */
void check_reply(struct violations *, const char *request, size_t nrequest,
    const char *reply, size_t nreply);

#endif
