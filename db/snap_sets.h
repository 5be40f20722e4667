/* SPDX-License-Identifier: Apache-2.0 */
/* How file sets come into a snapshot: shared by the files of its loader only. */
#ifndef DB_SNAP_SETS_H
#define DB_SNAP_SETS_H

#include "db/entity.h"

enum origin { HELD, PICKED, SEARCHED };

/*
 * Names that the host has or is about to have, sorted: a file that is still on its way
 * was given to it for an earlier job, so it need not travel again.  One whose transfer
 * failed is listed with an error and does not count.
 */
struct held {
	const char **names;
	size_t n;
};
struct held held_names(struct arena *, const struct request *);
bool held_has(const struct held *, const char *name);

/* Rows of the sets with these ids, in the order of the ids; absent ones are left out.
 */
enum err snap_sets_rows(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct fileset ***, size_t *nout, struct fail *);
/* Appends the sets with their files and with what their states are derived from. */
enum err snap_sets_add(struct db *, struct arena *, const struct conf *,
    const struct held *, struct fileset *const *, size_t n, enum origin,
    struct snapshot *, struct fail *);
/* The files of at most DB_LIST_MAX sets, of which the ids are known, to s->members. */
enum err snap_members_add(struct db *, struct arena *, const struct held *,
    struct snap_file *, size_t n, struct snapshot *s, struct fail *);

#endif
