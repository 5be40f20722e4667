/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which finished workunits may leave the database, and what the archive keeps of them;
 * for db_purge and locus purge.  workunits_purge() (db/wu_updates.h) removes them.
 */
#ifndef DB_PURGE_H
#define DB_PURGE_H

#include "db/entity.h"
#include "model/purged.h"

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
 * their texts, for the archive.  Returns n items in the same order.
 */
enum err purge_load(struct db *, struct arena *, struct workunit *const *, size_t n,
    bool docs, struct purged **, struct fail *);

#endif
