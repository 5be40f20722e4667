/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches as an admin sees them: what their row says, and what is counted over their
 * workunits.
 */
#ifndef TOOLS_BATCH_BATCH_H
#define TOOLS_BATCH_BATCH_H

#include "db/db.h"
#include "tools/cmd.h"

enum batch_state {
	BATCH_IS_EMPTY,
	BATCH_IS_STAGED, /* its jobs are being added, or that was interrupted */
	BATCH_IS_RUNNING,
	BATCH_IS_COMPLETE,
	BATCH_IS_CANCELLED,
	BATCH_IS_RETIRED
};
const char *batch_state_name(enum batch_state);

struct batch_view {
	struct row_job_batch row;
	struct row_batch_tally tally; /* of its workunits in the database */
	struct row_batch_open open;   /* results of open workunits, if counted */
	enum batch_state state;
	/* Jobs: of all that were ever added; open: sent or to be sent; purged: over,
	 * and no longer in the database. */
	int64_t jobs, open_jobs, purged;
	double fraction_done;
	double per_hour; /* jobs that became done in the last hour, or day */
	int64_t eta_s;   /* -1 = not known */
};

/* Finds a batch by its name or id; E_NOTFOUND has its message set. Needs a connection.
 */
enum err batch_find(struct cmd_ctx *, const char *arg, struct row_job_batch **);
/*
 * Takes the counts of its workunits from work_tally, and estimates when it will be
 * complete from the rate of the last hour. results: counts the workunits now, in
 * bounded steps with a bar, and also the results of open ones.
 */
enum err batch_count(
    struct cmd_ctx *, const struct row_job_batch *, bool results, struct batch_view *);
/* For lists: adds up the n rows of one batch; then the rest of a view that has its row
 * and tally. */
void batch_tally(const struct row_work_tally *, size_t n, struct row_batch_tally *);
enum err batch_view_of(struct cmd_ctx *, struct batch_view *);

#endif
