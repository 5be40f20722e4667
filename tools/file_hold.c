/* SPDX-License-Identifier: Apache-2.0 */
/* locus file pause, resume and drain: which large files the project holds back. */
#include "model/states.h"
#include "tools/catalog.h"
#include "lib/banned.h"

/* Looks every name up before the first row changes. */
static enum err
hold_files(struct cmd_ctx *x, char **names, size_t n, int32_t how, const char *said)
{
	struct fileset **sets = NEWN(x->a, struct fileset *, n + 1);
	enum err e = ctx_db(x);

	for (size_t i = 0; i < n && e == OK; i++) {
		e = fileset_by_name(x->db, x->a, names[i], &sets[i], x->f);
		if (e == E_NOTFOUND)
			return ctx_not_found(x,
			    "there is no file %s; locus file list lists them",
			    names[i]);
	}
	for (size_t i = 0; i < n && e == OK; i++) {
		e = fileset_set_paused(x->db, sets[i]->id, how, x->f);
		if (e == OK)
			ctx_progress(x, said, "%s%s", names[i],
			    sets[i]->paused == how ? " (as before)" : "");
	}
	return e;
}

static enum err
file_pause_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return hold_files(x, args, n, FILESET_PAUSED, "paused");
}

static enum err
file_resume_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return hold_files(x, args, n, FILESET_OPEN, "resumed");
}

static enum err
file_drain_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return hold_files(x, args, n, FILESET_DRAINING, "draining");
}

const struct cmd cmd_file_pause = { .name = "file pause",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "hold a large file back until it is resumed",
	.about =
	    "No new jobs of the file are made or sent to any host, and hosts keep it. Jobs in\n"
	    "progress continue. Takes effect with the next request, until resume.",
	.run = file_pause_run };
const struct cmd cmd_file_resume = { .name = "file resume",
	.alias = "resume file",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "end the pause or drain of a large file",
	.about = "The working set takes the file up again in its turn.",
	.run = file_resume_run };
const struct cmd cmd_file_drain = { .name = "drain file",
	.alias = "file drain",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "let a large file run out",
	.about =
	    "No new jobs of the file are made, and no further host gets it. The hosts that hold\n"
	    "it get the jobs that exist and those that replace failed ones; they are told to\n"
	    "delete it once none of its workunits is open. Jobs that none of its holders may get\n"
	    "stay unsent until the file is resumed.",
	.run = file_drain_run };
