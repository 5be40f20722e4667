/* SPDX-License-Identifier: Apache-2.0 */
/* What the scheduler would answer: its own program is run, which then only reads. */
#ifndef TOOLS_REPLAY_H
#define TOOLS_REPLAY_H

#include "lib/buf.h"
#include "model/decision.h"
#include "model/reply.h"
#include "tools/cmd.h"

struct replay {
	/* set by the caller */
	const char *request; /* its text */
	size_t request_n;
	int64_t host, at, seed; /* host 0: the request's; at in s UTC */
	int64_t job;            /* id of the only result that is a candidate; 0 = all */
	const char *config;     /* NULL: the project's */
	const char *offline;    /* a recording instead of all that but config */
	/* set by replay_run */
	char *reply;
	size_t reply_n;
	struct trace *trace; /* what was decided and why */
};
enum err replay_run(struct cmd_ctx *, struct replay *);

/* The time that --at names, in s UTC: so many seconds since 1970, or like
 * 2026-11-20T23:40:57Z; NULL is now.  E_BADREQ. */
enum err replay_time(struct cmd_ctx *, const char *, int64_t *);

/* In words, a line each, what the second reply has otherwise than the first; returns
 * how many lines that are. */
size_t reply_differences(
    struct arena *, const struct reply *, const struct reply *, struct buf *);

#endif
