/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemons write along a workunit's life.  Every write names what was read and
 * is E_RACE when that no longer holds; a daemon changes only the columns that are its
 * own.  Lock order of all programs: workunit by id, result by id, host_app_version,
 * host, user.
 */
#ifndef DB_LIFE_H
#define DB_LIFE_H

#include "db/entity.h"
#include "model/rows.h"

/* Workunits in a file_delete_state. */
enum err workunits_to_delete_files(struct db *, struct arena *, struct part,
    int32_t state, size_t max, struct workunit **, size_t *n, struct fail *);
/* Assimilated, files deleted, unchanged since before, and no result of it open or with
 * files to delete. */
enum err workunits_to_purge(struct db *, struct arena *, struct part, int64_t before,
    size_t max, struct workunit **, size_t *n, struct fail *);
/* Results in a file_delete_state. */
enum err results_to_delete_files(struct db *, struct arena *, struct part,
    int32_t state, size_t max, struct result **, size_t *n, struct fail *);

/*
 * The transitioner's write-back.  was: as read; becomes: need_validate, error_mask,
 * hr_class, app_version_id, assimilate_state, file_delete_state and transition_time are
 * written if transition_seq is still was's.
 */
enum err workunit_transitioned(struct db *, const struct workunit *was,
    const struct workunit *becomes, struct fail *);
/*
 * The validator's: canonical_resultid, canonical_credit, error_mask, target_nresults,
 * assimilate_state and transition_time; need_validate becomes 0 and transition_seq
 * grows.  The same condition.
 */
enum err workunit_validated(struct db *, const struct workunit *was,
    const struct workunit *becomes, struct fail *);
/* The assimilator's: READY -> state (DONE, or INIT to defer), error_mask |= bits,
 * transition now. */
enum err workunit_assimilated(struct db *, int64_t id, int32_t state,
    int32_t error_bits, int64_t now, struct fail *);
/* The file deleter's, for both tables: state was -> becomes. */
enum err workunit_files_deleted(
    struct db *, int64_t id, int32_t was, int32_t becomes, struct fail *);
enum err result_files_deleted(
    struct db *, int64_t id, int32_t was, int32_t becomes, struct fail *);

/*
 * server_state, outcome, validate_state, file_delete_state and granted_credit of one
 * result, if the four states and the deadline are still was's.  Asserts that the moves
 * are legal (states.def).
 */
enum err result_move(
    struct db *, const struct result *was, const struct result *becomes, struct fail *);

/* Effects on what is known of (host, version of this result); no row is OK.  quota:
 * daily_result_quota, 0 = none. */
enum err hav_timed_out(struct db *, const struct result *, double delay_bound_s,
    int64_t quota, struct fail *);
/* The row of this result's version on its host, locked; a new one is not stored yet. */
enum err hav_lock(struct db *, struct arena *, const struct result *, int64_t quota,
    struct host_app_version *, struct fail *);
/* Stores what was learned; the day's count is at least what the row says. */
enum err hav_judged(struct db *, const struct host_app_version *, struct fail *);
/* One more sample of peak FLOP per estimated FLOP; no such version is OK. */
enum err version_learned(
    struct db *, int64_t app_version_id, double pfc, struct fail *);
/* One more turnaround of the host: 0.7 old + 0.3 new (server.md 4.6). */
enum err host_turnaround(struct db *, int64_t hostid, double s, struct fail *);
/* Adds to total_credit of a host and of a user. */
enum err credit_add(
    struct db *, int64_t hostid, int64_t userid, double credit, struct fail *);

/* Deletes a workunit and all that hangs on it, if it is still as read. */
enum err workunit_purge(struct db *, const struct workunit *, struct fail *);

/* The file sets of the apps that schedule by locality, and what rows say of them. */
enum err fileset_states(
    struct db *, struct arena *, struct row_fileset_state **, size_t *n, struct fail *);

#endif
