/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of one golden case: the section TRACE_SNAPSHOT of a trace (proto/trace.h),
 * abbreviated so that people may write it, in test/golden/default.snapshot and then in
 * test/golden/NAME.snapshot:
 *
 *     host id=1000 rpc_seqno=3
 *     in_progress id=21 name=wu_ok_0 workunitid=11
 *
 * A line "default KIND ..." sets what later rows of the kind start with; "default job"
 * is for all kinds of jobs.  A line "|text" belongs, with its line end, to the column
 * or text named last.  "option name=value" is an element of config.xml.  {column} in a
 * text of a job or version is the row's own column, {column%__} what stands before "__"
 * in it.  # begins a comment line.  "result" rows are those that reports and
 * other_results find by name; members of file sets need no rows.
 */
#ifndef TEST_GOLDEN_WORLD_H
#define TEST_GOLDEN_WORLD_H

#include "proto/reply.h"
#include "proto/trace.h"

struct golden {
	struct arena *a;
	struct trace
	    *t; /* as read; rpc.hostid is what the commit would give a new host */
	int64_t now, seed;
	struct conf *conf;
	const struct request *req;
	struct snapshot snap;
	struct catalog cat;
	struct reply_keys keys;
	struct decision *dec;
};

/* Changes both texts.  People may write them: a mistake fails the test. */
struct golden *golden_world(struct arena *, const struct request *, char *defaults,
    const char *name, char *own);
/* Decides, and renders as the scheduler does after its commit. */
void golden_run(struct golden *, struct buf *reply);
/* The decision as a trace: what was decided, why, and what the commit would write. */
void golden_decision(struct buf *, const struct golden *);

#endif
