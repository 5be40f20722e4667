/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of the whole project, for pages and admins: work from the counts that the
 * transitioner keeps, the rest over indexes, so too expensive for every request.
 */
#ifndef DB_STATUS_H
#define DB_STATUS_H

#include "db/db.h"

struct status {
	int64_t results_unsent, results_in_progress, results_over;
	int64_t workunits_to_validate, workunits_to_assimilate, workunits_done;
	int64_t files, files_with_unsent;
	int64_t hosts, hosts_active; /* active: made a request in the last 7 days */
	int64_t users;
};
/* Counts everything; now in s UTC. */
enum err status_count(
    struct db *, struct arena *, int64_t now, struct status *, struct fail *);

#endif
