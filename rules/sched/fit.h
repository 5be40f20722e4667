/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a job fit this account and this host? The checks of scheduling.md 2.6, in that
 * order.
 */
#ifndef RULES_SCHED_FIT_H
#define RULES_SCHED_FIT_H

#include "lib/rng.h"
#include "model/decision.h"

/*
 * Decides the replication of a new job for a version on a host with statistics hav
 * (NULL = none). Ten valid results in a row that others confirmed make the version
 * trusted; of its jobs, one in consecutive_valid is replicated nevertheless. A random
 * number is drawn for trusted versions only. Jobs for certain hosts only are not
 * replicated.
 */
enum replication trust_replication(const struct app *, const struct job *,
    const struct host_app_version *hav, struct rng *);
/*
 * Results, and quorum, of the workunit once it is replicated: at most
 * max_success_results.
 */
int32_t trust_results(const struct app *, const struct job *);

#endif
