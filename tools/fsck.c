/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus fsck: checks the project's database for consistency with itself, with the files
 * on disk and with the triggers.
 */
#include "tools/fsck.h"
#include "tools/probe.h"

#include "db/stmts.h"
#include "lib/clock.h"
#include "tools/print/print.h"
#include "tools/running.h"
#include "tools/stuck.h"
#include "lib/banned.h"

struct fsck_opts {
	bool repair, repair_credit, deep;
};

static const struct field fsck_options[] = {
	{ "repair", FIELD_OF(struct fsck_opts, repair), NULL,
	    "Also makes the safe repairs: removes rows and triggers of things that do not exist, turns stale claims back into triggers, restores columns that are copies of others, makes daemons look at what they have missed, and puts rows in impossible states into the one that loses nothing." },
	{ "repair-credit", FIELD_OF(struct fsck_opts, repair_credit), NULL,
	    "Also raises totals of credit to the sums that they lack; lowers none." },
	{ "deep", FIELD_OF(struct fsck_opts, deep), NULL,
	    "Also reads every file that clients download and checks its MD5." },
	{ 0 },
};

/* Sends a request along the path that a host's request takes. */
static enum err fsck_serving(struct fsck *k)
{
	struct probe p;

	if (!k->running)
		return OK;
	p = probe_project(k->x, k->x->a);
	if (p.why != NULL)
		fsck_report_finding(
		    k, &(const struct fsck_finding){ .code = FSCK_NOT_SERVING,
			   .name = k->x->cf->master_url,
			   .more = p.why,
			   .cure = p.mend });
	return OK;
}

struct stuck_repair {
	struct fsck *k;
	enum err e;
};

static void fsck_stuck_found(void *arg, const struct fsck_finding *f)
{
	struct stuck_repair *r = arg;
	struct fsck_finding found = *f;
	int64_t matched = 0;

	if (f->code == FSCK_WU_NEVER && r->k->repair && r->e == OK)
		r->e = db_exec(r->k->x->db, r->k->x->f, &matched, WU_REACHES_QUORUM,
		    .name = f->name);
	found.repaired = matched > 0;
	fsck_report_finding(r->k, &found);
}

static enum err fsck_stuck(struct fsck *k)
{
	struct stuck_repair r = { .k = k };
	enum err e = stuck_find(k->x, STUCK_ALL, true,
	    &(const struct stuck_listener){ fsck_stuck_found, &r });

	return e == OK ? r.e : e;
}

static enum err fsck_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	static enum err (*const parts[])(struct fsck *) = { fsck_serving, fsck_rows,
		fsck_inputs, fsck_stuck, fsck_classes, fsck_files, fsck_downloads,
		fsck_uploads, fsck_triggers };
	const struct fsck_opts *o = opts;
	struct fsck k = { .x = x,
		.now = clock_now(),
		.repair = o->repair,
		.repair_credit = o->repair_credit,
		.deep = o->deep };
	enum err e = ctx_db(x);
	int64_t errors = 0;

	(void)args, (void)n;
	if (e != OK)
		return e;
	k.running = state_supervised(x->a, x->cf);
	k.print = print_tree(x, PRINT_OBJECT);
	print_put(k.print, "clean", NULL, "checks", (int)FSCK__MAX, "errors", NULL,
	    "warnings", NULL, "repaired", NULL);
	print_open(k.print, "findings", PRINT_ARRAY);
	for (size_t i = 0; i < N(parts) && e == OK; i++)
		e = parts[i](&k);
	arena_free(&k.round);
	if (e == OK)
		errors = fsck_end(&k);
	else
		print_drop(k.print);
	x->status = errors > 0 ? 1 : 0;
	return e;
}

const struct cmd cmd_fsck = { .name = "fsck",
	.args = "",
	.purpose = "check for impossible states, orphans and stale triggers",
	.about =
	    "Checks the database for consistency with itself, with the files on disk and with the\n"
	    "triggers, whether the project runs or not, and names what never makes progress:\n"
	    "workunits that lack results, names that no work can have, work that no host may get.\n"
	    "Prints one line per finding: CODE what and where; cure. The cure is a command, perhaps\n"
	    "with a remark behind a #, or says that there is nothing to do. Changes nothing without\n"
	    "--repair and --repair-credit. Exit status 0: clean, 1: findings that were not repaired, 69: no database.",
	.details =
	    "An active host is one by locality_active_host_days. Reads every table, slice by slice.\n"
	    "Warnings do not count.",
	.opts = fsck_options,
	.opts_size = sizeof(struct fsck_opts),
	.tree = true,
	.run = fsck_run };
