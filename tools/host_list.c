/* SPDX-License-Identifier: Apache-2.0 */
/* locus host list, host set. */
#include <inttypes.h>
#include <string.h>
#include "db/stmts.h"
#include "db/work_list.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/human.h"
#include "tools/pager.h"
#include "tools/set_report.h"
#include "lib/banned.h"

struct host_list_opts {
	const char *user, *name, *active;
	bool banned;
	int64_t limit;
};
#define OFF(member) offsetof(struct host_list_opts, member)

static const struct opt host_list_options[] = {
	{ "user", OPT_TEXT, OFF(user), "EMAIL|ID", "Only hosts of this account." },
	{ "name", OPT_TEXT, OFF(name), "PATTERN",
	    "Only names that match, where * and ? stand for other characters." },
	{ "active", OPT_TEXT, OFF(active), "TIME",
	    "Only hosts that made a request in this last time: 1h, 2d, 1w." },
	{ "banned", OPT_FLAG, OFF(banned), NULL,
	    "Only hosts that are banned, or whose account is." },
	{ "limit", OPT_NUMBER, OFF(limit), "NUMBER",
	    "At most so many; default: 100 in a table, otherwise all." },
	{ 0 },
};

static const struct listing_column host_list_columns[] = {
	{ "id", "ID", LIST_NUMBER, NULL },
	{ "name", "NAME", LIST_TEXT, NULL },
	{ "user_id", NULL, LIST_NUMBER, "its account; 0: merged into another host" },
	{ "user", "USER", LIST_TEXT, NULL },
	{ "os", "SYSTEM", LIST_TEXT, NULL },
	{ "model", NULL, LIST_TEXT, "of its processor" },
	{ "cpus", "CPUS", LIST_NUMBER, NULL },
	{ "gpus", "GPUS", LIST_NUMBER, NULL },
	{ "memory", "MEMORY", LIST_BYTES, NULL },
	{ "disk_free", "DISK FREE", LIST_BYTES, NULL },
	{ "created", NULL, LIST_TIME, NULL },
	{ "last_contact", "LAST CONTACT", LIST_TIME, NULL },
	{ "in_progress", "IN PROGRESS", LIST_NUMBER, "results that it has now" },
	{ "credit", "CREDIT", LIST_REAL, NULL },
	{ "recent_credit", NULL, LIST_REAL, "recent average per day" },
	{ "venue", NULL, LIST_TEXT, "home, work, school or empty" },
	{ "banned", "BANNED", LIST_FLAG, NULL },
	{ "user_banned", NULL, LIST_FLAG, "its account is banned" },
	{ 0 },
};

static void
host_line_put(struct listing *l, const struct row_host_line *h)
{
	listing_number(l, h->id);
	listing_text(l, h->name);
	listing_number(l, h->userid);
	listing_text(l, h->user);
	listing_text(l, h->os);
	listing_text(l, h->model);
	listing_number(l, h->cpus);
	listing_number(l, h->gpus);
	listing_real(l, h->memory);
	listing_real(l, h->disk_free);
	listing_number(l, h->create_time);
	listing_number(l, h->seen);
	listing_number(l, h->in_progress);
	listing_real(l, h->credit);
	listing_real(l, h->recent_credit);
	listing_text(l, h->venue);
	listing_flag(l, h->banned != 0);
	listing_flag(l, h->user_banned != 0);
}

static enum err
host_list_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct host_list_opts *o = opts;
	struct row_host_line *rows;
	struct user *user = NULL;
	int64_t span = 0, wants;
	char *name = o->name == NULL ? NULL : work_like(x->a, o->name);
	struct pager p;
	size_t found;
	enum err e = OK;

	(void)args, (void)n;
	if (o->active != NULL && !human_span_parse(o->active, &span))
		return ctx_usage(x,
		    "--active %.40s: must be a duration such as 1h or 2d", o->active);
	TRY(ctx_db_report(x));
	if (o->user != NULL)
		TRY(tools_user(x, o->user, &user));
	p = pager_begin(x, host_list_columns, o->limit);
	while (e == OK && (wants = pager_wants(&p)) > 0) {
		rows = NULL;
		found = 0;
		e = db_query_like(x->db, &p.page, x->f, &rows, &found,
		    user == NULL ? SQL_HOSTS_LISTED : SQL_HOSTS_OF_USER_LISTED,
		    HOSTS_LISTED, .before = p.before,
		    .userid = user == NULL ? 0 : user->id,
		    .seen_since = span == 0 ? 0 : clock_now() - span,
		    .banned = o->banned, .name = name, .max = wants);
		for (size_t i = 0; i < found; i++)
			if (pager_takes(&p, rows[i].id))
				host_line_put(p.list, &rows[i]);
		pager_page(&p, wants, found);
	}
	return pager_end(&p, e, "host");
}

const struct cmd cmd_host_list = { .name = "host list",
	.args = "",
	.purpose = "list hosts",
	.about =
	    "Lists hosts, the newest first: their account, processors, last contact and how many\n"
	    "results they have in progress. Exit status 3: no host matches.",
	.opts = host_list_options,
	.opts_size = sizeof(struct host_list_opts),
	.columns = host_list_columns,
	.run = host_list_run };

/* --- set --- */

struct host_set_opts {
	const char *venue;
	bool dry_run;
};
static const struct opt host_set_options[] = {
	{ "venue", OPT_TEXT, offsetof(struct host_set_opts, venue),
	    "home|work|school|none",
	    "The block of its account's preferences that applies." },
	DRY_RUN_OPTION(struct host_set_opts),
	{ 0 },
};

static enum err
host_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	static const char *const venues[] = { "home", "work", "school", "none" };
	const struct host_set_opts *o = opts;
	const char *venue = NULL;
	struct set_report r;
	struct host *h;
	int64_t id;

	(void)n;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.40s\" is not the id of a host", args[0]);
	if (o->venue == NULL)
		return ctx_usage(x,
		    "nothing to change: give --venue; locus host ban and host reset do the rest");
	for (size_t i = 0; i < N(venues); i++)
		if (strcmp(venues[i], o->venue) == 0)
			venue = i == 3 ? "" : venues[i];
	if (venue == NULL)
		return ctx_usage(x,
		    "--venue %.40s: it must be home, work, school or none", o->venue);
	TRY(ctx_db(x));
	TRY(tools_host(x, id, &h));
	if (!o->dry_run)
		TRY(db_exec(
		    x->db, x->f, NULL, HOST_VENUE_BY_ADMIN, .venue = venue, .id = id));
	r = set_report_new(x);
	set_report_text(&r, "venue", h->venue, venue);
	set_report_print(&r, o->dry_run, arena_printf(x->a, "host %" PRId64, id));
	return OK;
}

const struct cmd cmd_host_set = { .name = "host set",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "change a host",
	.about =
	    "Changes the venue of a host, which its client learns at its next contact. All else\n"
	    "about a host is what its client reports; see host ban, host reset and host message.",
	.opts = host_set_options,
	.opts_size = sizeof(struct host_set_opts),
	.columns = set_columns,
	.run = host_set_run };
