/* SPDX-License-Identifier: Apache-2.0 */
/* locus batch show, batch wait: one batch, once or until it is over. */
#include <stdio.h>
#include <time.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "model/decision.h"
#include "tools/batch/batch.h"
#include "tools/catalog.h"
#include "tools/print/print.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { PAUSE_MIN_MS = 1000, PAUSE_MAX_MS = 10000 };

static const struct print_column batch_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "name", "name", PRINT_TEXT, NULL },
	{ "app", "app", PRINT_TEXT, NULL },
	{ "state", "state", PRINT_TEXT,
	    "empty, staged, running, complete, cancelled, retired" },
	{ "created", "created", PRINT_TIME, NULL },
	{ "jobs", "jobs", PRINT_NUMBER, "that were added" },
	{ "staged", "staged", PRINT_NUMBER,
	    "not sent before the last job of their batch is added" },
	{ "open", "open", PRINT_NUMBER, "neither done nor failed nor cancelled" },
	{ "done", "done", PRINT_NUMBER, "with a canonical result" },
	{ "assimilated", "assimilated", PRINT_NUMBER, NULL },
	{ "failed", "failed", PRINT_NUMBER, NULL },
	{ "cancelled", "cancelled", PRINT_NUMBER, NULL },
	{ "purged", "purged", PRINT_NUMBER, "over, and no longer in the database" },
	{ "unsent", "results not sent", PRINT_NUMBER, "results of open jobs" },
	{ "in_progress", "results in progress", PRINT_NUMBER, "results of open jobs" },
	{ "over", "results over", PRINT_NUMBER,
	    "results of open jobs that were reported or lost" },
	{ "fraction_done", "over", PRINT_PERCENT, "jobs that are over" },
	{ "per_hour", "done per hour", PRINT_REAL,
	    "in the last hour; if there were none, in the last day" },
	{ "eta", "time left", PRINT_SPAN, "seconds, at this rate" },
	{ 0 },
};

/* Counts the batch and prints it. */
static enum err
show_batch(struct cmd_ctx *x, struct row_job_batch *row, struct batch_view *v)
{
	const struct app *app;
	struct catalog *c;

	TRY(catalog_load(x->db, x->a, &c, x->f));
	app = catalog_app(c, row->app_id);
	TRY(batch_count(x, row, true, v));
	print_record(x, batch_columns, v->row.id, v->row.name,
	    app == NULL ? NULL : app->name, batch_state_name(v->state),
	    v->row.create_time, v->jobs, v->tally.staged, v->open_jobs, v->tally.done,
	    v->tally.assimilated, v->tally.failed, v->tally.cancelled, v->purged,
	    v->open.unsent, v->open.in_progress, v->open.over, v->fraction_done,
	    v->per_hour, print_unless(v->eta_s < 0, v->eta_s));
	if (v->tally.staged > 0)
		fprintf(stderr,
		    "locus: %lld jobs are staged: \"locus work add\" is running, or it was interrupted and must be run again\n",
		    (long long)v->tally.staged);
	return OK;
}

static enum err
batch_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct row_job_batch *row;
	struct batch_view v;

	(void)opts, (void)n;
	TRY(ctx_db_report(x));
	TRY(batch_find(x, args[0], &row));
	return show_batch(x, row, &v);
}

const struct cmd cmd_batch_show = { .name = "batch show",
	.args = "BATCH",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show the state of a batch",
	.about =
	    "Shows how many jobs of the batch, given by its name or id, are done, failed and open,\n"
	    "where the results of open ones are, and when it will be over at the present rate.",
	.columns = batch_columns,
	.run = batch_show_run };

/* --- waiting --- */

struct batch_wait_opts {
	const char *timeout;
};

static const struct opt batch_wait_options[] = {
	{ "timeout", OPT_TEXT, offsetof(struct batch_wait_opts, timeout), "SECONDS",
	    "Waits no longer than this; without it, as long as it takes." },
	{ 0 },
};

static void
nap_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Is nothing of the batch to be expected any more? */
static bool
batch_over(const struct batch_view *v)
{
	return v->state != BATCH_IS_STAGED && v->state != BATCH_IS_EMPTY &&
	       v->open_jobs == 0;
}

/* Counts again and again, until the batch is over or the time has passed. */
static enum err
wait_for_batch(struct cmd_ctx *x, const char *arg, int64_t end_ms, struct batch_view *v)
{
	struct progress p = progress_begin("waiting for jobs", 0);
	struct row_job_batch *row;
	enum err e = OK;

	for (;;) {
		int64_t began = clock_mono_ms(), now, pause;

		e = db_ready(x->db, x->f);
		if (e == OK)
			e = batch_find(x, arg, &row);
		if (e == OK)
			e = batch_count(x, row, false, v);
		now = clock_mono_ms();
		if (e == OK) {
			p.total = v->jobs;
			p.left_s = v->eta_s; /* as batch show has it */
			progress_set(&p, v->jobs - v->open_jobs - v->tally.staged);
		}
		if ((e == OK && batch_over(v)) ||
		    (e != OK && e != E_RETRY && e != E_DB) || now >= end_ms)
			break;
		/* Counting a large batch is work: most of the time it rests. */
		pause = 10 * (now - began);
		pause = pause < PAUSE_MIN_MS ? PAUSE_MIN_MS :
		        pause > PAUSE_MAX_MS ? PAUSE_MAX_MS :
		                               pause;
		nap_ms(pause < end_ms - now ? pause : end_ms - now);
	}
	progress_end(&p);
	return e;
}

static enum err
batch_wait_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct batch_wait_opts *o = opts;
	int64_t end_ms = INT64_MAX, seconds;
	struct row_job_batch *row;
	struct batch_view v;

	(void)n;
	if (o->timeout != NULL && !text_i64(o->timeout, 0, INT32_MAX, &seconds))
		return ctx_usage(
		    x, "--timeout must be a number of seconds, not %s", o->timeout);
	if (o->timeout != NULL)
		end_ms = clock_mono_ms() + seconds * 1000;
	TRY(ctx_db(x));
	TRY(batch_find(x, args[0], &row));
	TRY(wait_for_batch(x, args[0], end_ms, &v));
	TRY(show_batch(x, &v.row, &v));
	if (!batch_over(&v))
		x->status = EXIT_UNSURE;
	else if (v.tally.failed > 0 || v.tally.cancelled > 0 ||
		 v.state == BATCH_IS_CANCELLED)
		x->status = EXIT_DECLINED;
	return OK;
}

const struct cmd cmd_batch_wait = { .name = "batch wait",
	.args = "BATCH",
	.min_args = 1,
	.max_args = 1,
	.purpose = "wait until a batch is over",
	.about =
	    "Waits until no job of the batch is open, with a bar on a terminal, and shows it as\n"
	    "\"batch show\" does. Jobs that are over may still have to be assimilated.\n"
	    "\n"
	    "Exit status 0: all jobs are done, 1: some failed or were cancelled, 4: the time of\n"
	    "--timeout has passed.",
	.opts = batch_wait_options,
	.opts_size = sizeof(struct batch_wait_opts),
	.columns = batch_columns,
	.run = batch_wait_run };
