/* SPDX-License-Identifier: Apache-2.0 */
/* locus host show: one host, the files that it holds and the jobs that it computes. */
#include <inttypes.h>
#include <stdio.h>
#include "db/entity.h"
#include "db/host_ends.h"
#include "db/stmts.h"
#include "tools/catalog.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "model/states.h"
#include "tools/cmd.h"
#include "tools/human.h"
#include "tools/json.h"
#include "tools/ledger_view.h"
#include "tools/limits_view.h"
#include "tools/table.h"
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
static enum err
host_limits_load(struct cmd_ctx *x, struct host_detail *s)
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
static enum err
ban_reasons_load(struct cmd_ctx *x, struct host_detail *s)
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

static enum err
host_detail_load(struct cmd_ctx *x, int64_t id, struct host_detail *s)
{
	struct row_tally *row = NULL;
	size_t n = 0;
	enum err e = tools_host(x, id, &s->host);

	if (e != OK)
		return e;
	e = user_by_id(x->db, x->a, s->host->userid, &s->user, x->f);
	if (e == E_NOTFOUND)
		e = OK;
	if (e == OK)
		e = db_row(x->db, x->a, x->f, &row, HOST_TALLY, .hostid = id);
	if (e == OK)
		e = ledger_of_host(x->db, x->a, id, &s->sent, x->f);
	if (e == OK)
		e = db_query(x->db, x->a, x->f, &s->files, &s->nfiles, FILES_ON_HOST,
		    .hostid = id);
	if (e == OK)
		e = db_query(
		    x->db, x->a, x->f, &s->jobs, &s->njobs, JOBS_ON_HOST, .hostid = id);
	if (e != OK)
		return e;
	s->tally = *row;
	TRY(host_ends_lately(x->db, x->a, &row, &n, &s->all, x->f));
	for (size_t i = 0; i < n; i++)
		if (row[i].id == id)
			s->lately = &row[i];
	TRY(ban_reasons_load(x, s));
	return host_limits_load(x, s);
}

static int
percent(int64_t part, int64_t of)
{
	return of > 0 ? (int)(100 * part / of) : 0;
}

/* The host's results beside those of all hosts. */
static void
host_print_results(const struct host_detail *s)
{
	const struct row_tally *t = &s->tally;
	struct host_ends h;

	printf(
	    "results       %lld in progress, %lld done (%lld valid, %lld invalid, %lld inconclusive), %lld failed\n",
	    (long long)t->in_progress, (long long)t->success, (long long)t->valid,
	    (long long)t->invalid, (long long)t->inconclusive, (long long)t->failed);
	if (s->lately == NULL)
		return;
	h = host_ends_of(s->lately);
	printf(
	    "lately        %d %% of its successes are invalid or inconclusive, %d %% of all hosts'; %d %% of its results failed, %d %% of all\n",
	    percent(h.wrong, h.success), percent(s->all.wrong, s->all.success),
	    percent(h.failed, h.failed + h.success),
	    percent(s->all.failed, s->all.failed + s->all.success));
}

static void
print_ban(const char *what, int64_t until, const char *reason)
{
	char text[21];

	printf("banned        %s%s%s%s%s\n", what, until == 0 ? "" : " until ",
	    until == 0 ? "" : clock_text(until, text),
	    reason == NULL || reason[0] == '\0' ? "" : ": ",
	    reason == NULL ? "" : reason);
}

static void
host_print_summary(struct cmd_ctx *x, const struct host_detail *s, int64_t now)
{
	const struct host *h = s->host;

	printf("host          %lld \"%s\"\n", (long long)h->id,
	    human_text(x->a, h->domain_name));
	printf("computer      %d x %s, %s of memory, %s of disk free, %s %s\n",
	    h->p_ncpus, human_text(x->a, h->p_model), human_bytes(x->a, h->m_nbytes),
	    human_bytes(x->a, h->d_free), human_text(x->a, h->os_name),
	    human_text(x->a, h->os_version));
	if (s->user != NULL)
		printf("account       %lld \"%s\"\n", (long long)s->user->id,
		    human_text(x->a, s->user->name));
	else if (h->userid == 0)
		printf("account       none: it was merged into host %lld\n",
		    (long long)h->rpc_seqno);
	else
		printf(
		    "account       %lld, which does not exist\n", (long long)h->userid);
	if (ban_holds(h->max_results_day == HOST_BANNED, h->ban_until, now))
		print_ban("yes", h->ban_until, s->ban_reason);
	else if (s->user != NULL &&
		 ban_holds(s->user->banned != 0, s->user->ban_until, now))
		print_ban("its account is", s->user->ban_until, s->user_ban_reason);
	if (h->rpc_time > 0)
		printf("last contact  %s ago, request %lld\n",
		    human_span(x->a, now - h->rpc_time), (long long)h->rpc_seqno);
	else
		printf("last contact  never\n");
	host_print_results(s);
	printf("locality      %s\n", saved_text(x->a, &s->sent));
	printf("credit        %.2f\n", h->total_credit);
}

static void
host_detail_print(struct cmd_ctx *x, const struct host_detail *s)
{
	struct table files = table_new(x->a, "ll"), jobs = table_new(x->a, "lll"),
		     limits = table_new(x->a, "ll");
	int64_t now = clock_now();
	char text[21];

	host_print_summary(x, s, now);
	printf("files held    %zu\n", s->nfiles);
	for (size_t i = 0; i < s->nfiles; i++) {
		table_printf(&files, "  %s", s->files[i].name);
		table_printf(&files, "since %s", clock_text(s->files[i].since, text));
	}
	table_print(&files);
	printf("in progress   %zu\n", s->njobs);
	for (size_t i = 0; i < s->njobs; i++) {
		const struct job *j = &s->jobs[i];
		bool late = j->report_deadline < now;

		table_printf(&jobs, "  %s", j->name);
		table_printf(
		    &jobs, "sent %s ago", human_span(x->a, now - j->sent_time));
		table_printf(&jobs, "%s %s", late ? "late since" : "due by",
		    clock_text(j->report_deadline, text));
	}
	table_print(&jobs);
	printf("limits        %zu\n", s->nlimits);
	for (size_t i = 0; i < s->nlimits; i++) {
		table_printf(&limits, "  %s", s->limits[i].name);
		table_put(&limits, limit_text(x->a, &s->limits[i], now));
	}
	table_print(&limits);
}

static json_t *
limits_json(const struct host_detail *s)
{
	json_t *list = json_array();
	char at[21];

	for (size_t i = 0; i < s->nlimits; i++) {
		const struct limit_view *v = &s->limits[i];

		json_array_append_new(list,
		    json_pack("{s:o, s:I, s:I, s:o}", "name", json_text(v->name),
			"used", (json_int_t)v->used, "at_most", (json_int_t)v->most,
			"free_again",
			v->free_at == 0 ? json_null() :
					  json_string(clock_text(v->free_at, at))));
	}
	return list;
}

static json_t *
jobs_json(const struct host_detail *s)
{
	json_t *list = json_array();
	char sent[21], due[21];

	for (size_t i = 0; i < s->njobs; i++)
		json_array_append_new(list,
		    json_pack("{s:o, s:s, s:s}", "name", json_text(s->jobs[i].name),
			"sent", clock_text(s->jobs[i].sent_time, sent), "deadline",
			clock_text(s->jobs[i].report_deadline, due)));
	return list;
}

static json_t *
files_json(const struct host_detail *s)
{
	json_t *list = json_array();
	char since[21];

	for (size_t i = 0; i < s->nfiles; i++)
		json_array_append_new(
		    list, json_pack("{s:o, s:s}", "name", json_text(s->files[i].name),
			      "since", clock_text(s->files[i].since, since)));
	return list;
}

static json_t *
ban_json(const struct host_detail *s)
{
	const struct host *h = s->host;
	const bool own = ban_holds(
	    h->max_results_day == HOST_BANNED, h->ban_until, clock_now());
	const int64_t until = own             ? h->ban_until :
	                      s->user != NULL ? s->user->ban_until :
	                                        0;
	const char *reason = own             ? s->ban_reason :
	                     s->user != NULL ? s->user_ban_reason :
	                                       "";
	char at[21];

	if (!own && (s->user == NULL || !ban_holds(s->user->banned != 0,
					    s->user->ban_until, clock_now())))
		return json_null();
	return json_pack("{s:s, s:o, s:o}", "of", own ? "host" : "account", "until",
	    until == 0 ? json_null() : json_string(clock_text(until, at)), "reason",
	    json_text(reason));
}

static void
host_detail_json(struct cmd_ctx *x, const struct host_detail *s)
{
	const struct host *h = s->host;
	const struct row_tally *t = &s->tally;
	char at[21];

	json_t *root = json_pack("{s:I, s:o, s:I, s:o, s:o, s:o, s:i, s:s, s:I, s:f,"
				 " s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:o}",
	    "id", (json_int_t)h->id, "name", json_text(h->domain_name), "userid",
	    (json_int_t)h->userid, "user",
	    json_text(s->user == NULL ? "" : s->user->name), "os_name",
	    json_text(h->os_name), "p_model", json_text(h->p_model), "p_ncpus",
	    h->p_ncpus, "rpc_time", h->rpc_time == 0 ? "" : clock_text(h->rpc_time, at),
	    "rpc_seqno", (json_int_t)h->rpc_seqno, "total_credit", h->total_credit,
	    "results", "in_progress", (json_int_t)t->in_progress, "done",
	    (json_int_t)t->success, "valid", (json_int_t)t->valid, "failed",
	    (json_int_t)t->failed, "files", files_json(s), "in_progress", jobs_json(s),
	    "limits", limits_json(s));

	json_object_set_new(root, "judged",
	    json_pack("{s:I, s:I, s:I, s:I, s:I}", "invalid", (json_int_t)t->invalid,
		"inconclusive", (json_int_t)t->inconclusive, "all_done",
		(json_int_t)s->all.success, "all_failed", (json_int_t)s->all.failed,
		"all_wrong", (json_int_t)s->all.wrong));
	json_object_set_new(root, "ban", ban_json(s));
	saved_json(root, &s->sent);
	json_show(x->format, root);
}

static enum err
host_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct host_detail s = { 0 };
	int64_t id;

	(void)opts, (void)n;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%s\" is not the id of a host", args[0]);
	TRY(ctx_db(x));
	TRY(host_detail_load(x, id, &s));
	if (x->format != FORMAT_TABLE)
		host_detail_json(x, &s);
	else
		host_detail_print(x, &s);
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
