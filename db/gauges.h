/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics that come from the database (model/metrics.def). */
#ifndef DB_GAUGES_H
#define DB_GAUGES_H

#include "db/db.h"
#include "model/decision.h"
#include "model/fleet.h"
#include "model/metrics.h"

struct gauge_source {
	struct db *db;
	const struct conf *conf;
	int64_t now; /* s UTC */
	/* the rule that derives a file set's state */
	enum file_state (*file_state)(const struct conf *, const struct snap_file *);
	/* the rule that says whether a host stands out */
	enum suspicion (*suspicion)(
	    const struct host_ends *host, const struct host_ends *all);
};
/*
 * Adds jobs by state, queues, hosts, and the server's figures. It reads whole indexes,
 * so it takes a second with millions of rows: callers keep the result for a while.
 */
enum err gauges_put(struct metric_set *, const struct gauge_source *, struct fail *);
/*
 * Does the database answer? `counted` is what gauges_put() returned on db, which may be
 * NULL: a count may fail for what it reads, while the server answers.
 */
bool gauges_database_up(struct db *, enum err counted);
/* Returns the value of a variable or status of the server; NULL if it has none so
 * named. */
const char *status_value(const struct row_status *, size_t n, const char *name);

#endif
