/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of jobs, the table batch of BOINC projects, and workunits that are staged:
 * inserted, but not looked at by any daemon before the last one of their batch is in.
 */
#ifndef DB_JOB_BATCH_H
#define DB_JOB_BATCH_H

#include "db/db.h"

/* Of several batches with the name, *n is 2, and *b the first one; E_NOTFOUND. */
enum err job_batch_by_name(struct db *, struct arena *, const char *name,
    struct row_job_batch **b, size_t *n, struct fail *);
enum err job_batch_by_id(
    struct db *, struct arena *, int64_t id, struct row_job_batch **, struct fail *);
/* Lists at most max batches with lower ids than `before`, the newest first. */
enum err job_batches(struct db *, struct arena *, int64_t before, size_t max,
    struct row_job_batch **, size_t *n, struct fail *);
/*
 * Makes a batch in BATCH_INIT and returns it. If another process makes one of the same
 * name at this moment, both get the same one.
 */
enum err job_batch_make(struct db *, struct arena *, const char *name, int64_t appid,
    int64_t now, struct row_job_batch **, struct fail *);
/* Locks the row until the transaction ends, before any workunit, and returns its state.
 */
enum err job_batch_hold(struct db *, int64_t id, int64_t *state, struct fail *);
/* Adds to the number of its jobs, in the caller's transaction. */
enum err job_batch_grow(struct db *, int64_t id, int64_t more, struct fail *);
/* E_RACE: the batch is not in state `was`. */
enum err job_batch_move(
    struct db *, int64_t id, int32_t was, int32_t state, struct fail *);

/* Counts of one slice of at most max workunits with higher ids than `after`. */
enum err job_batch_tally(struct db *, struct arena *, int64_t id, int64_t after,
    size_t max, struct row_batch_tally *, struct fail *);
enum err job_batch_open(struct db *, struct arena *, int64_t id, int64_t after,
    size_t max, struct row_batch_open *, struct fail *);
/*
 * Of every n-th workunit: how many are done, and how many of these were reported after
 * `since` (s UTC).
 */
enum err job_batch_pace(struct db *, struct arena *, int64_t id, int64_t every,
    int64_t since, struct row_pair *, struct fail *);
/* Lists at most max workunits with canonical results and higher ids than `after`. */
enum err job_batch_canonicals(struct db *, struct arena *, int64_t id, int64_t after,
    size_t max, struct row_canonical **, size_t *n, struct fail *);

/*
 * Releases the staged workunits among n <= DB_LIST_LONG ids, ascending; others stay.
 */
enum err workunits_release(struct db *, const int64_t *ids, size_t n, int64_t now,
    int64_t *released, struct fail *);
/* Returns the existing workunits of n <= DB_LIST_LONG names, in no order. */
struct workunit;
enum err workunits_by_names(struct db *, struct arena *, char *const *names, size_t n,
    struct workunit **, size_t *nwus, struct fail *);

#endif
