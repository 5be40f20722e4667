/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus host ban, host unban, user ban, user unban: who gets no work any more.  Reports
 * of the banned are still taken.
 */
#include <inttypes.h>
#include "lib/text.h"
#include "db/stmts.h"
#include "model/states.h"
#include "tools/catalog.h"
#include "lib/banned.h"

static enum err
set_host(struct cmd_ctx *x, const char *arg, bool ban)
{
	struct host *h;
	int64_t id;
	enum err e;

	if (!text_i64(arg, 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is no host id", arg);
	e = tools_host(x, id, &h);
	if (e == OK)
		e = db_exec(x->db, x->f, NULL, HOST_SET_BANNED,
		    .max_results_day = ban ? HOST_BANNED : 0, .id = id);
	if (e == OK)
		ctx_said(x, ban ? "banned" : "unbanned", "host %" PRId64 " %s", id,
		    h->domain_name);
	return e;
}

static enum err
set_user(struct cmd_ctx *x, const char *arg, bool ban)
{
	struct user *u;
	enum err e = tools_user(x, arg, &u);

	if (e == OK)
		e = db_exec(
		    x->db, x->f, NULL, USER_SET_BANNED, .banned = ban, .id = u->id);
	if (e == OK)
		ctx_said(x, ban ? "banned" : "unbanned", "account %" PRId64 " %s",
		    u->id, u->email_addr);
	return e;
}

/* Each argument on its own: those before a wrong one are done. */
static enum err
for_each(struct cmd_ctx *x, char **args, size_t n, bool ban,
    enum err (*set)(struct cmd_ctx *, const char *arg, bool ban))
{
	enum err e = ctx_db(x);

	for (size_t i = 0; i < n && e == OK; i++)
		e = set(x, args[i], ban);
	return e;
}

static enum err
host_ban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return for_each(x, args, n, true, set_host);
}

static enum err
host_unban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return for_each(x, args, n, false, set_host);
}

static enum err
user_ban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return for_each(x, args, n, true, set_user);
}

static enum err
user_unban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return for_each(x, args, n, false, set_user);
}

const struct cmd cmd_host_ban = { .name = "host ban",
	.args = "ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "give a host no more work",
	.about =
	    "The hosts get no more work and are told to ask once a day; what they report is taken.\n"
	    "Sets host.max_results_day to -1.",
	.run = host_ban_run };
const struct cmd cmd_host_unban = { .name = "host unban",
	.args = "ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "end the ban of a host",
	.about = "The hosts get work again at their next request.",
	.run = host_unban_run };
const struct cmd cmd_user_ban = { .name = "user ban",
	.args = "EMAIL|ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "give all hosts of an account no more work",
	.about = "As host ban, for all hosts of the accounts, those to come as well.",
	.run = user_ban_run };
const struct cmd cmd_user_unban = { .name = "user unban",
	.args = "EMAIL|ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "end the ban of an account",
	.about = "Its hosts get work again, except those that are banned themselves.",
	.run = user_unban_run };
