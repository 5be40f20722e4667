/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers what trigger directories held, for a process that asks about the same names
 * again and again: as long as a directory does not change, one check replaces many.
 * Rows are not remembered.
 */
#ifndef TRIGGER_CACHE_H
#define TRIGGER_CACHE_H

#include "trigger/trigger.h"

enum { NO_WORK_SETS = 1 << 17 }; /* only sets with lower ids are remembered */

struct trigger_cache { /* part of a struct db, which frees it; all 0 initially */
	struct no_work_cache {
		struct fs_seen dir;
		unsigned char there[NO_WORK_SETS / 8]; /* one bit per set */
		unsigned char none[NO_WORK_SETS / 8]; /* one bit per id without a set */
	} no_work;
	struct working_set_cache {
		struct fs_seen dir;
		struct arena a;
		char **names;
		size_t n;
		bool kept;
	} working_set;
};

void trigger_cache_free(struct trigger_cache *);

/*
 * Finds which of these sets have no_work_available; there[n]. A trigger that was
 * absent is checked each time.
 */
enum err no_work_there(const struct triggers *, struct arena *, const int64_t *ids,
    char *const *names, size_t n, bool *there, struct fail *);
/*
 * For a walk over all sets, which wraps around after `last`: returns the first id after
 * `after` that is not remembered, neither as given up nor as a gap; 0 = there is none.
 */
int64_t no_work_next(const struct triggers *, int64_t after, int64_t last);
/* Remembers that no sets have ids between `after` and `before`. */
void no_work_gap(struct trigger_cache *, int64_t after, int64_t before);
/* Forgets the gaps, because a set may be committed after one with a larger id. */
void no_work_forget_gaps(struct trigger_cache *);

/*
 * Returns the names of the working set, sorted bytewise; the caller may reorder the
 * list. The names stay until the next call.
 */
enum err working_set_names(
    const struct triggers *, struct arena *, char ***names, size_t *n, struct fail *);

#endif
