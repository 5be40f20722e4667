/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange with the project: build the request from the state, send it to a
 * scheduler, and take the whole reply over, or back off.
 */
#include "client/client.h"

#include <math.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "proto/web.h"
#include "lib/banned.h"

enum {
	REPLY_MAX = 64 << 20,
	PAGE_MAX = 1 << 20,
	MASTER_S = 60,
	SCHEDULER_S = 330, /* longer than any wait period */
	MASTER_FETCH_PERIOD = 10,
	MASTER_FETCH_INTERVAL_S = 86400,
	MASTER_FETCH_RETRY_CAP = 3,
	VERSION_MAJOR = 8,
	VERSION_MINOR = 0
};

static void
failed(struct client *c, const char *why)
{
	struct state *st = c->st;

	if (proc_stopping) /* it was we who broke it off */
		return;
	st->nrpc_failures++;
	if (st->nrpc_failures >=
	    MASTER_FETCH_PERIOD) { /* its schedulers may have moved */
		st->nschedulers = 0;
		st->nrpc_failures = 1;
	}
	st->min_rpc_time = c->now + (int64_t)ceil(backoff_s(
					&c->o.rpc_backoff, st->nrpc_failures, &c->rng));
	c->changed = true;
	log_warn("no answer from the project: %s; again in %lld s", why,
	    (long long)(st->min_rpc_time - c->now));
}

enum err
rpc_fetch_master(struct client *c)
{
	struct state *st = c->st;
	char *page, **urls;
	size_t n, nurls = 0;
	long status;
	enum err e = net_fetch(c->net, &c->a, st->master_url, NULL, 0, PAGE_MAX,
	    MASTER_S, &status, &page, &n, &c->fail);

	if (e == OK && status >= 200 && status <= 299)
		master_parse(&c->a, page, n, &urls, &nurls);
	if (nurls == 0) {
		st->nmaster_failures++;
		failed(c,
		    e != OK ? c->fail.detail : "no scheduler URL in the master page");
		if (st->nmaster_failures >= MASTER_FETCH_RETRY_CAP)
			st->min_rpc_time = c->now +
			                   (int64_t)fmin(MASTER_FETCH_INTERVAL_S,
					       c->o.rpc_backoff.max_s);
		return E_SYS;
	}
	st->schedulers = NEWN(&c->keep, char *, nurls);
	for (size_t i = 0; i < nurls; i++)
		st->schedulers[i] = arena_strdup(&c->keep, urls[i]);
	st->nschedulers = nurls;
	st->nmaster_failures = st->nrpc_failures = 0;
	c->changed = true;
	return OK;
}

/* As a stock client lists an output file in a report (stock-client.md 5.1). */
static void
report_file(struct buf *b, const struct cfile *f)
{
	buf_puts(b, "<file_info>\n    ");
	buf_tag(b, "name", f->info.name);
	buf_printf(b, "    <nbytes>%f</nbytes>\n    <max_nbytes>%f</max_nbytes>\n    ",
	    f->size, f->info.max_nbytes);
	buf_tag(b, "md5_cksum", f->md5);
	for (size_t i = 0; i < f->info.nupload_urls; i++) {
		buf_puts(b, "    ");
		buf_tag(b, "upload_url", f->info.upload_urls[i]);
	}
	if (f->upload_failed)
		buf_puts(b, "    <error_msg>\npermanent upload error\n</error_msg>\n");
	buf_puts(b, "</file_info>\n");
}

static void
report_task(struct client *c, const struct ctask *t, struct rq_report *r)
{
	const struct rp_app_version *v = task_version(c->st, t);
	struct buf files = buf_new(&c->a);
	char *message;

	*r = (struct rq_report){ .name = t->r.name,
		.cpu_time = t->cpu_s,
		.elapsed_time = t->elapsed_s,
		.exit_status = t->exit_status,
		.state = t->state,
		.platform = v == NULL ? t->r.platform : v->platform,
		.version_num = t->r.version_num,
		.app_version_num = t->r.version_num,
		.plan_class = t->r.plan_class };
	message = arena_strdup(&c->a, t->message);
	for (char *end = message; (end = strstr(end, "]]>")) != NULL;)
		end[1] = ' '; /* it would end the section */
	r->stderr_out = arena_printf(&c->a,
	    "<core_client_version>%d.%d.0</core_client_version>\n<![CDATA[\n%s\n]]>\n",
	    VERSION_MAJOR, VERSION_MINOR, message);
	for (size_t i = 0; i < t->r.nrefs; i++) {
		const struct cfile *f = state_file(c->st, t->r.refs[i].file_name);

		if (f->uploaded || f->upload_failed)
			report_file(&files, f);
	}
	r->xml_doc_out = files.p;
}

static void
list_tasks(struct client *c, struct request *rq)
{
	const struct state *st = c->st;

	rq->reports = NEWN(&c->a, struct rq_report, st->ntasks + 1);
	rq->other_results = NEWN(&c->a, struct rq_other, st->ntasks + 1);
	rq->has_other_results = true;
	for (size_t i = 0; i < st->ntasks; i++) {
		const struct ctask *t = &st->tasks[i];
		const struct rp_app_version *v = task_version(st, t);

		if (t->acked)
			continue;
		if (t->ready && !uploads_pending(c, t))
			report_task(c, t, &rq->reports[rq->nreports++]);
		else
			rq->other_results[rq->nother_results++] = (struct rq_other){
				.name = t->r.name,
				.app_version = v == NULL ? -1 :
				                           (int32_t)(v - st->versions),
				.plan_class = t->r.plan_class
			};
	}
}

static void
list_files_and_versions(struct client *c, struct request *rq)
{
	const struct state *st = c->st;

	rq->files = NEWN(&c->a, struct rq_file, st->nfiles + 1);
	for (size_t i = 0; i < st->nfiles; i++) {
		const struct cfile *f = &st->files[i];

		if (f->info.sticky)
			rq->files[rq->nfiles++] = (struct rq_file){
				.name = f->info.name,
				.nbytes = f->info.nbytes,
				.status = f->status == FS_FAILED ? f->error : f->status
			};
	}
	rq->app_versions = NEWN(&c->a, struct rq_app_version, st->nversions + 1);
	for (size_t i = 0; i < st->nversions; i++) {
		const struct rp_app_version *v = &st->versions[i];

		rq->app_versions[rq->napp_versions++] = (struct rq_app_version){
			.app_name = v->app_name,
			.platform = v->platform,
			.plan_class = v->plan_class,
			.version_num = v->version_num,
			.avg_ncpus = v->avg_ncpus,
			.flops = v->flops
		};
	}
}

static struct request *
build(struct client *c, const struct work_ask *ask)
{
	const struct state *st = c->st;
	struct request *rq = NEW(&c->a, struct request);
	struct rq_resource *cpu = NEW(&c->a, struct rq_resource);

	*rq = (struct request){ .authenticator = st->authenticator,
		.hostid = st->hostid,
		.rpc_seqno = st->hostid == 0 ? 0 : st->rpc_seqno,
		.core_client_major_version = VERSION_MAJOR,
		.core_client_minor_version = VERSION_MINOR,
		.version = VERSION_MAJOR * 10000 + VERSION_MINOR * 100,
		.resource_share_fraction = 1,
		.rrs_fraction = 1,
		.prrs_fraction = 1,
		.duration_correction_factor = 1,
		.allow_multiple_clients = 1,
		.client_cap_plan_class = true,
		.client_cap_no_work_deadlines = true,
		.has_cpu_request = true,
		.work_req_seconds = ask->secs[CW_CPU],
		.cpu_req_secs = ask->secs[CW_CPU],
		.cpu_req_instances = ask->inst[CW_CPU],
		.estimated_delay = ask->delay_s[CW_CPU],
		.platform_name = c->platform,
		.platforms = &c->platform,
		.nplatforms = 1,
		.code_sign_key = st->code_sign_key == NULL ||
		                         st->code_sign_key[0] == '\0' ?
		                     NULL :
		                     st->code_sign_key,
		.has_working_prefs = true,
		.cross_project_id = arena_strdup(&c->a, "") };
	rq->prefs.max_ncpus_pct = 100;
	rq->prefs.work_buf_min_days = c->o.min_buffer_s / 86400;
	rq->prefs.disk_min_free_gb = 0.1;
	*cpu = (struct rq_resource){ .type = arena_strdup(&c->a, "CPU"),
		.has_request = true,
		.req_secs = ask->secs[CW_CPU],
		.req_instances = ask->inst[CW_CPU],
		.estimated_delay = ask->delay_s[CW_CPU],
		.count = c->o.ncpus };
	rq->resources = cpu;
	rq->nresources = 1;
	hostinfo(c, rq);
	list_tasks(c, rq);
	list_files_and_versions(c, rq);
	return rq;
}

static void
take_messages(const struct reply *rp)
{
	for (size_t i = 0; i < rp->nmessages; i++)
		log_info("project says: %s", rp->messages[i].text);
	if (rp->no_work_deadlines)
		log_info("no work was sent because of deadlines");
}

enum err
rpc_scheduler(struct client *c, const struct contact *contact)
{
	struct state *st = c->st;
	struct request *rq = build(c, &contact->ask);
	struct buf out = buf_new(&c->a);
	const char *url = st->schedulers[(size_t)st->nrpc_failures % st->nschedulers];
	struct reply *rp;
	char *in;
	size_t n;
	long status;
	enum err e;

	request_render(&out, rq);
	log_info("asking %s: %s; %zu reports, %.0f s wanted", url,
	    contact_words(contact->why), rq->nreports, contact->ask.secs[CW_CPU]);
	st->rpc_seqno++;
	c->changed = true;
	e = net_fetch(c->net, &c->a, url, out.p, out.n, REPLY_MAX, SCHEDULER_S, &status,
	    &in, &n, &c->fail);
	c->now = clock_now(); /* it may have waited for work */
	if (e == OK && (status < 200 || status > 299))
		e = FAIL(&c->fail, E_SYS, "%s: HTTP status %ld", url, status);
	if (e == OK)
		e = reply_parse(&c->a, in, n, &rp, &c->fail);
	if (e != OK) {
		failed(c, c->fail.detail);
		return e;
	}
	take_messages(rp);
	if (rp->project_is_down) {
		failed(c, "the project is down");
		st->min_rpc_time = (int64_t)fmax((double)st->min_rpc_time,
		    (double)c->now + fmin(rp->request_delay, c->o.rpc_backoff.max_s));
		return E_SYS;
	}
	rpc_take_reply(
	    c, rp, &(struct rpc_hope){ contact->ask.secs[CW_CPU] > 0, rq->nreports });
	return OK;
}
