/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read replica (replica_db_* of config.xml), for pages and reports, never for
 * decisions about jobs.
 */
#ifndef DB_REPLICA_H
#define DB_REPLICA_H

#include "db/db.h"

/* Does config.xml name a replica? */
bool replica_named(const struct conf *);
/*
 * Connects to the replica, read-only; use: DB_READ or DB_LOOK. *age_s: its data are at
 * most this old, but up to 10 s of it is the pause between two notes of the programs
 * that run.  E_NOTFOUND: none is named.  Other errors: it is not available or older
 * than replica_max_age; the caller goes to the primary.  The connection refers to a
 * configuration in the arena.
 */
enum err replica_open(struct arena *, const struct conf *, enum db_use, struct db **,
    int64_t *age_s, struct fail *);

#endif
