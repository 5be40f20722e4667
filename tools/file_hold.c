/* SPDX-License-Identifier: Apache-2.0 */
/* locus file pause, resume, drain: which large files the project holds back. */
#include "model/states.h"
#include "tools/catalog.h"
#include "lib/banned.h"

/* Every name is looked up before the first row changes. */
static enum err
hold(struct cmd_ctx *x, char **names, size_t n, int32_t how, const char *said)
{
	struct fileset **sets = NEWN(x->a, struct fileset *, n + 1);
	enum err e = ctx_db(x);

	for (size_t i = 0; i < n && e == OK; i++) {
		e = fileset_by_name(x->db, x->a, names[i], &sets[i], x->f);
		if (e == E_NOTFOUND)
			return ctx_nothing(x,
			    "there is no file %s; locus file list lists them",
			    names[i]);
	}
	for (size_t i = 0; i < n && e == OK; i++) {
		e = fileset_set_paused(x->db, sets[i]->id, how, x->f);
		if (e == OK)
			ctx_said(x, said, "%s%s", names[i],
			    sets[i]->paused == how ? " (it was before)" : "");
	}
	return e;
}

static enum err
pause_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return hold(x, args, n, FILESET_PAUSED, "paused");
}

static enum err
resume_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return hold(x, args, n, FILESET_OPEN, "resumed");
}

static enum err
drain_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return hold(x, args, n, FILESET_DRAINING, "draining");
}

const struct cmd cmd_file_pause = { .name = "file pause",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "hold a large file back until it is resumed",
	.about =
	    "No new jobs of the file are sent or made, to nobody, and hosts keep it.  What\n"
	    "they have in progress goes on.  Holds from the next request on; resume ends it.",
	.run = pause_run };
const struct cmd cmd_file_resume = { .name = "file resume",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "end a pause or a drain of a large file",
	.about = "The working set takes it up again when it is its turn.",
	.run = resume_run };
const struct cmd cmd_file_drain = { .name = "file drain",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "let a large file run out",
	.about =
	    "No new jobs of the file are made, and no other host gets it.  The hosts that hold it\n"
	    "get the jobs that are there, and those that replace failed ones; they are told to\n"
	    "delete it when no workunit of it is open.  Jobs that none of its holders may get\n"
	    "stay unsent until the file is resumed.",
	.run = drain_run };
