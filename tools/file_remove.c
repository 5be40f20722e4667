/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus file remove: takes a large file out of the project once no work needs it. The
 * row of its set goes last, so that an interrupted run can be repeated.
 */
#include <inttypes.h>
#include <string.h>
#include "db/file.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/print/print.h"
#include "lib/banned.h"

/* locus file pause, resume and drain: which large files the project holds back. */

struct hold_opts {
	const char *reason;
	bool dry_run;
};

static const struct field hold_options[] = {
	{ "reason", FIELD_OF(struct hold_opts, reason), "TEXT",
	    "Why, for the other admins." },
	DRY_RUN_OPTION(struct hold_opts),
	{ 0 },
};
static const struct field resume_options[] = {
	DRY_RUN_OPTION(struct hold_opts),
	{ 0 },
};

struct hold { /* what is done to each file */
	const struct hold_opts *o;
	int32_t how;
	const char *said, *would;
};

enum { REASON_MOST = 200 };

static enum err hold_one(
    struct cmd_ctx *x, const struct hold *h, const struct fileset *s)
{
	bool before = s->paused == h->how;
	const char *reason = h->o->reason;

	if (reason == NULL)
		reason = before ? s->hold_reason : "";
	if (!h->o->dry_run)
		TRY(fileset_set_paused(x->db, s->id, h->how, reason, x->f));
	ctx_progress(x, h->o->dry_run ? h->would : h->said, "%s%s", s->name,
	    before ? " (as before)" : "");
	return OK;
}

/* Looks every name up before the first row changes. */
static enum err hold_files(
    struct cmd_ctx *x, char **names, size_t n, const struct hold *h)
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

static enum err file_pause_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct hold h = { opts, FILESET_PAUSED, "paused", "would pause" };

	return hold_files(x, args, n, &h);
}

static enum err file_resume_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct hold h = { opts, FILESET_OPEN, "resumed", "would resume" };

	return hold_files(x, args, n, &h);
}

static enum err file_drain_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "end the pause or drain of a large file",
	.about = "The working set takes the file up again in its turn.",
	.opts = resume_options,
	.opts_size = sizeof(struct hold_opts),
	.run = file_resume_run };
const struct cmd cmd_file_drain = { .name = "file drain",
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

struct remove_opts {
	bool drain, dry_run, yes;
};

static const struct field remove_options[] = {
	{ "drain", FIELD_OF(struct remove_opts, drain), NULL,
	    "A file that work or hosts still have is drained, and removed when its work has ended." },
	DRY_RUN_OPTION(struct remove_opts),
	YES_OPTION(struct remove_opts),
	{ 0 },
};

static const struct print_column remove_columns[] = {
	{ "name", "FILE", PRINT_TEXT, NULL },
	{ "action", "ACTION", PRINT_TEXT, "removed, or draining" },
	{ "unsent", "UNSENT", PRINT_NUMBER, "results that are not sent yet" },
	{ "in_progress", "IN PROGRESS", PRINT_NUMBER, "results in progress" },
	{ "unfinished", "UNFINISHED", PRINT_NUMBER,
	    "workunits that are not assimilated yet" },
	{ "holders", "HOSTS", PRINT_NUMBER, "hosts that hold it" },
	{ 0 },
};

struct use { /* who still has the file */
	struct fileset_use work;
	int64_t holders;
};

static enum err use_of(struct cmd_ctx *x, const struct fileset *s, struct use *u)
{
	struct row_file_info *info;

	TRY(fileset_use(x->db, x->a, s->id, &u->work, x->f));
	TRY(db_row(x->db, x->a, x->f, &info, FILE_INFO_BY_NAME, .name = s->name));
	u->holders = info->holders;
	return OK;
}

static bool has_users(const struct use *u)
{
	return fileset_is_needed(&u->work) || u->holders > 0;
}

static enum err refuse_needed(
    struct cmd_ctx *x, const struct fileset *s, const struct fileset_use *u)
{
	return FAIL(x->f, E_BADREQ,
	    "%.100s is needed: %" PRId64 " results not sent, %" PRId64
	    " in progress, %" PRId64
	    " workunits not assimilated yet; add --drain, or end them with locus work cancel --file %.100s",
	    s->name, u->unsent, u->in_progress, u->unfinished, s->name);
}

static enum err leave_in_tx(struct cmd_ctx *x, void *arg)
{
	struct fileset_leaving *l = arg;

	return fileset_leave(x->db, x->a, l, x->f);
}

struct removing {
	const struct fileset *set;
	const struct row_member *gone;
	size_t ngone;
};

static enum err rows_in_tx(struct cmd_ctx *x, void *arg)
{
	const struct removing *r = arg;

	return fileset_remove(x->db, x->a, r->set->id, r->gone, r->ngone, x->f);
}

/* Removes the files of the set that are in no other one. */
/* May the files that only this set has be removed? */
static enum err check_removal(struct cmd_ctx *x, const struct fileset *s)
{
	struct row_member *m = NULL;
	size_t n = 0;
	bool shared;

	TRY(fileset_files(x->db, x->a, s->id, &m, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		const char *path = download_path(x->a, x->cf, m[i].name);

		TRY(file_is_shared(x->db, x->a, m[i].file_id, &shared, x->f));
		if (!shared && fs_exists(path))
			TRY(fs_check_change(path, x->f));
	}
	return OK;
}

static enum err remove_set(struct cmd_ctx *x, const struct fileset *s)
{
	static const char *const endings[] = { "", ".md5", ".gz" };
	struct row_member *m = NULL, *gone;
	struct removing r = { .set = s };
	size_t n = 0;
	bool shared;

	TRY(fileset_files(x->db, x->a, s->id, &m, &n, x->f));
	r.gone = gone = NEWN(x->a, struct row_member, n + 1);
	for (size_t i = 0; i < n; i++) {
		TRY(file_is_shared(x->db, x->a, m[i].file_id, &shared, x->f));
		if (shared)
			continue;
		gone[r.ngone++] = m[i];
		for (size_t k = 0; k < N(endings); k++)
			TRY(fs_unlink(
			    arena_printf(x->a, "%s%s",
				download_path(x->a, x->cf, m[i].name), endings[k]),
			    x->f));
	}
	return tools_transaction(x, rows_in_tx, &r);
}

static enum err remove_one(struct cmd_ctx *x, const struct fileset *s)
{
	struct use u;

	/* From now on no generator makes work of it. */
	TRY(fileset_set_paused(x->db, s->id, FILESET_PAUSED, "being removed", x->f));
	TRY(use_of(x, s, &u));
	if (fileset_is_needed(&u.work))
		return refuse_needed(x, s, &u.work);
	/* Finished workunits that are not purged yet no longer name the set. */
	struct progress bar = progress_begin("releasing workunits", 0);
	struct fileset_leaving l = { .fileset_id = s->id };
	int64_t done = 0;
	enum err e;

	do {
		e = tools_transaction(x, leave_in_tx, &l);
		progress_set(&bar, done += l.left);
	} while (e == OK && l.left > 0);
	progress_end(&bar);
	TRY(e);
	return remove_set(x, s);
}

static enum err file_remove_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct remove_opts *o = opts;
	struct fileset **sets = NEWN(x->a, struct fileset *, n + 1);
	struct use *use = NEWN(x->a, struct use, n + 1);
	struct print *l;
	size_t ready = 0;

	TRY(ctx_db(x));
	for (size_t i = 0; i < n; i++) {
		enum err e = fileset_by_name(x->db, x->a, args[i], &sets[i], x->f);
		if (e == E_NOTFOUND)
			return ctx_not_found(x,
			    "there is no file %.100s; locus file list lists them",
			    args[i]);
		TRY(e);
		TRY(use_of(x, sets[i], &use[i]));
		if (fileset_is_needed(&use[i].work) && !o->drain)
			return refuse_needed(x, sets[i], &use[i].work);
		if (o->drain && has_users(&use[i]))
			continue;
		TRY(check_removal(x, sets[i]));
		ready++;
	}
	if (!o->dry_run && ready > 0)
		TRY(confirm(x, o->yes, "remove %zu large files for ever", ready));
	l = print_list(x, remove_columns);
	for (size_t i = 0; i < n; i++) {
		bool wait = o->drain && has_users(&use[i]);

		if (!o->dry_run)
			TRY(wait ? fileset_order_removal(
				       x->db, sets[i]->id, clock_now(), x->f) :
				   remove_one(x, sets[i]));
		print_cells(l, sets[i]->name, wait ? "draining" : "removed",
		    use[i].work.unsent, use[i].work.in_progress, use[i].work.unfinished,
		    use[i].holders);
	}
	print_end(l);
	return OK;
}

const struct cmd cmd_file_remove = { .name = "file remove",
	.args = "NAME ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "take a large file out of the project",
	.about =
	    "Removes the file from the download directory and from the tables, unless work needs\n"
	    "it: results that are not sent or in progress, or workunits that are not assimilated.\n"
	    "Hosts that hold it keep it until they need the room. With --drain a file that work or\n"
	    "hosts have is drained first (see file drain): no work of it is made any more, its work\n"
	    "ends, and hosts are told to delete it.",
	.details =
	    "The daemon file_deleter then removes it, ten minutes after the command at the\n"
	    "earliest; locus file resume takes the order back. A file that is in other sets, too,\n"
	    "stays for them.",
	.opts = remove_options,
	.opts_size = sizeof(struct remove_opts),
	.columns = remove_columns,
	.run = file_remove_run };
