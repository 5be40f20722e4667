/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File sets, and apps without, of which this process has lost claims lately: many hosts
 * want jobs of them at once, so each request takes others (performance.md 2).
 */
#ifndef SCHED_HOT_H
#define SCHED_HOT_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/rng.h"

enum { HOT_SETS = 16 };

struct hot { /* process lifetime; all 0 = nothing was lost */
	struct hot_set {
		int64_t fileset_id, since; /* the last loss, s UTC */
		int losses;
	} sets[HOT_SETS];
};

/* A claim of a job of this set was lost; of a plain job: minus its app's id. */
void hot_lost(struct hot *, int64_t fileset_id, int64_t now);
/* Was one lost in the last seconds? */
bool hot_is(const struct hot *, int64_t fileset_id, int64_t now);
/* So many unsent jobs of the set are left to others: 0, or a random number, the larger
 * the more was lost, below 64. */
int64_t hot_skip(const struct hot *, int64_t fileset_id, int64_t now, struct rng *);

#endif
