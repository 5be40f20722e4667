/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus host ban, host unban, user ban, user unban: who gets no more work. Reports of
 * banned hosts are still accepted.
 */
#include <inttypes.h>
#include "lib/text.h"
#include "db/stmts.h"
#include "model/states.h"
#include "tools/catalog.h"
#include "lib/banned.h"

static enum err
host_set_banned(struct cmd_ctx *x, const char *arg, bool ban)
{
	struct host *h;
	int64_t id;
	enum err e;

	if (!text_i64(arg, 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not a host id", arg);
	e = tools_host(x, id, &h);
	if (e == OK)
		e = db_exec(x->db, x->f, NULL, HOST_SET_BANNED,
		    .max_results_day = ban ? HOST_BANNED : 0, .id = id);
	if (e == OK)
		ctx_progress(x, ban ? "banned" : "unbanned", "host %" PRId64 " %s", id,
		    h->domain_name);
	return e;
}

static enum err
user_set_banned(struct cmd_ctx *x, const char *arg, bool ban)
{
	struct user *u;
	enum err e = tools_user(x, arg, &u);

	if (e == OK)
		e = db_exec(
		    x->db, x->f, NULL, USER_SET_BANNED, .banned = ban, .id = u->id);
	if (e == OK)
		ctx_progress(x, ban ? "banned" : "unbanned", "account %" PRId64 " %s",
		    u->id, u->email_addr);
	return e;
}

/* Stops at the first argument that fails; those before it have taken effect. */
static enum err
ban_each(struct cmd_ctx *x, char **args, size_t n, bool ban,
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
	return ban_each(x, args, n, true, host_set_banned);
}

static enum err
host_unban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return ban_each(x, args, n, false, host_set_banned);
}

static enum err
user_ban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return ban_each(x, args, n, true, user_set_banned);
}

static enum err
user_unban_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	return ban_each(x, args, n, false, user_set_banned);
}

const struct cmd cmd_host_ban = { .name = "host ban",
	.args = "ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "stop sending work to a host",
	.about =
	    "The hosts get no more work and are told to contact the scheduler once a day; their\n"
	    "reports are accepted. Sets host.max_results_day to -1.",
	.run = host_ban_run };
const struct cmd cmd_host_unban = { .name = "host unban",
	.args = "ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "lift the ban of a host",
	.about = "The hosts get work again at their next request.",
	.run = host_unban_run };
const struct cmd cmd_user_ban = { .name = "user ban",
	.args = "EMAIL|ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "stop sending work to all hosts of an account",
	.about = "Like host ban, for all present and future hosts of the accounts.",
	.run = user_ban_run };
const struct cmd cmd_user_unban = { .name = "user unban",
	.args = "EMAIL|ID ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "lift the ban of an account",
	.about = "Its hosts get work again, except those that are banned themselves.",
	.run = user_unban_run };
