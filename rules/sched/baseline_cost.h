/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hosts would have to fetch without locality: on one request in 16 some jobs are
 * drawn whatever the host holds, and the mean of what it lacks for those that fit it is
 * what a job would have cost.
 */
#ifndef RULES_SCHED_BASELINE_COST_H
#define RULES_SCHED_BASELINE_COST_H

#include "lib/rng.h"
#include "model/decision.h"

enum { BASELINE_DRAWS = 8, BASELINE_SHARDS = 16 };

/*
 * Is this request one of them?  By host and rpc_seqno, so that a request that is sent
 * again tells the same.  *rng is for the draws.  A host without an id is never: its
 * first request holds nothing, whatever it is given.
 */
bool baseline_cost_due(int64_t hostid, int64_t seqno, struct rng *rng);

/* How many new jobs of file sets are sent, and the bytes that they need. */
size_t baseline_cost_jobs(const struct decision *, int64_t *bytes_needed);

#endif
