/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded RPC is decided again (locus replay). */
#ifndef SCHED_TRACE_REPLAY_H
#define SCHED_TRACE_REPLAY_H

#include "sched/rpc/rpc.h"

/*
 * Decides a recorded RPC again; config NULL: by the configuration of then.  Nothing but
 * the file is looked at.  x has its arena, and out afterwards.
 */
enum err rpc_replay(struct rpc *, const char *path, const char *config, struct fail *);

#endif
