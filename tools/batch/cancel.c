/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus batch cancel. The state of the batch is set first: a "work add" that is adding
 * jobs to it looks at that in each of its transactions, and stops.
 */
#include <inttypes.h>
#include "db/job_batch.h"
#include "model/rows.h"
#include "tools/batch/batch.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "tools/work_cancel.h"
#include "lib/banned.h"

struct batch_cancel_opts {
	bool dry_run, yes;
};

static const struct opt batch_cancel_options[] = {
	DRY_RUN_OPTION(struct batch_cancel_opts),
	YES_OPTION(struct batch_cancel_opts),
	{ 0 },
};

static const struct print_column batch_cancel_columns[] = {
	{ "id", "batch", PRINT_NUMBER, "of the batch" },
	{ "name", "name", PRINT_TEXT, NULL },
	{ "jobs", "jobs", PRINT_NUMBER, NULL },
	{ "over", "over already", PRINT_NUMBER, "jobs that stay as they are" },
	{ "unsent", "results not sent", PRINT_NUMBER, "results of the other jobs" },
	{ "in_progress", "results in progress", PRINT_NUMBER,
	    "results of the other jobs, which hosts are told to abort" },
	{ "cancelled", "cancelled", PRINT_NUMBER, "jobs; 0 in a dry run" },
	{ 0 },
};

static enum err
abort_in_tx(struct cmd_ctx *x, void *arg)
{
	const struct row_job_batch *row = arg;
	int64_t state;

	TRY(job_batch_hold(x->db, row->id, &state, x->f));
	if (state == BATCH_ABORTED)
		return OK;
	return job_batch_move(x->db, row->id, (int32_t)state, BATCH_ABORTED, x->f);
}

static void
print_cancelled(struct cmd_ctx *x, const struct batch_view *v, int64_t cancelled)
{
	print_record(x, batch_cancel_columns, v->row.id, v->row.name, v->jobs,
	    v->jobs - v->open_jobs - v->tally.staged, v->open.unsent,
	    v->open.in_progress, cancelled);
}

static enum err
batch_cancel_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct batch_cancel_opts *o = opts;
	struct work_cancel_counts did = { 0 };
	struct work_pick_opts pick = { 0 };
	struct row_job_batch *row;
	struct batch_view v;
	int64_t open;

	(void)n;
	TRY(ctx_db(x));
	TRY(batch_find(x, args[0], &row));
	TRY(batch_count(x, row, true, &v));
	open = v.open_jobs + v.tally.staged;
	if (o->dry_run || v.state == BATCH_IS_RETIRED) {
		print_cancelled(x, &v, 0);
		return OK;
	}
	TRY(confirm(x, o->yes,
	    "cancel batch %.100s: %" PRId64 " of its %" PRId64
	    " jobs are open, %" PRId64 " results are in progress",
	    row->name, open, v.jobs, v.open.in_progress));
	TRY(tools_transaction(x, abort_in_tx, row));
	pick.batch = arena_printf(x->a, "%" PRId64, row->id);
	TRY(work_cancel(x, &pick, open, &did));
	v.open.unsent = did.unsent;
	v.open.in_progress = did.in_progress;
	print_cancelled(x, &v, did.cancelled);
	return OK;
}

const struct cmd cmd_batch_cancel = { .name = "batch cancel",
	.args = "BATCH",
	.min_args = 1,
	.max_args = 1,
	.purpose = "cancel the open jobs of a batch",
	.about =
	    "Ends the open jobs of the batch as \"work cancel\" does; those that are over stay as\n"
	    "they are. The batch takes no more jobs: a \"work add\" that is adding some to it\n"
	    "stops, and none of them is sent. Asks before.",
	.opts = batch_cancel_options,
	.opts_size = sizeof(struct batch_cancel_opts),
	.columns = batch_cancel_columns,
	.run = batch_cancel_run };
