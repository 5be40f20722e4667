/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, the statistics of app versions on them, and the large files they hold. */
#ifndef DB_HOST_H
#define DB_HOST_H

#include "db/db.h"
#include "model/conf.h"
#include "model/fleet.h"

/* How the newest results of each host ended, for status and metrics. */

struct host_ends host_ends_of(const struct row_tally *);
/*
 * Returns the hosts that have any of the newest 20,000 results, by id, and the sum over
 * all of them; rows[i].id is the host's.
 */
enum err host_ends_lately(struct db *, struct arena *, struct row_tally **rows,
    size_t *n, struct host_ends *all, struct fail *);

/*
 * Rows that show which work can never be done: workunits that lack results, the demands
 * of unsent work, and the active hosts. For admins and daemons, not for RPCs.
 */

/*
 * Summarises the hosts that are active according to locality_active_host_days; now in s
 * UTC.
 */
enum err fleet_load(struct db *, struct arena *, const struct conf *, int64_t now,
    struct fleet *, struct fail *);
/* Adds the kinds of active hosts, each once. */
enum err fleet_load_kinds(struct db *, struct arena *, const struct conf *, int64_t now,
    struct fleet *, struct fail *);

struct demand_ask {
	/* unsendable_takers(), and the fleet's since_day; 0 = had_by_all is not wanted
	 */
	int64_t takers, since_day;
	int64_t from, to; /* demand_between(): ids of workunits in (from, to] */
	int64_t appid;    /* demand_queued() */
};
/* Returns the demands of open workunits that have unsent results. */
enum err demand_between(struct db *, struct arena *, const struct demand_ask *,
    struct demand **, size_t *n, struct fail *);
/*
 * Returns the demands of an app's first unsent results: 100 each of file jobs, plain
 * jobs and urgent jobs.
 */
enum err demand_queued(struct db *, struct arena *, const struct demand_ask *,
    struct demand **, size_t *n, struct fail *);

/* Returns candidates for quorum_prospect() with ids in (from, to], the first 1,000. */
enum err wus_short(struct db *, struct arena *, int64_t from, int64_t to,
    struct row_wu_short **, size_t *n, struct fail *);
/*
 * Returns unsent work whose targets are all gone, or which the options disable; the
 * first 1,000.
 */
enum err wus_aimed_in_vain(struct db *, struct arena *, const struct conf *,
    struct row_aimed **, size_t *n, struct fail *);

#endif
