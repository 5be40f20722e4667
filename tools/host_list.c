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
	const char *user, *name, *active, *sort;
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
	{ "sort", OPT_TEXT, OFF(sort), "errors|invalid|inconclusive",
	    "Only hosts with results of this kind, those with most of them first." },
	{ "limit", OPT_NUMBER, OFF(limit), "NUMBER",
	    "At most so many; default: 100 in a table, otherwise all." },
	{ 0 },
};

static const struct print_column host_list_columns[] = {
	{ "id", "ID", PRINT_NUMBER, NULL },
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "user_id", NULL, PRINT_NUMBER, "its account; 0: merged into another host" },
	{ "user", "USER", PRINT_TEXT, NULL },
	{ "os", "SYSTEM", PRINT_TEXT, NULL },
	{ "model", NULL, PRINT_TEXT, "of its processor" },
	{ "cpus", "CPUS", PRINT_NUMBER, NULL },
	{ "gpus", "GPUS", PRINT_NUMBER, NULL },
	{ "memory", "MEMORY", PRINT_BYTES, NULL },
	{ "disk_free", "DISK FREE", PRINT_BYTES, NULL },
	{ "created", NULL, PRINT_TIME, NULL },
	{ "last_contact", "LAST CONTACT", PRINT_TIME, NULL },
	{ "in_progress", "IN PROGRESS", PRINT_NUMBER, "results that it has now" },
	{ "credit", "CREDIT", PRINT_REAL, NULL },
	{ "recent_credit", NULL, PRINT_REAL, "recent average per day" },
	{ "venue", NULL, PRINT_TEXT, "home, work, school or empty" },
	{ "banned", "BANNED", PRINT_FLAG, NULL },
	{ "user_banned", NULL, PRINT_FLAG, "its account is banned" },
	{ "ban_until", NULL, PRINT_TIME,
	    "when the ban of the host ends; empty: never" },
	{ "ban_reason", NULL, PRINT_TEXT, "the admin's note" },
	{ "done", "DONE", PRINT_NUMBER, "results that the host returned as successes" },
	{ "valid", "VALID", PRINT_NUMBER, NULL },
	{ "errors", "ERRORS", PRINT_NUMBER, "results that failed or came to nothing" },
	{ "invalid", "INVALID", PRINT_NUMBER, "successes that others contradict" },
	{ "inconclusive", "INCONCLUSIVE", PRINT_NUMBER,
	    "successes that differ from another one, and wait for a further one" },
	{ 0 },
};

enum { WORST_MOST = 100, WORST_LOOKED = 10000 };

struct host_choice { /* as in the statements: 0 and NULL choose nothing */
	int64_t userid, seen_since;
	const char *name;
};

static void
host_line_put(struct print *l, const struct row_host_line *h, const struct row_tally *t)
{
	print_cells(l, h->id, h->name, h->userid, h->user, h->os, h->model, h->cpus,
	    h->gpus, h->memory, h->disk_free, h->create_time, h->seen, h->in_progress,
	    h->credit, h->recent_credit, h->venue, h->banned != 0, h->user_banned != 0,
	    print_unless(h->banned == 0 || h->ban_until == 0, h->ban_until),
	    h->banned != 0 ? h->ban_reason : NULL, t->success, t->valid, t->failed,
	    t->invalid, t->inconclusive);
}

static const struct row_tally *
tally_of_host(const struct row_tally *t, size_t n, int64_t hostid)
{
	static const struct row_tally none;

	for (size_t i = 0; i < n; i++)
		if (t[i].id == hostid)
			return &t[i];
	return &none;
}

/* What the hosts of a page returned. */
static enum err
tallies_of_hosts(struct cmd_ctx *x, struct arena *a, const struct row_host_line *rows,
    size_t n, struct row_tally **t, size_t *nt)
{
	int64_t *ids = NEWN(a, int64_t, n + 1);

	*t = NEWN(a, struct row_tally, n + 1);
	*nt = 0;
	for (size_t i = 0; i < n; i++)
		ids[i] = rows[i].id;
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		struct row_tally *some = NULL;
		size_t got = 0;

		TRY(db_query(x->db, a, x->f, &some, &got, HOST_TALLIES,
		    .ids = db_ids(ids + i, n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX)));
		for (size_t k = 0; k < got; k++)
			(*t)[(*nt)++] = some[k];
	}
	return OK;
}

static bool
sort_kind(const char *name, int64_t *kind)
{
	static const char *const kinds[] = { "errors", "invalid", "inconclusive" };

	for (size_t i = 0; i < N(kinds); i++)
		if (strcmp(kinds[i], name) == 0) {
			*kind = (int64_t)i + 1;
			return true;
		}
	return false;
}

/* The hosts with most results of a kind, that also match the other options. */
static enum err
list_worst(struct cmd_ctx *x, const struct host_list_opts *o, int64_t kind,
    struct host_choice c)
{
	int64_t most = o->limit > 0 ? o->limit : WORST_MOST, shown = 0;
	struct row_tally *t = NULL;
	struct print *l = print_list(x, host_list_columns);
	size_t n = 0;

	TRY(db_query(x->db, x->a, x->f, &t, &n, HOST_TALLIES_WORST, .kind = kind,
	    .max = WORST_LOOKED));
	for (size_t i = 0; i < n && shown < most; i++) {
		struct row_host_line *row = NULL;
		size_t found = 0;

		TRY(db_query(x->db, x->a, x->f, &row, &found, HOSTS_LISTED_BY_ID,
		    .before = INT64_MAX, .userid = c.userid, .seen_since = c.seen_since,
		    .banned = o->banned, .name = c.name, .ids = db_ids(&t[i].id, 1)));
		if (found == 0)
			continue;
		host_line_put(l, row, &t[i]);
		shown++;
	}
	print_end(l);
	return shown > 0 ? OK : ctx_not_found(x, "no host has results of this kind");
}

/* Reads the options, and connects; kind 0: not sorted. */
static enum err
host_choice_of(struct cmd_ctx *x, const struct host_list_opts *o, struct host_choice *c,
    int64_t *kind)
{
	struct user *user = NULL;
	int64_t span = 0;

	c->name = o->name == NULL ? NULL : work_like(x->a, o->name);
	if (o->sort != NULL && !sort_kind(o->sort, kind))
		return ctx_usage(x,
		    "--sort %.40s: it must be errors, invalid or inconclusive",
		    o->sort);
	if (o->active != NULL && !human_span_parse(o->active, &span))
		return ctx_usage(x,
		    "--active %.40s: must be a duration such as 1h or 2d", o->active);
	TRY(ctx_db_report(x));
	if (o->user != NULL)
		TRY(tools_user(x, o->user, &user));
	c->userid = user == NULL ? 0 : user->id;
	c->seen_since = span == 0 ? 0 : clock_now() - span;
	return OK;
}

static enum err
host_list_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct host_list_opts *o = opts;
	struct host_choice c = { 0 };
	struct row_host_line *rows;
	int64_t kind = 0, wants;
	struct row_tally *t;
	struct pager p;
	size_t found, nt;
	enum err e = OK;

	(void)args, (void)n;
	TRY(host_choice_of(x, o, &c, &kind));
	if (kind != 0)
		return list_worst(x, o, kind, c);
	p = pager_begin(x, host_list_columns, o->limit);
	while (e == OK && (wants = pager_wants(&p)) > 0) {
		rows = NULL;
		found = 0;
		e = db_query_like(x->db, &p.page, x->f, &rows, &found,
		    c.userid == 0 ? SQL_HOSTS_LISTED : SQL_HOSTS_OF_USER_LISTED,
		    HOSTS_LISTED, .before = p.before, .userid = c.userid,
		    .seen_since = c.seen_since, .banned = o->banned, .name = c.name,
		    .max = wants);
		if (e == OK)
			e = tallies_of_hosts(x, &p.page, rows, found, &t, &nt);
		for (size_t i = 0; i < found && e == OK; i++)
			if (pager_takes(&p, rows[i].id))
				host_line_put(
				    p.list, &rows[i], tally_of_host(t, nt, rows[i].id));
		pager_page(&p, wants, found);
	}
	return pager_end(&p, e, "host");
}

const struct cmd cmd_host_list = { .name = "host list",
	.args = "",
	.purpose = "list hosts",
	.about =
	    "Lists hosts, the newest first: their account, processors, last contact and how many\n"
	    "results they have in progress, and how those ended that they returned. With --sort\n"
	    "the hosts come first whose results others do not confirm, or that fail most; locus\n"
	    "work retry --host has computed anew what such a host returned. Exit status 3: no host\n"
	    "matches.",
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
