/* SPDX-License-Identifier: Apache-2.0 */
/* Takes file sets out of the tables; each function in the caller's transaction. */
#ifndef DB_FILE_REMOVE_H
#define DB_FILE_REMOVE_H

#include "db/db.h"

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
/* Deletes a set without workunits, and those of its files that are in no other one. */
enum err fileset_remove(struct db *, struct arena *, int64_t id,
    const struct row_member *files, size_t n, struct fail *);

#endif
