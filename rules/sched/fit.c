/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a job fit this account and this host? The checks of scheduling.md 2.6, in that
 * order.
 */
#include "rules/sched/ctx.h"

#include <math.h>
#include "model/states.h"
#include "rules/sched/hr.h"
#include "lib/banned.h"

int64_t
fit_grace_s(const struct conf *cf)
{
	return cf->report_grace_period + (int64_t)(cf->grace_period_hours * 3600);
}

static bool
in_this_reply(const struct ctx *c, int64_t workunitid)
{
	for (size_t i = 0; i < c->d->nsends; i++)
		if (c->d->sends[i].job->workunitid == workunitid)
			return true;
	return false;
}

bool
fit_aimed(const struct job *j)
{
	return (j->transitioner_flags & (WU_TARGETED | WU_BROADCAST)) != 0;
}

/* The once rules: once per account implies once per host (scheduling.md 5.2). */
static enum reason
fit_once(const struct ctx *c, const struct job *j)
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

int32_t
fit_hr_class(const struct ctx *c, const struct app *app)
{
	const struct rq_host *r = &c->req->host;
	const struct host *h = &c->snap->host;
	enum hr_type type = hr_type_of(c->conf, app);

	if (type == HR_NONE)
		return -1;
	return r->present ? hr_class_of(type, r->os_name, r->p_vendor, r->p_model) :
	                    hr_class_of(type, h->os_name, h->p_vendor, h->p_model);
}

static enum reason
fit_homogeneous(const struct ctx *c, const struct job *j)
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

enum reason
fit_workunit(const struct ctx *c, const struct job *j, bool resend)
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
static void
note_lack(double *least, double extra)
{
	if (*least == 0 || extra < *least)
		*least = extra;
}

/*
 * A job is charged its bound, less what the host has of its large files (locality.md
 * 1.5 (13)), plus the space of files that would otherwise be deleted.
 */
static double
disk_charge(const struct ctx *c, const struct job *j, const struct snap_file *f)
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
static int64_t
hurried_bound(const struct ctx *c, const struct job *j, double runtime_s)
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
static enum reason
fit_deadline(struct ctx *c, const struct job *j, const struct pick *p, double runtime_s,
    bool resend, int64_t *at)
{
	int64_t old = j->report_deadline - fit_grace_s(c->conf),
		later = c->now + j->delay_bound;

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

enum reason
fit_host(struct ctx *c, const struct job *j, const struct pick *p,
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
