/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates what hosts would have to fetch without locality: on one request in 16, some
 * jobs are drawn at random, whatever the host holds. The mean number of bytes that the
 * host lacks for those that fit it is what a job would have cost.
 */
#ifndef RULES_SCHED_BASELINE_COST_H
#define RULES_SCHED_BASELINE_COST_H

#include "lib/rng.h"
#include "model/decision.h"

enum { BASELINE_DRAWS = 8, BASELINE_SHARDS = 16 };

/*
 * Is this request one of the sample? Depends on host and rpc_seqno, so that a repeated
 * request gets the same answer. *rng is for the draws. Never true for a host without an
 * id: its first request holds no files in any case.
 */
bool baseline_cost_due(int64_t hostid, int64_t seqno, struct rng *rng);

/* Counts the new jobs of file sets that are sent, and the bytes that they need. */
size_t baseline_cost_jobs(const struct decision *, int64_t *bytes_needed);

#endif
