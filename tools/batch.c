/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus batch: batches as an admin sees them. The counts over their workunits are those
 * that the transitioner keeps or, with the results of open workunits, are made now.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "db/db.h"
#include "db/job_batch.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/tar.h"
#include "lib/text.h"
#include "model/decision.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "tools/cmd.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/print/print.h"
#include "tools/census.h"
#include "tools/work_set.h"
#include "lib/banned.h"

enum { SLICE = 20000, SAMPLE = 20000, HOUR_S = 3600, DAY_S = 86400 };

enum batch_state {
	BATCH_IS_EMPTY,
	BATCH_IS_STAGED, /* its jobs are being added, or that was interrupted */
	BATCH_IS_RUNNING,
	BATCH_IS_COMPLETE,
	BATCH_IS_CANCELLED,
	BATCH_IS_RETIRED
};

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

static const char *batch_state_name(enum batch_state state)
{
	static const char *const names[] = { [BATCH_IS_EMPTY] = "empty",
		[BATCH_IS_STAGED] = "staged",
		[BATCH_IS_RUNNING] = "running",
		[BATCH_IS_COMPLETE] = "complete",
		[BATCH_IS_CANCELLED] = "cancelled",
		[BATCH_IS_RETIRED] = "retired" };

	return names[state];
}

/* Finds a batch by its name or id; E_NOTFOUND has its message set. Needs a connection.
 */
static enum err batch_find(
    struct cmd_ctx *x, const char *arg, struct row_job_batch **row)
{
	size_t n = 1;
	int64_t id;
	bool number = text_i64(arg, 1, INT64_MAX, &id);
	enum err e = number ? job_batch_by_id(x->db, x->a, id, row, x->f) :
	                      job_batch_by_name(x->db, x->a, arg, row, &n, x->f);

	if (e == E_NOTFOUND && number)
		e = job_batch_by_name(x->db, x->a, arg, row, &n, x->f);
	if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no batch %.100s; locus batch list shows them", arg);
	if (e == OK && n > 1)
		return FAIL(x->f, E_BADREQ,
		    "several batches have the name %.100s; give the id, which locus batch list shows",
		    arg);
	return e;
}

static enum err count_slices(struct cmd_ctx *x, struct batch_view *v)
{
	struct progress p = progress_begin("counting jobs", v->row.njobs);
	struct row_batch_tally t = { .n = SLICE };
	struct arena a = { 0 };
	enum err e = OK;

	while (e == OK && t.n == SLICE) {
		struct row_batch_open open = { 0 };
		int64_t after = v->tally.last;

		arena_reset(&a);
		e = job_batch_tally(x->db, &a, v->row.id, after, SLICE, &t, x->f);
		if (e == OK && t.n > 0)
			e = job_batch_open(
			    x->db, &a, v->row.id, after, SLICE, &open, x->f);
		if (e != OK)
			break;
		if (t.n > 0) {
			v->tally.n += t.n;
			v->tally.last = t.last;
			v->tally.staged += t.staged;
			v->tally.done += t.done;
			v->tally.failed += t.failed;
			v->tally.cancelled += t.cancelled;
			v->tally.assimilated += t.assimilated;
		}
		v->open.unsent += open.unsent;
		v->open.in_progress += open.in_progress;
		v->open.over += open.over;
		progress_set(&p, v->tally.n);
	}
	progress_end(&p);
	arena_free(&a);
	return e;
}

/* For lists: adds up the n rows of one batch; then the rest of a view that has its row
 * and tally. */
static void batch_tally(
    const struct row_work_tally *t, size_t n, struct row_batch_tally *sum)
{
	*sum = (struct row_batch_tally){ 0 };
	for (size_t i = 0; i < n; i++) {
		int64_t wus = t[i].wus;
		int32_t code = t[i].code;

		sum->n += wus;
		sum->staged += (code & TALLY_STAGED) != 0 ? wus : 0;
		sum->assimilated += (code & TALLY_ASSIMILATED) != 0 ? wus : 0;
		if ((code & TALLY_CANONICAL) != 0)
			sum->done += wus;
		else if ((code & TALLY_CANCELLED) != 0)
			sum->cancelled += wus;
		else if ((code & TALLY_ERROR) != 0)
			sum->failed += wus;
	}
}

static enum batch_state batch_state_of(const struct batch_view *v)
{
	if (v->row.state == BATCH_ABORTED)
		return BATCH_IS_CANCELLED;
	if (v->row.state == BATCH_RETIRED)
		return BATCH_IS_RETIRED;
	if (v->tally.staged > 0)
		return BATCH_IS_STAGED;
	if (v->jobs == 0)
		return BATCH_IS_EMPTY;
	return v->open_jobs == 0 ? BATCH_IS_COMPLETE : BATCH_IS_RUNNING;
}

/* The rate of the last hour, else of the last day, by a sample of the workunits. */
static enum err measure_pace(struct cmd_ctx *x, struct batch_view *v)
{
	static const int64_t spans[] = { HOUR_S, DAY_S };
	int64_t now = clock_now(), age = now - v->row.create_time;
	int64_t every = v->tally.done / SAMPLE + 1;
	struct row_pair pace = { 0 };

	for (size_t i = 0; i < N(spans) && pace.b == 0; i++) {
		int64_t span = age < 1 ? 1 : age < spans[i] ? age : spans[i];

		TRY(job_batch_pace(
		    x->db, x->a, v->row.id, every, now - spans[i], &pace, x->f));
		v->per_hour = (double)(pace.b * every) * HOUR_S / (double)span;
	}
	if (v->per_hour > 0)
		v->eta_s = (int64_t)((double)v->open_jobs / v->per_hour * HOUR_S + 0.5);
	return OK;
}

/* Reads the batch's own counts. */
static enum err read_tally(struct cmd_ctx *x, struct batch_view *v)
{
	struct work_tallies t;

	TRY(work_tallies_read(
	    x->db, x->a, TALLY_OF_BATCH, v->row.id, clock_now(), &t, x->f));
	batch_tally(t.v, t.n, &v->tally);
	tally_note(x, t.behind);
	return OK;
}

static enum err batch_view_of(struct cmd_ctx *x, struct batch_view *v)
{
	const struct row_job_batch *row = &v->row;
	const struct row_batch_tally *t = &v->tally;

	v->eta_s = -1;
	v->jobs = row->njobs > t->n ? row->njobs : t->n;
	v->purged = v->jobs - t->n;
	/* While its jobs are being added, the row counts those of a step first. */
	if (row->state == BATCH_INIT || t->staged > 0) {
		v->jobs = t->n;
		v->purged = 0;
	}
	v->open_jobs = t->n - t->staged - t->done - t->failed - t->cancelled;
	if (v->jobs > 0)
		v->fraction_done = (double)(v->jobs - v->open_jobs - t->staged) /
		                   (double)v->jobs;
	v->state = batch_state_of(v);
	if (v->state == BATCH_IS_COMPLETE)
		v->eta_s = 0;
	return v->open_jobs > 0 && t->done > 0 ? measure_pace(x, v) : OK;
}

/*
 * Takes the counts of its workunits from work_tally, and estimates when it will be
 * complete from the rate of the last hour. results: counts the workunits now, in
 * bounded steps with a bar, and also the results of open ones.
 */
static enum err batch_count(struct cmd_ctx *x, const struct row_job_batch *row,
    bool results, struct batch_view *v)
{
	*v = (struct batch_view){ .row = *row };
	TRY(results ? count_slices(x, v) : read_tally(x, v));
	return batch_view_of(x, v);
}

/* locus batch list: the batches, and how far they are. */

enum { PAGE = 100, LIMIT_DEFAULT = 100 };

struct batch_list_opts {
	const char *app;
	int64_t limit;
	bool open;
};

#define FIELD(name) FIELD_OF(struct batch_list_opts, name)
static const struct field batch_list_options[] = {
	{ "app", FIELD(app), "APP", "Only batches of this app." },
	{ "open", FIELD(open), NULL, "Only those that have open jobs." },
	{ "limit", FIELD(limit), "N", "Shows at most the N newest; default 100." },
	{ 0 },
};

static const struct print_column batch_list_columns[] = {
	{ "id", "ID", PRINT_NUMBER, NULL },
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "app", "APP", PRINT_TEXT, NULL },
	{ "state", "STATE", PRINT_TEXT,
	    "empty, staged, running, complete, cancelled, retired" },
	{ "jobs", "JOBS", PRINT_NUMBER, "that were added" },
	{ "open", "OPEN", PRINT_NUMBER, "not over yet" },
	{ "done", "DONE", PRINT_NUMBER, "with a canonical result" },
	{ "failed", "FAILED", PRINT_NUMBER, NULL },
	{ "cancelled", "CANCELLED", PRINT_NUMBER, NULL },
	{ "fraction_done", "OVER", PRINT_PERCENT, "jobs that are over" },
	{ "eta", "LEFT", PRINT_SPAN,
	    "seconds left at the rate of the last hour or day" },
	{ "created", "CREATED", PRINT_TIME, NULL },
	{ 0 },
};

struct batch_listing {
	struct cmd_ctx *x;
	const struct catalog *c;
	const struct app *app; /* NULL = of any app */
	struct print *l;       /* NULL before the first one */
	int64_t left;          /* that may still be shown */
	bool open;
	struct work_tallies t; /* of all batches */
};

/* Adds up the rows of one batch among those of all. */
static void batch_tally_of(
    const struct batch_listing *b, int64_t id, struct row_batch_tally *sum)
{
	size_t low = tally_first(&b->t, id), n = 0;

	while (low + n < b->t.n && b->t.v[low + n].id == id)
		n++;
	batch_tally(b->t.v + low, n, sum);
}

/* Counts the batches of a page and prints those that are wanted. */
static enum err list_page(
    struct batch_listing *b, const struct row_job_batch *rows, size_t n)
{
	for (size_t i = 0; i < n && b->left > 0; i++) {
		struct batch_view v = { .row = rows[i] };
		const struct app *app;

		if (b->app != NULL && rows[i].app_id != b->app->id)
			continue;
		batch_tally_of(b, rows[i].id, &v.tally);
		TRY(batch_view_of(b->x, &v));
		if (b->open && v.open_jobs == 0 && v.tally.staged == 0)
			continue;
		if (b->l == NULL)
			b->l = print_list(b->x, batch_list_columns);
		app = catalog_app(b->c, v.row.app_id);
		print_cells(b->l, v.row.id, v.row.name, app == NULL ? NULL : app->name,
		    batch_state_name(v.state), v.jobs, v.open_jobs, v.tally.done,
		    v.tally.failed, v.tally.cancelled, v.fraction_done,
		    print_unless(v.eta_s < 0, v.eta_s), v.row.create_time);
		b->left--;
	}
	return OK;
}

static enum err batch_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	const struct batch_list_opts *o = opts;
	struct batch_listing b = {
		.x = x, .left = o->limit > 0 ? o->limit : LIMIT_DEFAULT, .open = o->open
	};
	struct row_job_batch *rows;
	int64_t before = INT64_MAX;
	struct catalog *c;
	size_t n = PAGE;

	(void)args, (void)nargs;
	TRY(ctx_db_report(x));
	TRY(catalog_load(x->db, x->a, &c, x->f));
	b.c = c;
	if (o->app != NULL)
		TRY(tools_app(x, c, o->app, &b.app));
	TRY(work_tallies_read(x->db, x->a, TALLY_OF_BATCH, 0, clock_now(), &b.t, x->f));
	tally_note(x, b.t.behind);
	while (b.left > 0 && n == PAGE) {
		TRY(job_batches(x->db, x->a, before, PAGE, &rows, &n, x->f));
		TRY(list_page(&b, rows, n));
		before = n > 0 ? rows[n - 1].id : before;
	}
	if (b.l == NULL && x->format == FORMAT_TABLE)
		return ctx_not_found(
		    x, "there are no batches; locus work add --batch makes one");
	if (b.l == NULL)
		b.l = print_list(x, batch_list_columns);
	print_end(b.l);
	return OK;
}

const struct cmd cmd_batch_list = { .name = "batch list",
	.args = "",
	.purpose = "list batches of jobs and how far they are",
	.about =
	    "Prints one line per batch, the newest first. A job is done when it has a canonical\n"
	    "result, failed when it has an error, and open before. A batch is staged while its jobs\n"
	    "are being added, or when that was interrupted; running; complete, when no job is open;\n"
	    "cancelled; or retired.",
	.details =
	    "The time that is left is an estimate from the jobs that became done in the last hour,\n"
	    "or if there are none, in the last day.",
	.opts = batch_list_options,
	.opts_size = sizeof(struct batch_list_opts),
	.columns = batch_list_columns,
	.run = batch_list_run };

/* locus batch show, batch wait: one batch, once or until it is over. */

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
static enum err show_batch(
    struct cmd_ctx *x, struct row_job_batch *row, struct batch_view *v)
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

static enum err batch_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

static const struct field batch_wait_options[] = {
	{ "timeout", FIELD_OF(struct batch_wait_opts, timeout), "SECONDS",
	    "Waits no longer than this; without it, as long as it takes." },
	{ 0 },
};

/* Is nothing of the batch to be expected any more? */
static bool batch_over(const struct batch_view *v)
{
	return v->state != BATCH_IS_STAGED && v->state != BATCH_IS_EMPTY &&
	       v->open_jobs == 0;
}

static enum err count_again(struct cmd_ctx *x, const char *arg, struct batch_view *v)
{
	struct row_job_batch *row;

	TRY(db_ready(x->db, x->f));
	TRY(batch_find(x, arg, &row));
	return batch_count(x, row, false, v);
}

/* Counts again and again, until the batch is over or the time has passed. */
static enum err wait_for_batch(
    struct cmd_ctx *x, const char *arg, int64_t end_ms, struct batch_view *v)
{
	struct progress p = progress_begin("waiting for jobs", 0);
	enum err e = OK;

	for (;;) {
		int64_t began = clock_mono_ms(), now, pause;

		e = count_again(x, arg, v);
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
		int64_t ms = pause < end_ms - now ? pause : end_ms - now;
		struct timespec t = { .tv_sec = ms / 1000,
			.tv_nsec = ms % 1000 * 1000000 };

		nanosleep(&t, NULL);
	}
	progress_end(&p);
	return e;
}

static enum err batch_wait_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

/*
 * locus batch cancel. The state of the batch is set first: a "work add" that is adding
 * jobs to it looks at that in each of its transactions, and stops.
 */

struct batch_cancel_opts {
	bool dry_run, yes;
};

static const struct field batch_cancel_options[] = {
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

static enum err abort_in_tx(struct cmd_ctx *x, void *arg)
{
	const struct row_job_batch *row = arg;
	int64_t state;

	TRY(job_batch_hold(x->db, row->id, &state, x->f));
	if (state == BATCH_ABORTED)
		return OK;
	return job_batch_move(x->db, row->id, (int32_t)state, BATCH_ABORTED, x->f);
}

static void print_cancelled(
    struct cmd_ctx *x, const struct batch_view *v, int64_t cancelled)
{
	print_record(x, batch_cancel_columns, v->row.id, v->row.name, v->jobs,
	    v->jobs - v->open_jobs - v->tally.staged, v->open.unsent,
	    v->open.in_progress, cancelled);
}

static enum err batch_cancel_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

/*
 * locus batch results: collects the output files of canonical results, in a directory
 * or an archive. A file of a directory appears complete or not at all, so a run that
 * was killed is completed by the next one; an archive gets its name when it is whole.
 */

enum { STEP = 500, BLOCK = 256 << 10, MISSING_SHOWN = 20 };

struct batch_results_opts {
	bool dry_run;
};

static const struct field batch_results_options[] = {
	DRY_RUN_OPTION(struct batch_results_opts),
	{ 0 },
};

static const struct print_column batch_results_columns[] = {
	{ "workunits", "jobs that are done", PRINT_NUMBER, "with a canonical result" },
	{ "files", "output files", PRINT_NUMBER, NULL },
	{ "bytes", "size", PRINT_BYTES, NULL },
	{ "copied", "copied", PRINT_NUMBER, "files; 0 in a dry run" },
	{ "known", "there already", PRINT_NUMBER, "files that the directory had" },
	{ "missing", "missing", PRINT_NUMBER, "files that the project has no more" },
	{ 0 },
};

struct collecting {
	struct cmd_ctx *x;
	const char *to;         /* directory; NULL = archive */
	struct tar_writer *tar; /* NULL in a dry run */
	const char
	    *assimilated; /* directory of the assimilator's copies; NULL = none */
	char *block;
	bool dry;
	struct arena step;
	int64_t workunits, files, bytes, copied, known, missing;
};

/* The project's copy of an output: in the upload directory, else the assimilator's. */
static const char *find_output(
    struct collecting *c, const struct blob_file *file, const char *name)
{
	const char *path = upload_path(&c->step, c->x->cf, file->name);

	if (fs_exists(path))
		return path;
	if (c->assimilated == NULL)
		return NULL;
	path = arena_printf(&c->step, "%s/%s", c->assimilated, name);
	return fs_exists(path) ? path : NULL;
}

static enum err put_in_archive(
    struct collecting *c, int fd, const char *path, const char *name)
{
	struct fail *f = c->x->f;
	struct tar_entry t = { .name = name, .kind = TAR_FILE, .mode = 0644 };
	struct stat st;
	int64_t left;

	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	t.size = st.st_size;
	t.mtime = st.st_mtime;
	TRY(tar_begin(c->tar, &t, f));
	for (left = t.size; left > 0;) {
		ssize_t got = read(fd, c->block, left < BLOCK ? (size_t)left : BLOCK);

		if (got < 0)
			return FAIL_ERRNO(f, "reading %s", path);
		if (got == 0)
			return FAIL(f, E_RACE,
			    "%s became shorter while it was read; try again", path);
		TRY(tar_write(c->tar, c->block, (size_t)got, f));
		left -= got;
	}
	return OK;
}

static enum err collect_file(struct collecting *c, const char *path, const char *name)
{
	struct fail *f = c->x->f;
	int64_t size = fs_size(path);
	const char *to;
	enum err e;
	int fd;

	c->files++;
	c->bytes += size > 0 ? size : 0;
	if (c->to == NULL) {
		if (c->tar == NULL)
			return OK;
		TRY(fs_open_file(path, &fd, f));
		e = put_in_archive(c, fd, path, name);
		close(fd);
		c->copied += e == OK;
		return e;
	}
	to = arena_printf(&c->step, "%s/%s", c->to, name);
	if (fs_exists(to) && fs_size(to) == size && fs_mtime(to) >= fs_mtime(path)) {
		c->known++;
		return OK;
	}
	if (c->dry)
		return OK;
	c->copied++;
	return fs_copy(path, to, 0644, f);
}

static void output_missing(
    struct collecting *c, const struct row_canonical *w, const struct blob_file *file)
{
	if (c->missing++ < MISSING_SHOWN)
		fprintf(stderr, "locus: %s: output %s is not there: %s\n", w->name,
		    file->name,
		    w->file_delete_state > 0 ?
			"the file deleter has removed it; a <no_delete/> in the output template keeps it" :
			"it was not uploaded, or was removed by hand");
}

/* An output is named by its workunit; if there are several, with their numbers. */
static enum err collect_workunit(struct collecting *c, const struct row_canonical *w)
{
	struct blob_file *files;
	size_t n;

	c->workunits++;
	if (blob_files(&c->step, w->xml_doc_in, &files, &n, c->x->f) != OK)
		return FAIL(c->x->f, E_BADREQ, "%s: result %" PRId64 ": %.200s",
		    w->name, w->resultid, c->x->f->detail);
	for (size_t i = 0; i < n; i++) {
		const char *name = n == 1 ?
		                       w->name :
		                       arena_printf(&c->step, "%s_%zu", w->name, i);
		const char *path = find_output(c, &files[i], name);

		if (path != NULL)
			TRY(collect_file(c, path, name));
		else if (!files[i].optional)
			output_missing(c, w, &files[i]);
	}
	return OK;
}

static enum err collect_all(struct collecting *c, const struct batch_view *v)
{
	struct progress p = progress_begin("collecting results", v->tally.done);
	struct row_canonical *rows = NULL;
	struct cmd_ctx *x = c->x;
	int64_t after = 0;
	size_t n = STEP;
	enum err e = OK;

	while (e == OK && n == STEP) {
		arena_reset(&c->step);
		e = job_batch_canonicals(
		    x->db, &c->step, v->row.id, after, STEP, &rows, &n, x->f);
		for (size_t i = 0; e == OK && i < n; i++) {
			after = rows[i].id;
			e = collect_workunit(c, &rows[i]);
			progress_set(&p, c->workunits);
		}
	}
	progress_end(&p);
	arena_free(&c->step);
	return e;
}

static enum err collect_to(struct collecting *c, const struct batch_view *v, int fd)
{
	TRY(tar_create(fd, &c->tar, c->x->f));
	TRY(collect_all(c, v));
	return tar_end(c->tar, c->x->f);
}

/* Writes the archive beside its place, and renames it when it is whole. */
static enum err collect_archive(
    struct collecting *c, const struct batch_view *v, const char *path)
{
	const char *part = arena_printf(c->x->a, "%s.part", path);
	struct fail *f = c->x->f;
	enum err e;
	int fd;

	if (fs_exists(path))
		return FAIL(
		    f, E_BADREQ, "%s exists; remove it, or choose another name", path);
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return FAIL_ERRNO(f, "creating %s", part);
	e = collect_to(c, v, fd);
	tar_free(c->tar);
	c->tar = NULL;
	if (e == OK && fsync(fd) < 0)
		e = FAIL_ERRNO(f, "writing %s", part);
	close(fd);
	if (e == OK)
		e = fs_rename_new(part, path, f);
	if (e != OK)
		fs_unlink(part, NULL);
	return e;
}

/* Where the app's assimilator copies outputs to. */
static enum err find_copies(
    struct cmd_ctx *x, const struct row_job_batch *row, const char **dir)
{
	const struct app *app;
	const char *copy_to;
	struct catalog *c;

	TRY(catalog_load(x->db, x->a, &c, x->f));
	app = catalog_app(c, row->app_id);
	if (app == NULL)
		return OK;
	copy_to = daemon_option(x->a, x->cf, "assimilator", app->name, "copy_to");
	*dir = project_path(x->a, x->cf, copy_to == NULL ? "results" : copy_to);
	return OK;
}

static enum err batch_results_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct batch_results_opts *o = opts;
	bool archive = text_ends_with(args[1], ".tar.zst");
	struct collecting c = { .x = x, .dry = o->dry_run };
	struct row_job_batch *row;
	struct batch_view v;

	(void)n;
	TRY(ctx_db_report(x));
	TRY(batch_find(x, args[0], &row));
	TRY(batch_count(x, row, false, &v));
	if (v.tally.done == 0)
		return ctx_not_found(x, "no job of batch %s is done yet", row->name);
	TRY(find_copies(x, row, &c.assimilated));
	c.block = arena_alloc(x->a, BLOCK);
	c.to = archive ? NULL : args[1];
	umask(x->owner.umask);
	if (c.to != NULL && !c.dry)
		TRY(fs_mkdirs(c.to, 0755, x->f));
	TRY(archive && !c.dry ? collect_archive(&c, &v, args[1]) : collect_all(&c, &v));
	print_record(x, batch_results_columns, c.workunits, c.files, c.bytes, c.copied,
	    c.known, c.missing);
	if (c.missing > MISSING_SHOWN)
		fprintf(stderr, "locus: %" PRId64 " more are missing\n",
		    c.missing - MISSING_SHOWN);
	if (c.missing > 0)
		x->status = EXIT_DECLINED;
	return OK;
}

const struct cmd cmd_batch_results = { .name = "batch results",
	.args = "BATCH DIR|FILE.tar.zst",
	.min_args = 2,
	.max_args = 2,
	.purpose = "collect the output files of a batch",
	.about =
	    "Copies the output files of all canonical results of the batch to a directory, or into\n"
	    "an archive if the name ends in .tar.zst. A file is named by its workunit; if there are\n"
	    "several, _0, _1 and so on follow. Files that the directory has already are not copied\n"
	    "again, so the command may be repeated while the batch is running, and after it was\n"
	    "interrupted.\n"
	    "\n"
	    "Exit status 1: some outputs are missing; 3: there are none.",
	.details =
	    "An archive is complete or not there. Outputs are taken from the upload directory, and\n"
	    "once the file deleter has removed them from the copies that the app's assimilator\n"
	    "made.",
	.opts = batch_results_options,
	.opts_size = sizeof(struct batch_results_opts),
	.columns = batch_results_columns,
	.run = batch_results_run };
