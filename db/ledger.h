/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of large files: jobs sent, those whose host had all bytes (hits), and
 * bytes needed and saved, per UTC day, file set and host.  The claim of a job writes
 * its bytes beside it and marks it (READY_SENT); the transitioner writes marked jobs
 * into the ledger.  The mark goes in the transaction that adds the job, so that each
 * counts once, and no row is purged that still has its mark.  What counts is what the
 * claim said: the host and day are those that the row has when it is folded, seconds
 * later.
 */
#ifndef DB_LEDGER_H
#define DB_LEDGER_H

#include "db/db.h"
#include "db/entity.h"

/* Ids of sent jobs that are not in the ledger, of this part, at most max. */
enum err ledger_due(struct db *, struct arena *, struct id_share, size_t max,
    int64_t **ids, size_t *n, struct fail *);
/* Adds n <= DB_LIST_MAX of them, in the caller's transaction; E_RACE: one was added
 * meanwhile. */
enum err ledger_fold(struct db *, const int64_t *ids, size_t n, struct fail *);

/* Rows of days before this one (days since 1970), the oldest first, at most max. */
enum err ledger_old(struct db *, struct arena *, int64_t day, size_t max,
    struct row_ledger **, size_t *n, struct fail *);
/* Puts one of them into the sums of old days, in the caller's transaction; E_RACE: it
 * has changed. */
enum err ledger_close(struct db *, const struct row_ledger *, struct fail *);

/*
 * Sums for the admin, of the ledger and of what is still to be added: of all from a day
 * on (0 = ever), of one file set, of one host.
 */
enum err ledger_of_all(
    struct db *, struct arena *, int64_t day, struct row_ledger *, struct fail *);
enum err ledger_of_file(struct db *, struct arena *, int64_t fileset_id,
    struct row_ledger *, struct fail *);
enum err ledger_of_host(
    struct db *, struct arena *, int64_t hostid, struct row_ledger *, struct fail *);
/* Of each file set of which something was sent, by id. */
enum err ledger_of_files(
    struct db *, struct arena *, struct row_ledger **, size_t *n, struct fail *);
/*
 * One request more of which it is known what its jobs would have cost without locality;
 * for BASELINE_SHARDS rows a day.
 */
enum err baseline_cost_add(struct db *, int64_t day, int64_t shard, int64_t jobs,
    int64_t bytes_needed, int64_t bytes_without, struct fail *);
enum err baseline_cost_sum(
    struct db *, struct arena *, struct row_without *, struct fail *);
/* What each file set has left, and its jobs since a day, by id. */
enum err files_left(struct db *, struct arena *, int64_t day, struct row_file_left **,
    size_t *n, struct fail *);

#endif
