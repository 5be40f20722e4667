/* SPDX-License-Identifier: Apache-2.0 */
/* locus drain project and app, resume project and app: what gives no work out. */
#include "db/project.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/cmd.h"
#include "tools/confirm.h"
#include "tools/human.h"
#include "tools/print/print.h"
#include "lib/banned.h"

struct drain_opts {
	bool dry_run;
};

static const struct opt drain_options[] = {
	DRY_RUN_OPTION(struct drain_opts),
	{ 0 },
};

static const struct print_column drain_columns[] = {
	{ "change", "change", PRINT_TEXT, "drained, resumed, or none" },
	{ "since", "since", PRINT_TIME, "when the project was drained" },
	{ "in_progress", "in progress", PRINT_NUMBER, "tasks that hosts still have" },
	{ "dry_run", "dry run", PRINT_FLAG, NULL },
	{ 0 },
};

struct drain_change {
	const char *change; /* as in the listing */
	int64_t since;      /* s UTC, 0 = not drained */
	int64_t in_progress;
	bool dry;
};

static enum err
tasks_in_progress(struct cmd_ctx *x, int64_t *n)
{
	return db_number(x->db, x->f, n, RESULTS_IN_PROGRESS);
}

static void
print_change(struct cmd_ctx *x, const struct drain_change *c)
{
	if (x->format != FORMAT_TABLE)
		print_record(
		    x, drain_columns, c->change, c->since, c->in_progress, c->dry);
	else if (c->since == 0)
		ctx_progress(x, c->dry ? "would" : "resumed",
		    "%sthe project gives out work%s", c->dry ? "resume: " : "",
		    c->dry ? "" : " again within some seconds");
	else
		ctx_progress(x, c->dry ? "would" : "drained",
		    "%sthe project gives out no work; hosts have %lld tasks to report; locus resume project ends this",
		    c->dry ? "drain: " : "", (long long)c->in_progress);
}

static enum err
change_drain(struct cmd_ctx *x, bool drain, bool dry)
{
	struct drain_change c = { .dry = dry };
	int64_t before;

	TRY(ctx_db(x));
	TRY(project_drained_since(x->db, &before, x->f));
	TRY(tasks_in_progress(x, &c.in_progress));
	c.since = !drain ? 0 : before != 0 ? before : clock_now();
	c.change = c.since == before ? "none" : drain ? "drained" : "resumed";
	if (!dry && c.since != before)
		TRY(project_set_drained(x->db, c.since, x->f));
	if (c.since == before && x->format == FORMAT_TABLE) {
		if (drain)
			ctx_progress(x, "unchanged", "drained since %s",
			    human_span(x->a, clock_now() - before));
		else
			ctx_progress(x, "unchanged", "the project is not drained");
		return OK;
	}
	print_change(x, &c);
	return OK;
}

static enum err
drain_project_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)args, (void)n;
	return change_drain(x, true, ((const struct drain_opts *)opts)->dry_run);
}

static enum err
resume_project_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)args, (void)n;
	return change_drain(x, false, ((const struct drain_opts *)opts)->dry_run);
}

const struct cmd cmd_drain_project = { .name = "drain project",
	.args = "",
	.purpose = "let hosts report, and give no work out",
	.about =
	    "From the next requests on, within some seconds on all machines, hosts report what they\n"
	    "have finished and get no tasks; a message says so, and a delay lets them come back\n"
	    "after an hour. Uploads, downloads, web pages and daemons go on. The project stays\n"
	    "drained, also after a restart, until locus resume project; locus status shows it.",
	.opts = drain_options,
	.opts_size = sizeof(struct drain_opts),
	.columns = drain_columns,
	.run = drain_project_run };
const struct cmd cmd_resume_project = { .name = "resume project",
	.args = "",
	.purpose = "end the drain of the project",
	.about =
	    "The schedulers of all machines give work out again within some seconds. Hosts that\n"
	    "asked while the project was drained come back within an hour.",
	.opts = drain_options,
	.opts_size = sizeof(struct drain_opts),
	.columns = drain_columns,
	.run = resume_project_run };

/* --- one app --- */

static const struct print_column app_drain_columns[] = {
	{ "app", "app", PRINT_TEXT, NULL },
	{ "change", "change", PRINT_TEXT, "drained, resumed, or none" },
	{ "since", "since", PRINT_TIME, "when the app was drained" },
	{ "unsent", "unsent", PRINT_NUMBER,
	    "results that wait until the app is resumed" },
	{ "in_progress", "in progress", PRINT_NUMBER, "tasks that hosts still have" },
	{ "dry_run", "dry run", PRINT_FLAG, NULL },
	{ 0 },
};

static enum err
change_app(struct cmd_ctx *x, const char *name, bool drain, bool dry)
{
	const struct app *was;
	struct app app;
	struct catalog *c;
	struct row_pair *tasks;
	const char *change;

	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, name, &was));
	TRY(db_row(x->db, x->a, x->f, &tasks, APP_TASKS, .appid = was->id));
	app = *was;
	app.drain_time = !drain               ? 0 :
	                 was->drain_time != 0 ? was->drain_time :
	                                        clock_now();
	if (!dry && app.drain_time != was->drain_time) {
		TRY(app_update(x->db, &app, x->f));
		TRY(ctx_reread(x));
	}
	change = app.drain_time == was->drain_time ? "none" :
	         drain                             ? "drained" :
	                                             "resumed";
	print_record(x, app_drain_columns, app.name, change, app.drain_time, tasks->a,
	    tasks->b, dry);
	return OK;
}

static enum err
app_drain_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)n;
	return change_app(x, args[0], true, ((const struct drain_opts *)opts)->dry_run);
}

static enum err
app_resume_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)n;
	return change_app(
	    x, args[0], false, ((const struct drain_opts *)opts)->dry_run);
}

const struct cmd cmd_app_drain = { .name = "app drain",
	.alias = "drain app",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "let an app's tasks be reported, and send no new ones",
	.about =
	    "From the next requests on, within some seconds, schedulers send no new task of the\n"
	    "app; hosts finish and report those that they have, and get again what they have lost.\n"
	    "No work is made on demand for its files, hosts keep them, and other apps go on. Hosts\n"
	    "that get nothing therefore see a message; app list, status, explain app and explain\n"
	    "job show it. The app stays drained until locus resume app.",
	.opts = drain_options,
	.opts_size = sizeof(struct drain_opts),
	.columns = app_drain_columns,
	.run = app_drain_run };
const struct cmd cmd_app_resume = { .name = "app resume",
	.alias = "resume app",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "end the drain of an app",
	.about = "Its tasks are sent again within some seconds.",
	.opts = drain_options,
	.opts_size = sizeof(struct drain_opts),
	.columns = app_drain_columns,
	.run = app_resume_run };
