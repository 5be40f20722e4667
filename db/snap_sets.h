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

struct set_rows { /* sets with their files, in any order */
	struct row_set_file *v;
	size_t n;
};
/* The first row of a set; NULL: it is not there. */
const struct row_set_file *set_rows_first(const struct set_rows *, int64_t fileset_id);
void set_rows_append(
    struct arena *, struct set_rows *, const struct row_set_file *, size_t n);

/*
 * Appends the rows of the sets with these ids; absent ones have none.
 */
enum err snap_sets_read(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct set_rows *, struct fail *);
/* Appends the sets with these ids, all of which are among the rows, with their files.
 */
enum err snap_sets_add(struct db *, struct arena *, const struct conf *,
    const struct held *, const struct set_rows *, const int64_t *ids, size_t n,
    enum origin, struct snapshot *, struct fail *);
/* The files of at most DB_LIST_MAX sets, of which the ids are known, to s->members. */
enum err snap_members_add(struct db *, struct arena *, const struct held *,
    struct snap_file *, size_t n, struct snapshot *s, struct fail *);

/* A number that need not be there. */
static inline enum err
number_or_0(enum err e, int64_t *v)
{
	if (e == E_NOTFOUND)
		*v = 0;
	return e == E_NOTFOUND ? OK : e;
}

#endif
