/* SPDX-License-Identifier: Apache-2.0 */
/* locus explain host and explain decision: why a host got what it got, from the traces
 * of its requests. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/rows.h"
#include "proto/request.h"
#include "tools/catalog.h"
#include "tools/cmd.h"
#include "tools/dir_cure.h"
#include "tools/failures.h"
#include "lib/human.h"
#include "tools/print/print.h"
#include "tools/replay.h"
#include "tools/stuck.h"
#include "tools/traces.h"
#include "lib/banned.h"

/* locus explain app: the most frequent failures of an app's tasks. */

enum { DAY_S = 86400, LOOK_MOST = 100000 };

struct explain_app_opts {
	const char *since;
};
static const struct field explain_app_options[] = {
	{ "since", FIELD_OF(struct explain_app_opts, since), "TIME",
	    "Failures of this last time: 1h, 2d, 1w; default: 1d." },
	{ 0 },
};

static const struct print_column failure_columns[] = {
	{ "failures", NULL, PRINT_NUMBER, NULL },
	{ "hosts", NULL, PRINT_NUMBER, "different ones" },
	{ "exit_status", NULL, PRINT_NUMBER, NULL },
	{ "outcome", NULL, PRINT_TEXT,
	    "CLIENT_ERROR, or VALIDATE_ERROR: outputs that the validator could not use" },
	{ "words", NULL, PRINT_TEXT,
	    "exit status and the telling line of standard error" },
	{ "signature", NULL, PRINT_TEXT, "that line, with # for numbers" },
	{ "version", NULL, PRINT_NUMBER,
	    "the only version that failed so, such as 105; 0: several" },
	{ "last", NULL, PRINT_TIME, NULL },
	{ "example", NULL, PRINT_TEXT, "the newest such result" },
	{ "try", NULL, PRINT_TEXT, NULL },
	{ 0 },
};

/* For people a paragraph for each kind, as its words are longer than a column. */
static void show_failure(
    struct cmd_ctx *x, struct print *l, const struct failure_kind *k)
{
	const char *words = failure_words(x->a, k), *cure = failure_cure(x, k);
	const char *version = k->version == 0 ?
	                          "" :
	                          arena_printf(x->a, ", only version %d.%02d",
				      k->version / 100, k->version % 100);

	print_cells(l, k->n, k->hosts, k->exit_status,
	    state_name(KIND_OUTCOME, k->outcome), words, k->signature, k->version,
	    k->last, k->example, cure);
	print_line(l, NULL, "\n%" PRId64 " on %" PRId64 " host%s%s, the last %s ago",
	    k->n, k->hosts, k->hosts == 1 ? "" : "s", version,
	    human_span(x->a, clock_now() - k->last));
	print_line(l, NULL, "  what     %s\n  example  %s %s\n  try      %s", words,
	    locus_command(x->a, x->cf, "work show"), k->example, cure);
}

static enum err explain_app_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct explain_app_opts *o = opts;
	int64_t span = DAY_S;
	const struct app *app;
	struct failures f;
	struct catalog *c;
	struct print *l;

	(void)n;
	if (o->since != NULL && !human_span_parse(o->since, &span))
		return ctx_usage(
		    x, "--since %.40s: must be a duration such as 1h or 2d", o->since);
	TRY(ctx_db_report(x));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &app));
	TRY(failures_read(x, app->id, clock_now() - span, LOOK_MOST, &f));
	l = print_list(x, failure_columns);
	if (app->drain_time != 0)
		print_line(l, NULL,
		    "%s is drained for %s: its tasks are reported and not sent; %s %s ends this",
		    app->name, human_span(x->a, clock_now() - app->drain_time),
		    locus_command(x->a, x->cf, "app resume"), app->name);
	print_line(l, NULL, "%s: %" PRId64 " tasks failed in the last %s%s", app->name,
	    f.total, human_span(x->a, span),
	    f.looked < f.total ?
		arena_printf(
		    x->a, ", of which the newest %" PRId64 " are grouped", f.looked) :
		"");
	for (size_t i = 0; i < f.n; i++)
		show_failure(x, l, &f.v[i]);
	print_end(l);
	return OK;
}

const struct cmd cmd_explain_app = { .name = "explain app",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show why an app's tasks fail, and what to try",
	.about =
	    "Groups the failures of the last day by exit status and by the line of standard error\n"
	    "that tells most, the most frequent first: how many, on how many hosts, an example,\n"
	    "and what to try. Results whose outputs the validator could not use count too.",
	.opts = explain_app_options,
	.opts_size = sizeof(struct explain_app_opts),
	.columns = failure_columns,
	.run = explain_app_run };

/* locus explain job: where a workunit and its results are, and why a host would not get
 * them. */

enum { SAID_MOST = 20 };

struct job_view {
	struct workunit *wu;
	struct result *results;
	size_t nresults;
	int64_t
	    result_id; /* the result asked about, or the first unsent one; 0 = none */
	struct trace **seen; /* decisions that mention it, oldest first */
	size_t nseen;
	struct trace *decided;   /* decision for the host given by --host */
	const char **unsendable; /* why no host gets it: "it ..." */
	size_t nunsendable;
};

/* --- lookups --- */

static enum err job_find(struct cmd_ctx *x, const char *name, struct job_view *v)
{
	struct result *r;
	enum err e = result_by_name(x->db, x->a, name, &r, x->f);

	if (e == OK) {
		v->result_id = r->id;
		e = workunit_by_id(x->db, x->a, r->workunitid, &v->wu, x->f);
	} else if (e == E_NOTFOUND) {
		e = workunit_by_name(x->db, x->a, name, &v->wu, x->f);
	}
	if (e == E_NOTFOUND)
		return ctx_not_found(x,
		    "there is no result or workunit %.200s; it may have been purged",
		    name);
	if (e == OK)
		e = results_of_workunit(
		    x->db, x->a, v->wu->id, &v->results, &v->nresults, x->f);
	for (size_t i = 0; e == OK && i < v->nresults && v->result_id == 0; i++)
		if (v->results[i].server_state == RESULT_UNSENT)
			v->result_id = v->results[i].id;
	return e;
}

/* Returns whether the trace says that this result was sent. *why is how it was sent, or
 * the reason why it was left out; NULL if the trace does not mention it. */
static bool record_mentions(const struct trace *r, int64_t id, const char **why)
{
	for (size_t i = 0; i < r->nsent; i++)
		if (r->sent[i].id == id) {
			*why = r->sent[i].how;
			return true;
		}
	for (size_t i = 0; i < r->nleft; i++)
		if (r->left[i].id == id) {
			*why = r->left[i].why;
			return false;
		}
	*why = NULL;
	return false;
}

/* Why the result was sent alone or replicated; "" if it was not sent or there is
 * nothing to say. */
static const char *replication_of(struct cmd_ctx *x, const struct trace *r, int64_t id)
{
	for (size_t i = 0; i < r->nsent; i++)
		if (r->sent[i].id == id)
			return trace_replication(x->a, &r->sent[i]);
	return "";
}

/* --- a decision for one host --- */

static const char *guess_platform(const struct host *h)
{
	if (strstr(h->os_name, "Windows") != NULL)
		return "windows_x86_64";
	return strstr(h->os_name, "Darwin") != NULL ? "x86_64-apple-darwin" :
	                                              "x86_64-pc-linux-gnu";
}

/* The host's row as the client would report it. */
static struct rq_host request_host(const struct host *h)
{
	static char none[] = "";

	return (struct rq_host){ .present = true,
		.timezone = h->timezone,
		.p_ncpus = h->p_ncpus,
		.domain_name = h->domain_name,
		.ip_addr = h->last_ip_addr,
		.host_cpid = none,
		.p_vendor = h->p_vendor,
		.p_model = h->p_model,
		.p_features = none,
		.os_name = h->os_name,
		.os_version = h->os_version,
		.product_name = h->product_name,
		.virtualbox_version = none,
		.docker_version = none,
		.p_fpops = h->p_fpops,
		.p_iops = h->p_iops,
		.p_membw = h->p_membw,
		.m_nbytes = h->m_nbytes,
		.m_cache = h->m_cache,
		.m_swap = h->m_swap,
		.d_total = h->d_total,
		.d_free = h->d_free,
		.on_frac = h->on_frac,
		.connected_frac = h->connected_frac,
		.active_frac = h->active_frac,
		.gpu_active_frac = h->gpu_active_frac,
		.n_bwup = h->n_bwup,
		.n_bwdown = h->n_bwdown,
		.d_boinc_used_total = h->d_boinc_used_total,
		.d_boinc_used_project = h->d_boinc_used_project };
}

/*
 * Builds the request that the host would send if its CPUs were idle for a day. The rows
 * do not hold everything that a client reports, so a real request (--request) is more
 * exact.
 */
static enum err request_build(
    struct cmd_ctx *x, int64_t hostid, const struct trace *last, struct buf *b)
{
	static char none[] = "";
	struct request q = { .authenticator = none,
		.has_cpu_request = true,
		.cpu_req_secs = DAY_S,
		.cpu_req_instances = 1,
		.work_req_seconds = DAY_S,
		.resource_share_fraction = 1,
		.rrs_fraction = 1,
		.prrs_fraction = 1,
		.duration_correction_factor = 1,
		.client_cap_plan_class = true };
	struct host *h;
	struct row_holder *rows = NULL;
	size_t n;

	TRY(tools_host(x, hostid, &h));
	q.hostid = hostid;
	q.rpc_seqno = h->rpc_seqno;
	q.version = last == NULL ? 72005 : last->rpc.client;
	q.core_client_major_version = q.version / 10000;
	q.core_client_minor_version = q.version / 100 % 100;
	q.core_client_release = q.version % 100;
	q.platform_name = arena_strdup(
	    x->a, last == NULL ? guess_platform(h) : last->rpc.platform);
	q.cross_project_id = q.global_prefs_source_email_hash = none;
	q.client_brand = none;
	q.host = request_host(h);
	/* Lists the large files on the host: its jobs need not bring them, and deleting
	 * files makes room. */
	TRY(db_query(x->db, x->a, x->f, &rows, &n, FILES_ON_HOST, .hostid = hostid));
	q.files = NEWN(x->a, struct rq_file, n + 1);
	for (size_t i = 0; i < n; i++)
		q.files[q.nfiles++] = (struct rq_file){ .name = rows[i].name,
			.md5_cksum = arena_strdup(x->a, ""),
			.status = 1 };

	request_render(b, &q);
	return OK;
}

struct job_opts {
	int64_t host;
	const char *request, *at;
};

static enum err decide_for_host(
    struct cmd_ctx *x, int64_t hostid, const struct job_opts *o, struct job_view *v)
{
	struct replay r = { .host = hostid, .seed = 1, .job = v->result_id };
	struct buf b = buf_new(x->a);
	struct trace **last;
	struct host *h;
	char *text;
	size_t n;
	enum err e;

	TRY(replay_time(x, o->at, &r.at));
	TRY(traces_of_host(x, hostid, &last, &n));
	e = tools_host(x, hostid, &h);
	if (e != OK)
		return e;
	if (o->request != NULL) {
		e = fs_read(x->a, o->request, (size_t)x->cf->max_request_bytes, &text,
		    &r.request_n, x->f);
		r.request = text;
	} else {
		e = request_build(x, hostid, n == 0 ? NULL : last[n - 1], &b);
		r.request = b.p;
		r.request_n = b.n;
	}
	if (e == OK)
		e = replay_run(x, &r);
	v->decided = r.trace;
	return e;
}

/* Returns the code of the decisive reason against this job; "" if it would be sent. */
static const char *job_decisive_reason(const struct job_view *v)
{
	const char *why;

	if (record_mentions(v->decided, v->result_id, &why))
		return "";
	if (why != NULL)
		return why;
	if (v->decided->rpc.refused[0] != '\0')
		return v->decided->rpc.refused;
	return v->decided->nfiles > 0 ? v->decided->files[0].why :
	                                v->decided->decision.why;
}

static char *wu_error_names(struct arena *a, int32_t mask)
{
	static const char *const names[] = { "COULDNT_SEND", "TOO_MANY_ERRORS",
		"TOO_MANY_SUCCESS", "TOO_MANY_TOTAL", "CANCELLED", "NO_CANONICAL" };
	struct buf b = buf_new(a);

	for (size_t i = 0; i < N(names); i++)
		if (mask & 1 << i)
			buf_printf(&b, "%s%s", b.n > 0 ? ", " : "", names[i]);
	return b.n == 0 ? arena_strdup(a, "none") : b.p;
}

static const char *result_progress(struct arena *a, const struct result *r, int64_t now)
{
	const char *host = "", *received = "";
	char at[21];

	if (r->server_state == RESULT_IN_PROGRESS)
		return arena_printf(a, "on host %lld for %s, %s %s",
		    (long long)r->hostid, human_span(a, now - r->sent_time),
		    r->report_deadline < now ? "late since" : "due by",
		    clock_text(r->report_deadline, at));
	if (r->server_state != RESULT_OVER)
		return arena_printf(a, "for %s", human_span(a, now - r->create_time));
	if (r->hostid != 0)
		host = arena_printf(a, ", host %lld", (long long)r->hostid);
	if (r->received_time != 0)
		received = arena_printf(a, ", received %s ago, exit status %d",
		    human_span(a, now - r->received_time), r->exit_status);
	return arena_printf(a, "%s, %s%s%s", state_name(KIND_OUTCOME, r->outcome),
	    state_name(KIND_VALIDATE, r->validate_state), host, received);
}

static void show_results_of(
    struct cmd_ctx *x, struct print *p, const struct job_view *v, int64_t now)
{
	print_line(p, "results", "%zu", v->nresults);
	print_open(p, "results", PRINT_ARRAY);
	for (size_t i = 0; i < v->nresults; i++) {
		const struct result *r = &v->results[i];
		const char *state = state_name(KIND_RESULT, r->server_state);

		print_object(p, NULL, "id", r->id, "name", r->name, "state", state,
		    "outcome", state_name(KIND_OUTCOME, r->outcome), "validate",
		    state_name(KIND_VALIDATE, r->validate_state), "hostid", r->hostid,
		    "sent_time", r->sent_time, "deadline", r->report_deadline,
		    "received_time", r->received_time, "exit_status", r->exit_status);
		print_line(p, NULL, "  %s  %s  %s", r->name, state,
		    result_progress(x->a, r, now));
	}
	print_close(p);
}

static void show_decisions(
    struct cmd_ctx *x, struct print *p, const struct job_view *v, int64_t now)
{
	if (v->nseen > 0)
		print_line(p, NULL, "decisions about it on record on this machine");
	print_open(p, "decisions", PRINT_ARRAY);
	for (size_t i = 0; i < v->nseen; i++) {
		const struct trace *r = v->seen[i];
		const char *why, *rpc = trace_rpc_number(x->a, r);
		bool sent = record_mentions(r, v->result_id, &why);
		const char *more = replication_of(x, r, v->result_id);

		print_object(p, NULL, "at", r->rpc.at, "hostid", r->rpc.hostid, "rpc",
		    rpc, "sent", sent, "why", why);
		if (i + SAID_MOST >= v->nseen)
			print_line(p, NULL, "  %s ago, host %lld (rpc %s): %s%s%s%s",
			    human_span(x->a, now - r->rpc.at), (long long)r->rpc.hostid,
			    rpc, sent ? "sent, " : "left out, ", why,
			    more[0] == '\0' ? "" : "; ", more);
	}
	print_close(p);
}

/* --- output --- */

static void show_decided(struct print *p, const struct job_view *v)
{
	const char *why = job_decisive_reason(v);
	enum reason code = reason_named(why);
	long long hostid = v->decided->rpc.hostid;
	bool gets = why[0] == '\0';

	print_object(p, "host", "hostid", hostid, "would_get", gets, "why", why);
	if (gets)
		print_line(p, NULL, "host %lld would get it now", hostid);
	else
		print_line(p, NULL,
		    "host %lld would not get it: %s  %s   <- this stops it", hostid,
		    code == WHY__MAX ? "refused" : reason_text(code), why);
}

static void show_job(struct cmd_ctx *x, const struct job_view *v)
{
	struct print *p = print_tree(x, PRINT_OBJECT);
	const struct workunit *w = v->wu;
	const char *assimilate = state_name(KIND_ASSIMILATE, w->assimilate_state);
	int64_t now = clock_now();

	print_label(p, 13);
	if (x->age_s >= 0)
		print_line(p, NULL, "from the replica, at most %lld s old",
		    (long long)x->age_s);
	print_put(p, "workunit", w->id, "name", w->name, "error_mask", w->error_mask,
	    "canonical_resultid", w->canonical_resultid, "assimilate", assimilate,
	    "results", NULL, "decisions", NULL);
	print_line(p, "workunit", "%lld \"%s\", made %s ago", (long long)w->id, w->name,
	    human_span(x->a, now - w->create_time));
	print_line(p, "wants", "%d results, a quorum of %d", w->target_nresults,
	    w->min_quorum);
	print_line(p, "errors", "%s", wu_error_names(x->a, w->error_mask));
	print_line(p, "done", "%s; assimilation %s, files %s",
	    w->canonical_resultid != 0 ? "it has a canonical result" :
					 "no canonical result yet",
	    assimilate, state_name(KIND_FILE_DELETE, w->file_delete_state));
	show_results_of(x, p, v, now);
	print_open(p, "unsendable", PRINT_ARRAY);
	for (size_t i = 0; i < v->nunsendable; i++) {
		print_put(p, NULL, v->unsendable[i]);
		print_line(p, "unsent, as", "it %s", v->unsendable[i]);
	}
	print_close(p);
	show_decisions(x, p, v, now);
	if (v->decided != NULL)
		show_decided(p, v);
	print_end(p);
}

static bool is_unsent(const struct job_view *v)
{
	for (size_t i = 0; i < v->nresults; i++)
		if (v->results[i].id == v->result_id)
			return v->results[i].server_state == RESULT_UNSENT;
	return false;
}

static const struct field job_options[] = {
	{ "host", FIELD_OF(struct job_opts, host), "ID",
	    "Shows whether this host would get the job now, with idle CPUs, and if not, why.",
	    .min = 1 },
	{ "request", FIELD_OF(struct job_opts, request), "REQUEST.xml",
	    "With --host: uses this request of the host, which also describes its coprocessors, preferences and programs." },
	{ "at", FIELD_OF(struct job_opts, at), "TIME",
	    "With --host: decides as of this time: seconds since 1970, or 2026-11-20T23:40:57Z; default: now." },
	{ 0 },
};

static enum err explain_job_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct job_opts *o = opts;
	struct job_view v = { 0 };

	(void)n;
	if ((o->request != NULL || o->at != NULL) && o->host == 0)
		return ctx_usage(x, "--request and --at need --host");
	TRY(ctx_db_report(x));
	TRY(job_find(x, args[0], &v));
	TRY(traces_of_job(x, v.result_id, &v.seen, &v.nseen));
	if (is_unsent(&v) && v.wu->delay_bound > 0)
		TRY(stuck_reasons(x, v.wu, &v.unsendable, &v.nunsendable));
	if (o->host != 0 && !is_unsent(&v))
		return ctx_not_found(
		    x, "%s is not unsent, so no host would get it now", args[0]);
	if (o->host != 0)
		TRY(decide_for_host(x, o->host, o, &v));
	show_job(x, &v);
	return OK;
}

const struct cmd cmd_explain_job = { .name = "explain job",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show where a job is, and why a host would not get it",
	.about =
	    "Shows the states of a workunit and its results, which hosts have them, and the\n"
	    "decisions that sent them or left them out, as far as they are on record on this\n"
	    "machine. With --host the scheduler's rules decide, without writing anything, whether\n"
	    "that host would get the job.",
	.details =
	    "Of an unsent result it also says why no host gets it at all, if so.",
	.opts = job_options,
	.opts_size = sizeof(struct job_opts),
	.tree = true,
	.run = explain_job_run };

enum { RPC_DIGITS = 8 };

struct explain_opts {
	const char *at;
	bool list;
};

static const struct field explain_options[] = {
	{ "at", FIELD_OF(struct explain_opts, at), "RPC",
	    "Explains this request instead of the last one: the eight digits that the log shows as rpc=, or the request's number." },
	{ "list", FIELD_OF(struct explain_opts, list), NULL,
	    "Lists all requests on record, one per line." },
	{ 0 },
};

static bool is_rpc(const char *s)
{
	return strlen(s) == RPC_DIGITS && strspn(s, "0123456789abcdef") == RPC_DIGITS;
}

/* Returns the newest record that matches, or NULL. */
static const struct trace *record_find(
    struct cmd_ctx *x, struct trace **v, size_t n, const char *at)
{
	int64_t seqno;
	bool number = at != NULL && text_i64(at, 0, INT64_MAX, &seqno);

	while (n-- > 0) {
		if (at == NULL || (number && v[n]->rpc.seqno == seqno))
			return v[n];
		if (is_rpc(at) && strcmp(trace_rpc_number(x->a, v[n]), at) == 0)
			return v[n];
	}
	return NULL;
}

static void show_records(struct cmd_ctx *x, struct trace **v, size_t n)
{
	struct print *p = print_tree(x, PRINT_ARRAY);
	char at[21];

	for (size_t i = 0; i < n; i++) {
		const struct trace_rpc *rpc = &v[i]->rpc;
		const struct trace_decision *d = &v[i]->decision;

		print_open(p, NULL, PRINT_OBJECT);
		trace_members(p, v[i]);
		print_close(p);
		print_aligned(p, "llrrll", clock_text(rpc->at, at),
		    trace_rpc_number(x->a, v[i]), rpc->seqno,
		    arena_printf(x->a, "%lld sent", (long long)d->sends),
		    rpc->refused[0] != '\0' ? rpc->refused : d->why,
		    d->work_wanted ? "" : "no work requested");
	}
	print_end(p);
}

static enum err explain_host_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	const struct explain_opts *o = opts;
	const struct trace *r;
	struct trace **v;
	int64_t id, seqno;
	size_t n;

	(void)nargs;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not the id of a host", args[0]);
	if (o->at != NULL && !is_rpc(o->at) && !text_i64(o->at, 0, INT64_MAX, &seqno))
		return ctx_usage(x,
		    "--at %.60s: must be eight hexadecimal digits or a number", o->at);
	TRY(ctx_conf(x));
	TRY(traces_of_host(x, id, &v, &n));
	r = record_find(x, v, n, o->at);
	if (r == NULL)
		return ctx_not_found(x,
		    "no matching decision about host %" PRId64
		    " is on record on this machine, among %zu; see decision_rings and decision_ring_bytes in config.xml(5)",
		    id, n);
	if (o->list)
		show_records(x, v, n);
	else
		trace_show(x, r, clock_now());
	return OK;
}

static enum err explain_decision_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct trace **v;
	size_t n;

	(void)opts, (void)nargs;
	if (!is_rpc(args[0]))
		return ctx_usage(
		    x, "\"%.60s\" is not eight hexadecimal digits", args[0]);
	TRY(ctx_conf(x));
	TRY(traces_of_rpc(x, args[0], &v, &n));
	if (n == 0)
		return ctx_not_found(x,
		    "decision %s is not on record on this machine; see decision_rings and decision_ring_bytes in config.xml(5)",
		    args[0]);
	trace_show(x, v[n - 1], clock_now());
	return OK;
}

const struct cmd cmd_explain_host = { .name = "explain host",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "why a host got what it got",
	.about =
	    "Shows what the host's last request asked for, by which queries its candidates were\n"
	    "read and why each query was made, which jobs were considered, and how many each\n"
	    "reason removed. The decisive reason is marked; its code is the one used in the log\n"
	    "and by -o json, and its text the one shown to the volunteer.\n"
	    "\n"
	    "Reads the traces of this machine's schedulers (run_dir/decisions); needs no\n"
	    "database.",
	.opts = explain_options,
	.opts_size = sizeof(struct explain_opts),
	.tree = true,
	.run = explain_host_run };

const struct cmd cmd_explain_decision = { .name = "explain decision",
	.args = "NUMBER",
	.min_args = 1,
	.max_args = 1,
	.purpose = "explain a decision by its number",
	.about =
	    "A client that wanted work and got none shows the number of the decision among its\n"
	    "messages, as in \"Decision 81f3aa02: DISK\"; the log shows it as rpc=. Explains that\n"
	    "decision like explain host, without naming a host.",
	.tree = true,
	.run = explain_decision_run };
