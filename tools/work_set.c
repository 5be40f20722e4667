/* SPDX-License-Identifier: Apache-2.0 */
/* locus work set: lowers what open work asks of hosts. */
#include "tools/work_set.h"

#include <inttypes.h>
#include <stdio.h>
#include "db/stmts.h"
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/print/print.h"
#include "tools/target.h"
#include "tools/version.h"
#include "tools/work_pick.h"
#include "lib/banned.h"

#define NO_LIMIT 1e300 /* times a deadline it is a number yet */

struct work_set_opts { /* NULL = unchanged */
	struct work_pick_opts pick;
	const double *memory, *disk, *bandwidth, *flops;
	const int64_t *quorum;
	bool any_version, any_class, dry_run;
};

#define FIELD(name) FIELD_OF(struct work_set_opts, name)
static const struct field work_set_options[] = {
	WORK_PICK_OPTIONS(struct work_set_opts),
	{ "max-memory", FIELD(memory), "BYTES", "Lowers rsc_memory_bound to this.",
	    .above = true },
	{ "max-disk", FIELD(disk), "BYTES", "Lowers rsc_disk_bound to this.",
	    .above = true },
	{ "max-bandwidth", FIELD(bandwidth), "BYTES",
	    "Lowers rsc_bandwidth_bound to so many bytes a second.", .above = true },
	{ "min-flops", FIELD(flops), "N",
	    "Raises delay_bound until a host of so many FLOP a second can meet the deadline.",
	    .above = true },
	{ "max-quorum", FIELD(quorum), "N",
	    "Lowers min_quorum and target_nresults to this; 1: results are not compared.",
	    .min = 1, .max = INT32_MAX },
	{ "any-version", FIELD(any_version), NULL,
	    "Any version of the app may compute them, unless a host has begun with one of homogeneous-app-version." },
	{ "any-class", FIELD(any_class), NULL,
	    "Hosts of any class may compute them, unless one has begun." },
	DRY_RUN_OPTION(struct work_set_opts),
	{ 0 },
};

static const struct print_column work_set_columns[] = {
	{ "matched", "open workunits that match", PRINT_NUMBER,
	    "open workunits that match" },
	{ "changed", "changed", PRINT_NUMBER,
	    "those of them that asked for more and were changed; 0 in a dry run" },
	{ 0 },
};

struct setting {
	struct arena *a;
	const int64_t *ids;
	size_t n;
	struct work_limits limits;
	int64_t changed;
};

static enum err work_set_in_tx(struct cmd_ctx *x, void *arg)
{
	struct setting *k = arg;

	k->changed = 0;
	return workunits_limit(
	    x->db, k->a, k->ids, k->n, &k->limits, &k->changed, x->f);
}

static enum err set_some(struct cmd_ctx *x, struct arena *a,
    const struct work_picked *v, size_t n, struct setting *k)
{
	int64_t *ids = NEWN(a, int64_t, n + 1), changed = 0;

	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].wu.id;
	k->a = a;
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		k->ids = ids + i;
		k->n = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		TRY(tools_transaction(x, work_set_in_tx, k));
		changed += k->changed;
	}
	k->changed = changed;
	return OK;
}

static enum err work_set_all(
    struct cmd_ctx *x, const struct work_set_opts *o, struct setting *k, int64_t *sum)
{
	struct progress bar = progress_begin("changing workunits", 0);
	struct arena a = { 0 };
	struct work_pick p;
	bool more = true;
	enum err e = work_pick_begin(x, &o->pick, PICK_OPEN, &p);

	while (e == OK && more) {
		struct work_picked *v = NULL;
		size_t n = 0;

		arena_reset(&a);
		e = work_pick_step(x, &a, &p, &v, &n, &more);
		sum[0] += (int64_t)n;
		if (e == OK && !o->dry_run) {
			e = set_some(x, &a, v, n, k);
			sum[1] += k->changed;
		}
		progress_set(&bar, p.seen);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

static double limit_or_none(const double *given)
{
	return given == NULL ? NO_LIMIT : *given;
}

static enum err work_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct work_set_opts *o = opts;
	struct setting k = { .limits = { .memory = limit_or_none(o->memory),
				 .disk = limit_or_none(o->disk),
				 .bandwidth = limit_or_none(o->bandwidth),
				 .flops = limit_or_none(o->flops),
				 .quorum = o->quorum == NULL ? INT32_MAX :
		                                               (int32_t)*o->quorum,
				 .any_version = o->any_version,
				 .any_class = o->any_class,
				 .now = clock_now() } };
	int64_t sum[2] = { 0 };

	(void)args, (void)n;
	if (o->memory == NULL && o->disk == NULL && o->bandwidth == NULL &&
	    o->flops == NULL && o->quorum == NULL && !o->any_version && !o->any_class)
		return ctx_usage(x, "nothing to change: name at least one limit");
	TRY(work_set_all(x, o, &k, sum));
	if (sum[0] == 0)
		return ctx_not_found(
		    x, "no open workunit matches: %s", work_pick_text(x->a, &o->pick));
	print_record(x, work_set_columns, sum[0], sum[1]);
	return OK;
}

const struct cmd cmd_work_set = { .name = "work set",
	.args = "",
	.purpose = "lower what open work asks of hosts",
	.about =
	    "Of the open workunits that match all of the options, lowers what asks for more than an\n"
	    "option names to that, for results sent from now on.",
	.details =
	    "locus fsck and locus status name the limit that some active host meets. New work is made\n"
	    "with the numbers of its input template: correct those, too.",
	.opts = work_set_options,
	.opts_size = sizeof(struct work_set_opts),
	.columns = work_set_columns,
	.run = work_set_run };

/* locus work cancel: ends work that nobody needs. */

struct cancel_opts {
	struct work_pick_opts pick;
	const char *version;
	bool dry_run, yes;
};

static const struct field cancel_options[] = {
	WORK_PICK_OPTIONS(struct cancel_opts),
	{ "version", FIELD_OF(struct cancel_opts, version), "VERSION",
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
static enum err cancel_count(
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

static enum err cancel_in_tx(struct cmd_ctx *x, void *arg)
{
	struct cancelling *k = arg;

	k->did = (struct cancelled){ 0 };
	return workunits_cancel(x->db, k->a, k->ids, k->n, clock_now(), &k->did, x->f);
}

/* Cancels the workunits of one step, a transaction for each few of them. */
static enum err cancel_some(struct cmd_ctx *x, struct arena *a,
    const struct work_picked *v, size_t n, struct work_cancel_counts *c)
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

enum err work_cancel(struct cmd_ctx *x, const struct work_pick_opts *o,
    int64_t expected, struct work_cancel_counts *c)
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

static void cancel_print(struct cmd_ctx *x, const struct work_cancel_counts *c)
{
	print_record(x, cancel_columns, c->matched, c->over, c->unsent, c->in_progress,
	    c->cancelled);
}

/* --- the tasks of a version --- */

struct ending {
	struct arena *a;
	const struct row_pair *tasks;
	size_t n;
	int64_t ended;
};

static enum err end_in_tx(struct cmd_ctx *x, void *arg)
{
	struct ending *k = arg;

	k->ended = 0;
	return version_tasks_end(
	    x->db, k->a, k->tasks, k->n, clock_now(), &k->ended, x->f);
}

static enum err end_version_tasks(
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

static enum err cancel_version(struct cmd_ctx *x, const struct cancel_opts *o)
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

static enum err work_cancel_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct cancel_opts *o = opts;
	struct work_cancel_counts c = { 0 }, did = { 0 };
	int64_t open;

	(void)args, (void)n;
	if (o->version != NULL)
		return cancel_version(x, o);
	/*
	 * Counts what matches, asks, cancels it and prints the counts; a command that
	 * calls it has the columns of work cancel. EXIT_NOTHING: nothing matches.
	 */
	TRY(cancel_count(x, &o->pick, &c));
	open = c.matched - c.over;
	if (c.matched == 0)
		return ctx_not_found(
		    x, "no workunit matches: %s", work_pick_text(x->a, &o->pick));
	if (o->dry_run || open == 0) {
		cancel_print(x, &c);
		return OK;
	}
	TRY(confirm(x, o->yes,
	    "cancel %" PRId64 " workunit%s (%.150s), with %" PRId64
	    " results not sent yet and %" PRId64 " in progress",
	    open, open == 1 ? "" : "s", work_pick_text(x->a, &o->pick), c.unsent,
	    c.in_progress));
	TRY(work_cancel(x, &o->pick, open, &did));
	did.matched = c.matched;
	did.over = c.over;
	cancel_print(x, &did);
	return OK;
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

/* locus work assign: assigns a workunit to a target. */

struct assign_opts {
	struct target_opts target;
	bool none;
};

static const struct field assign_options[] = {
	TARGET_OPTIONS(struct assign_opts),
	{ "none", FIELD_OF(struct assign_opts, none), NULL,
	    "Removes all assignments." },
	{ 0 },
};

enum err target_find(
    struct cmd_ctx *x, const struct target_opts *o, struct target_of *t)
{
	int given = (o->host != 0) + (o->user != NULL) + (o->team != 0) + o->all;
	struct host *h;
	struct user *u;
	char *name;

	if (given > 1)
		return ctx_usage(
		    x, "give only one of --host, --user, --team and --all");
	if (given == 0 && o->every)
		return ctx_usage(
		    x, "--every also needs --host, --user, --team or --all");
	*t = (struct target_of){ .given = given > 0, .multi = o->every };
	if (o->host != 0) {
		t->kind = TARGET_HOST;
		t->id = o->host;
		return tools_host(x, t->id, &h);
	}
	if (o->user != NULL) {
		t->kind = TARGET_USER;
		TRY(tools_user(x, o->user, &u));
		t->id = u->id;
	} else if (o->team != 0) {
		t->kind = TARGET_TEAM;
		t->id = o->team;
		TRY(team_name(x->db, x->a, t->id, &name, x->f));
		if (name[0] == '\0')
			return ctx_not_found(x, "there is no team %" PRId64, t->id);
	}
	return OK;
}

void target_hint(const struct cmd_ctx *x, const struct target_of *t)
{
	if (t->given &&
	    !(t->multi ? x->cf->enable_assignment_multi : x->cf->enable_assignment))
		fprintf(stderr,
		    "locus: it will not be sent until config.xml has <%s>1</%s>\n",
		    t->multi ? "enable_assignment_multi" : "enable_assignment",
		    t->multi ? "enable_assignment_multi" : "enable_assignment");
}

struct assigning {
	const char *name;
	struct target_of target;
	struct workunit *wu;
};

static enum err assign_in_tx(struct cmd_ctx *x, void *arg)
{
	struct assigning *g = arg;
	int64_t now = clock_now();

	TRY(workunit_by_name(x->db, x->a, g->name, &g->wu, x->f));
	/* A workunit cannot be both targeted and broadcast: drop assignments of the
	 * other kind. */
	if (g->target.given && g->wu->transitioner_flags != 0 &&
	    g->wu->transitioner_flags != (g->target.multi ? WU_BROADCAST : WU_TARGETED))
		TRY(assignments_drop(x->db, x->a, g->wu, now, x->f));
	return g->target.given ? assignment_add(x->db, x->a, g->wu, g->target.kind,
				     g->target.id, g->target.multi, now, x->f) :
	                         assignments_drop(x->db, x->a, g->wu, now, x->f);
}

static enum err work_assign_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct assign_opts *o = opts;
	struct assigning g = { .name = args[0] };
	enum err e;

	(void)n;
	TRY(ctx_db(x));
	TRY(target_find(x, &o->target, &g.target));
	if (g.target.given == o->none)
		return ctx_usage(
		    x, "give one of --host, --user, --team, --all and --none");
	e = tools_transaction(x, assign_in_tx, &g);
	if (e == E_NOTFOUND && g.wu == NULL && x->status == 0)
		return ctx_not_found(x, "there is no workunit %s", args[0]);
	if (e != OK)
		return e;
	ctx_progress(x, o->none ? "released" : "assigned", "workunit %s", args[0]);
	target_hint(x, &g.target);
	return OK;
}

const struct cmd cmd_work_assign = { .name = "work assign",
	.args = "WORKUNIT",
	.min_args = 1,
	.max_args = 1,
	.purpose = "assign a workunit to hosts",
	.about =
	    "The unsent and future results of the workunit go only to this target, before all other\n"
	    "work; a further call adds a further target. A host gets only one of them, so a single\n"
	    "target host needs a workunit with one result (target_nresults 1). Needs\n"
	    "enable_assignment, or with --every enable_assignment_multi.",
	.details =
	    "Results in progress elsewhere stay there; to rule that out, use \"work add\" with the\n"
	    "same options.",
	.opts = assign_options,
	.opts_size = sizeof(struct assign_opts),
	.run = work_assign_run };
