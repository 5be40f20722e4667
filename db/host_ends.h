/* SPDX-License-Identifier: Apache-2.0 */
/* How the newest results of each host ended, for status and metrics. */
#ifndef DB_HOST_ENDS_H
#define DB_HOST_ENDS_H

#include "db/db.h"
#include "model/fleet.h"

struct host_ends host_ends_of(const struct row_tally *);
/*
 * Returns the hosts that have any of the newest 20,000 results, by id, and the sum over
 * all of them; rows[i].id is the host's.
 */
enum err host_ends_lately(struct db *, struct arena *, struct row_tally **rows,
    size_t *n, struct host_ends *all, struct fail *);

#endif
