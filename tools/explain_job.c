/* SPDX-License-Identifier: Apache-2.0 */
/* locus explain job: where a workunit and its results are, and why a host would not get
 * them. */
#include <inttypes.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/rows.h"
#include "proto/request.h"
#include "tools/catalog.h"
#include "tools/human.h"
#include "tools/print/print.h"
#include "tools/traces.h"
#include "tools/replay.h"
#include "tools/stuck.h"
#include "lib/banned.h"

enum { DAY_S = 86400, SAID_MOST = 20 };

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

static enum err
job_find(struct cmd_ctx *x, const char *name, struct job_view *v)
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
static bool
record_mentions(const struct trace *r, int64_t id, const char **why)
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
static const char *
replication_of(struct cmd_ctx *x, const struct trace *r, int64_t id)
{
	for (size_t i = 0; i < r->nsent; i++)
		if (r->sent[i].id == id)
			return trace_replication(x->a, &r->sent[i]);
	return "";
}

/* --- a decision for one host --- */

static const char *
guess_platform(const struct host *h)
{
	if (strstr(h->os_name, "Windows") != NULL)
		return "windows_x86_64";
	return strstr(h->os_name, "Darwin") != NULL ? "x86_64-apple-darwin" :
	                                              "x86_64-pc-linux-gnu";
}

/* The host's row as the client would report it. */
static struct rq_host
request_host(const struct host *h)
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

/* Lists the large files on the host: its jobs need not bring them, and deleting files
 * makes room. */
static enum err
request_files(struct cmd_ctx *x, int64_t hostid, struct request *q)
{
	struct row_holder *rows = NULL;
	size_t n;

	TRY(db_query(x->db, x->a, x->f, &rows, &n, FILES_ON_HOST, .hostid = hostid));
	q->files = NEWN(x->a, struct rq_file, n + 1);
	for (size_t i = 0; i < n; i++)
		q->files[q->nfiles++] = (struct rq_file){ .name = rows[i].name,
			.md5_cksum = arena_strdup(x->a, ""),
			.status = 1 };
	return OK;
}

/*
 * Builds the request that the host would send if its CPUs were idle for a day. The rows
 * do not hold everything that a client reports, so a real request (--request) is more
 * exact.
 */
static enum err
request_build(
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
	TRY(request_files(x, hostid, &q));
	request_render(b, &q);
	return OK;
}

struct job_opts {
	const char *host, *request, *at;
};

static enum err
decide_for_host(
    struct cmd_ctx *x, int64_t hostid, const struct job_opts *o, struct job_view *v)
{
	struct replay r = { .host = hostid, .seed = 1, .job = v->result_id };
	struct buf b = buf_new(x->a);
	struct trace **last;
	struct host *h;
	char *text;
	size_t n;
	enum err e = replay_time(x, o->at, &r.at);

	if (e == OK)
		e = traces_of_host(x, hostid, &last, &n);
	if (e != OK)
		return e;
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
static const char *
job_decisive_reason(const struct job_view *v)
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

/* --- output --- */

static const char *
refusal_text(const char *code)
{
	enum reason why = reason_named(code);

	return why == WHY__MAX ? "refused" : reason_text(why);
}

static char *
wu_error_names(struct arena *a, int32_t mask)
{
	static const char *const names[] = { "COULDNT_SEND", "TOO_MANY_ERRORS",
		"TOO_MANY_SUCCESS", "TOO_MANY_TOTAL", "CANCELLED", "NO_CANONICAL" };
	struct buf b = buf_new(a);

	for (size_t i = 0; i < N(names); i++)
		if (mask & 1 << i)
			buf_printf(&b, "%s%s", b.n > 0 ? ", " : "", names[i]);
	return b.n == 0 ? arena_strdup(a, "none") : b.p;
}

static const char *
result_progress(struct arena *a, const struct result *r, int64_t now)
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

static void
show_results_of(
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

static void
show_decisions(
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

static void
show_decided(struct print *p, const struct job_view *v)
{
	const char *why = job_decisive_reason(v);
	long long hostid = v->decided->rpc.hostid;
	bool gets = why[0] == '\0';

	print_object(p, "host", "hostid", hostid, "would_get", gets, "why", why);
	if (gets)
		print_line(p, NULL, "host %lld would get it now", hostid);
	else
		print_line(p, NULL,
		    "host %lld would not get it: %s  %s   <- this stops it", hostid,
		    refusal_text(why), why);
}

static void
show_job(struct cmd_ctx *x, const struct job_view *v)
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

static bool
is_unsent(const struct job_view *v)
{
	for (size_t i = 0; i < v->nresults; i++)
		if (v->results[i].id == v->result_id)
			return v->results[i].server_state == RESULT_UNSENT;
	return false;
}

static const struct opt job_options[] = {
	{ "host", OPT_TEXT, offsetof(struct job_opts, host), "ID",
	    "Shows whether this host would get the job now, with idle CPUs, and if not, why." },
	{ "request", OPT_TEXT, offsetof(struct job_opts, request), "REQUEST.xml",
	    "With --host: uses this request of the host, which also describes its coprocessors, preferences and programs." },
	{ "at", OPT_TEXT, offsetof(struct job_opts, at), "TIME",
	    "With --host: decides as of this time: seconds since 1970, or 2026-11-20T23:40:57Z; default: now." },
	{ 0 },
};

static enum err
explain_job_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct job_opts *o = opts;
	struct job_view v = { 0 };
	int64_t hostid = 0;

	(void)n;
	if (o->host != NULL && !text_i64(o->host, 1, INT64_MAX, &hostid))
		return ctx_usage(x, "\"%.60s\" is not the id of a host", o->host);
	if ((o->request != NULL || o->at != NULL) && o->host == NULL)
		return ctx_usage(x, "--request and --at need --host");
	TRY(ctx_db_report(x));
	TRY(job_find(x, args[0], &v));
	TRY(traces_of_job(x, v.result_id, &v.seen, &v.nseen));
	if (is_unsent(&v) && v.wu->delay_bound > 0)
		TRY(stuck_reasons(x, v.wu, &v.unsendable, &v.nunsendable));
	if (hostid != 0 && !is_unsent(&v))
		return ctx_not_found(
		    x, "%s is not unsent, so no host would get it now", args[0]);
	if (hostid != 0)
		TRY(decide_for_host(x, hostid, o, &v));
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
