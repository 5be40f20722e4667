/* SPDX-License-Identifier: Apache-2.0 */
/* locus user merge: makes one account of two that are the same person's. */
#include "db/user_merge.h"

#include <inttypes.h>
#include "db/stmts.h"
#include "lib/clock.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/listing.h"
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

static const struct listing_column merge_columns[] = {
	{ "from", "account", LIST_NUMBER, "id of the account that goes" },
	{ "into", "merged into", LIST_NUMBER, "id of the account that stays" },
	{ "hosts", "hosts", LIST_NUMBER, "that move" },
	{ "results", "results", LIST_NUMBER, "that move" },
	{ "credit", "credit", LIST_REAL, "that moves" },
	{ "batches", "batches", LIST_NUMBER, "that move" },
	{ "teams", "teams founded", LIST_NUMBER, "that move" },
	{ "reserved", "work reserved", LIST_NUMBER, "workunits that move" },
	{ "posts", "posts", LIST_NUMBER, "number that is added" },
	{ "dry_run", "dry run", LIST_FLAG, NULL },
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

static void
merge_print(struct cmd_ctx *x, const struct merging *m, const struct row_user_has *has,
    bool dry)
{
	struct listing *l = listing_record(x, merge_columns);

	listing_number(l, m->from->id);
	listing_number(l, m->into->id);
	listing_number(l, has->hosts);
	listing_number(l, has->results);
	listing_real(l, has->credit);
	listing_number(l, has->batches);
	listing_number(l, has->teams);
	listing_number(l, has->reserved);
	listing_number(l, has->posts);
	listing_flag(l, dry);
	listing_end(l);
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
	merge_print(x, &m, has, o->dry_run);
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
