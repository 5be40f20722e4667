/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus work add: makes one workunit, for generators of one's own, or all of a file.
 * The transitioner makes their results.
 */
#include <string.h>
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/jobs/jobs.h"
#include "tools/print/print.h"
#include "tools/stuck.h"
#include "lib/banned.h"

struct work_opts {
	const char *jobs, *batch, *template, *in, *out;
	const char *file, *name, *arguments, *from, *to;
	int64_t priority;
	struct text_list input;
	struct target_opts target;
	bool dry_run;
};

#define FIELD(name) FIELD_OF(struct work_opts, name)
static const struct field work_options[] = {
	{ "jobs", FIELD(jobs), "FILE|-",
	    "Adds the jobs of this file, one per line; - is standard input." },
	{ "batch", FIELD(batch), "NAME",
	    "Puts the jobs into this batch, which is made if there is none." },
	{ "file", FIELD(file), "FILE",
	    "The large file or set of files, as named by \"locus file add\"." },
	{ "input", FIELD(input), "PATH",
	    "An ordinary input file, which is copied; may be repeated." },
	{ "name", FIELD(name), "NAME",
	    "Name of the workunit; without a \"__\" it is appended to FILE__." },
	{ "arguments", FIELD(arguments), "TEXT",
	    "Replaces the template's command line." },
	{ "from", FIELD(from), "A", "Replaces %FROM% in the template." },
	{ "to", FIELD(to), "B",
	    "Replaces %TO% in the template; the workunit is named FILE__A_B." },
	{ "template", FIELD(template), "NAME",
	    "The templates NAME_in.xml and NAME_out.xml in templates/; default: the app's name." },
	{ "input-template", FIELD(in), "NAME",
	    "Template in templates/; default APP_in.xml." },
	{ "output-template", FIELD(out), "NAME",
	    "Template in templates/; default APP_out.xml." },
	{ "priority", FIELD(priority), "N",
	    "Among jobs without a large file, higher priorities are sent first; default 0.",
	    .max = 1000000 },
	TARGET_OPTIONS(struct work_opts),
	DRY_RUN_OPTION(struct work_opts),
	{ 0 },
};

static const struct print_column work_columns[] = {
	{ "workunit", NULL, PRINT_TEXT, "of a single job" },
	{ "batch", NULL, PRINT_TEXT, NULL },
	{ "jobs", NULL, PRINT_NUMBER, "in the file" },
	{ "added", NULL, PRINT_NUMBER, NULL },
	{ "known", NULL, PRINT_NUMBER, "were there already" },
	{ "released", NULL, PRINT_NUMBER, "staged ones that may be sent now" },
	{ "dry_run", NULL, PRINT_FLAG, NULL },
	{ 0 },
};

/* wu: the one of a single job; NULL = of a file of jobs. */
static void report_added(struct cmd_ctx *x, const struct work_opts *o,
    const struct workunit *wu, const struct job_counts *n)
{
	const char *batch = o->batch == NULL ?
	                        "" :
	                        arena_printf(x->a, " in batch %s", o->batch);
	const char *known = "";

	print_record(x, work_columns, wu == NULL ? NULL : wu->name, o->batch, n->jobs,
	    n->added, n->known, n->released, o->dry_run);
	if (x->format != FORMAT_TABLE)
		return;
	if (wu != NULL &&
	    n->known > 0) { /* not an error: a generator may repeat itself */
		ctx_progress(x, "known", "workunit %s; nothing was changed", wu->name);
		return;
	}
	if (wu != NULL) {
		ctx_progress(x, o->dry_run ? "would add" : "created", "workunit %s%s",
		    wu->name, batch);
		return;
	}
	if (n->known > 0)
		known = arena_printf(x->a, "; %lld of %lld were there already",
		    (long long)n->known, (long long)n->jobs);
	ctx_progress(x, o->dry_run ? "would add" : "added", "%lld workunits%s%s",
	    (long long)(o->dry_run ? n->jobs - n->known : n->added), batch, known);
}

/* Which option of a single job was given beside --jobs; NULL = none. */
static const char *single_option(const struct work_opts *o)
{
	const struct {
		const char *name;
		bool given;
	} of[] = { { "file", o->file != NULL }, { "name", o->name != NULL },
		{ "arguments", o->arguments != NULL }, { "from", o->from != NULL },
		{ "to", o->to != NULL }, { "priority", o->priority > 0 },
		{ "input", o->input.n > 0 }, { "host", o->target.host > 0 },
		{ "user", o->target.user != NULL }, { "team", o->target.team > 0 },
		{ "all", o->target.all }, { "every", o->target.every } };

	for (size_t i = 0; i < N(of); i++)
		if (of[i].given)
			return of[i].name;
	return NULL;
}

static enum err add_single(
    struct cmd_ctx *x, const struct work_opts *o, struct job_maker *m)
{
	struct job_counts n;
	struct workunit wu;
	struct job_row row;
	struct target_of target;

	job_row_init(&row);
	row.name = o->name;
	row.file = o->file;
	row.arguments = o->arguments;
	row.from = o->from;
	row.to = o->to;
	row.inputs = o->input;
	row.priority = o->priority > 0 ? o->priority : -1;
	row.host = o->target.host > 0 ? o->target.host : -1;
	row.team = o->target.team > 0 ? o->target.team : -1;
	row.user = o->target.user;
	row.all = o->target.all;
	row.every = o->target.every;
	TRY(target_find(x, &o->target, &target));
	TRY(job_load(m, &row, o->dry_run, &n, &wu));
	report_added(x, o, &wu, &n);
	if (n.added == 0)
		return OK;
	target_hint(x, &target);
	return stuck_hint(x, &wu);
}

static enum err work_add_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct work_opts *o = opts;
	const char *single = single_option(o);
	struct job_counts counts;
	struct workunit wu = { 0 };
	struct job_file file;
	struct job_maker m;
	const struct app *app;
	struct catalog *c;

	(void)n;
	if (o->jobs != NULL && single != NULL)
		return ctx_usage(x,
		    "--%s is an option for one job; in a file it is a column", single);
	if ((o->from == NULL) != (o->to == NULL))
		return ctx_usage(x, "--from and --to must be given together");
	if (o->template != NULL && (o->in != NULL || o->out != NULL))
		return ctx_usage(x, "--template names both templates");
	TRY(ctx_db(x));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &app));
	if (o->template != NULL)
		TRY(job_maker_init(x, app, arena_printf(x->a, "%s_in.xml", o->template),
		    arena_printf(x->a, "%s_out.xml", o->template), &m));
	else
		TRY(job_maker_init(x, app, o->in, o->out, &m));
	m.batch = o->batch;
	if (o->jobs == NULL)
		return add_single(x, o, &m);
	TRY(job_file_read(x, o->jobs, &file));
	TRY(jobs_load(&m, &file, o->dry_run, &counts, &wu));
	report_added(x, o, NULL, &counts);
	return counts.added == 0 ? OK : stuck_hint(x, &wu);
}

#define JOB(name, type, least, most, help) #name " (" help ")\n"
const struct cmd cmd_work_add = { .name = "work add",
	.args = "APP",
	.min_args = 1,
	.max_args = 1,
	.purpose = "create workunits",
	.about =
	    "Creates one workunit from the app's templates, or with --jobs one for each line of a\n"
	    "file; the transitioner makes their results. A workunit of a large file must be named\n"
	    "FILE__*. The <file_info> of a large file in the template must contain <sticky/> and\n"
	    "<report_on_rpc/>. A workunit that exists with the same content is left as it is; one\n"
	    "with another content is an error.\n"
	    "The file of --jobs is a table with tabs, whose first line names the columns, or has a\n"
	    "JSON object in each line; empty lines and lines that begin with # are skipped. All\n"
	    "jobs are checked before the first one is added, and every mistake is reported with\n"
	    "its line. No job is sent before the last one is in. If the command is interrupted,\n"
	    "run it again: it completes what is missing, and adds nothing twice.",
	.details =
	    "The columns of --jobs, of which none is required if there is a batch:\n"
#include "tools/jobs/jobs.def"
	    "A list in a table is a line of words, in which quotes group; in JSON it is an array.",
	.opts = work_options,
	.opts_size = sizeof(struct work_opts),
	.columns = work_columns,
	.run = work_add_run };
