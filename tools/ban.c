/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus host ban, host unban, user ban, user unban: who gets no more work. Reports of
 * banned hosts are still accepted.
 */
#include <inttypes.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "db/stmts.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "lib/human.h"
#include "lib/banned.h"

struct ban_opts {
	const char *span, *reason;
	bool dry_run;
};

#define FIELD(name) FIELD_OF(struct ban_opts, name)
static const struct field ban_options[] = {
	{ "for", FIELD(span), "TIME",
	    "Ends the ban after this time, such as 7d or 12h; default: never." },
	{ "reason", FIELD(reason), "TEXT", "A note for the admins." },
	DRY_RUN_OPTION(struct ban_opts),
	{ 0 },
};
static const struct field unban_options[] = {
	DRY_RUN_OPTION(struct ban_opts),
	{ 0 },
};

struct ban { /* what is done to each host or account */
	bool on, dry_run;
	int64_t until; /* 0 = it does not end */
	const char *reason;
};

enum { REASON_MOST = 200 };

static void ban_said(struct cmd_ctx *x, const struct ban *b, const char *who)
{
	char text[21];

	ctx_progress(x,
	    b->dry_run ? b->on ? "would ban" : "would unban" :
	    b->on      ? "banned" :
			 "unbanned",
	    "%s%s%s", who, b->until == 0 ? "" : " until ",
	    b->until == 0 ? "" : clock_text(b->until, text));
}

static enum err host_set_banned(struct cmd_ctx *x, const char *arg, const struct ban *b)
{
	struct host *h;
	int64_t id;

	if (!text_i64(arg, 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not a host id", arg);
	TRY(tools_host(x, id, &h));
	if (!b->dry_run)
		TRY(db_exec(x->db, x->f, NULL, HOST_SET_BANNED,
		    .max_results_day = b->on ? HOST_BANNED : 0, .until = b->until,
		    .reason = b->reason, .id = id));
	ban_said(x, b, arena_printf(x->a, "host %" PRId64 " %s", id, h->domain_name));
	return OK;
}

static enum err user_set_banned(struct cmd_ctx *x, const char *arg, const struct ban *b)
{
	struct user *u;

	TRY(tools_user(x, arg, &u));
	if (!b->dry_run)
		TRY(db_exec(x->db, x->f, NULL, USER_SET_BANNED, .banned = b->on,
		    .until = b->until, .reason = b->reason, .id = u->id));
	ban_said(
	    x, b, arena_printf(x->a, "account %" PRId64 " %s", u->id, u->email_addr));
	return OK;
}

/* Stops at the first argument that fails; those before it have taken effect. */
static enum err ban_each(struct cmd_ctx *x, const struct ban_opts *o, bool on,
    char **args, size_t n,
    enum err (*set)(struct cmd_ctx *, const char *arg, const struct ban *))
{
	struct ban b = { .on = on, .dry_run = o->dry_run, .reason = "" };
	int64_t span;

	if (o->span != NULL && (!human_span_parse(o->span, &span) || span == 0))
		return ctx_usage(
		    x, "--for %.40s: must be a time, such as 7d or 12h", o->span);
	if (o->span != NULL)
		b.until = clock_now() + span;
	if (o->reason != NULL && strlen(o->reason) > REASON_MOST)
		return ctx_usage(
		    x, "--reason must be at most %d bytes long", (int)REASON_MOST);
	if (o->reason != NULL)
		b.reason = o->reason;
	TRY(ctx_db(x));
	for (size_t i = 0; i < n; i++)
		TRY(set(x, args[i], &b));
	return OK;
}

static enum err host_ban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	return ban_each(x, opts, true, args, n, host_set_banned);
}

static enum err host_unban_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	return ban_each(x, opts, false, args, n, host_set_banned);
}

static enum err user_ban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	return ban_each(x, opts, true, args, n, user_set_banned);
}

static enum err user_unban_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	return ban_each(x, opts, false, args, n, user_set_banned);
}

const struct cmd cmd_host_ban = { .name = "host ban",
	.args = "ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "stop sending work to a host",
	.about =
	    "The hosts get no more work and are told to contact the scheduler once a day; their\n"
	    "reports are accepted. A ban with --for ends by itself.",
	.details = "Sets host.max_results_day to -1.",
	.opts = ban_options,
	.opts_size = sizeof(struct ban_opts),
	.run = host_ban_run };
const struct cmd cmd_host_unban = { .name = "host unban",
	.args = "ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "lift the ban of a host",
	.about =
	    "The hosts get work again at their next request. For their daily quota, see host reset.",
	.opts = unban_options,
	.opts_size = sizeof(struct ban_opts),
	.run = host_unban_run };
const struct cmd cmd_user_ban = { .name = "user ban",
	.args = "EMAIL|ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "stop sending work to all hosts of an account",
	.about = "Like host ban, for all present and future hosts of the accounts.",
	.opts = ban_options,
	.opts_size = sizeof(struct ban_opts),
	.run = user_ban_run };
const struct cmd cmd_user_unban = { .name = "user unban",
	.args = "EMAIL|ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "lift the ban of an account",
	.about = "Its hosts get work again, except those that are banned themselves.",
	.opts = unban_options,
	.opts_size = sizeof(struct ban_opts),
	.run = user_unban_run };
