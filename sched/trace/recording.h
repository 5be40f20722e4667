/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of the RPCs of some hosts (locus record): traces from which locus
 * replay decides again. The file run_dir/recording/HOSTID contains the time until
 * which a host is recorded.
 */
#ifndef SCHED_TRACE_RECORDING_H
#define SCHED_TRACE_RECORDING_H

#include "sched/rpc/rpc.h"

/* Called after load: sets x->recorded if this host is recorded now. */
void recording_begin(struct rpc *);
/* Called before the commit, which changes rows: begins x->recording with the rows
 * that the decision used. */
void recording_rows(struct rpc *);
/* Called for a served RPC: completes x->recording with its texts and lost claims. */
enum err recording_end(struct rpc *, struct fail *);

#endif
