/* SPDX-License-Identifier: Apache-2.0 */
/* The decay of recent average credit in the rows of hosts, accounts and teams. */
#ifndef DB_AVERAGES_H
#define DB_AVERAGES_H

#include "db/db.h"

enum averages_of { AVERAGES_HOST, AVERAGES_USER, AVERAGES_TEAM, AVERAGES__MAX };
enum { AVERAGES_BATCH = 512 };

/*
 * Lists at most AVERAGES_BATCH ids after `after` of rows with an average that was last
 * updated before `before` (s UTC), ascending.
 */
enum err averages_due(struct db *, struct arena *, enum averages_of, int64_t after,
    int64_t before, int64_t **ids, size_t *n, struct fail *);
/*
 * Brings the averages of n <= AVERAGES_BATCH rows up to `now`; repeated, it changes
 * nothing.
 */
enum err averages_decay(struct db *, enum averages_of, const int64_t *ids, size_t n,
    int64_t now, struct fail *);

#endif
