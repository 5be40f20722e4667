/* SPDX-License-Identifier: Apache-2.0 */
/* How file sets come into a snapshot: shared by the files of its loader only. */
#ifndef DB_SNAP_SETS_H
#define DB_SNAP_SETS_H

#include "db/entity.h"
#include "model/supply.h"

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
struct sets_to_add {
	const struct conf *conf;
	const struct held *held;
	const struct set_rows *rows; /* all of the sets are among them */
	const int64_t *ids;
	size_t n;
	enum set_origin origin;
};
/* Appends the sets, with their files, to the snapshot. */
enum err snap_sets_add(struct db *, struct arena *, const struct sets_to_add *,
    struct snapshot *, struct fail *);
/* Runs the queries SETS and MEMBERS of supply; ids that are gone are passed over. */
enum err snap_sets_query(struct db *, struct arena *, const struct conf *,
    const struct request *, const struct supply_query *, struct snapshot *,
    struct fail *);
enum err snap_members_read(struct db *, struct arena *, const struct request *,
    const int64_t *ids, size_t n, struct supply_rows *, struct fail *);

/* A number that need not be there. */
static inline enum err
number_or_0(enum err e, int64_t *v)
{
	if (e == E_NOTFOUND)
		*v = 0;
	return e == E_NOTFOUND ? OK : e;
}

#endif
