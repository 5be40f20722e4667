/* SPDX-License-Identifier: Apache-2.0 */
/* Decides recorded RPCs again (locus replay). */
#ifndef SCHED_TRACE_REPLAY_H
#define SCHED_TRACE_REPLAY_H

#include "sched/rpc/rpc.h"

/*
 * Decides and renders a recorded RPC (recording.h) again from its file alone; config
 * NULL: by the recorded configuration.  x has its arena; its reply is in out
 * afterwards. E_BADREQ: it is no recording of this version.
 */
enum err rpc_replay(struct rpc *, const char *path, const char *config, struct fail *);

#endif
