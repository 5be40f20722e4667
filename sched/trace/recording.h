/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of the RPCs of hosts that an admin named (locus record): traces that
 * locus replay decides again.  A file run_dir/recording/HOSTID holds the time until
 * which a host is recorded.
 */
#ifndef SCHED_TRACE_RECORDING_H
#define SCHED_TRACE_RECORDING_H

#include "sched/rpc/rpc.h"

/* After load: sets x->recorded if this host's RPC is to be recorded. */
void recording_begin(struct rpc *);
/* Before the commit: what the decision looked at. */
void recording_rows(struct rpc *);
/* A served RPC: adds its texts and what became of its claims to x->recording. */
enum err recording_end(struct rpc *, struct fail *);

#endif
