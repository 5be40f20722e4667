/* SPDX-License-Identifier: Apache-2.0 */
/* Decides recorded RPCs again (locus replay). */
#ifndef SCHED_TRACE_REPLAY_H
#define SCHED_TRACE_REPLAY_H

#include "sched/rpc/rpc.h"

/*
 * Decides and renders a recorded RPC (recording.h) again from its file alone, with
 * this configuration file; NULL = the recorded configuration. The caller sets x's
 * arena and finds the reply in x->out. E_BADREQ: not a recording of this version.
 */
enum err rpc_replay(struct rpc *, const char *path, const char *config, struct fail *);

#endif
