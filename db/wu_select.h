/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workunits found by what an admin names: walks through one index in bounded steps,
 * however many workunits there are; and the cancellation of those found.
 */
#ifndef DB_WU_SELECT_H
#define DB_WU_SELECT_H

#include "db/db.h"

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

#endif
