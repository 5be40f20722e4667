/* SPDX-License-Identifier: Apache-2.0 */
/* locus host show: one host, the files that it holds and the jobs that it computes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/host.h"
#include "db/stmts.h"
#include "db/work_list.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/cmd.h"
#include "tools/terminal.h"
#include "lib/human.h"
#include "tools/limits_view.h"
#include "tools/print/print.h"
#include "lib/banned.h"

struct host_detail {
	struct host *host;
	struct user *user; /* NULL = the host was merged into another one */
	struct row_tally tally;
	const char *ban_reason, *user_ban_reason; /* "" = none was given */
	struct row_tally
	    *lately;          /* of the newest results; NULL = it has none of them */
	struct host_ends all; /* of all hosts, in the same results */
	struct row_ledger sent;
	struct row_holder *files;
	struct job *jobs; /* in progress */
	size_t nfiles, njobs;
	struct limit_view *limits;
	size_t nlimits;
};

/* Limits of its address as the web server saw it, and of the versions that it runs. */
static enum err host_limits_load(struct cmd_ctx *x, struct host_detail *s)
{
	static const struct {
		enum web_limit limit;
		const char *name;
	} web[] = {
		{ WEB_LIMIT_FAILURES, "its address: failed log-ins this hour" },
		{ WEB_LIMIT_CREATIONS, "its address: new accounts this hour" },
		{ WEB_LIMIT_MAIL_REQUESTS, "its address: mails asked for this hour" },
	};
	struct limit_view *quotas;
	const char *address = s->host->external_ip_addr;
	size_t n;

	TRY(limits_of_versions(x, s->host, &quotas, &n));
	s->limits = NEWN(x->a, struct limit_view, N(web) + n);
	for (size_t i = 0; address != NULL && address[0] != '\0' && i < N(web); i++)
		s->limits[s->nlimits++] = limit_of_web(
		    x, web[i].limit, address, web[i].name);
	for (size_t i = 0; i < n; i++)
		s->limits[s->nlimits++] = quotas[i];
	return OK;
}

/* Notes of the admins about bans, which no decision reads. */
static enum err ban_reasons_load(struct cmd_ctx *x, struct host_detail *s)
{
	struct row_host_line *h = NULL;
	struct row_user_line *u = NULL;
	size_t n = 0;

	s->ban_reason = s->user_ban_reason = "";
	TRY(db_query(x->db, x->a, x->f, &h, &n, HOSTS_LISTED_BY_ID, .before = INT64_MAX,
	    .userid = 0, .seen_since = 0, .banned = 0, .name = NULL,
	    .ids = db_ids(&s->host->id, 1)));
	if (n > 0)
		s->ban_reason = h->ban_reason;
	if (s->user == NULL)
		return OK;
	TRY(db_row(x->db, x->a, x->f, &u, USER_LINE_BY_ID, .id = s->user->id));
	s->user_ban_reason = u->ban_reason;
	return OK;
}

static enum err host_detail_load(struct cmd_ctx *x, int64_t id, struct host_detail *s)
{
	struct row_tally *row = NULL;
	size_t n = 0;
	enum err e = tools_host(x, id, &s->host);

	if (e != OK)
		return e;
	e = user_by_id(x->db, x->a, s->host->userid, &s->user, x->f);
	if (e == E_NOTFOUND)
		e = OK;
	if (e != OK)
		return e;
	TRY(db_row(x->db, x->a, x->f, &row, HOST_TALLY, .hostid = id));
	TRY(ledger_of_host(x->db, x->a, id, &s->sent, x->f));
	TRY(db_query(
	    x->db, x->a, x->f, &s->files, &s->nfiles, FILES_ON_HOST, .hostid = id));
	TRY(db_query(
	    x->db, x->a, x->f, &s->jobs, &s->njobs, JOBS_ON_HOST, .hostid = id));
	s->tally = *row;
	TRY(host_ends_lately(x->db, x->a, &row, &n, &s->all, x->f));
	for (size_t i = 0; i < n; i++)
		if (row[i].id == id)
			s->lately = &row[i];
	TRY(ban_reasons_load(x, s));
	return host_limits_load(x, s);
}

static int percent(int64_t part, int64_t of)
{
	return of > 0 ? (int)(100 * part / of) : 0;
}

/* The host's results beside those of all hosts. */
static void show_results(struct print *p, const struct host_detail *s)
{
	const struct row_tally *t = &s->tally;
	struct host_ends h;

	print_object(p, "results", "in_progress", t->in_progress, "done", t->success,
	    "valid", t->valid, "failed", t->failed);
	print_object(p, "judged", "invalid", t->invalid, "inconclusive",
	    t->inconclusive, "all_done", s->all.success, "all_failed", s->all.failed,
	    "all_wrong", s->all.wrong);
	print_line(p, "results",
	    "%lld in progress, %lld done (%lld valid, %lld invalid, %lld inconclusive), %lld failed",
	    (long long)t->in_progress, (long long)t->success, (long long)t->valid,
	    (long long)t->invalid, (long long)t->inconclusive, (long long)t->failed);
	if (s->lately == NULL)
		return;
	h = host_ends_of(s->lately);
	print_line(p, "lately",
	    "%d %% of its successes are invalid or inconclusive, %d %% of all hosts'; %d %% of its results failed, %d %% of all",
	    percent(h.wrong, h.success), percent(s->all.wrong, s->all.success),
	    percent(h.failed, h.failed + h.success),
	    percent(s->all.failed, s->all.failed + s->all.success));
}

static void show_ban(struct print *p, const struct host_detail *s, int64_t now)
{
	const struct host *h = s->host;
	const bool own = ban_holds(
	    h->max_results_day == HOST_BANNED, h->ban_until, now);
	const char *reason = own ? s->ban_reason : s->user_ban_reason;
	int64_t until = own ? h->ban_until : s->user == NULL ? 0 : s->user->ban_until;
	char text[21];

	if (!own && (s->user == NULL || !ban_holds(s->user->banned != 0, until, now))) {
		print_put(p, "ban", NULL);
		return;
	}
	print_object(p, "ban", "of", own ? "host" : "account", "until",
	    print_time(until), "reason", reason);
	print_line(p, "banned", "%s%s%s%s%s", own ? "yes" : "its account is",
	    until == 0 ? "" : " until ", until == 0 ? "" : clock_text(until, text),
	    reason[0] == '\0' ? "" : ": ", reason);
}

static void show_summary(
    struct cmd_ctx *x, struct print *p, const struct host_detail *s, int64_t now)
{
	const struct host *h = s->host;
	char at[21];

	print_put(p, "id", h->id, "name", h->domain_name, "userid", h->userid, "user",
	    s->user == NULL ? "" : s->user->name, "os_name", h->os_name, "p_model",
	    h->p_model, "p_ncpus", h->p_ncpus, "rpc_time",
	    h->rpc_time == 0 ? "" : clock_text(h->rpc_time, at), "rpc_seqno",
	    h->rpc_seqno, "total_credit", h->total_credit, "results", NULL, "files",
	    NULL, "in_progress", NULL, "limits", NULL, "judged", NULL);
	print_line(p, "host", "%lld \"%s\"", (long long)h->id,
	    human_text(x->a, h->domain_name));
	print_line(p, "computer", "%d x %s, %s of memory, %s of disk free, %s %s",
	    h->p_ncpus, human_text(x->a, h->p_model), human_bytes(x->a, h->m_nbytes),
	    human_bytes(x->a, h->d_free), human_text(x->a, h->os_name),
	    human_text(x->a, h->os_version));
	if (s->user != NULL)
		print_line(p, "account", "%lld \"%s\"", (long long)s->user->id,
		    human_text(x->a, s->user->name));
	else if (h->userid == 0)
		print_line(p, "account", "none: it was merged into host %lld",
		    (long long)h->rpc_seqno);
	else
		print_line(
		    p, "account", "%lld, which does not exist", (long long)h->userid);
	show_ban(p, s, now);
	if (h->rpc_time > 0)
		print_line(p, "last contact", "%s ago, request %lld",
		    human_span(x->a, now - h->rpc_time), (long long)h->rpc_seqno);
	else
		print_line(p, "last contact", "never");
	show_results(p, s);
	saved_show(x, p, &s->sent);
	print_line(p, "credit", "%.2f", h->total_credit);
}

static void show_host_detail(struct cmd_ctx *x, const struct host_detail *s)
{
	struct print *p = print_tree(x, PRINT_OBJECT);
	int64_t now = clock_now();
	char text[21], sent[21];

	print_label(p, 13);
	show_summary(x, p, s, now);
	print_line(p, "files held", "%zu", s->nfiles);
	print_open(p, "files", PRINT_ARRAY);
	for (size_t i = 0; i < s->nfiles; i++) {
		const struct row_holder *f = &s->files[i];

		clock_text(f->since, text);
		print_object(p, NULL, "name", f->name, "since", text);
		print_aligned(p, "ll", arena_printf(x->a, "  %s", f->name),
		    arena_printf(x->a, "since %s", text));
	}
	print_close(p);
	print_line(p, "in progress", "%zu", s->njobs);
	print_open(p, "in_progress", PRINT_ARRAY);
	for (size_t i = 0; i < s->njobs; i++) {
		const struct job *j = &s->jobs[i];
		bool late = j->report_deadline < now;

		clock_text(j->report_deadline, text);
		print_object(p, NULL, "name", j->name, "sent",
		    clock_text(j->sent_time, sent), "deadline", text);
		print_aligned(p, "lll", arena_printf(x->a, "  %s", j->name),
		    arena_printf(
			x->a, "sent %s ago", human_span(x->a, now - j->sent_time)),
		    arena_printf(x->a, "%s %s", late ? "late since" : "due by", text));
	}
	print_close(p);
	print_line(p, "limits", "%zu", s->nlimits);
	print_open(p, "limits", PRINT_ARRAY);
	for (size_t i = 0; i < s->nlimits; i++) {
		const struct limit_view *v = &s->limits[i];

		print_object(p, NULL, "name", v->name, "used", v->used, "at_most",
		    v->most, "free_again", print_time(v->free_at));
		print_aligned(p, "ll", arena_printf(x->a, "  %s", v->name),
		    limit_text(x->a, v, now));
	}
	print_close(p);
	print_end(p);
}

static enum err host_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct host_detail s = { 0 };
	int64_t id;

	(void)opts, (void)n;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%s\" is not the id of a host", args[0]);
	TRY(ctx_db(x));
	TRY(host_detail_load(x, id, &s));
	show_host_detail(x, &s);
	return OK;
}

const struct cmd cmd_host_show = { .name = "host show",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show a host: what it holds and computes",
	.about =
	    "Shows a host's account, its last contact, the large files that it holds, its results,\n"
	    "and how much of its limits is used: the daily quota of each version, and what the web\n"
	    "service of this machine counts for the host's address.",
	.tree = true,
	.run = host_show_run };

/* locus host list, host set. */

struct host_list_opts {
	const char *user, *name, *active, *sort;
	bool banned;
	int64_t limit;
};
#define OFF(member) FIELD_OF(struct host_list_opts, member)

static const struct field host_list_options[] = {
	{ "user", OFF(user), "EMAIL|ID", "Only hosts of this account." },
	{ "name", OFF(name), "PATTERN",
	    "Only names that match, where * and ? stand for other characters." },
	{ "active", OFF(active), "TIME",
	    "Only hosts that made a request in this last time: 1h, 2d, 1w." },
	{ "banned", OFF(banned), NULL,
	    "Only hosts that are banned, or whose account is." },
	{ "sort", OFF(sort), "errors|invalid|inconclusive",
	    "Only hosts with results of this kind, those with most of them first." },
	{ "limit", OFF(limit), "NUMBER",
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

static void host_line_put(
    struct print *l, const struct row_host_line *h, const struct row_tally *t)
{
	print_cells(l, h->id, h->name, h->userid, h->user, h->os, h->model, h->cpus,
	    h->gpus, h->memory, h->disk_free, h->create_time, h->seen, h->in_progress,
	    h->credit, h->recent_credit, h->venue, h->banned != 0, h->user_banned != 0,
	    print_unless(h->banned == 0 || h->ban_until == 0, h->ban_until),
	    h->banned != 0 ? h->ban_reason : NULL, t->success, t->valid, t->failed,
	    t->invalid, t->inconclusive);
}

static const struct row_tally *tally_of_host(
    const struct row_tally *t, size_t n, int64_t hostid)
{
	static const struct row_tally none;

	for (size_t i = 0; i < n; i++)
		if (t[i].id == hostid)
			return &t[i];
	return &none;
}

/* What the hosts of a page returned. */
static enum err tallies_of_hosts(struct cmd_ctx *x, struct arena *a,
    const struct row_host_line *rows, size_t n, struct row_tally **t, size_t *nt)
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

static bool sort_kind(const char *name, int64_t *kind)
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
static enum err list_worst(struct cmd_ctx *x, const struct host_list_opts *o,
    int64_t kind, struct host_choice c)
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
static enum err host_choice_of(struct cmd_ctx *x, const struct host_list_opts *o,
    struct host_choice *c, int64_t *kind)
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

static enum err host_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
static const struct field host_set_options[] = {
	{ "venue", FIELD_OF(struct host_set_opts, venue), "home|work|school|none",
	    "The block of its account's preferences that applies." },
	DRY_RUN_OPTION(struct host_set_opts),
	{ 0 },
};

static enum err host_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

/* locus host log: the logs that a client sent about itself at the project's request. */

struct log_opts {
	bool jobs;
};

static const struct field log_options[] = {
	{ "jobs", FIELD_OF(struct log_opts, jobs), NULL,
	    "Prints the log of finished tasks instead." },
	{ 0 },
};

static enum err host_log_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct log_opts *o = opts;
	int64_t id;
	struct row_text *row = NULL;
	enum err e;

	(void)n;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not a host id", args[0]);
	TRY(ctx_db(x));
	e = db_row(x->db, x->a, x->f, &row, HOST_LOG, .hostid = id,
	    .kind = o->jobs ? LOG_JOBS : LOG_TIME_STATS);
	if (e == E_NOTFOUND)
		return ctx_not_found(x,
		    "there is no such log for host %" PRId64
		    "; the option %s asks clients for it",
		    id, o->jobs ? "request_job_log" : "request_time_stats_log");
	if (e == OK)
		fputs(row->s, stdout);
	return e;
}

const struct cmd cmd_host_log = { .name = "host log",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "print a client's own log",
	.about =
	    "Prints the client's log of when it was on, connected and active, as the client sent\n"
	    "it.",
	.opts = log_options,
	.opts_size = sizeof(struct log_opts),
	.run = host_log_run };

/* locus host message: queues a text for a running task, sent with the next reply to its
 * host. */

enum { MESSAGE_MAX = 65536, LINE_MAX_BYTES = 254 };

/* Clients read line by line and write the lines to the task's trickle_down_TIME
 * (protocol.md 2.8). */
static enum err check_lines(
    struct cmd_ctx *x, const char *file, const char *text, size_t n)
{
	int line = 1;

	if (memchr(text, '\0', n) != NULL)
		return FAIL(x->f, E_BADREQ, "%s contains a NUL byte", file);
	if (strstr(text, "</trickle_down>") != NULL)
		return FAIL(x->f, E_BADREQ, "%s contains </trickle_down>", file);
	for (const char *p = text; *p != '\0'; line++) {
		size_t len = strcspn(p, "\n");

		if (len > LINE_MAX_BYTES)
			return FAIL(x->f, E_BADREQ,
			    "%s: line %d has %zu bytes, but clients accept at most %d",
			    file, line, len, LINE_MAX_BYTES);
		p += len + (p[len] == '\n');
	}
	return OK;
}

static enum err host_message_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct result *r;
	int64_t now = clock_now();
	char *text;
	size_t n;
	enum err e;

	(void)opts, (void)nargs;
	TRY(fs_read(x->a, args[1], MESSAGE_MAX, &text, &n, x->f));
	TRY(check_lines(x, args[1], text, n));
	TRY(ctx_db(x));
	e = result_by_name(x->db, x->a, args[0], &r, x->f);
	if (e == E_NOTFOUND)
		return ctx_not_found(x, "there is no result %s", args[0]);
	if (e != OK)
		return e;
	if (r->server_state != RESULT_IN_PROGRESS)
		return ctx_not_found(x, "result %s is not in progress", args[0]);
	e = message_insert(x->db, r->hostid, now, "trickle_down",
	    arena_printf(x->a,
		"<trickle_down>\n<result_name>%s</result_name>\n<time>%" PRId64
		"</time>\n%s%s</trickle_down>\n",
		r->name, now, text, n > 0 && text[n - 1] != '\n' ? "\n" : ""),
	    x->f);
	if (e != OK)
		return e;
	printf("queued for host %" PRId64 "\n", r->hostid);
	if (!x->cf->msg_to_host)
		fprintf(stderr,
		    "locus: the message will not be sent until config.xml has <msg_to_host>1</msg_to_host>\n");
	return OK;
}

const struct cmd cmd_host_message = { .name = "host message",
	.args = "RESULT FILE",
	.min_args = 2,
	.max_args = 2,
	.purpose = "send a message to a running task",
	.about =
	    "Queues the text of FILE for the task of that result. The host gets it with the next\n"
	    "reply and hands it to the task as a trickle-down message if the task is running\n"
	    "then; the server does not learn whether it was. Needs the option msg_to_host.",
	.run = host_message_run };

/* locus record host: records a host's requests, each with the rows that it was decided
 * by. */

enum { HOUR_S = 3600 };

struct record_opts {
	const char *span;
};

static const struct field record_options[] = {
	{ "for", FIELD_OF(struct record_opts, span), "TIME",
	    "Duration: 30m, 1h, 2d, or a number of seconds; default: one hour." },
	{ 0 },
};

static enum err recording_start(
    struct cmd_ctx *x, const char *path, int64_t id, int64_t seconds)
{
	char *dir = arena_printf(x->a, "%s/recording", x->cf->run_dir);
	int64_t until = clock_now() + seconds;
	char *text = arena_printf(x->a, "%" PRId64 "\n", until), at[21];
	struct host *h;

	TRY(ctx_db(x));
	TRY(tools_host(x, id, &h));
	TRY(fs_mkdirs(dir, 0750, x->f));
	TRY(fs_write(path, text, strlen(text), 0644, x->f));
	printf("host %lld is recorded until %s, in %s\n", (long long)id,
	    clock_text(until, at), project_path(x->a, x->cf, "recordings"));
	return OK;
}

static enum err record_host_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct record_opts *o = opts;
	int64_t id, seconds = HOUR_S;
	bool on = strcmp(args[1], "on") == 0;
	char *path;

	(void)n;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not the id of a host", args[0]);
	if (!on && strcmp(args[1], "off") != 0)
		return ctx_usage(x, "\"%.60s\": must be on or off", args[1]);
	if (o->span != NULL && !human_span_parse(o->span, &seconds))
		return ctx_usage(
		    x, "--for %.60s: must be a duration such as 30m or 1h", o->span);
	TRY(ctx_conf(x));
	path = arena_printf(x->a, "%s/recording/%lld", x->cf->run_dir, (long long)id);
	return on ? recording_start(x, path, id, seconds) : fs_unlink(path, x->f);
}

const struct cmd cmd_record_host = { .name = "record host",
	.args = "ID on|off",
	.min_args = 2,
	.max_args = 2,
	.purpose = "record a host's requests with all their input",
	.about =
	    "For a limited time the schedulers of this machine write each request of the host to a\n"
	    "file HOST-NUMBER-RPC.recording in the project's directory recordings: the request,\n"
	    "every row that the decision looked at, the configuration (without the database's\n"
	    "password) and the reply. locus replay decides it again, on any machine. They contain\n"
	    "the account's key, so only the project's account may read them.",
	.details = "The files take at most debug_req_reply_max_bytes.",
	.opts = record_options,
	.opts_size = sizeof(struct record_opts),
	.run = record_host_run };
