/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request by which locus start and locus status see whether the project serves: it
 * comes through the web server like any other and is decided like a new host's, with
 * what the database holds, but nothing of it is stored or counted.  It is known by a
 * secret in run_dir that only the project's account may read.
 */
#ifndef SCHED_RPC_PROBE_H
#define SCHED_RPC_PROBE_H

#include <stdbool.h>
#include "sched/rpc/rpc.h"

/* Is that body a probe, with the secret of this project? */
bool probe_asked(struct arena *, const struct conf *, const char *body, size_t n);
/*
 * Replaces the reply: what came of the request, the number of its decision, and which
 * directory of the project this process cannot write to.  trouble: why it could not be
 * served at all; NULL.
 */
void probe_answer(struct rpc *, const char *trouble);

#endif
