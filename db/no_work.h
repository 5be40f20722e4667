/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file sets the generator has given up (no_work_available is there), for a
 * process that asks of the same ones again and again.  What was there stays so while
 * the directory stands still, which is one look for all; what was not is asked of each
 * time.
 */
#ifndef DB_NO_WORK_H
#define DB_NO_WORK_H

#include "db/trigger.h"

enum { NO_WORK_SETS = 1 << 17 }; /* with ids below this one */

struct no_work { /* all 0 to begin with; of a struct db */
	struct fs_seen dir;
	unsigned char there[NO_WORK_SETS / 8]; /* a bit for each */
	unsigned char none[NO_WORK_SETS / 8];  /* there was no set with this id */
};

/* Which of the sets with these ids and names have it; there[n]. */
enum err no_work_there(const struct triggers *, struct arena *, const int64_t *ids,
    char *const *names, size_t n, bool *there, struct fail *);

/*
 * For a walk over all sets: the first id after this one, once around up to the last
 * set's, of which it is remembered neither that the set was given up nor that there is
 * none; 0 = there is no such id.
 */
int64_t no_work_next(const struct triggers *, int64_t after, int64_t last);
/* There are no sets after the one id and before the other. */
void no_work_gap(struct db *, int64_t after, int64_t before);
/* A set may have been committed after one with a larger id: gaps are looked at anew. */
void no_work_forget_gaps(struct db *);

#endif
