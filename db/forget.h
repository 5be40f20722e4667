/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts and accounts that are merged, deleted or given back their quota
 * (locus-privacy(7) says what stays of them). Each function but the last two runs in
 * the caller's transaction, after one that has ended the tasks in progress.
 */
#ifndef DB_FORGET_H
#define DB_FORGET_H

#include "db/db.h"

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

#endif
