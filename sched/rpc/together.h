/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs several RPCs over one connection: each decides by itself, then one transaction
 * writes the decisions of all that only report, claim and update (architecture.md 3.2).
 */
#ifndef SCHED_RPC_TOGETHER_H
#define SCHED_RPC_TOGETHER_H

#include "sched/rpc/rpc.h"

/*
 * Runs RPCs that have begun (rpc_begin) and share a connection; they may be at any
 * step. Calls over(ctx, i) for each as soon as it is over or, at step look, is to be
 * parked.
 */
void rpc_run_together(
    struct rpc *const *, size_t n, void (*over)(void *ctx, size_t i), void *ctx);

/*
 * Commits RPCs at step commit in one transaction; those that it has written are at
 * render afterwards.  The others must commit alone: their rows are not as they were
 * read, or they change more than one transaction for several can check.
 */
void rpc_commit_together(struct rpc *const *, size_t n);

#endif
