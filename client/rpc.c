/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange with a project: fetching its master page, or sending a request made from
 * the state to one of its schedulers.
 */
#include "client/app.h"
#include "client/client.h"

#include <string.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "model/catalog.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "proto/web.h"
#include "lib/banned.h"

enum {
	REPLY_MAX = 64 << 20,
	PAGE_MAX = 1 << 20,
	MASTER_S = 60,
	SCHEDULER_S = 330,    /* longer than any wait period */
	UPLOAD_REFUSED = -240 /* what stock clients report for it */
};

enum err rpc_fetch_master(
    struct client *c, struct cproject *p, int32_t *nurls, int32_t *nnew)
{
	struct net_answer page;
	char **urls;
	size_t n;
	enum err e = net_fetch(c->net, &c->scratch, p->master_url, NULL, PAGE_MAX,
	    MASTER_S, &page, &c->fail);

	*nurls = *nnew = 0;
	c->now = clock_now();
	if (e != OK)
		return e;
	if (page.status < 200 || page.status > 299)
		return FAIL(
		    &c->fail, E_SYS, "%s: HTTP status %ld", p->master_url, page.status);
	master_parse(&c->scratch, page.text, page.n, &urls, &n);
	if (n == 0)
		return FAIL(&c->fail, E_BADREQ, "%s: no scheduler URL in the page",
		    p->master_url);
	for (size_t i = 0; i < n; i++)
		*nnew += !text_among(urls[i], p->schedulers, p->nschedulers);
	*nurls = (int32_t)n;
	char **kept = NEWN(&c->keep, char *, n + 1);

	for (size_t i = 0; i < n; i++)
		kept[i] = arena_strdup(&c->keep, urls[i]);
	p->schedulers = kept;
	p->nschedulers = n;
	p->rpc.url = (int32_t)rng_below(&c->rng, n);
	c->changed = true;
	same_project_schedulers(c, p);
	return OK;
}

/* Lists an output file in a report as a stock client does (protocol.md 13.5.1). */
static void report_file(struct buf *b, const struct cfile *f)
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

/* The text of a report, with the errors of its uploads as a stock client has them. */
static char *report_text(
    struct client *c, const struct cproject *p, const struct ctask *t)
{
	char *text = arena_strdup(&c->scratch, t->message);

	for (size_t i = 0; i < t->r.nrefs; i++)
		if (state_file(p, t->r.refs[i].file_name)->upload_failed)
			text = arena_printf(&c->scratch,
			    "%s\n<message>\nupload failure: <file_xfer_error>\n"
			    "  <file_name>%s</file_name>\n"
			    "  <error_code>%d</error_code>\n</file_xfer_error>\n</message>",
			    text, t->r.refs[i].file_name, UPLOAD_REFUSED);
	for (char *end = text; (end = strstr(end, "]]>")) != NULL;)
		end[1] = ' '; /* would end the CDATA section */
	return text;
}

static void report_task(struct client *c, const struct cproject *p,
    const struct ctask *t, struct rq_report *r)
{
	const struct rp_app_version *v = task_version(p, t);
	struct buf files = buf_new(&c->scratch);

	*r = (struct rq_report){ .name = t->r.name,
		.cpu_time = t->cpu_s,
		.elapsed_time = t->elapsed_s,
		.exit_status = t->exit_status,
		.state = t->state,
		.platform = v == NULL ? t->r.platform : v->platform,
		.version_num = t->r.version_num,
		.app_version_num = t->r.version_num,
		.plan_class = t->r.plan_class };
	r->stderr_out = arena_printf(&c->scratch,
	    "<core_client_version>%d.%d.0</core_client_version>\n<![CDATA[\n%s\n]]>\n",
	    CLIENT_MAJOR, CLIENT_MINOR, report_text(c, p, t));
	for (size_t i = 0; i < t->r.nrefs; i++) {
		const struct cfile *f = state_file(p, t->r.refs[i].file_name);

		if (f->uploaded || f->upload_failed)
			report_file(&files, f);
	}
	r->xml_doc_out = files.p;
}

/* What another attachment to the project has is not lost. */
static void list_tasks_of_twins(
    struct client *c, const struct cproject *p, struct request *rq)
{
	for (size_t k = 0; k < c->state->nprojects; k++) {
		const struct cproject *q = &c->state->projects[k];

		if (q == p || !same_project(c, p, q))
			continue;
		for (size_t i = 0; i < q->ntasks; i++)
			if (!q->tasks[i].acked)
				rq->other_results[rq->nother_results++] =
				    (struct rq_other){ .name = q->tasks[i].r.name,
					    .app_version = -1,
					    .plan_class = q->tasks[i].r.plan_class };
	}
}

static void list_tasks_in_request(
    struct client *c, const struct cproject *p, struct request *rq)
{
	size_t ntasks = 0;

	for (size_t i = 0; i < c->state->nprojects; i++)
		ntasks += c->state->projects[i].ntasks;
	rq->reports = NEWN(&c->scratch, struct rq_report, p->ntasks + 1);
	rq->other_results = NEWN(&c->scratch, struct rq_other, ntasks + 1);
	rq->has_other_results = true;
	for (size_t i = 0; i < p->ntasks; i++) {
		const struct ctask *t = &p->tasks[i];
		const struct rp_app_version *v = task_version(p, t);

		if (t->acked)
			continue;
		if (t->ready && !transfer_uploads_pending(p, t))
			report_task(c, p, t, &rq->reports[rq->nreports++]);
		else
			rq->other_results[rq->nother_results++] = (struct rq_other){
				.name = t->r.name,
				.app_version = v == NULL ? -1 :
				                           (int32_t)(v - p->versions),
				.plan_class = t->r.plan_class
			};
	}
	list_tasks_of_twins(c, p, rq);
}

static void list_files_and_versions(
    struct client *c, const struct cproject *p, struct request *rq)
{
	rq->files = NEWN(&c->scratch, struct rq_file, p->nfiles + 1);
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct cfile *f = &p->files[i];

		if (file_listed(f))
			rq->files[rq->nfiles++] = (struct rq_file){
				.name = f->info.name,
				.nbytes = f->info.nbytes,
				.status = f->status == FS_FAILED ? f->error : f->status
			};
	}
	rq->app_versions = NEWN(&c->scratch, struct rq_app_version, p->nversions + 1);
	for (size_t i = 0; i < p->nversions; i++) {
		const struct rp_app_version *v = &p->versions[i];

		rq->app_versions[rq->napp_versions++] = (struct rq_app_version){
			.app_name = v->app_name,
			.platform = v->platform,
			.plan_class = v->plan_class,
			.version_num = v->version_num,
			.avg_ncpus = v->avg_ncpus,
			.flops = v->flops,
			.coproc_type = v->coproc_type,
			.coproc_count = v->coproc_count
		};
	}
}

/* Lists the tasks of all projects if any project asks for that; it predicts from them
 * what will be in time. */
static void list_in_progress(struct client *c, const struct client_world *w,
    struct ctask **task, struct request *rq)
{
	if (!c->state->full_workload)
		return;
	rq->has_in_progress = true;
	rq->in_progress = NEWN(&c->scratch, struct rq_in_progress, w->ntasks + 1);
	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];
		struct rq_in_progress *r = &rq->in_progress[rq->nin_progress++];
		const char *type = w->rsc[t->rsc].name;

		*r = (struct rq_in_progress){ .name = task[i]->r.name,
			.report_deadline = t->deadline,
			.time_remaining = t->remaining_s,
			.avg_ncpus = t->ncpus };
		if (strcmp(type, resource_names[RESOURCE_NVIDIA]) == 0)
			r->ncudas = t->use;
		else if (strcmp(type, resource_names[RESOURCE_AMD]) == 0)
			r->natis = t->use;
		else if (strcmp(type, resource_names[RESOURCE_INTEL]) == 0)
			r->nintel_gpus = t->use;
	}
}

static void list_resources(struct client *c, const struct client_world *w,
    const struct work_ask *ask, struct request *rq)
{
	rq->resources = NEWN(&c->scratch, struct rq_resource, w->nrsc);
	rq->nresources = w->nrsc;
	for (size_t r = 0; r < w->nrsc; r++) {
		char *name = arena_strdup(&c->scratch, w->rsc[r].name);

		rq->resources[r] = (struct rq_resource){ .type = name,
			.name = name,
			.has_request = true,
			.req_secs = ask->secs[r],
			.req_instances = ask->inst[r],
			.estimated_delay = ask->delay_s[r],
			.count = w->rsc[r].ninst,
			.peak_flops = w->rsc[r].flops };
	}
}

/* Sets the project's fraction of the shares: of all projects, of those with runnable
 * tasks, of those that are potentially runnable. */
static void set_share_fractions(
    struct client *c, const struct client_world *w, size_t project, struct request *rq)
{
	const struct cw_project *p = &w->projects[project];
	bool *may = NEWN(&c->scratch, bool, w->nprojects), *runs;
	double all = 0, some = 0, able = 0;

	runs = NEWN(&c->scratch, bool, w->nprojects);
	cw_potentially_runnable(w, may);
	for (size_t i = 0; i < w->ntasks; i++)
		runs[w->tasks[i].project] |= cw_runnable(w, &w->tasks[i]);
	for (size_t i = 0; i < w->nprojects; i++) {
		double share = w->projects[i].share;

		all += share;
		some += runs[i] || i == project ? share : 0;
		able += may[i] || i == project ? share : 0;
	}
	rq->resource_share_fraction = all > 0 ? p->share / all : 1;
	rq->rrs_fraction = some > 0 ? p->share / some : 1;
	rq->prrs_fraction = able > 0 ? p->share / able : 1;
}

/* The field of old servers: the largest request of all types ("Work fetch and GPUs").
 * Stock clients copy that for the CPU (protocol.md 1.1). */
static double work_req_seconds(const struct view *v, const struct work_ask *ask)
{
	double most = 0;

	for (size_t r = 0; r < v->world.nrsc; r++)
		most = ask->secs[r] > most ? ask->secs[r] : most;
	return most;
}

struct request *rpc_request(
    struct client *c, const struct view *v, const struct contact *contact)
{
	const struct cproject *p = &c->state->projects[contact->project];
	const struct work_ask *ask = &contact->ask;
	struct request *rq = NEW(&c->scratch, struct request);

	*rq = (struct request){ .authenticator = p->authenticator,
		.hostid = p->hostid,
		.rpc_seqno = p->hostid == 0 ? 0 : p->rpc_seqno,
		.core_client_major_version = CLIENT_MAJOR,
		.core_client_minor_version = CLIENT_MINOR,
		.version = CLIENT_MAJOR * 10000 + CLIENT_MINOR * 100,
		.duration_correction_factor = p->dcf,
		.allow_multiple_clients = 1,
		.dont_send_work = v->world.projects[contact->project].no_new_work,
		.client_cap_plan_class = true,
		.client_cap_no_work_deadlines = true,
		.has_cpu_request = true,
		.work_req_seconds = work_req_seconds(v, ask),
		.cpu_req_secs = ask->secs[CW_CPU],
		.cpu_req_instances = ask->inst[CW_CPU],
		.estimated_delay = ask->delay_s[CW_CPU],
		.platform_name = c->options.platform,
		.platforms = &c->options.platform,
		.nplatforms = 1,
		.code_sign_key = p->code_sign_key == NULL ||
		                         p->code_sign_key[0] == '\0' ?
		                     NULL :
		                     p->code_sign_key,
		.has_working_prefs = true,
		.cross_project_id = arena_strdup(
		    &c->scratch, p->account.cross_project_id) };
	rq->prefs.max_ncpus_pct = 100 * preferences_ncpus(c) / c->options.ncpus;
	rq->prefs.mod_time = c->prefs.mod_time;
	rq->prefs.work_buf_min_days = v->world.prefs.min_s / 86400;
	rq->prefs.disk_max_used_gb = c->host_prefs.disk_max_used_gb;
	rq->prefs.disk_max_used_pct = c->host_prefs.disk_max_used_pct;
	rq->prefs.disk_min_free_gb = c->host_prefs.disk_min_free_gb;
	rq->prefs.ram_max_used_busy_pct = 100 * preferences_ram_part(c, true);
	rq->prefs.ram_max_used_idle_pct = 100 * preferences_ram_part(c, false);
	set_share_fractions(c, &v->world, (size_t)contact->project, rq);
	list_resources(c, &v->world, ask, rq);
	hostinfo_fill(c, p, rq);
	list_tasks_in_request(c, p, rq);
	list_files_and_versions(c, p, rq);
	list_in_progress(c, &v->world, v->task, rq);
	return rq;
}

static enum err exchange_with_scheduler(
    struct client *c, const char *url, const struct buf *out, struct reply **rp)
{
	struct net_answer in;

	TRY(net_fetch(
	    c->net, &c->scratch, url, out, REPLY_MAX, SCHEDULER_S, &in, &c->fail));
	if (in.status < 200 || in.status > 299)
		return FAIL(&c->fail, E_SYS, "%s: HTTP status %ld", url, in.status);
	return reply_parse(&c->scratch, in.text, in.n, rp, &c->fail);
}

/* A lower count than that of another attachment to the project would look like a copied
 * client's. */
static struct cproject *count_with_twins(
    struct client *c, const struct contact *contact)
{
	struct cproject *p = &c->state->projects[contact->project];

	for (size_t i = 0; i < c->state->nprojects; i++) {
		const struct cproject *q = &c->state->projects[i];

		if (q->hostid == p->hostid && q->rpc_seqno > p->rpc_seqno &&
		    same_project(c, p, q))
			p->rpc_seqno = q->rpc_seqno;
	}
	return p;
}

enum err rpc_scheduler(struct client *c, const struct view *v,
    const struct contact *contact, struct answer *answer)
{
	struct cproject *p = count_with_twins(c, contact);
	struct request *rq = rpc_request(c, v, contact);
	size_t first = p->rpc.url < 0 ? 0 : (size_t)p->rpc.url;
	struct buf out = buf_new(&c->scratch);
	enum err e = E_NOTFOUND;

	trickle_fill(c, p, rq, &answer->trickles, &answer->ntrickles);
	request_render(&out, rq);
	p->rpc_seqno++;
	c->changed = true;
	for (size_t i = 0; i < p->nschedulers && e != OK && !proc_stopping; i++) {
		size_t k = (first + i) % p->nschedulers;

		const char *url = p->schedulers[k];

		struct buf b = buf_new(&c->scratch);

		for (size_t r = 1; r < v->world.nrsc; r++)
			buf_printf(&b, ", %.0f s of %s", contact->ask.secs[r],
			    v->world.rsc[r].name);
		log_info("asking %s: %s; %zu reports, %.0f s wanted%s", url,
		    contact_words(contact->why), rq->nreports,
		    contact->ask.secs[CW_CPU], b.n == 0 ? "" : b.p);
		e = exchange_with_scheduler(c, p->schedulers[k], &out, &answer->rp);
		if (e == OK)
			p->rpc.url = (int32_t)k;
		else if (i + 1 < p->nschedulers)
			log_fail("trying the next scheduler", &c->fail);
	}
	c->now = clock_now(); /* the scheduler may have waited for work */
	answer->nreports = rq->nreports;
	return e;
}
