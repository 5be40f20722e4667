/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the queries with which supply (rules/sched/supply.h) reads candidates. */
#ifndef DB_SUPPLY_ROWS_H
#define DB_SUPPLY_ROWS_H

#include "db/db.h"
#include "model/conf.h"
#include "model/request.h"
#include "model/decision.h"

struct supply_source {
	struct db *db;
	struct arena *a; /* for the rows */
	const struct conf *conf;
	const struct request *req;
	struct snapshot *snap; /* the query SETS adds to its files and members */
};

/* Runs this query and overwrites rows with its answer. A number that does not exist
 * is no error: rows->found is false. */
enum err supply_run(struct supply_source *, const struct supply_query *,
    struct supply_rows *rows, struct fail *);

/*
 * Runs the queries of several requests, each AFTER_LAST without a lock, as one
 * statement. nth jobs are left out first, so that requests that read the same file set
 * get different ones; so an empty answer tells nothing. At most DB_HEADS_MAX.
 */
enum err supply_run_cohort(struct db *, struct arena *, const struct supply_query *,
    size_t n, struct supply_rows *, struct fail *);

#endif
