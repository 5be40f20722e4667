/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of one golden case: the section TRACE_SNAPSHOT of a trace (proto/trace.h),
 * abbreviated so that people can write it. It is read from
 * test/golden/default.snapshot and then from test/golden/NAME.snapshot:
 *
 *     host id=1000 rpc_seqno=3
 *     in_progress id=21 name=wu_ok_0 workunitid=11
 *
 * A line "default KIND ..." sets the columns with which later rows of the kind start;
 * "default job" applies to all kinds of jobs. A line "|text" belongs, including its
 * line end, to the last column or text named before. "option name=value" is an element
 * of config.xml. {column} in a text of a job or version stands for the row's own
 * column, {column%__} for the part of it before "__". A line that begins with # is a
 * comment. Reports and other_results find the rows "result" by name; members of file
 * sets need no rows.
 */
#ifndef TEST_GOLDEN_WORLD_H
#define TEST_GOLDEN_WORLD_H

#include "proto/reply.h"
#include "proto/trace.h"

struct golden {
	struct arena *a;
	/* as read; rpc.hostid is the id that the commit would give a new host */
	struct trace *t;
	int64_t now, seed;
	struct conf *conf;
	const struct request *req;
	struct snapshot snap;
	struct catalog cat;
	struct reply_keys keys;
	struct decision *dec;
};

/* Reads the world of a case; changes both texts. Mistakes in them fail the test. */
struct golden *golden_world(struct arena *, const struct request *, char *defaults,
    const char *name, char *own);
/* Decides, and renders as the scheduler does after its commit. */
void golden_run(struct golden *, struct buf *reply);
/* Appends the decision as a trace: what was decided, why, and what the commit would
 * write. */
void golden_decision(struct buf *, const struct golden *);

#endif
