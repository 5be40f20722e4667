/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemons write along a workunit's life.  Every write names what was read and
 * is E_RACE when that no longer holds; a daemon changes only the columns that are its
 * own.  Lock order of all programs: workunit by id, result by id, host_app_version,
 * host, user.
 */
#ifndef DB_WU_UPDATES_H
#define DB_WU_UPDATES_H

#include "db/entity.h"
#include "model/rows.h"

/* Workunits in a file_delete_state. */
enum err workunits_to_delete_files(struct db *, struct arena *, struct part,
    int32_t state, size_t max, struct workunit **, size_t *n, struct fail *);
/* Ids above that one of workunits whose files are deleted, in order. */
enum err workunits_files_gone(struct db *, struct arena *, struct part, int64_t after,
    size_t max, int64_t **ids, size_t *n, struct fail *);
/* Of at most DB_LIST_MAX ids those that are assimilated, files deleted, unchanged since
 * before, and no result of it open or with files to delete; by id. */
enum err workunits_to_purge(struct db *, struct arena *, const int64_t *ids,
    size_t nids, int64_t before, struct workunit **, size_t *n, struct fail *);
/* Results in a file_delete_state. */
enum err results_to_delete_files(struct db *, struct arena *, struct part,
    int32_t state, size_t max, struct result **, size_t *n, struct fail *);

/*
 * Writes that a daemon gathers for some workunits, to be made together in its
 * transaction. life_save() makes them, statement after statement in the order of locks,
 * and leaves the batch empty; the rows of one statement are written in the order in
 * which they were added: by id, please.  E_RACE: a workunit or result is not as it was
 * read; nothing may be committed then.
 */
enum life {
	LIFE_TRANSITIONED,
	LIFE_VALIDATED,
	LIFE_MOVED,       /* until here each row must be found; new results follow */
	LIFE_ASSIMILATED, /* another instance may have been faster at these three */
	LIFE_INPUTS_DELETED,
	LIFE_OUTPUTS_DELETED,
	LIFE_TIMED_OUT,
	LIFE_JUDGED,
	LIFE_LEARNED,
	LIFE_TURNAROUND,
	LIFE_HOST_CREDIT,
	LIFE_USER_CREDIT,
	LIFE__MAX
};
struct life_batch {
	struct arena *a;
	struct db_batch *of[LIFE__MAX];
	struct new_result *made;
	size_t nmade, cap;
};
struct life_batch *life_batch(struct arena *);
enum err life_save(struct db *, struct life_batch *, struct fail *);

/*
 * The transitioner's write-back.  was: as read; becomes: need_validate, error_mask,
 * hr_class, app_version_id, assimilate_state, file_delete_state and transition_time are
 * written if transition_seq is still was's.
 */
void workunit_transitioned(
    struct life_batch *, const struct workunit *was, const struct workunit *becomes);
/*
 * The validator's: canonical_resultid, canonical_credit, error_mask, target_nresults,
 * assimilate_state and transition_time; need_validate becomes 0 and transition_seq
 * grows.  The same condition.
 */
void workunit_validated(
    struct life_batch *, const struct workunit *was, const struct workunit *becomes);
/* A result to be inserted; its workunit and texts must stay until then. */
void result_made(struct life_batch *, const struct new_result *);
/* The assimilator's: READY -> state (DONE, or INIT to defer), error_mask |= bits,
 * transition now. */
void workunit_assimilated(
    struct life_batch *, int64_t id, int32_t state, int32_t error_bits, int64_t now);
/* The file deleter's, for both tables: state was -> becomes. */
void workunit_files_deleted(
    struct life_batch *, int64_t id, int32_t was, int32_t becomes);
void result_files_deleted(
    struct life_batch *, int64_t id, int32_t was, int32_t becomes);

/*
 * server_state, outcome, validate_state, file_delete_state and granted_credit of one
 * result, if the four states and the deadline are still was's.  Asserts that the moves
 * are legal (states.def).
 */
void result_move(
    struct life_batch *, const struct result *was, const struct result *becomes);

/* Effects on what is known of (host, version of this result); no row is OK.  quota:
 * daily_result_quota, 0 = none. */
void hav_timed_out(
    struct life_batch *, const struct result *, double delay_bound_s, int64_t quota);
/* What is known of versions on hosts. */
struct hav_table {
	struct arena *a;
	struct hav_entry {
		struct host_app_version v;
		bool judged; /* to be stored by havs_judged() */
	} * v;               /* stored ones by host and version, then new ones */
	size_t n, cap, stored;
};
/* All of these hosts, by increasing id and each once, locked. */
enum err havs_lock(struct db *, struct arena *, const int64_t *hosts, size_t n,
    struct hav_table *, struct fail *);
/*
 * That of this result's version on its host; one that nothing is known of yet is added.
 * Stays where it is until the next one is added.
 */
struct hav_entry *hav_of(struct hav_table *, const struct result *, int64_t quota);
/* Stores what was learned; the day's count is at least what the row says. */
void havs_judged(struct life_batch *, const struct hav_table *);
/* One more sample of peak FLOP per estimated FLOP; no such version is OK. */
void version_learned(struct life_batch *, int64_t app_version_id, double pfc);
/* One more turnaround of the host: 0.7 old + 0.3 new (scheduling.md 4.6). */
void host_turnaround(struct life_batch *, int64_t hostid, double s);
/* Adds to total_credit. */
void host_credit(struct life_batch *, int64_t hostid, double credit);
void user_credit(struct life_batch *, int64_t userid, double credit);

/* Deletes at most DB_LIST_MAX workunits, by id, and all that hangs on them, in a
 * transaction of the caller's.  E_RACE: one of them is not as read. */
enum err workunits_purge(
    struct db *, struct arena *, struct workunit *const *, size_t n, struct fail *);

/* The file sets of the apps that schedule by locality, and what rows say of them: by
 * id, at most so many from above that id on. */
enum err fileset_states(struct db *, struct arena *, int64_t after, size_t max,
    struct row_fileset_state **, size_t *n, struct fail *);
/* The same of at most DB_LIST_MAX ids. */
enum err fileset_states_of(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct row_fileset_state **, size_t *nstates, struct fail *);

#endif
