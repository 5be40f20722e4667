/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of workunits and results that a decision changes; the rest is commit.c's. */
#ifndef SCHED_RPC_COMMIT_H
#define SCHED_RPC_COMMIT_H

#include "sched/rpc/rpc.h"

struct commit { /* the transaction being written */
	struct op *ops;
	struct touch *touches;
	size_t nops, ntouches;
	bool *send_lost; /* decision.nsends */
	size_t nsends_lost;
	bool bound_for_nothing; /* a job that was lost has bound its workunit, or
	                           replicated it */
	int64_t token;
};

/* What there is to write, in the order of locks: workunits by id, results by id. */
void commit_collect_rows(struct rpc *, struct commit *);
/* Inside the transaction; fills send_lost.  E_RETRY: a report has to be decided anew.
 */
enum err commit_write_rows(struct rpc *, struct commit *);

#endif
