/* SPDX-License-Identifier: Apache-2.0 */
/* Takes file sets out of the tables; each function in the caller's transaction. */
#ifndef DB_FILE_REMOVE_H
#define DB_FILE_REMOVE_H

#include "db/db.h"

struct fileset_use {                 /* the work that still has a set */
	int64_t unsent, in_progress; /* results */
	int64_t unfinished;          /* workunits that are not assimilated */
};
enum err fileset_use(
    struct db *, struct arena *, int64_t id, struct fileset_use *, struct fail *);
bool fileset_is_needed(const struct fileset_use *);
/* Lists at most max sets whose removal was ordered at this time or before, s UTC; the
 * oldest orders first. */
enum err filesets_leaving(struct db *, struct arena *, int64_t ordered_before,
    int64_t max, struct row_named **, size_t *n, struct fail *);

struct fileset_leaving {
	int64_t fileset_id;
	int64_t left; /* workunits that left the set in this step; 0 = there are none */
};
/*
 * Makes some workunits of the set workunits without one, and their results. E_RETRY: a
 * job is not in the ledger yet, which the transitioner does within seconds.
 */
enum err fileset_leave(
    struct db *, struct arena *, struct fileset_leaving *, struct fail *);
/* Is the file in more than one set? */
enum err file_is_shared(
    struct db *, struct arena *, int64_t file_id, bool *shared, struct fail *);
/* Reads at most max sets after this id, with what decides about their end. */
enum err filesets_to_retire(struct db *, struct arena *, int64_t after, int64_t max,
    struct row_retire **, size_t *n, struct fail *);
/* Stores since when nothing needs the set, s UTC; 0 = something does. */
enum err fileset_set_idle(struct db *, int64_t id, int64_t since, struct fail *);
/* Has the set workunits? In a transaction, as of now. */
enum err fileset_is_used(
    struct db *, struct arena *, int64_t id, bool *used, struct fail *);
/* Leaves the hosts that hold the file a message by which they delete it; adds their
 * number to *told. */
enum err file_tell_holders(struct db *, struct arena *, const struct row_member *file,
    int64_t now, int64_t *told, struct fail *);
/* Deletes a set without workunits, and those of its files that are in no other one. */
enum err fileset_remove(struct db *, struct arena *, int64_t id,
    const struct row_member *files, size_t n, struct fail *);

#endif
