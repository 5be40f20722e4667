/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File sets, and apps without, of which this process has lost claims lately: many hosts
 * want jobs of them at once, so each request takes others (performance.md 2).
 */
#ifndef RULES_SCHED_CONTENTION_H
#define RULES_SCHED_CONTENTION_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/rng.h"

enum { CONTENDED_SETS = 16 };

struct contention { /* process lifetime; all 0 = nothing was lost */
	struct contended_set {
		int64_t fileset_id, since; /* the last loss, s UTC */
		int losses;
	} sets[CONTENDED_SETS];
};

/* A claim of a job of this set was lost; of a plain job: minus its app's id. */
void contention_lost(struct contention *, int64_t fileset_id, int64_t now);
/* Was one lost in the last seconds? */
bool contention_is(const struct contention *, int64_t fileset_id, int64_t now);
/* So many unsent jobs of the set are left to others: 0, or a random number, the larger
 * the more was lost, below 64. */
int64_t contention_skip(
    const struct contention *, int64_t fileset_id, int64_t now, struct rng *);

#endif
