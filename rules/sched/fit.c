/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a job fit this account and this host? The checks of scheduling.md 2.6, in that
 * order.
 */
#include "rules/sched/fit.h"

#include <math.h>
#include "model/catalog.h"
#include "model/rows.h"
#include "rules/sched/ctx.h"
#include "rules/sched/host.h"
#include "rules/sched/limits.h"
#include "lib/banned.h"

/* Whose results count without comparison? */

int32_t trust_results(const struct app *app, const struct job *j)
{
	return app->target_nresults < j->max_success_results ? app->target_nresults :
	                                                       j->max_success_results;
}

enum replication trust_replication(const struct app *app, const struct job *j,
    const struct host_app_version *hav, struct rng *rng)
{
	if (j->target_nresults != 1 || trust_results(app, j) <= 1 ||
	    (j->transitioner_flags & (WU_TARGETED | WU_BROADCAST)) != 0)
		return REPLICATION_FIXED;
	if (hav == NULL || hav->consecutive_valid < PROVED_IN_A_ROW)
		return REPLICATION_UNTRUSTED;
	return rng_unit(rng) > 1.0 / hav->consecutive_valid ? REPLICATION_ALONE :
	                                                      REPLICATION_SPOT_CHECK;
}

/*
 * Tasks that belong to another host row of the same account (protocol.md 3.5): a client
 * that was restored or copied gets a row of its own, a merged host another one, and its
 * tasks in progress move there.
 *
 * When a copy first shows up, nobody knows whether its original still runs, so the
 * tasks that the copy lists become the copy's. The original's next request proves that
 * it runs; then the older row gets the tasks that both list, and the copy has to abort
 * them. So two copies compute a task until each has made one more request, and a task
 * is aborted only where another client, which has made a request meanwhile, continues
 * it.
 */

bool owner_is_us(const struct ctx *c, int64_t owner, int64_t owner_seen)
{
	const struct host *h = &c->snap->host;

	if (owner_seen == 0 || c->snap->host_id_changed)
		return true;
	return h->id < owner || owner_seen <= h->create_time;
}

void owner_moves(struct ctx *c)
{
	const struct snapshot *s = c->snap;

	for (size_t i = s->nin_progress - s->ninherited; i < s->nin_progress; i++)
		PUSH(c->a, c->d->moves, c->d->nmoves, c->moves_cap) = (struct dec_move){
			s->in_progress[i].id, s->predecessor
		};
	for (size_t i = 0; s->others != NULL && i < c->req->nother_results; i++) {
		const struct snap_other *o = &s->others[i];

		if (o->found && o->owner != 0 &&
		    o->server_state == RESULT_IN_PROGRESS &&
		    owner_is_us(c, o->owner, o->owner_seen))
			PUSH(c->a, c->d->moves, c->d->nmoves,
			    c->moves_cap) = (struct dec_move){ o->result_id, o->owner };
	}
}

static bool in_this_reply(const struct ctx *c, int64_t workunitid)
{
	for (size_t i = 0; i < c->d->nsends; i++)
		if (c->d->sends[i].job->workunitid == workunitid)
			return true;
	return false;
}

/* Is the job only for certain hosts, targeted or broadcast? */
static bool fit_aimed(const struct job *j)
{
	return (j->transitioner_flags & (WU_TARGETED | WU_BROADCAST)) != 0;
}

/* The once rules: once per account implies once per host (scheduling.md 5.2). */
static enum reason fit_once(const struct ctx *c, const struct job *j)
{
	bool user = c->conf->one_result_per_user_per_wu;

	if (fit_aimed(j)) /* the host's results of these were not read */
		return in_this_reply(c, j->workunitid) ? WHY_HOST_ONCE : WHY_NONE;
	if (!user && !c->conf->one_result_per_host_per_wu)
		return WHY_NONE;
	if (!ids_has(&c->user_wus, j->workunitid) && !in_this_reply(c, j->workunitid))
		return WHY_NONE;
	return user ? WHY_USER_ONCE : WHY_HOST_ONCE;
}

/* The host's class for the app; 0 = unknown, -1 = the app does not use classes. */
static int32_t fit_hr_class(const struct ctx *c, const struct app *app)
{
	const struct rq_host *r = &c->req->host;
	const struct host *h = &c->snap->host;
	enum hr_type type = hr_type_of(c->conf, app);

	if (type == HR_NONE)
		return -1;
	return r->present ? hr_class_of(type, r->os_name, r->p_vendor, r->p_model) :
	                    hr_class_of(type, h->os_name, h->p_vendor, h->p_model);
}

static enum reason fit_homogeneous(const struct ctx *c, const struct job *j)
{
	const struct app *app = catalog_app(c->snap->cat, j->appid);
	/* a broadcast is for all hosts */
	bool free = (j->transitioner_flags & WU_BROADCAST) != 0;
	int32_t ours = app == NULL || free ? -1 : fit_hr_class(c, app);

	if (ours < 0)
		return WHY_NONE;
	if (ours == 0)
		return WHY_HR_UNKNOWN;
	return j->hr_class == 0 || j->hr_class == ours ? WHY_NONE : WHY_HR_CLASS;
}

enum reason fit_workunit(const struct ctx *c, const struct job *j, bool resend)
{
	if (ids_has(&c->lost, j->id))
		return WHY_LOST_RACE;
	if (j->error_mask != 0)
		return WHY_WU_ERROR;
	if (j->canonical_resultid != 0 || j->assimilate_state != ASSIMILATE_INIT)
		return WHY_WU_DONE;
	if (fit_homogeneous(c, j) != WHY_NONE)
		return fit_homogeneous(c, j);
	if (!resend && nci_job(c, j) && nci_taken(c, j->appid))
		return WHY_APP_ONCE;
	/* The database has lost that it was sent (a restored backup). */
	if (!resend && names_has(c->listed, j->name))
		return WHY_HOST_ONCE;
	return resend ? WHY_NONE : fit_once(c, j);
}

/* Keeps the smallest shortage, for the message. */
static void note_lack(double *least, double extra)
{
	if (*least == 0 || extra < *least)
		*least = extra;
}

/*
 * A job is charged its bound, less what the host has of its large files (locality.md
 * 1.5 (13)), plus the space of files that would otherwise be deleted.
 */
static double disk_charge(
    const struct ctx *c, const struct job *j, const struct snap_file *f)
{
	double present = 0;

	if (f != NULL)
		present = (double)(f->bytes -
				   larges_missing(&c->larges, f->fileset_id));
	return fmax(j->rsc_disk_bound - present, 0) +
	       larges_freed(&c->larges, j->fileset_id);
}

/*
 * Returns the shorter delay bound of an urgent job, which is at least twice its
 * estimated runtime (scheduling.md 2.6).
 */
static int64_t hurried_bound(const struct ctx *c, const struct job *j, double runtime_s)
{
	double full = (double)j->delay_bound,
	       factor = c->conf->reliable_reduced_delay_bound;

	if (!version_hurry(c->conf, j) || factor <= 0.01)
		return j->delay_bound;
	return (int64_t)fmin(full, fmax(full * factor, 2 * runtime_s));
}

/*
 * Sets the deadline as sent, an absolute time. A new job must end within its delay
 * bound. A lost job keeps its deadline if it can meet it, else gets the later one of
 * protocol.md 3.6; a job past its deadline is not resent.
 */
static enum reason fit_deadline(struct ctx *c, const struct job *j,
    const struct pick *p, double runtime_s, bool resend, int64_t *at)
{
	const struct conf *cf = c->conf;
	int64_t grace_s = cf->report_grace_period +
	                  (int64_t)(cf->grace_period_hours * 3600);
	int64_t old = j->report_deadline - grace_s, later = c->now + j->delay_bound;

	*at = c->now + hurried_bound(c, j, runtime_s);
	if (!resend && *at < later && workload_meets(c, p, runtime_s, *at))
		return WHY_NONE;
	*at = later;
	if (!resend)
		return workload_meets(c, p, runtime_s, later) ? WHY_NONE : WHY_DEADLINE;
	if (old < c->now)
		return WHY_DEADLINE;
	*at = old;
	if (workload_meets(c, p, runtime_s, old))
		return WHY_NONE;
	if (c->now + (old - j->sent_time) / 2 > old)
		old = c->now + (old - j->sent_time) / 2;
	*at = later < old ? later : old;
	return workload_meets(c, p, runtime_s, *at) ? WHY_NONE : WHY_DEADLINE;
}

enum reason fit_host(struct ctx *c, const struct job *j, const struct pick *p,
    const struct snap_file *file, bool resend, struct fitting *f)
{
	double bw = j->rsc_bandwidth_bound, memory = version_memory(j, p);
	double available = p->resource == 0 ? c->m.availability :
	                                      c->m.coproc_availability;
	enum reason why;

	f->runtime_s = estimate_runtime_s(j->rsc_fpops_est, p->speed.flops, available);
	f->disk = disk_charge(c, j, file);
	if (memory > c->m.usable_ram) {
		note_lack(&c->lack_ram, memory - c->m.usable_ram);
		return WHY_MEM;
	}
	if (f->disk > 0 && f->disk > c->disk) {
		note_lack(&c->lack_disk, f->disk - c->disk);
		return WHY_DISK;
	}
	if (bw > 0 && c->m.bwdown > 0 && bw > c->m.bwdown) {
		note_lack(&c->need_bw, bw);
		return WHY_BANDWIDTH;
	}
	why = fit_deadline(c, j, p, f->runtime_s, resend, &f->deadline);
	if (why == WHY_DEADLINE)
		c->late_availability = available;
	return why;
}

/* Tries one candidate: sends it if every rule allows it, else records why not. */

/*
 * The key of the once rule. A job for certain hosts only goes to each of them once
 * (scheduling.md 2.14).
 */
static int64_t once_key(const struct ctx *c, const struct job *j)
{
	bool broadcast = (j->transitioner_flags & WU_BROADCAST) != 0;

	if (c->conf->one_result_per_user_per_wu && !broadcast)
		return c->snap->user.id;
	return c->conf->one_result_per_host_per_wu || fit_aimed(j) ? -c->snap->host.id :
	                                                             0;
}

/*
 * Decides whether the job's workunit gets more results because of the host that gets
 * this one.
 */
static void set_replication(struct ctx *c, struct dec_send *s)
{
	const struct host_app_version *hav = estimate_find(c->snap->havs,
	    c->snap->nhavs, resource_statistics_id(s->app->id, s->app_version_id));

	s->replication = trust_replication(s->app, s->job, hav, c->rng);
	if (s->replication == REPLICATION_FIXED)
		return;
	s->consecutive_valid = hav == NULL ? 0 : hav->consecutive_valid;
	if (s->replication != REPLICATION_ALONE)
		s->raise_to = trust_results(s->app, s->job);
}

/* Adds the job to the reply, and charges everything that it uses. */
static void add_send(struct ctx *c, enum send_how how, const struct job *j,
    const struct pick *p, const struct fitting *f, const struct snap_file *file)
{
	struct decision *d = c->d;
	int64_t needed = larges_missing(&c->larges, j->fileset_id);
	struct dec_send s = {
		.how = how, .job = j, .app = p->app, .version = p->version
	};

	s.client_version = p->client_version;
	s.app_version_id = p->app_version_id;
	s.resource = p->resource;
	s.usage = p->usage;
	s.avg_ncpus = p->use.avg_ncpus;
	s.gpu_ram_bytes = p->use.gpu_ram_bytes;
	s.cmdline = p->use.cmdline;
	s.memory_bound = version_memory(j, p);
	s.projected_flops = p->speed.flops;
	s.speed_source = p->speed.source;
	s.peak_flops = p->peak_flops;
	s.runtime_s = f->runtime_s;
	s.deadline = f->deadline;
	s.bytes_needed = needed;
	s.bytes_saved = file == NULL ? 0 : file->bytes - needed;
	s.once = once_key(c, j);
	s.expect_in_progress = how == SEND_LOST;
	if (!s.expect_in_progress && (j->transitioner_flags & WU_BROADCAST) == 0) {
		int32_t class = fit_hr_class(c, p->app);

		s.bind_hr_class = class > 0 ? class : 0;
		s.bind_version_id = p->app->homogeneous_app_version ?
		                        p->app_version_id :
		                        0;
	}
	if (!s.expect_in_progress)
		set_replication(c, &s);
	PUSH(c->a, d->sends, d->nsends, c->sends_cap) = s;
	larges_bring(&c->larges, j->fileset_id);
	larges_stay(&c->larges, j->fileset_id);
	c->disk -= f->disk;
	if (p->app->non_cpu_intensive)
		return;
	work_req_take(&c->work, p->resource, f->runtime_s, p->usage);
	limits_count(c, p->app, p->resource);
	workload_add(c, p->resource, f->runtime_s, p->usage, f->deadline);
}

/*
 * Takes the best version with which the host can do the job. Memory and deadline depend
 * on the version and its resource, so the choice is made again for each ("Work fetch
 * and GPUs"). If no version will do, the reason is that of the best one.
 */
static enum reason fit_any(struct ctx *c, const struct job *j, const struct choice *q,
    const struct snap_file *file, struct pick *p, struct fitting *f)
{
	enum reason best = WHY_NONE;

	for (size_t i = 0; i < q->npicks; i++) {
		enum reason why;

		*p = q->picks[i];
		if (i > 0 && !version_still(c, q, p))
			continue;
		why = fit_host(c, j, p, file, q->resend, f);
		if (why == WHY_NONE)
			return WHY_NONE;
		if (i == 0)
			best = why;
		if (why != WHY_MEM && why != WHY_DEADLINE)
			break;
	}
	return best;
}

enum reason candidate_try(
    struct ctx *c, enum send_how how, const struct job *j, const struct snap_file *file)
{
	bool resend = how == SEND_LOST;
	struct pick p = { 0 };
	struct fitting f = { 0 };
	enum reason why = fit_workunit(c, j, resend);

	bool of_job = why != WHY_NONE;

	if (why == WHY_NONE) {
		struct choice q = version_choose(c, j, resend);

		why = q.why;
		of_job = why == WHY_NONE || version_of_job(&q);
		if (why == WHY_NONE)
			why = fit_any(c, j, &q, file, &p, &f);
	}
	if (why == WHY_NONE) {
		add_send(c, how, j, &p, &f, file);
		return WHY_NONE;
	}
	if (!resend && !fit_aimed(j))
		search_note(c, j, why, of_job);
	decision_skip(c, j, why);
	return why;
}
