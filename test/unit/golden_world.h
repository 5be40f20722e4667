/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of one golden case, from text: test/golden/default.snapshot, then
 * test/golden/NAME.snapshot.  A line is a kind and column=value pairs, the columns
 * being those of the model's tables and of golden_world.def:
 *
 *     host id=1000 rpc_seqno=3
 *     in_progress id=21 name=wu_ok_0 workunitid=11
 *
 * A value with blanks stands in "".  A line "default KIND ..." sets what later rows of
 * the kind start with.  A line "|text" goes, with its line end, to the text named last.
 * {column} in a text is the row's own column, {column%__} what
 * stands before "__" in it.  # starts a comment line.
 */
#ifndef TEST_GOLDEN_WORLD_H
#define TEST_GOLDEN_WORLD_H

#include "proto/reply.h"

struct golden {
	struct arena *a;
	int64_t now, seed;
	int64_t new_hostid; /* what the commit would give a new host */
	bool key_rotated;   /* the client has an old key of the project's */
	struct conf *conf;
	const struct request *req;
	struct snapshot snap;
	struct catalog cat;
	char *plan_classes; /* text of plan_class_spec.xml; "" = none */
	struct reply_keys keys;
	struct decision *dec;
};

/* Both texts may be edited by hand: what cannot be read fails the test with its line.
 */
struct golden *golden_world(struct arena *, const struct request *, char *defaults,
    const char *name, char *own);
/* Decides, and renders as the scheduler does after its commit. */
void golden_run(struct golden *, struct buf *reply);
/* The decision, a line for each thing decided. */
void golden_dump(struct buf *, const struct golden *);

#endif
