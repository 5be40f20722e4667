/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of workunits and results that a decision changes; the rest is commit.c's. */
#ifndef SCHED_RPC_COMMIT_H
#define SCHED_RPC_COMMIT_H

#include "sched/rpc/rpc.h"

struct work { /* the transaction being written */
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
void work_collect(struct rpc *, struct work *);
/* Inside the transaction; fills send_lost.  E_RETRY: a report has to be decided anew.
 */
enum err work_write(struct rpc *, struct work *);

#endif
