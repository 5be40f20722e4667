/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemons write during a workunit's life. Every write names what was read and
 * returns E_RACE if that has changed; a daemon changes only its own columns. Lock
 * order of all programs: workunit by id, result by id, host_app_version, host, user,
 * team.
 */
#ifndef DB_WU_UPDATES_H
#define DB_WU_UPDATES_H

#include "db/db.h"
#include "db/entity.h"
#include "model/purged.h"
#include "model/rows.h"

/*
 * Which finished workunits may leave the database, and what the archive keeps of them;
 * for db_purge and locus purge. workunits_purge() (db/wu_updates.h) removes them.
 */

enum { PURGE_SLICE = 256 }; /* workunits examined at once */

struct purge_range {
	struct id_share share;
	struct row_pair after; /* the last one examined: when its files were deleted,
	                        * and its id; purge_find() moves it on */
	int64_t before;        /* s UTC: only what has not changed since */
	bool end;              /* set when nothing older is left */
};
/*
 * Examines the next PURGE_SLICE workunits whose files were deleted long enough ago, by
 * an index that holds nothing else, and returns those that are due (see
 * workunits_to_purge()), by id; there may be none although the end is not reached.
 */
enum err purge_find(struct db *, struct arena *, struct purge_range *,
    struct workunit **, size_t *n, struct fail *);
/*
 * Loads the results of n workunits, ordered by id, at most DB_LIST_MAX; docs: with
 * their texts, for the archive. Returns n items in the same order.
 */
enum err purge_load(struct db *, struct arena *, struct workunit *const *, size_t n,
    bool docs, struct purged **, struct fail *);

/*
 * Workunits found by what an admin names: walks through one index in bounded steps,
 * however many workunits there are; and the cancellation of those found.
 */

enum { WU_SELECT_STEP = DB_LIST_LONG }; /* ids that one step returns at most */

/* The index that is walked, and the range of it. */
enum wu_index {
	WU_OF_IDS,
	WU_OF_BATCH,
	WU_OF_FILESET,
	WU_OF_APP,
	WU_OF_NAME,
	WU_OF_FAILED /* with an error; begins with wu_walk_failed */
};
struct wu_walk {
	enum wu_index index;
	int64_t key;        /* batch, file set or app; 0 for ids and names */
	int64_t from, to;   /* ids, both included; for WU_OF_IDS only */
	const char *prefix; /* of the names; for WU_OF_NAME only */
	/* Leaves out what the index shows to be over: with a canonical result, an
	 * error, or assimilated. Other indexes show nothing. */
	bool open_only;
	/* Where the next step begins; 0 and NULL at the start. */
	struct row_wu_place at;
	const char *at_name;
	/* Of WU_OF_FAILED: the workunits, 8 bytes each, and how many are behind. */
	const int64_t *failed;
	size_t nfailed, behind;
	bool ended;
};
/* Finds the workunits of WU_OF_FAILED, which stay in the arena: no index has them
 * alone, so that one pass over one finds all. */
enum err wu_walk_failed(struct db *, struct arena *, struct wu_walk *, struct fail *);
/*
 * Returns the ids of the next step, at most WU_SELECT_STEP, in the order of the index;
 * with ended set there are no more. Strings of the walk must stay until its end.
 */
enum err wu_walk_step(struct db *, struct arena *, struct wu_walk *, int64_t **ids,
    size_t *n, struct fail *);

/* Returns the rows of at most DB_LIST_LONG workunits, by id; missing ones are left
 * out. */
enum err wu_glances(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct row_wu_glance **, size_t *nrows, struct fail *);
/* Counts the results of at most DB_LIST_LONG workunits; those without any are left
 * out. */
enum err wu_tallies(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct row_wu_tally **, size_t *nrows, struct fail *);
/* Returns the ids of the batches of this name. */
enum err wu_batches_named(struct db *, struct arena *, const char *name, int64_t **ids,
    size_t *n, struct fail *);

struct cancelled {
	int64_t workunits;   /* that were open and are cancelled now */
	int64_t unsent;      /* their results that nobody will get */
	int64_t in_progress; /* their results that hosts will be told to abort */
};
/* What open work may ask at most; 1e300 and INT32_MAX leave it. */
struct work_limits {
	double memory, disk; /* bytes */
	double bandwidth;    /* bytes/s */
	double flops;        /* FLOP/s with which a result must meet its deadline */
	int32_t quorum;      /* results */
	bool any_version, any_class; /* bind it to none, if no host has begun */
	int64_t now;
};
/*
 * Lowers what those of at most DB_LIST_MAX workunits ask that are open and ask for
 * more, in the caller's transaction.
 */
enum err workunits_limit(struct db *, struct arena *, const int64_t *ids, size_t n,
    const struct work_limits *, int64_t *changed, struct fail *);

/*
 * Cancels those of at most DB_LIST_MAX workunits that are open, in the caller's
 * transaction, and adds to the counts. Their unsent results are over; the transitioner
 * does the rest.
 */
enum err workunits_cancel(struct db *, struct arena *, const int64_t *ids, size_t n,
    int64_t now, struct cancelled *, struct fail *);

/*
 * Returns the tasks in progress that hosts do with these versions of an app, at most
 * DB_LIST_MAX versions: pairs of the workunit and the result, ordered by workunit.
 */
enum err version_tasks(struct db *, struct arena *, int64_t appid, const int64_t *ids,
    size_t nids, struct row_pair **, size_t *n, struct fail *);
/*
 * Ends such tasks in the caller's transaction: hosts are told to abort them, and their
 * workunits get others in their place. At most DB_LIST_MAX, ordered by workunit; adds
 * the number of those that were still in progress.
 */
enum err version_tasks_end(struct db *, struct arena *, const struct row_pair *,
    size_t n, int64_t now, int64_t *ended, struct fail *);

/*
 * Makes daemons forget that they have put these workunits aside, and the file deleter
 * try again what it could not delete; at most DB_LIST_MAX, ids ascending.
 */
enum err workunits_try_again(struct db *, const int64_t *ids, size_t n, struct fail *);
/*
 * Opens a failed workunit again with the limits of `becomes`, as it was read; E_RACE:
 * it has changed. Its results are the caller's.
 */
enum err workunit_reopen(
    struct db *, const struct workunit *becomes, int64_t now, struct fail *);

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
 * the batch empty. Rows of one statement are written in the order in which they were
 * added, which should be by id. E_RACE: a workunit or result is not as it was read;
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
 * transition_seq grows. The same condition applies.
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
 * deadline are still those of was. Asserts that the moves are legal (states.def).
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
 * in the caller's transaction. E_RACE: one of them is not as read.
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
