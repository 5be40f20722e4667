/* SPDX-License-Identifier: Apache-2.0 */
/* locus user list, user show. */
#include <inttypes.h>
#include <stdio.h>
#include "db/stmts.h"
#include "db/work_list.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "tools/catalog.h"
#include "tools/human.h"
#include "tools/limits_view.h"
#include "tools/pager.h"
#include "lib/banned.h"

enum { DAY_S = 86400 };

struct user_list_opts {
	const char *team, *name, *newer;
	bool banned;
	int64_t limit;
};
#define OFF(member) offsetof(struct user_list_opts, member)

static const struct opt user_list_options[] = {
	{ "name", OPT_TEXT, OFF(name), "PATTERN",
	    "Only names or addresses that match, where * and ? stand for other characters." },
	{ "team", OPT_TEXT, OFF(team), "NAME|ID", "Only members of this team." },
	{ "newer", OPT_TEXT, OFF(newer), "TIME",
	    "Only accounts created in this last time: 1h, 2d, 1w." },
	{ "banned", OPT_FLAG, OFF(banned), NULL, "Only accounts that are banned." },
	{ "limit", OPT_NUMBER, OFF(limit), "NUMBER",
	    "At most so many; default: 100 in a table, otherwise all." },
	{ 0 },
};

#define USER_COLUMNS                                                                   \
	{ "id", "ID", PRINT_NUMBER, NULL }, { "name", "NAME", PRINT_TEXT, NULL },      \
	    { "email", "ADDRESS", PRINT_TEXT, NULL },                                  \
	    { "country", NULL, PRINT_TEXT, NULL },                                     \
	    { "team_id", NULL, PRINT_NUMBER, "0: none" },                              \
	    { "team", "TEAM", PRINT_TEXT, NULL },                                      \
	    { "created", "CREATED", PRINT_TIME, NULL },                                \
	    { "hosts", "HOSTS", PRINT_NUMBER, NULL },                                  \
	    { "credit", "CREDIT", PRINT_REAL, NULL },                                  \
	    { "recent_credit", NULL, PRINT_REAL, "recent average per day" },           \
	    { "validated", NULL, PRINT_FLAG, "its address was confirmed" },            \
	    { "banned", "BANNED", PRINT_FLAG, NULL },                                  \
	    { "ban_until", NULL, PRINT_TIME, "null: the ban does not end by itself" }, \
	    { "ban_reason", NULL, PRINT_TEXT, NULL },                                  \
	{                                                                              \
		"accepts_mail", NULL, PRINT_FLAG, "locus user set --send-email"        \
	}

static const struct print_column user_list_columns[] = {
	USER_COLUMNS,
	{ 0 },
};

static void
user_line_put(struct print *l, const struct row_user_line *u)
{
	print_cells(l, u->id, u->name, u->email, u->country, u->teamid, u->team,
	    u->create_time, u->hosts, u->credit, u->recent_credit, u->validated != 0,
	    u->banned != 0, u->ban_until, u->ban_reason, u->send_email != 0);
}

static enum err
user_list_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct user_list_opts *o = opts;
	struct row_user_line *rows;
	int64_t span = 0, wants, teamid = 0;
	char *name = o->name == NULL ? NULL : work_like(x->a, o->name);
	struct pager p;
	size_t found;
	enum err e = OK;

	(void)args, (void)n;
	if (o->newer != NULL && !human_span_parse(o->newer, &span))
		return ctx_usage(
		    x, "--newer %.40s: must be a duration such as 1h or 2d", o->newer);
	TRY(ctx_db_report(x));
	if (o->team != NULL)
		TRY(tools_team(x, o->team, &teamid));
	p = pager_begin(x, user_list_columns, o->limit);
	while (e == OK && (wants = pager_wants(&p)) > 0) {
		rows = NULL;
		found = 0;
		e = db_query(x->db, &p.page, x->f, &rows, &found, USERS_LISTED,
		    .before = p.before, .teamid = teamid,
		    .made_since = span == 0 ? 0 : clock_now() - span,
		    .banned = o->banned, .name = name, .max = wants);
		for (size_t i = 0; i < found; i++)
			if (pager_takes(&p, rows[i].id))
				user_line_put(p.list, &rows[i]);
		pager_page(&p, wants, found);
	}
	return pager_end(&p, e, "account");
}

const struct cmd cmd_user_list = { .name = "user list",
	.args = "",
	.purpose = "list accounts",
	.about =
	    "Lists accounts, the newest first. Keys and passwords are not shown anywhere. Exit\n"
	    "status 3: no account matches.",
	.opts = user_list_options,
	.opts_size = sizeof(struct user_list_opts),
	.columns = user_list_columns,
	.run = user_list_run };

/* --- show --- */

static const struct print_column user_show_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "name", "name", PRINT_TEXT, NULL },
	{ "email", "address", PRINT_TEXT, NULL },
	{ "country", "country", PRINT_TEXT, NULL },
	{ "team_id", NULL, PRINT_NUMBER, "0: none" },
	{ "team", "team", PRINT_TEXT, NULL },
	{ "created", "created", PRINT_TIME, NULL },
	{ "hosts", "hosts", PRINT_NUMBER, NULL },
	{ "credit", "credit", PRINT_REAL, NULL },
	{ "recent_credit", "recent credit", PRINT_REAL, "average per day" },
	{ "validated", "address confirmed", PRINT_FLAG, NULL },
	{ "banned", "banned", PRINT_FLAG, NULL },
	{ "ban_until", NULL, PRINT_TIME, "null: the ban does not end by itself" },
	{ "ban_reason", "ban's reason", PRINT_TEXT, NULL },
	{ "accepts_mail", "accepts mail", PRINT_FLAG, NULL },
	{ "last_contact", "last contact", PRINT_TIME, "of any of its hosts" },
	{ "in_progress", "results in progress", PRINT_NUMBER, NULL },
	{ "hosts_with_work", "hosts with work", PRINT_NUMBER, NULL },
	{ "hosts_with_work_limit", "  at most", PRINT_NUMBER,
	    "max_hosts_with_work_per_account; 0: no limit" },
	LIMIT_COLUMNS("new_hosts_today", "hosts made in 24 h", "new_hosts_limit",
	    "max_new_hosts_per_account_day"),
	LIMIT_COLUMNS("password_failures", "wrong passwords this hour",
	    "password_failures_limit", "web_account_failures_per_hour"),
	LIMIT_COLUMNS(
	    "mails", "mails this hour", "mails_limit", "web_account_mails_per_hour"),
	{ "results_per_version_day_limit",
	    "results a day of a version and CPU, at most", PRINT_NUMBER,
	    "daily_result_quota; 0: no limit" },
	{ 0 },
};

struct user_use { /* what the limits count */
	int64_t seen, in_progress, with_work;
	struct limit_view new_hosts;
	int64_t first_new; /* when the oldest of them was made */
};

static enum err
count_use(struct cmd_ctx *x, int64_t userid, struct user_use *u)
{
	int64_t before = INT64_MAX, day = clock_now() - DAY_S;
	struct arena page = { 0 };
	enum err e = OK;
	size_t n = PAGE_ROWS;

	while (e == OK && n == PAGE_ROWS) {
		struct row_host_line *rows = NULL;

		arena_reset(&page);
		e = db_query_like(x->db, &page, x->f, &rows, &n,
		    SQL_HOSTS_OF_USER_LISTED, HOSTS_LISTED, .before = before,
		    .userid = userid, .seen_since = 0, .banned = 0, .name = NULL,
		    .max = PAGE_ROWS);
		for (size_t i = 0; e == OK && i < n; i++) {
			before = rows[i].id;
			u->seen = rows[i].seen > u->seen ? rows[i].seen : u->seen;
			u->in_progress += rows[i].in_progress;
			u->with_work += rows[i].in_progress > 0;
			if (rows[i].create_time >= day) {
				u->new_hosts.used++;
				u->first_new = rows[i].create_time;
			}
		}
	}
	arena_free(&page);
	return e;
}

static enum err
user_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct row_user_line *row = NULL;
	struct user_use use = { 0 };
	struct limit_view failures, mails;
	struct user *user;
	struct print *l;

	(void)opts, (void)n;
	TRY(ctx_db_report(x));
	TRY(tools_user(x, args[0], &user));
	TRY(db_row(x->db, x->a, x->f, &row, USER_LINE_BY_ID, .id = user->id));
	TRY(count_use(x, user->id, &use));
	use.new_hosts.most = x->cf->max_new_hosts_per_account_day;
	if (use.new_hosts.most > 0 && use.new_hosts.used >= use.new_hosts.most)
		use.new_hosts.free_at = use.first_new + DAY_S;
	failures = limit_of_web(x, WEB_LIMIT_GUESSES, user->email_addr, NULL);
	mails = limit_of_web(x, WEB_LIMIT_MAILS, user->email_addr, NULL);
	l = print_record_begin(x, user_show_columns);
	user_line_put(l, row);
	print_cells(l, use.seen, use.in_progress, use.with_work,
	    x->cf->max_hosts_with_work_per_account);
	limit_put(l, &use.new_hosts);
	limit_put(l, &failures);
	limit_put(l, &mails);
	print_cells(l, x->cf->daily_result_quota);
	print_end(l);
	return OK;
}

const struct cmd cmd_user_show = { .name = "user show",
	.args = "EMAIL|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show an account, and the limits that apply to it",
	.about =
	    "Shows an account, what its hosts do, and how much of each limit is used: wrong\n"
	    "passwords and mails are counted by the web service of this machine and are\n"
	    "forgotten at an even rate. locus host list --user EMAIL lists its hosts, locus host\n"
	    "show ID shows the limits of a host and of its address.",
	.columns = user_show_columns,
	.run = user_show_run };
