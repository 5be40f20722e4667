/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemons write during a workunit's life.  Every write names what was read and
 * returns E_RACE if that has changed; a daemon changes only its own columns.  Lock
 * order of all programs: workunit by id, result by id, host_app_version, host, user,
 * team.
 */
#ifndef DB_WU_UPDATES_H
#define DB_WU_UPDATES_H

#include "db/entity.h"
#include "model/rows.h"

/* A slice of what is in a file_delete_state: at most max of ids above `after`. */
struct delete_slice {
	struct id_share share;
	int32_t state;
	int64_t after;
	size_t max;
};
/* Lists workunits, ascending. */
enum err workunits_to_delete_files(struct db *, struct arena *,
    const struct delete_slice *, struct workunit **, size_t *n, struct fail *);
/*
 * Of at most DB_LIST_MAX ids, returns the workunits that are assimilated, have their
 * files deleted, have not changed since `before`, and have no result that is open or
 * has files to delete; by id.
 */
enum err workunits_to_purge(struct db *, struct arena *, const int64_t *ids,
    size_t nids, int64_t before, struct workunit **, size_t *n, struct fail *);
/* The same for results. */
enum err results_to_delete_files(struct db *, struct arena *,
    const struct delete_slice *, struct result **, size_t *n, struct fail *);

/*
 * Collects the writes of a daemon for several workunits, to be made in its transaction.
 * wu_updates_save() runs them statement by statement in the order of locks and leaves
 * the batch empty.  Rows of one statement are written in the order in which they were
 * added, which should be by id.  E_RACE: a workunit or result is not as it was read;
 * the transaction must not be committed.
 */
enum wu_update {
	WU_UPDATE_TRANSITIONED,
	WU_UPDATE_VALIDATED,
	WU_UPDATE_MOVED,       /* up to here each row must match; new results follow */
	WU_UPDATE_ASSIMILATED, /* another instance may have done these three already */
	WU_UPDATE_INPUTS_DELETED,
	WU_UPDATE_OUTPUTS_DELETED,
	WU_UPDATE_TIMED_OUT,
	WU_UPDATE_JUDGED,
	WU_UPDATE_LEARNED,
	WU_UPDATE_TURNAROUND,
	WU_UPDATE_HOST_CREDIT,
	WU_UPDATE_USER_CREDIT,
	WU_UPDATE_TEAM_CREDIT,
	WU_UPDATE_CREDITED_JOB,
	WU_UPDATE__MAX
};
struct wu_updates {
	struct arena *a;
	struct db_batch *of[WU_UPDATE__MAX];
	struct new_result *made;
	size_t nmade, cap;
};
struct wu_updates *wu_updates_new(struct arena *);
enum err wu_updates_save(struct db *, struct wu_updates *, struct fail *);

/*
 * Adds the transitioner's update. was: as read; becomes: need_validate, error_mask,
 * hr_class, app_version_id, assimilate_state, file_delete_state and transition_time are
 * written if transition_seq is still that of was; done_time becomes now if it is set.
 */
void workunit_transitioned(struct wu_updates *, const struct workunit *was,
    const struct workunit *becomes, int64_t now);
/*
 * Adds the validator's update: canonical_resultid, canonical_credit, error_mask,
 * target_nresults, assimilate_state and transition_time; need_validate becomes 0 and
 * transition_seq grows.  The same condition applies.
 */
void workunit_validated(
    struct wu_updates *, const struct workunit *was, const struct workunit *becomes);
/* Adds a result to be inserted; its workunit and texts must stay until then. */
void result_made(struct wu_updates *, const struct new_result *);
/*
 * Adds the assimilator's update: READY -> state (DONE, or INIT to put it aside),
 * error_mask |= bits, transition at `at` (s UTC) at the latest.
 */
void workunit_assimilated(
    struct wu_updates *, int64_t id, int32_t state, int32_t error_bits, int64_t at);
/* Adds the file deleter's updates, for both tables: state was -> becomes; a workunit
 * whose files are deleted is done now, and its inputs are no longer counted. */
void workunit_files_deleted(
    struct wu_updates *, int64_t id, int32_t was, int32_t becomes, int64_t now);
void result_files_deleted(
    struct wu_updates *, int64_t id, int32_t was, int32_t becomes);

/*
 * Adds an update of server_state, outcome, validate_state, file_delete_state,
 * claimed_credit and granted_credit of one result, made if the four states and the
 * deadline are still those of was.  Asserts that the moves are legal (states.def).
 */
void result_move(
    struct wu_updates *, const struct result *was, const struct result *becomes);

/*
 * Adds the effect of a timeout on the statistics of (host, app version of this result);
 * a missing row is OK. quota: daily_result_quota, 0 = none.
 */
void hav_timed_out(
    struct wu_updates *, const struct result *, double delay_bound_s, int64_t quota);
/* Statistics of app versions on hosts. */
struct hav_table {
	struct arena *a;
	struct hav_entry {
		struct host_app_version v;
		bool judged; /* to be stored by havs_judged() */
	} * v;               /* stored ones by host and version, then new ones */
	size_t n, cap, stored;
};
/* Reads and locks the statistics of these hosts, ids ascending and each once. */
enum err havs_lock(struct db *, struct arena *, const int64_t *hosts, size_t n,
    struct hav_table *, struct fail *);
/*
 * Returns the entry of this result's version on its host, adding one with this quota if
 * there is none. Valid until the next one is added.
 */
struct hav_entry *hav_of(struct hav_table *, const struct result *, int64_t quota);
/* Adds updates of all judged entries; the day's count is at least what the row says. */
void havs_judged(struct wu_updates *, const struct hav_table *);
/* Adds a sample of peak FLOP per estimated FLOP; a missing version is OK. */
void version_learned(struct wu_updates *, int64_t app_version_id, double pfc);
/* Adds a turnaround of the host: 0.7 old + 0.3 new (scheduling.md 4.6). */
void host_turnaround(struct wu_updates *, int64_t hostid, double s);
/* What a host, an account or a team earns. */
struct earned {
	double credit;
	double average; /* what it adds to the recent average */
};
/*
 * Adds it to total_credit, and to expavg_credit after its decay; now: s UTC.
 */
void host_credit(
    struct wu_updates *, int64_t hostid, struct earned earned, int64_t now);
void user_credit(
    struct wu_updates *, int64_t userid, struct earned earned, int64_t now);
void team_credit(
    struct wu_updates *, int64_t teamid, struct earned earned, int64_t now);
/* Adds the note that an account earned credit with a workunit. */
void job_credited(struct wu_updates *, int64_t userid, int64_t workunitid);

/*
 * Deletes at most DB_LIST_MAX workunits, by id, with everything that belongs to them,
 * in the caller's transaction.  E_RACE: one of them is not as read.
 */
enum err workunits_purge(
    struct db *, struct arena *, struct workunit *const *, size_t n, struct fail *);

/*
 * Returns the states of file sets of apps that schedule by locality, by id, at most max
 * after id `after`.
 */
enum err fileset_states(struct db *, struct arena *, int64_t after, size_t max,
    struct row_fileset_state **, size_t *n, struct fail *);
/* Returns the states of at most DB_LIST_MAX file sets. */
enum err fileset_states_of(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct row_fileset_state **, size_t *nstates, struct fail *);

#endif
