/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the file sets of the files that the host holds. A file may be in any number
 * of sets, and a host may name every file of the project, so all reads are bounded;
 * the snapshot marks what was not read.
 */
#ifndef DB_SNAP_HELD_H
#define DB_SNAP_HELD_H

#include "db/entity.h"
#include "db/held.h"
#include "model/decision.h"

struct sets_to_add {
	const struct conf *conf;
	const struct names *held;
	const struct set_rows *rows; /* contains all sets to add */
	const int64_t *ids;
	size_t n;
	enum set_origin origin;
};
/* Run supply's queries SETS and MEMBERS; ids that no longer exist are skipped. */
enum err snap_sets_query(struct db *, struct arena *, const struct conf *,
    const struct request *, const struct supply_query *, struct snapshot *,
    struct fail *);
enum err snap_members_read(struct db *, struct arena *, const struct request *,
    const int64_t *ids, size_t n, struct supply_rows *, struct fail *);

/* Treats a number that does not exist as 0. */
static inline enum err number_or_0(enum err e, int64_t *v)
{
	if (e == E_NOTFOUND)
		*v = 0;
	return e == E_NOTFOUND ? OK : e;
}

#endif
