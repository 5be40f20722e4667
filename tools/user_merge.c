/* SPDX-License-Identifier: Apache-2.0 */
/* locus user merge: makes one account of two that are the same person's. */
#include "db/user.h"

#include <inttypes.h>
#include "db/stmts.h"
#include "lib/clock.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "tools/progress.h"
#include "lib/banned.h"

struct merge_opts {
	bool dry_run, yes;
};

static const struct opt merge_options[] = {
	DRY_RUN_OPTION(struct merge_opts),
	YES_OPTION(struct merge_opts),
	{ 0 },
};

static const struct print_column merge_columns[] = {
	{ "from", "account", PRINT_NUMBER, "id of the account that goes" },
	{ "into", "merged into", PRINT_NUMBER, "id of the account that stays" },
	{ "hosts", "hosts", PRINT_NUMBER, "that move" },
	{ "results", "results", PRINT_NUMBER, "that move" },
	{ "credit", "credit", PRINT_REAL, "that moves" },
	{ "batches", "batches", PRINT_NUMBER, "that move" },
	{ "teams", "teams founded", PRINT_NUMBER, "that move" },
	{ "reserved", "work reserved", PRINT_NUMBER, "workunits that move" },
	{ "posts", "posts", PRINT_NUMBER, "number that is added" },
	{ "dry_run", "dry run", PRINT_FLAG, NULL },
	{ 0 },
};

struct merging {
	const struct user *from, *into;
	struct arena *a;
	int64_t moved;
};

static enum err
results_move_in_tx(struct cmd_ctx *x, void *arg)
{
	struct merging *m = arg;

	arena_reset(m->a);
	return user_results_move(
	    x->db, m->a, m->from->id, m->into->id, &m->moved, x->f);
}

/* Before the account goes, in small steps; and what was sent to it meanwhile. */
static enum err
results_follow_user(struct cmd_ctx *x, struct merging *m, int64_t expected)
{
	struct progress bar = progress_begin("moving results", expected);
	int64_t done = 0;
	enum err e;

	do {
		e = tools_transaction(x, results_move_in_tx, m);
		progress_set(&bar, done += m->moved);
	} while (e == OK && m->moved > 0);
	progress_end(&bar);
	return e;
}

static enum err
user_merge_in_tx(struct cmd_ctx *x, void *arg)
{
	struct merging *m = arg;

	arena_reset(m->a);
	return user_merge(x->db, m->a, m->from, m->into, clock_now(), x->f);
}

static enum err
merge_all(struct cmd_ctx *x, struct merging *m, int64_t results)
{
	TRY(results_follow_user(x, m, results));
	TRY(tools_transaction(x, user_merge_in_tx, m));
	return results_follow_user(x, m, 0);
}

static enum err
user_merge_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct merge_opts *o = opts;
	struct row_user_has *has;
	struct user *from, *into;
	struct arena a = { 0 };
	struct merging m = { .a = &a };
	enum err e;

	(void)n;
	TRY(ctx_db(x));
	TRY(tools_user(x, args[0], &from));
	TRY(tools_user(x, args[1], &into));
	if (from->id == into->id)
		return ctx_usage(x, "an account cannot be merged into itself");
	m.from = from;
	m.into = into;
	TRY(user_merge_counts(x->db, x->a, from->id, &has, x->f));
	if (!o->dry_run) {
		TRY(confirm(x, o->yes,
		    "merge account %" PRId64 " %s, with %" PRId64 " hosts and %" PRId64
		    " results, into account %" PRId64 " %s for ever",
		    from->id, from->email_addr, has->hosts, has->results, into->id,
		    into->email_addr));
		e = merge_all(x, &m, has->results);
		arena_free(&a);
		TRY(e);
	}
	print_record(x, merge_columns, from->id, into->id, has->hosts, has->results,
	    has->credit, has->batches, has->teams, has->reserved, has->posts,
	    o->dry_run);
	return OK;
}

const struct cmd cmd_user_merge = { .name = "user merge",
	.args = "FROM INTO",
	.min_args = 2,
	.max_args = 2,
	.purpose = "make one account of two that are the same person's",
	.about =
	    "Account INTO takes over the hosts, results, credit, batches, reserved work and teams\n"
	    "of account FROM, which is deleted; locus-privacy(7) says what becomes of the rest. The\n"
	    "clients of FROM need nothing new: its keys are accepted as keys of INTO, whose address\n"
	    "and password are then the only ones.",
	.details = "Counts first, and asks. An interrupted run can be repeated.",
	.opts = merge_options,
	.opts_size = sizeof(struct merge_opts),
	.columns = merge_columns,
	.run = user_merge_run };
