/* SPDX-License-Identifier: Apache-2.0 */
/* locus work cancel: ends work that nobody needs. */
#include "tools/work_cancel.h"

#include <inttypes.h>
#include <stdio.h>
#include "db/stmts.h"
#include "lib/clock.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "tools/progress.h"
#include "tools/version_text.h"
#include "lib/banned.h"

struct cancel_opts {
	struct work_pick_opts pick;
	const char *version;
	bool dry_run, yes;
};

static const struct opt cancel_options[] = {
	WORK_PICK_OPTIONS(struct cancel_opts),
	{ "version", OPT_TEXT, offsetof(struct cancel_opts, version), "VERSION",
	    "With --app alone: ends only the tasks that hosts do with this version, such as 1.02; their workunits stay open and get others in their place." },
	DRY_RUN_OPTION(struct cancel_opts),
	YES_OPTION(struct cancel_opts),
	{ 0 },
};

static const struct print_column cancel_columns[] = {
	{ "matched", "workunits that match", PRINT_NUMBER, "workunits that match" },
	{ "over", "over already", PRINT_NUMBER,
	    "those of them that are over already and stay as they are" },
	{ "unsent", "results not sent", PRINT_NUMBER,
	    "results of the others that are not sent yet" },
	{ "in_progress", "results in progress", PRINT_NUMBER,
	    "results of the others that hosts are working on" },
	{ "cancelled", "cancelled", PRINT_NUMBER,
	    "workunits that were cancelled; 0 in a dry run" },
	{ 0 },
};

/* The first walk: what there is to cancel. */
static enum err
cancel_count(
    struct cmd_ctx *x, const struct work_pick_opts *o, struct work_cancel_counts *c)
{
	struct progress bar = progress_begin("counting workunits", 0);
	struct arena a = { 0 };
	struct work_pick p;
	bool more = true;
	enum err e = work_pick_begin(x, o, PICK_ALL_STATES, &p);

	while (e == OK && more) {
		struct work_picked *v = NULL;
		size_t n = 0;

		arena_reset(&a);
		e = work_pick_step(x, &a, &p, &v, &n, &more);
		for (size_t i = 0; i < n; i++) {
			c->matched++;
			if ((PICK_OPEN & 1u << v[i].state) == 0) {
				c->over++;
				continue;
			}
			c->unsent += v[i].results.unsent;
			c->in_progress += v[i].results.in_progress;
		}
		progress_set(&bar, p.seen);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

struct cancelling {
	struct arena *a;
	const int64_t *ids;
	size_t n;
	struct cancelled did;
};

static enum err
cancel_in_tx(struct cmd_ctx *x, void *arg)
{
	struct cancelling *k = arg;

	k->did = (struct cancelled){ 0 };
	return workunits_cancel(x->db, k->a, k->ids, k->n, clock_now(), &k->did, x->f);
}

/* Cancels the workunits of one step, a transaction for each few of them. */
static enum err
cancel_some(struct cmd_ctx *x, struct arena *a, const struct work_picked *v, size_t n,
    struct work_cancel_counts *c)
{
	int64_t *ids = NEWN(a, int64_t, n + 1);

	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].wu.id;
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		struct cancelling k = { .a = a,
			.ids = ids + i,
			.n = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX };

		TRY(tools_transaction(x, cancel_in_tx, &k));
		c->cancelled += k.did.workunits;
		c->unsent += k.did.unsent;
		c->in_progress += k.did.in_progress;
	}
	return OK;
}

enum err
work_cancel(struct cmd_ctx *x, const struct work_pick_opts *o, int64_t expected,
    struct work_cancel_counts *c)
{
	struct progress bar = progress_begin("cancelling workunits", expected);
	struct arena a = { 0 };
	struct work_pick p;
	bool more = true;
	enum err e = work_pick_begin(x, o, PICK_OPEN, &p);

	while (e == OK && more) {
		struct work_picked *v = NULL;
		size_t n = 0;

		arena_reset(&a);
		e = work_pick_step(x, &a, &p, &v, &n, &more);
		if (e == OK)
			e = cancel_some(x, &a, v, n, c);
		progress_set(&bar, c->cancelled);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

static void
cancel_print(struct cmd_ctx *x, const struct work_cancel_counts *c)
{
	print_record(x, cancel_columns, c->matched, c->over, c->unsent, c->in_progress,
	    c->cancelled);
}

enum err
work_cancel_ask(
    struct cmd_ctx *x, const struct work_pick_opts *o, bool dry_run, bool yes)
{
	struct work_cancel_counts c = { 0 }, did = { 0 };
	int64_t open;

	TRY(cancel_count(x, o, &c));
	open = c.matched - c.over;
	if (c.matched == 0)
		return ctx_not_found(
		    x, "no workunit matches: %s", work_pick_text(x->a, o));
	if (dry_run || open == 0) {
		cancel_print(x, &c);
		return OK;
	}
	TRY(confirm(x, yes,
	    "cancel %" PRId64 " workunit%s (%.150s), with %" PRId64
	    " results not sent yet and %" PRId64 " in progress",
	    open, open == 1 ? "" : "s", work_pick_text(x->a, o), c.unsent,
	    c.in_progress));
	TRY(work_cancel(x, o, open, &did));
	did.matched = c.matched;
	did.over = c.over;
	cancel_print(x, &did);
	return OK;
}

/* --- the tasks of a version --- */

struct ending {
	struct arena *a;
	const struct row_pair *tasks;
	size_t n;
	int64_t ended;
};

static enum err
end_in_tx(struct cmd_ctx *x, void *arg)
{
	struct ending *k = arg;

	k->ended = 0;
	return version_tasks_end(
	    x->db, k->a, k->tasks, k->n, clock_now(), &k->ended, x->f);
}

static enum err
end_version_tasks(
    struct cmd_ctx *x, const struct row_pair *tasks, size_t n, int64_t *ended)
{
	struct progress bar = progress_begin("ending tasks", (int64_t)n);
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX) {
		struct ending k = { .a = x->a,
			.tasks = tasks + i,
			.n = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX };

		e = tools_transaction(x, end_in_tx, &k);
		*ended += k.ended;
		progress_set(&bar, (int64_t)i);
	}
	progress_end(&bar);
	return e;
}

static enum err
cancel_version(struct cmd_ctx *x, const struct cancel_opts *o)
{
	const struct work_pick_opts *p = &o->pick;
	struct work_cancel_counts c = { 0 };
	struct version_builds b;
	struct row_pair *tasks;
	size_t n;

	if (p->app == NULL || p->name != NULL || p->file != NULL || p->batch != NULL ||
	    p->state != NULL || p->ids.n > 0)
		return ctx_usage(x, "--version VERSION goes with --app APP alone");
	TRY(version_builds_find(x, p->app, o->version, &b));
	TRY(version_tasks(x->db, x->a, b.app->id, b.ids, b.n, &tasks, &n, x->f));
	for (size_t i = 0; i < n; i++)
		c.matched += i == 0 || tasks[i].a != tasks[i - 1].a;
	if (n == 0)
		return ctx_not_found(
		    x, "no host has a task of version %s in progress", b.text);
	c.in_progress = (int64_t)n;
	if (!o->dry_run) {
		TRY(confirm(x, o->yes,
		    "end %zu task%s that hosts do with version %s of %s", n,
		    n == 1 ? "" : "s", b.text, b.app->name));
		c.in_progress = 0;
		TRY(end_version_tasks(x, tasks, n, &c.in_progress));
	}
	cancel_print(x, &c);
	return OK;
}

static enum err
work_cancel_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct cancel_opts *o = opts;

	(void)args, (void)n;
	if (o->version != NULL)
		return cancel_version(x, o);
	return work_cancel_ask(x, &o->pick, o->dry_run, o->yes);
}

const struct cmd cmd_work_cancel = { .name = "work cancel",
	.args = "",
	.purpose = "cancel workunits",
	.about =
	    "Ends the workunits that match all of the options, counts them first, and asks. Results\n"
	    "that were not sent are never sent; hosts are told to abort those in progress at their\n"
	    "next contact; results that are reported nevertheless are not used. A workunit that has\n"
	    "a canonical result or an error is over and stays as it is. The assimilator handles\n"
	    "cancelled workunits as failed ones. To give them another chance, see locus work retry.",
	.details =
	    "With --version, only tasks end, of a build that was withdrawn: they count neither as\n"
	    "errors nor against the account that had them, and the workunits are computed by\n"
	    "another build.",
	.opts = cancel_options,
	.opts_size = sizeof(struct cancel_opts),
	.columns = cancel_columns,
	.run = work_cancel_run };
