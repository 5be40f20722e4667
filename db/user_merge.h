/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two accounts of one person become one: `into` takes over what `from` is and has done
 * (locus-privacy(7) lists it).
 */
#ifndef DB_USER_MERGE_H
#define DB_USER_MERGE_H

#include "db/db.h"

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
