/* SPDX-License-Identifier: Apache-2.0 */
/* locus file pause, resume and drain: which large files the project holds back. */
#include <string.h>
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "lib/banned.h"

struct hold_opts {
	const char *reason;
	bool dry_run;
};

static const struct opt hold_options[] = {
	{ "reason", OPT_TEXT, offsetof(struct hold_opts, reason), "TEXT",
	    "Why, for the other admins." },
	DRY_RUN_OPTION(struct hold_opts),
	{ 0 },
};
static const struct opt resume_options[] = {
	DRY_RUN_OPTION(struct hold_opts),
	{ 0 },
};

struct hold { /* what is done to each file */
	const struct hold_opts *o;
	int32_t how;
	const char *said, *would;
};

enum { REASON_MOST = 200 };

static enum err
hold_one(struct cmd_ctx *x, const struct hold *h, const struct fileset *s)
{
	const char *reason = h->o->reason == NULL ? "" : h->o->reason;

	if (!h->o->dry_run)
		TRY(fileset_set_paused(x->db, s->id, h->how, reason, x->f));
	ctx_progress(x, h->o->dry_run ? h->would : h->said, "%s%s", s->name,
	    s->paused == h->how ? " (as before)" : "");
	return OK;
}

/* Looks every name up before the first row changes. */
static enum err
hold_files(struct cmd_ctx *x, char **names, size_t n, const struct hold *h)
{
	struct fileset **sets = NEWN(x->a, struct fileset *, n + 1);

	if (h->o->reason != NULL && strlen(h->o->reason) > REASON_MOST)
		return ctx_usage(
		    x, "--reason must be at most %d bytes long", (int)REASON_MOST);
	TRY(ctx_db(x));
	for (size_t i = 0; i < n; i++) {
		enum err e = fileset_by_name(x->db, x->a, names[i], &sets[i], x->f);
		if (e == E_NOTFOUND)
			return ctx_not_found(x,
			    "there is no file %s; locus file list lists them",
			    names[i]);
		TRY(e);
	}
	for (size_t i = 0; i < n; i++)
		TRY(hold_one(x, h, sets[i]));
	return OK;
}

static enum err
file_pause_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct hold h = { opts, FILESET_PAUSED, "paused", "would pause" };

	return hold_files(x, args, n, &h);
}

static enum err
file_resume_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct hold h = { opts, FILESET_OPEN, "resumed", "would resume" };

	return hold_files(x, args, n, &h);
}

static enum err
file_drain_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct hold h = { opts, FILESET_DRAINING, "draining", "would drain" };

	return hold_files(x, args, n, &h);
}

const struct cmd cmd_file_pause = { .name = "file pause",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "hold a large file back until it is resumed",
	.about =
	    "No new jobs of the file are made or sent to any host, and hosts keep it. Jobs in\n"
	    "progress continue. Takes effect with the next request, until resume.",
	.opts = hold_options,
	.opts_size = sizeof(struct hold_opts),
	.run = file_pause_run };
const struct cmd cmd_file_resume = { .name = "file resume",
	.alias = "resume file",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "end the pause or drain of a large file",
	.about = "The working set takes the file up again in its turn.",
	.opts = resume_options,
	.opts_size = sizeof(struct hold_opts),
	.run = file_resume_run };
const struct cmd cmd_file_drain = { .name = "drain file",
	.alias = "file drain",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "let a large file run out",
	.about =
	    "No new jobs of the file are made, and no further host gets it. The hosts that hold it\n"
	    "get the jobs that exist and those that replace failed ones; they are told to delete it\n"
	    "once none of its workunits is open.",
	.details =
	    "Jobs that none of its holders may get stay unsent until the file is resumed.",
	.opts = hold_options,
	.opts_size = sizeof(struct hold_opts),
	.run = file_drain_run };
