/* SPDX-License-Identifier: Apache-2.0 */
/* locus batch list: the batches, and how far they are. */
#include "db/job_batch.h"
#include "lib/clock.h"
#include "model/decision.h"
#include "tools/batch/batch.h"
#include "tools/catalog.h"
#include "tools/print/print.h"
#include "tools/tallies.h"
#include "lib/banned.h"

enum { PAGE = 100, LIMIT_DEFAULT = 100 };

struct batch_list_opts {
	const char *app;
	int64_t limit;
	bool open;
};

#define FIELD(name) offsetof(struct batch_list_opts, name)
static const struct opt batch_list_options[] = {
	{ "app", OPT_TEXT, FIELD(app), "APP", "Only batches of this app." },
	{ "open", OPT_FLAG, FIELD(open), NULL, "Only those that have open jobs." },
	{ "limit", OPT_NUMBER, FIELD(limit), "N",
	    "Shows at most the N newest; default 100." },
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
static void
batch_tally_of(const struct batch_listing *b, int64_t id, struct row_batch_tally *sum)
{
	size_t low = tally_first(&b->t, id), n = 0;

	while (low + n < b->t.n && b->t.v[low + n].id == id)
		n++;
	batch_tally(b->t.v + low, n, sum);
}

/* Counts the batches of a page and prints those that are wanted. */
static enum err
list_page(struct batch_listing *b, const struct row_job_batch *rows, size_t n)
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

static enum err
batch_list_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
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
