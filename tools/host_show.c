/* SPDX-License-Identifier: Apache-2.0 */
/* locus host show: one host, the files that it holds and the jobs that it computes. */
#include <inttypes.h>
#include <stdio.h>
#include "db/entity.h"
#include "db/host.h"
#include "db/stmts.h"
#include "tools/catalog.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "model/rows.h"
#include "tools/cmd.h"
#include "tools/human.h"
#include "tools/print/print.h"
#include "tools/ledger_view.h"
#include "tools/limits_view.h"
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
show_results(struct print *p, const struct host_detail *s)
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

static void
show_ban(struct print *p, const struct host_detail *s, int64_t now)
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

static void
show_summary(
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

static void
show_host_detail(struct cmd_ctx *x, const struct host_detail *s)
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
