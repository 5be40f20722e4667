/* SPDX-License-Identifier: Apache-2.0 */
/* locus file set: where the jobs of a large file come from. */
#include <string.h>
#include "db/entity.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "tools/confirm.h"
#include "tools/set_report.h"
#include "lib/banned.h"

struct file_set_opts { /* NULL = unchanged */
	const char *generator, *low_water;
	bool dry_run;
};

static const struct opt file_set_options[] = {
	{ "generator", OPT_TEXT, offsetof(struct file_set_opts, generator), "CMD",
	    "A command of the project that says which jobs to make; '' leaves it to the generator of the app." },
	{ "low-water", OPT_TEXT, offsetof(struct file_set_opts, low_water), "N",
	    "More jobs are made when fewer than N are unsent; 0: when a host asks for one." },
	DRY_RUN_OPTION(struct file_set_opts),
	{ 0 },
};

enum { GENERATOR_MOST = 1000, LOW_WATER_MOST = 100000 };

static enum err
check_own_generator(struct cmd_ctx *x, const char *command)
{
	char **words;

	if (command[0] == '\0')
		return OK;
	if (strlen(command) > GENERATOR_MOST)
		return ctx_usage(x, "--generator must be at most %d bytes long",
		    (int)GENERATOR_MOST);
	if (proc_split(x->a, command, &words, x->f) != OK || words[0] == NULL)
		return ctx_usage(
		    x, "--generator: \"%s\" cannot be split into words", command);
	return OK;
}

static enum err
change_source(
    struct cmd_ctx *x, const struct file_set_opts *o, struct row_fileset_source *s)
{
	if (o->generator != NULL) {
		TRY(check_own_generator(x, o->generator));
		s->generator = arena_strdup(x->a, o->generator);
	}
	if (o->low_water != NULL &&
	    !text_i64(o->low_water, 0, LOW_WATER_MOST, &s->low_water))
		return ctx_usage(x, "--low-water must be a whole number from 0 to %d",
		    (int)LOW_WATER_MOST);
	return OK;
}

static enum err
set_one(struct cmd_ctx *x, const struct file_set_opts *o, const struct fileset *s)
{
	struct set_report r = set_report_new(x);
	struct row_fileset_source was, now;

	TRY(fileset_source(x->db, x->a, s->id, &was, x->f));
	now = was;
	TRY(change_source(x, o, &now));
	if (!o->dry_run)
		TRY(fileset_source_set(x->db, &now, x->f));
	set_report_text(&r, "generator", was.generator, now.generator);
	set_report_number(&r, "low-water", was.low_water, now.low_water);
	set_report_print(&r, o->dry_run, arena_printf(x->a, "file %s", s->name));
	return OK;
}

static enum err
file_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct file_set_opts *o = opts;
	struct fileset *s;
	enum err e;

	(void)n;
	if (o->generator == NULL && o->low_water == NULL)
		return ctx_usage(x, "nothing to change: give at least one option");
	TRY(ctx_db(x));
	e = fileset_by_name(x->db, x->a, args[0], &s, x->f);
	if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no file %s; locus file list lists them", args[0]);
	TRY(e);
	return set_one(x, o, s);
}

const struct cmd cmd_file_set = { .name = "file set",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "say where the jobs of a large file come from",
	.about =
	    "A file may have a command of its own, in place of what the work_generator of its app\n"
	    "was told: {file} and {n} stand for its name and the number of jobs that are wanted,\n"
	    "and its output is that of work_generator --command, see work_generator(8). With\n"
	    "--low-water, work_generator keeps so many jobs waiting and does not wait for a host to\n"
	    "ask, as long as the command has more. locus file show has both.",
	.details = "Takes effect within seconds.",
	.opts = file_set_options,
	.opts_size = sizeof(struct file_set_opts),
	.columns = set_columns,
	.run = file_set_run };
