/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workunits that the admin chooses by their state, app, file, batch, host, age, name or
 * errors: read piece by piece, the newest first, so that neither a million workunits
 * nor a choice that few of them match needs much memory or one long statement.
 */
#ifndef DB_WORK_LIST_H
#define DB_WORK_LIST_H

#include "db/db.h"

struct work_filter {
	int64_t states; /* bits 1 << its state as in tools/work_pick.h; 0 = any */
	/* states has only those with an error, or only those to be validated: there is
	 * an index. */
	bool failed, to_validate;
	int64_t appid;              /* 0 = any */
	int64_t batch, fileset_id;  /* -1 = any */
	int64_t hostid;             /* that had one of its results; 0 = any */
	int64_t made_from, made_to; /* create_time in [from, to), s UTC */
	int64_t mask;               /* one of these bits of error_mask; 0 = any */
	const char *name;           /* for LIKE; NULL = any */
	bool has_exit;              /* one of its results failed with exit_status */
	int64_t exit_status;
};
/* Chooses all. */
struct work_filter work_filter_any(void);
/* Translates a pattern with * and ? for work_filter.name. */
char *work_like(struct arena *, const char *glob);

struct work_cursor {
	struct work_filter w;
	int64_t *ids; /* from an index, the newest first; NULL = by the primary key */
	size_t nids, at;
	int64_t next, slice; /* highest id of the next slice, and its rows */
	int64_t first;       /* lowest id */
	int64_t total;       /* ids to look at, for a progress bar */
};
/* Finds where to look. The arena keeps the ids, 8 bytes each. */
enum err work_begin(struct db *, struct arena *, const struct work_filter *,
    struct work_cursor *, struct fail *);
bool work_over(const struct work_cursor *);
int64_t work_looked(const struct work_cursor *); /* ids looked at so far */
/* Reads the chosen workunits of the next piece, at most 10,000, maybe none. */
enum err work_next(struct db *, struct arena *, struct work_cursor *,
    struct row_work **, size_t *n, struct fail *);
/* The same, but counts them. */
enum err work_next_counts(struct db *, struct arena *, struct work_cursor *,
    struct row_work_count **, size_t *n, struct fail *);
/* Counts the results of n workunits, which are in descending order of their ids:
 * tally[i] is of work[i]. */
enum err work_tallies(struct db *, struct arena *, const struct row_work *, size_t n,
    struct row_tally **, struct fail *);

#endif
