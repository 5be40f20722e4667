/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of RPCs for the hosts that an admin named (locus record): a file
 * run_dir/recording/HOSTID holds until when, and project_dir/recordings takes them.
 * What goes wrong with them is logged and hurts no RPC.
 */
#ifndef SCHED_TRACE_RECORDER_H
#define SCHED_TRACE_RECORDER_H

#include "sched/rpc/rpc.h"

/* Is this host's RPC to be recorded?  Sets x->keep; after load. */
void recorder_look(struct rpc *);
/* What the decision looked at, as it stands before the commit. */
void recorder_rows(struct rpc *);
/* The file, when the RPC is over. */
void recorder_write(struct rpc *);

#endif
