/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request with which locus start and locus status check that the project serves.
 * It comes through the web server like any other and is decided like a new host's, from
 * the database, but nothing is stored or counted. It is authenticated by a secret in
 * run_dir that only the project's account may read.
 */
#ifndef SCHED_RPC_PROBE_H
#define SCHED_RPC_PROBE_H

#include <stdbool.h>
#include "sched/rpc/rpc.h"

/* Is this body a probe with the secret of this project? */
bool probe_asked(struct arena *, const struct conf *, const char *body, size_t n);
/*
 * Replaces the reply with the outcome of the request, the number of its decision, and
 * the project directories that this process cannot write to. trouble: why the request
 * could not be served at all, or NULL.
 */
void probe_answer(struct rpc *, const char *trouble);

#endif
