/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the commit that writes workunits and results; commit.c does the rest. */
#ifndef SCHED_RPC_COMMIT_H
#define SCHED_RPC_COMMIT_H

#include "sched/rpc/rpc.h"

struct commit { /* the transaction being written */
	struct op *ops;
	struct touch *touches;
	size_t nops, ntouches;
	bool *send_lost; /* one per send of the decision */
	size_t nsends_lost;
	bool bound_for_nothing; /* a lost job had bound or replicated its workunit */
	int64_t token;
};

/* Collects the rows to write, in the order of locks: workunits by id, results by id. */
void commit_collect_rows(struct rpc *, struct commit *);
/*
 * Writes them inside the transaction and fills send_lost.  E_RETRY: a report must be
 * decided again.
 */
enum err commit_write_rows(struct rpc *, struct commit *);

#endif
