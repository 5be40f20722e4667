/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for the whole project. */
#ifndef DB_PROJECT_H
#define DB_PROJECT_H

#include "db/db.h"
#include "db/entity.h"
#include "db/stmts.h"

/* *since: when an admin drained the project, so that it gives no work out, s UTC; 0 =
 * it is not drained. */
enum err project_drained_since(struct db *, int64_t *since, struct fail *);
/* since 0 ends the drain. Schedulers of all machines follow within some seconds. */
enum err project_set_drained(struct db *, int64_t since, struct fail *);

/* *begun: when the newest complete backup was begun, s UTC; 0 = none was made. */
enum err project_backed_up(struct db *, int64_t *begun, struct fail *);
/* An earlier backup than the one that is known changes nothing. */
enum err project_set_backed_up(struct db *, int64_t begun, struct fail *);
/* *since: when the project got its first app, s UTC; 0 = it has none. */
enum err project_first_app(struct db *, int64_t *since, struct fail *);

/*
 * The read replica (replica_db_* of config.xml), for pages and reports, never for
 * decisions about jobs.
 */

/* Does config.xml name a replica? */
bool replica_named(const struct conf *);
/*
 * Connects to the replica, read-only; use: DB_READ or DB_LOOK. *age_s: its data are at
 * most this old, but up to 10 s of it is the pause between two notes of the programs
 * that run. E_NOTFOUND: none is named. Other errors: it is not available or older
 * than replica_max_age; the caller goes to the primary. The connection refers to a
 * configuration in the arena.
 */
enum err replica_open(struct arena *, const struct conf *, enum db_use, struct db **,
    int64_t *age_s, struct fail *);

/* What the database knows of the past, for locus plot. */

enum { RESULT_TIMES_MOST = 20000 };

/* Returns the sums of each day of the ledger since a day (days since 1970), in order;
 * fileset_id and hostid are 0. */
enum err ledger_days(struct db *, struct arena *, int64_t since_day,
    struct row_ledger **, size_t *n, struct fail *);
/* Returns at most RESULT_TIMES_MOST results with ids above after, by id. */
enum err results_times(struct db *, struct arena *, int64_t after,
    struct row_result_times **, size_t *n, struct fail *);
enum err results_last_id(struct db *, int64_t *id, struct fail *); /* 0 = none */
/* When the result with the lowest id was made, s UTC; 0 = there is none. */
enum err results_first_time(struct db *, int64_t *time, struct fail *);

/* What is told to statistics sites: pages of rows, for one transaction of reads. */

enum stats_table {
	STATS_USER,
	STATS_TEAM,
	STATS_HOST,
	STATS_USER_DELETED,
	STATS_HOST_DELETED,
	STATS__MAX
};
enum { STATS_PAGE = 1000 };

/* Who is exported. */
struct stats_consent {
	int64_t type; /* of consent; 0 = the project has none */
	bool needed;  /* only accounts that agreed; else all that did not refuse */
};
enum err stats_consent(
    struct db *, struct arena *, struct stats_consent *, struct fail *);
/* Number of accounts, teams and hosts with credit; credit of all accounts. */
enum err stats_totals(
    struct db *, struct arena *, int64_t *earners, double *credit, struct fail *);

/* A page of rows of one shape, whose first column is the id. */
struct stats_page {
	const struct row_shape *shape;
	char *rows; /* n of shape->size bytes */
	size_t n;
	int64_t last; /* id of the last row */
};
/*
 * Reads the next rows after id `after`, by id; fewer than STATS_PAGE: there are no
 * more.
 */
enum err stats_page(struct db *, struct arena *, enum stats_table,
    const struct stats_consent *, int64_t after, struct stats_page *, struct fail *);

/*
 * Statistics of the whole project, for pages and admins: work from the counts that the
 * transitioner keeps, the rest over indexes, so too expensive for every request.
 */

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
