/* SPDX-License-Identifier: Apache-2.0 */
/* The host as its rules see it: made from the state and stored back. */
#include "client/client.h"

#include <math.h>
#include "lib/banned.h"

/* A longer gap means that the machine slept. */
static const double GAP_S = 600, AVAIL_LEAST = 0.01;

/* --- tasks --- */

/* A coprocessor task uses at least a hundredth of an instance, and no task more than
 * the host has. */
static void view_task_use(
    const struct client *c, const struct rp_app_version *v, struct cw_task *t)
{
	t->ncpus = fmin(fmax(v->avg_ncpus, 0.01), preferences_ncpus(c));
	t->use = t->ncpus;
	if (t->rsc != CW_CPU)
		t->use = fmin(
		    fmax(v->coproc_count, 0.01), c->options.coproc[t->rsc - 1].count);
}

/* May the task not run, as its user wishes? */
static bool hinders_task(
    const struct client *c, const struct rp_app_version *v, const struct ctask *t)
{
	return t->suspended || orders_name(c, "suspend", t->r.name) ||
	       (version_resource(c, v) > CW_CPU ? c->hindered.gpu : c->hindered.run) !=
	           HINDER_NOTHING;
}

static struct cw_task view_task(
    struct client *c, const struct cproject *p, const struct ctask *t)
{
	const struct rp_app_version *v = task_version(p, t);
	const char *name = NULL;
	double ran = task_ran_s(c, t);
	int32_t error;
	struct cw_task x = { .project = (int32_t)(p - c->state->projects),
		.rsc = version_resource(c, v),
		.remaining_s = task_remaining_s(c, p, t),
		.deadline = t->r.report_deadline,
		.received_at = (double)t->received_at,
		.rss_bytes = state_workunit(p, t->r.wu_name)->rsc_memory_bound,
		.suspended = hinders_task(c, v, t) || t->again_at > c->now,
		.downloading = !task_files_ready(p, t, &error, &name),
		.running = t->pid != 0 && !t->paused,
		.started = t->started_at != 0,
		.in_memory = t->pid != 0 && t->paused,
		.device = t->device,
		.run_since = (double)t->run_since,
		.checkpointed_at = (double)t->checkpointed_at,
		.since_checkpoint_s = t->checkpointed_at == 0 ? ran : ran - t->saved_s,
		.endangered_at = t->endangered_at };

	/* A task that uses a coprocessor counts even if it hardly needs the CPU. */
	x.nci = x.rsc == CW_CPU && task_app(p, t)->non_cpu_intensive;
	view_task_use(c, v, &x);
	return x;
}

/* Lists the tasks that are not finished and that this host can run. */
static void view_tasks(struct client *c, struct view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < c->state->nprojects; i++)
		n += c->state->projects[i].ntasks;
	v->world.tasks = NEWN(&c->scratch, struct cw_task, n + 1);
	v->task = NEWN(&c->scratch, struct ctask *, n + 1);
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++) {
			struct ctask *t = &p->tasks[k];

			if (t->ready || t->acked ||
			    version_resource(c, task_version(p, t)) < 0)
				continue;
			v->task[v->world.ntasks] = t;
			v->world.tasks[v->world.ntasks++] = view_task(c, p, t);
		}
	}
}

static double arrival_time(const struct client_world *w, const uint32_t *at, size_t i)
{
	return w->tasks[at[i]].received_at;
}

/* Merges the tasks of all projects in order of arrival; each project's are in that
 * order already. */
static void sort_by_arrival(struct client *c, struct view *v)
{
	struct client_world *w = &v->world;
	struct cw_task *tasks = NEWN(&c->scratch, struct cw_task, w->ntasks + 1);
	struct ctask **task = NEWN(&c->scratch, struct ctask *, w->ntasks + 1);
	uint32_t *next = NEWN(&c->scratch, uint32_t, w->nprojects + 1);
	uint32_t *end = NEWN(&c->scratch, uint32_t, w->nprojects + 1);

	for (uint32_t i = 0; i < w->ntasks; i++)
		end[w->tasks[i].project] = i + 1;
	for (uint32_t i = (uint32_t)w->ntasks; i-- > 0;)
		next[w->tasks[i].project] = i;
	for (size_t n = 0; n < w->ntasks; n++) {
		size_t best = w->nprojects;

		for (size_t i = 0; i < w->nprojects; i++)
			if (next[i] < end[i] &&
			    (best == w->nprojects ||
				arrival_time(w, next, i) < arrival_time(w, next, best)))
				best = i;
		tasks[n] = w->tasks[next[best]];
		tasks[n].id = (uint32_t)n;
		task[n] = v->task[next[best]++];
	}
	w->tasks = tasks;
	v->task = task;
}

/* --- projects --- */

static struct cw_rpc project_rpc(
    const struct client *c, const struct cproject *p, const struct traffic *traffic)
{
	struct cw_rpc rpc = p->rpc;

	rpc.never_contacted = p->hostid == 0;
	rpc.master_pending |= p->nschedulers == 0;
	rpc.nurls = (int32_t)p->nschedulers;
	rpc.uploading = traffic->nfresh > 0;
	rpc.nuploads = traffic->nuploads;
	rpc.nready = 0;
	rpc.report_now = false;
	for (size_t i = 0; i < p->ntasks; i++) {
		const struct ctask *t = &p->tasks[i];

		if (t->ready && !t->acked && !transfer_uploads_pending(p, t))
			contact_ready(&rpc, (double)t->ready_at, t->r.report_deadline,
			    t->r.report_immediately);
	}
	/* Messages go as soon as no back-off forbids it. */
	if (p->ntrickles > 0)
		rpc.next_rpc_time = fmin(
		    rpc.next_rpc_time > 0 ? rpc.next_rpc_time : INFINITY,
		    (double)c->now);
	return rpc;
}

/* The project's stored facts, without those that depend on its tasks and files. */
static struct cw_project view_project_stored(
    struct client *c, struct cproject *p, const struct client_world *w)
{
	struct cw_project x = { .name = p->master_url,
		.share = p->share,
		.attached_at = p->attached_at,
		.nci = p->nci,
		.dcf = p->no_dcf ? 1 : p->dcf,
		.acct = p->acct,
		.rpc = p->rpc };

	for (size_t r = 0; r < w->nrsc; r++) {
		const struct standing *s = state_standing(&c->keep, p, w->rsc[r].name);

		x.rsc[r] = (struct cw_rsc_state){ .backoff_s = s->backoff_s,
			.backoff_until = s->backoff_until,
			.no_apps = s->no_apps,
			.excluded = s->refused ||
			            (r > CW_CPU && c->hindered.gpu != HINDER_NOTHING) };
		x.correction[r] = estimates_correction(c, p, (int32_t)r);
		x.acct.std[r] = s->std;
		x.acct.ltd[r] = s->ltd;
		x.acct.gave[r] = s->gave;
	}
	return x;
}

static struct cw_project view_project(
    struct client *c, struct cproject *p, const struct client_world *w)
{
	struct traffic traffic = transfer_traffic(c, p);
	struct cw_project x = view_project_stored(c, p, w);

	x.suspended = p->suspended || orders_all(c, "suspend") ||
	              orders_name(c, "suspend", p->master_url);
	/* A host that may not compute needs no work, but reports what it has. */
	x.no_new_work = p->no_new_work || c->disk_full ||
	                (p->same_as != NULL && p->same_as[0] != '\0') ||
	                orders_all(c, "no-new-work") ||
	                orders_name(c, "no-new-work", p->master_url);
	x.suspended_task = c->hindered.run != HINDER_NOTHING;
	x.stalled_download = traffic.nstalled > 0;
	x.rpc = project_rpc(c, p, &traffic);
	for (size_t i = 0; i < p->ntasks; i++)
		x.suspended_task |= !p->tasks[i].ready &&
		                    (p->tasks[i].suspended ||
					orders_name(c, "suspend", p->tasks[i].r.name));
	return x;
}

void view_store(struct client *c, const struct client_world *w)
{
	c->state->accounted_at = w->accounted_at;
	c->state->asked_at = w->asked_at;
	c->state->scheduled_at = w->scheduled_at;
	c->state->in_session = w->in_session;
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *x = &w->projects[i];
		struct cproject *p = &c->state->projects[i];

		p->rpc = x->rpc;
		p->acct = x->acct;
		for (size_t r = 0; r < w->nrsc; r++) {
			struct standing *s = state_standing(
			    &c->keep, p, w->rsc[r].name);

			s->backoff_s = x->rsc[r].backoff_s;
			s->backoff_until = x->rsc[r].backoff_until;
			s->no_apps = x->rsc[r].no_apps;
			s->std = x->acct.std[r];
			s->ltd = x->acct.ltd[r];
			s->gave = x->acct.gave[r];
		}
	}
}

/* --- all --- */

static void load_projects(struct client *c, struct view *v,
    struct cw_project (*project)(
	struct client *, struct cproject *, const struct client_world *))
{
	struct client_world *w = &v->world;

	*v = (struct view){ .world = { .now = (double)c->now,
				.prefs = preferences_now(c),
				.accounted_at = c->state->accounted_at > 0 ?
		                                    c->state->accounted_at :
		                                    (double)c->now,
				.asked_at = c->state->asked_at,
				.scheduled_at = c->state->scheduled_at,
				.in_session = c->state->in_session } };
	struct cw_fractions f = availability_now(c);

	w->rsc[CW_CPU] = (struct cw_resource){ "CPU", preferences_ncpus(c),
		fmax(c->state->p_fpops, 1), fmax(f.on * f.active, AVAIL_LEAST) };
	w->nrsc = 1;
	for (size_t i = 0; i < c->options.ncoprocs; i++)
		w->rsc[w->nrsc++] = (struct cw_resource){ c->options.coproc[i].name,
			c->options.coproc[i].count, c->options.coproc[i].flops,
			fmax(f.on * f.gpu_active, AVAIL_LEAST) };
	w->nprojects = c->state->nprojects;
	w->projects = NEWN(&c->scratch, struct cw_project, w->nprojects + 1);
	for (size_t i = 0; i < w->nprojects; i++)
		w->projects[i] = project(c, &c->state->projects[i], w);
}

void view_load(struct client *c, struct view *v)
{
	struct client_world *w = &v->world;

	load_projects(c, v, view_project);
	view_tasks(c, v);
	sort_by_arrival(c, v);
	double dt = w->now - w->accounted_at;

	if (dt > 0 && dt <= GAP_S)
		cw_accrue(w, dt);
	c->options.policy->account(w, c->options.policy);
	for (size_t i = 0; i < w->ntasks; i++)
		c->accounts_changed |= w->tasks[i].running;
	view_store(c, w);
	rr_simulate(w, &c->scratch, &v->rr);
}

/* --- a project's standing with its resources, updated when tasks end --- */

/* Loads the projects only: the standing does not depend on tasks. */
void standing_task_ended(
    struct client *c, struct cproject *p, const struct ctask *t, bool well)
{
	const struct rp_app_version *version = task_version(p, t);
	struct cw_task x = { .project = (int32_t)(p - c->state->projects),
		.rsc = version_resource(c, version),
		.run_since = (double)t->run_since };
	struct view v;

	/* The projects' stored facts only, whatever the number of tasks. */
	load_projects(c, &v, view_project_stored);
	if (!well) {
		contact_task_failed(
		    &v.world, c->options.policy, (size_t)x.project, &c->rng);
	} else if (x.rsc >= 0) {
		view_task_use(c, version, &x);
		contact_task_done(&v.world, &x);
	}
	view_store(c, &v.world);
	c->changed = true;
}
