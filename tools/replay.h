/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out how the scheduler would answer, by running it in a mode that only reads. */
#ifndef TOOLS_REPLAY_H
#define TOOLS_REPLAY_H

#include "lib/buf.h"
#include "model/decision.h"
#include "model/reply.h"
#include "tools/cmd.h"

struct replay {
	/* set by the caller */
	const char *request; /* text of the request */
	size_t request_n;
	int64_t host, at, seed; /* host 0 = the request's host; at in s UTC */
	int64_t job;            /* id of the only candidate result; 0 = all results */
	const char *config;     /* NULL = the project's */
	const char *offline; /* path of a recording, which replaces all of the above but
	                        config */
	/* set by replay_run */
	char *reply;
	size_t reply_n;
	struct trace *trace; /* what was decided and why */
};
enum err replay_run(struct cmd_ctx *, struct replay *);

/* Parses the value of --at as s UTC: seconds since 1970, or a time like
 * 2026-11-20T23:40:57Z; NULL is now. E_BADREQ. */
enum err replay_time(struct cmd_ctx *, const char *, int64_t *);

#endif
