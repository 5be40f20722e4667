/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers for which file sets no_work_available is raised, for a process that asks
 * about the same sets again and again.  As long as the directory does not change, which
 * one check tells, a trigger that was raised still is; a trigger that was not is
 * checked each time.
 */
#ifndef DB_NO_WORK_H
#define DB_NO_WORK_H

#include "db/trigger.h"

enum { NO_WORK_SETS = 1 << 17 }; /* only sets with lower ids are remembered */

struct no_work { /* part of a struct db; all 0 initially */
	struct fs_seen dir;
	unsigned char there[NO_WORK_SETS / 8]; /* one bit per set */
	unsigned char none[NO_WORK_SETS / 8];  /* one bit per id without a set */
};

/* Finds which of these sets have the trigger; there[n]. */
enum err no_work_there(const struct triggers *, struct arena *, const int64_t *ids,
    char *const *names, size_t n, bool *there, struct fail *);

/*
 * For a walk over all sets, which wraps around after `last`: returns the first id after
 * `after` that is not remembered, neither as given up nor as a gap; 0 = there is none.
 */
int64_t no_work_next(const struct triggers *, int64_t after, int64_t last);
/* Remembers that no sets have ids between `after` and `before`. */
void no_work_gap(struct db *, int64_t after, int64_t before);
/* Forgets the gaps, because a set may be committed after one with a larger id. */
void no_work_forget_gaps(struct db *);

#endif
