/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of large files: jobs sent, hits (jobs whose host had all bytes), and bytes
 * needed and saved, per UTC day, file set and host. The claim of a job stores its
 * bytes with the result and marks it (READY_SENT); the transitioner moves marked jobs
 * into the ledger. The transaction that adds a job clears its mark, so each job counts
 * once, and a marked row is never purged. The host and day counted are those that the
 * row has when the job is added, seconds later.
 */
#ifndef DB_LEDGER_H
#define DB_LEDGER_H

#include "db/db.h"
#include "db/entity.h"

/*
 * Returns ids of sent jobs that are not in the ledger yet, of this share, at most max.
 */
enum err ledger_due(struct db *, struct arena *, struct id_share, size_t max,
    int64_t **ids, size_t *n, struct fail *);
/*
 * Adds n <= DB_LIST_MAX jobs to the ledger, in the caller's transaction; E_RACE: one
 * was added meanwhile.
 */
enum err ledger_fold(struct db *, const int64_t *ids, size_t n, struct fail *);

/* Returns rows of days before `day` (days since 1970), oldest first, at most max. */
enum err ledger_old(struct db *, struct arena *, int64_t day, size_t max,
    struct row_ledger **, size_t *n, struct fail *);
/*
 * Adds an old row to the sums of old days and removes it, in the caller's transaction;
 * E_RACE: the row has changed.
 */
enum err ledger_close(struct db *, const struct row_ledger *, struct fail *);

/*
 * Old days of file sets and hosts that are gone: nobody asks for them any more, but the
 * sums of all keep them, in the row of one set, LEDGER_ENDED_SET.
 */
#define LEDGER_ENDED_SET INT64_MAX
enum ledger_ended { LEDGER_SETS, LEDGER_HOSTS };
/* Returns the rows of those with ids above from and up to to. */
enum err ledger_ended(struct db *, struct arena *, enum ledger_ended, int64_t from,
    int64_t to, struct row_ledger **, size_t *n, struct fail *);
/* Returns the end of the next slice, of `rows` that exist; LEDGER_ENDED_SET - 1 = the
 * last. */
enum err ledger_ended_to(struct db *, enum ledger_ended, int64_t from, int64_t rows,
    int64_t *to, struct fail *);
/* Removes such a row, in the caller's transaction; E_RACE: the row has changed. */
enum err ledger_end(struct db *, const struct row_ledger *, struct fail *);

/*
 * Sums for the admin, over the ledger and the jobs still to be added: of everything
 * since a day (0 = ever), of one file set, of one host.
 */
enum err ledger_of_all(
    struct db *, struct arena *, int64_t day, struct row_ledger *, struct fail *);
enum err ledger_of_file(struct db *, struct arena *, int64_t fileset_id,
    struct row_ledger *, struct fail *);
enum err ledger_of_host(
    struct db *, struct arena *, int64_t hostid, struct row_ledger *, struct fail *);
/* Sums of each file set of which something was sent, by id. */
enum err ledger_of_files(
    struct db *, struct arena *, struct row_ledger **, size_t *n, struct fail *);
/*
 * Adds a request for which the cost of its jobs without locality was measured; there
 * are BASELINE_SHARDS rows.
 */
enum err baseline_cost_add(struct db *, int64_t shard, int64_t jobs,
    int64_t bytes_needed, int64_t bytes_without, struct fail *);
enum err baseline_cost_sum(
    struct db *, struct arena *, struct row_without *, struct fail *);
/* Returns the work left of each file set, and its jobs since a day, by id. */
enum err files_left(struct db *, struct arena *, int64_t day, struct row_file_left **,
    size_t *n, struct fail *);

#endif
