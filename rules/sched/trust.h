/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adaptive replication (scheduling.md 2.5 (10), 2.9): an app whose row has
 * target_nresults above 1 makes workunits of one result, and others are added to
 * compare it with unless its host has proved right.
 */
#ifndef RULES_SCHED_TRUST_H
#define RULES_SCHED_TRUST_H

#include "lib/rng.h"
#include "model/decision.h"

/*
 * How a new job of this app goes to a version on a host, of which hav (NULL = nothing)
 * is known.  Ten valid results in a row that others confirmed make it trusted; of such
 * a one's jobs one in consecutive_valid is replicated all the same.  A number is drawn
 * for trusted ones only.  Jobs that are for some hosts in particular are left alone.
 */
enum replication trust_replication(const struct app *, const struct job *,
    const struct host_app_version *hav, struct rng *);
/* Results, and quorum, that its workunit gets then: no more than it may succeed. */
int32_t trust_results(const struct app *, const struct job *);

#endif
