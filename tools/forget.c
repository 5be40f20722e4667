/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus host reset, host merge, host delete, user delete: what is put right or taken
 * out of the tables of hosts and accounts; locus-privacy(7).
 */
#include "db/user.h"

#include <inttypes.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/print/print.h"
#include "lib/banned.h"

struct forget_opts {
	bool dry_run, yes;
};

static const struct field dry_options[] = {
	DRY_RUN_OPTION(struct forget_opts),
	{ 0 },
};
static const struct field forget_options[] = {
	DRY_RUN_OPTION(struct forget_opts),
	YES_OPTION(struct forget_opts),
	{ 0 },
};

static enum err host_argument(struct cmd_ctx *x, const char *arg, struct host **h)
{
	int64_t id;

	if (!text_i64(arg, 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not a host id", arg);
	return tools_host(x, id, h);
}

static enum err host_reset_in_tx(struct cmd_ctx *x, void *arg)
{
	return host_reset(x->db, *(const int64_t *)arg, x->f);
}

static enum err host_reset_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct forget_opts *o = opts;
	struct host *h;

	TRY(ctx_db(x));
	for (size_t i = 0; i < n; i++) {
		TRY(host_argument(x, args[i], &h));
		if (!o->dry_run)
			TRY(tools_transaction(x, host_reset_in_tx, &h->id));
		ctx_progress(x, o->dry_run ? "would reset" : "reset",
		    "host %" PRId64 " %s", h->id, h->domain_name);
	}
	return OK;
}

struct merging {
	const struct host *from, *into;
};

static enum err host_merge_in_tx(struct cmd_ctx *x, void *arg)
{
	const struct merging *m = arg;

	return host_merge(x->db, x->a, m->from, m->into, x->f);
}

/* After the host itself: what is finished follows in small steps. */
static enum err results_follow(struct cmd_ctx *x, const struct merging *m)
{
	struct progress bar = progress_begin("moving results", 0);
	struct arena a = { 0 };
	int64_t moved = 1, done = 0;
	enum err e = OK;

	while (e == OK && moved > 0) {
		arena_reset(&a);
		e = host_results_move(
		    x->db, &a, m->from->id, m->into->id, &moved, x->f);
		progress_set(&bar, done += moved);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

static enum err host_merge_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct forget_opts *o = opts;
	struct host *from, *into;
	struct merging m;

	(void)n;
	TRY(ctx_db(x));
	TRY(host_argument(x, args[0], &from));
	TRY(host_argument(x, args[1], &into));
	m = (struct merging){ from, into };
	if (from->id == into->id)
		return ctx_usage(x, "a host cannot be merged into itself");
	if (from->userid == 0 && from->rpc_seqno == into->id)
		return results_follow(x, &m); /* an earlier run was interrupted */
	if (from->userid != into->userid || from->userid == 0)
		return FAIL(x->f, E_BADREQ,
		    "host %" PRId64 " belongs to account %" PRId64 ", host %" PRId64
		    " to account %" PRId64
		    ": only hosts of the same account can be merged",
		    from->id, from->userid, into->id, into->userid);
	if (o->dry_run) {
		ctx_progress(x, "would merge",
		    "host %" PRId64 " %s into host %" PRId64 " %s", from->id,
		    from->domain_name, into->id, into->domain_name);
		return OK;
	}
	TRY(confirm(x, o->yes, "merge host %" PRId64 " %s into host %" PRId64 " %s",
	    from->id, from->domain_name, into->id, into->domain_name));
	TRY(tools_transaction(x, host_merge_in_tx, &m));
	TRY(results_follow(x, &m));
	ctx_progress(
	    x, "merged", "host %" PRId64 " into host %" PRId64, from->id, into->id);
	return OK;
}

static enum err host_forget_in_tx(struct cmd_ctx *x, void *arg)
{
	return host_erase(x->db, x->a, arg, clock_now(), x->f);
}

static enum err host_delete_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct forget_opts *o = opts;
	struct host *h;

	(void)n;
	TRY(ctx_db(x));
	TRY(host_argument(x, args[0], &h));
	if (!o->dry_run) {
		TRY(confirm(
		    x, o->yes, "delete host %" PRId64 " %s", h->id, h->domain_name));
		TRY(tools_transaction(x, host_forget_in_tx, h));
	}
	ctx_progress(x, o->dry_run ? "would delete" : "deleted", "host %" PRId64 " %s",
	    h->id, h->domain_name);
	return OK;
}

static const struct print_column delete_columns[] = {
	{ "user", "account", PRINT_NUMBER, "id of the account" },
	{ "hosts", "hosts deleted", PRINT_NUMBER, "hosts that were deleted" },
	{ "results", "results cleared", PRINT_NUMBER,
	    "finished results of which the program's messages were deleted" },
	{ 0 },
};

static enum err user_forget_in_tx(struct cmd_ctx *x, void *arg)
{
	return user_erase(x->db, x->a, arg, clock_now(), x->f);
}

static enum err results_forget(
    struct cmd_ctx *x, int64_t userid, struct user_results *at)
{
	struct progress bar = progress_begin("clearing results", 0);
	struct arena a = { 0 };
	enum err e = OK;

	while (e == OK && !at->ended) {
		arena_reset(&a);
		e = user_results_clear(x->db, &a, userid, at, x->f);
		progress_set(&bar, at->cleared);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

/* The account goes last, so that an interrupted run can be repeated by its name. */
static enum err user_delete_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct forget_opts *o = opts;
	struct user_results at = { 0 };
	struct user *u;
	int64_t *hosts = NULL;
	size_t nhosts = 0;

	(void)n;
	TRY(ctx_db(x));
	TRY(tools_user(x, args[0], &u));
	TRY(user_host_ids(x->db, x->a, u->id, &hosts, &nhosts, x->f));
	if (!o->dry_run) {
		TRY(confirm(x, o->yes,
		    "delete account %" PRId64 " %s with its %zu hosts for ever", u->id,
		    u->email_addr, nhosts));
		struct progress bar = progress_begin("deleting hosts", (int64_t)nhosts);
		struct host *h;
		enum err e = OK;

		for (size_t i = 0; i < nhosts && e == OK; i++) {
			e = tools_host(x, hosts[i], &h);
			if (e == OK)
				e = tools_transaction(x, host_forget_in_tx, h);
			progress_set(&bar, (int64_t)i + 1);
		}
		progress_end(&bar);
		TRY(e);
		TRY(results_forget(x, u->id, &at));
		TRY(tools_transaction(x, user_forget_in_tx, u));
	}
	print_record(x, delete_columns, u->id, (int64_t)nhosts, at.cleared);
	return OK;
}

const struct cmd cmd_host_reset = { .name = "host reset",
	.args = "ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "give a host its full daily quota again",
	.about =
	    "After a host was mended: its daily quota is full again for all versions, and its\n"
	    "error counts begin anew. A ban stays; see host unban.",
	.opts = dry_options,
	.opts_size = sizeof(struct forget_opts),
	.run = host_reset_run };
const struct cmd cmd_host_merge = { .name = "host merge",
	.args = "FROM INTO",
	.min_args = 2,
	.max_args = 2,
	.purpose = "make one host of two that are the same computer",
	.about =
	    "Host INTO takes over the tasks, the results and the credit of host FROM, which must\n"
	    "be of the same account. A client that still uses the id FROM is then known as INTO.",
	.opts = forget_options,
	.opts_size = sizeof(struct forget_opts),
	.run = host_merge_run };
const struct cmd cmd_host_delete = { .name = "host delete",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "delete a host",
	.about =
	    "Deletes what describes the host; its tasks in progress go to other hosts. Results\n"
	    "and the account's credit stay. If the computer makes another request, it is a new\n"
	    "host. See locus-privacy(7).",
	.opts = forget_options,
	.opts_size = sizeof(struct forget_opts),
	.run = host_delete_run };
const struct cmd cmd_user_delete = { .name = "user delete",
	.args = "EMAIL|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "forget a person",
	.about =
	    "Deletes the account with all its hosts and all that the project knows of the person,\n"
	    "as locus-privacy(7) lists it. Scientific results and the credit of teams and of\n"
	    "others stay as they are. An interrupted run can be repeated.",
	.opts = forget_options,
	.opts_size = sizeof(struct forget_opts),
	.columns = delete_columns,
	.run = user_delete_run };
