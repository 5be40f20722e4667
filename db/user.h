/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts, and the names of teams. */
#ifndef DB_USER_H
#define DB_USER_H

#include "db/db.h"

/* The decay of recent average credit in the rows of hosts, accounts and teams. */

enum averages_of { AVERAGES_HOST, AVERAGES_USER, AVERAGES_TEAM, AVERAGES__MAX };
enum { AVERAGES_BATCH = 512 };

/*
 * Lists at most AVERAGES_BATCH ids after `after` of rows with an average that was last
 * updated before `before` (s UTC), ascending.
 */
enum err averages_due(struct db *, struct arena *, enum averages_of, int64_t after,
    int64_t before, int64_t **ids, size_t *n, struct fail *);
/*
 * Brings the averages of n <= AVERAGES_BATCH rows up to `now`; repeated, it changes
 * nothing.
 */
enum err averages_decay(struct db *, enum averages_of, const int64_t *ids, size_t n,
    int64_t now, struct fail *);

/*
 * Hosts and accounts that are merged, deleted or given back their quota
 * (locus-privacy(7) says what stays of them). Each function but the last two runs in
 * the caller's transaction, after one that has ended the tasks in progress.
 */

/* Gives a host its full daily quota again and clears its error counts. */
enum err host_reset(struct db *, int64_t id, struct fail *);
/*
 * Makes host `into` of the same account take over what `from` is: its tasks in
 * progress and its credit. E_RACE: one of them has changed its account.
 */
enum err host_merge(struct db *, struct arena *, const struct host *from,
    const struct host *into, struct fail *);
/* Deletes a host with all that describes it; its tasks in progress count as detached.
 */
enum err host_erase(
    struct db *, struct arena *, const struct host *, int64_t now, struct fail *);
/* Deletes an account, whose hosts are gone, with all that describes it. */
enum err user_erase(
    struct db *, struct arena *, const struct user *, int64_t now, struct fail *);
/* The ids of the account's hosts. */
enum err user_host_ids(struct db *, struct arena *, int64_t userid, int64_t **ids,
    size_t *n, struct fail *);
/*
 * Moves finished results of a merged host, at most DB_LIST_MAX at a time; *moved 0:
 * there are none left.
 */
enum err host_results_move(struct db *, struct arena *, int64_t from, int64_t into,
    int64_t *moved, struct fail *);
/* Where the next results of an account are; all 0 at first. */
struct user_results {
	int64_t fileset_id, id, cleared;
	bool ended;
};
/* Clears what programs printed in the account's finished results, some at a time. */
enum err user_results_clear(
    struct db *, struct arena *, int64_t userid, struct user_results *, struct fail *);

/*
 * Two accounts of one person become one: `into` takes over what `from` is and has done
 * (locus-privacy(7) lists it).
 */

/* What would be taken over; credit is a sum of doubles. */
enum err user_merge_counts(
    struct db *, struct arena *, int64_t from, struct row_user_has **, struct fail *);
/*
 * Moves results, at most DB_LIST_LONG at a time, in the caller's transaction; *moved 0:
 * none is left. A result of a workunit of which `into` has one too keeps its mark of
 * the one-result rule: it was sent to another account. E_RETRY: `into` got one
 * meanwhile.
 */
enum err user_results_move(struct db *, struct arena *, int64_t from, int64_t into,
    int64_t *moved, struct fail *);
/*
 * Moves the rest and deletes `from`, in the caller's transaction. Its keys go on to
 * be accepted, as keys of `into`.
 */
enum err user_merge(struct db *, struct arena *, const struct user *from,
    const struct user *into, int64_t now, struct fail *);
/*
 * Sets the account into which that with this key was merged; E_NOTFOUND if none.
 */
enum err user_of_old_key(struct db *, const char *key, int64_t *id, struct fail *);

#endif
