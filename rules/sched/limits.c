/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many jobs a host may get: per request, in progress, and how soon again
 * (scheduling.md 2.8).
 */
#include "rules/sched/limits.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "lib/arena.h"
#include "lib/rng.h"
#include "model/catalog.h"
#include "model/rows.h"
#include "rules/sched/ctx.h"
#include "lib/banned.h"

enum { CONTENDED_S = 10, LEAST = 8, MOST = 64 };

static bool is_contended(const struct contended_set *set, int64_t now)
{
	return set->fileset_id != 0 && now >= set->since &&
	       now - set->since < CONTENDED_S;
}

void contention_lost(struct contention *h, int64_t fileset_id, int64_t now)
{
	struct contended_set *at = &h->sets[0];

	for (size_t i = 0; i < N(h->sets); i++) {
		if (h->sets[i].fileset_id == fileset_id) {
			at = &h->sets[i];
			break;
		}
		if (h->sets[i].since < at->since)
			at = &h->sets[i]; /* the oldest gives way */
	}
	if (at->fileset_id != fileset_id || !is_contended(at, now))
		*at = (struct contended_set){ .fileset_id = fileset_id };
	at->since = now;
	at->losses += at->losses < MOST;
}

bool contention_is(const struct contention *h, int64_t fileset_id, int64_t now)
{
	for (size_t i = 0; i < N(h->sets); i++)
		if (h->sets[i].fileset_id == fileset_id &&
		    is_contended(&h->sets[i], now))
			return true;
	return false;
}

int64_t contention_skip(
    const struct contention *h, int64_t fileset_id, int64_t now, struct rng *rng)
{
	for (size_t i = 0; i < N(h->sets); i++) {
		const struct contended_set *set = &h->sets[i];
		int64_t window = LEAST * (int64_t)set->losses;

		if (set->fileset_id == fileset_id && is_contended(set, now))
			return (int64_t)rng_below(
			    rng, (uint64_t)(window < MOST ? window : MOST));
	}
	return 0;
}

/* The daily quota as one table: what each event does to max_jobs_per_day. */

enum { DAY_S = 86400, SAMPLES = 10 };
static const double UNUSUAL = 1.8; /* times as long for rarer kinds of hosts */

int32_t quota_first(const struct conf *cf)
{
	int64_t quota = cf->daily_result_quota, first = cf->new_host_daily_quota;

	return (int32_t)(first > 0 && first < quota ? first : quota);
}

/* 0: the row is older than the quota, or was reset. */
static int64_t quota_stored(const struct conf *cf, int32_t max_jobs_per_day)
{
	return max_jobs_per_day > 0 ? max_jobs_per_day : cf->daily_result_quota;
}

int32_t quota_after(const struct conf *cf, int32_t max_jobs_per_day, enum quota_event e)
{
	int64_t quota = cf->daily_result_quota, n, to;

	if (quota == 0)
		return max_jobs_per_day;
	n = to = quota_stored(cf, max_jobs_per_day);
	switch (e) {
	case QUOTA_SUCCESS:
		to = n >= quota ? n : 2 * n;
		return (int32_t)(n < quota && to > quota ? quota : to);
	case QUOTA_ERROR:
	case QUOTA_TIMEOUT:
		to = (n < quota ? n : quota) - 1;
		break;
	case QUOTA_VALID:
		to = n < INT32_MAX ? n + 1 : n;
		break;
	case QUOTA_INVALID:
		to = n > quota ? n - 1 : n;
		break;
	case QUOTA_HOPELESS:
		to = 1;
		break;
	}
	return to < 1 ? 1 : (int32_t)to;
}

int32_t quota_room(
    const struct conf *cf, const struct host_app_version *hav, double processors)
{
	double most, today = hav == NULL ? 0 : hav->n_jobs_today;

	if (cf->daily_result_quota == 0)
		return INT32_MAX;
	most = hav == NULL ? quota_first(cf) :
	                     (double)quota_stored(cf, hav->max_jobs_per_day);
	/* one job a day is the penalty of a failing host, and is for the whole host */
	if (most > 1)
		most = floor(most * processors);
	most = (most < 1 ? 1 : most) - today;
	return most <= 0 ? 0 : most > INT32_MAX ? INT32_MAX : (int32_t)most;
}

/* How long before midnight UTC the host's day begins, in s. */
static int64_t quota_day_offset(int64_t hostid)
{
	struct rng r = rng_seed((uint64_t)hostid);

	return (int64_t)rng_below(&r, DAY_S);
}

bool quota_new_day(int64_t hostid, int64_t last_rpc_time, int64_t now)
{
	int64_t offset = quota_day_offset(hostid);

	return (last_rpc_time + offset) / DAY_S != (now + offset) / DAY_S;
}

int64_t quota_next_day(int64_t hostid, int64_t now)
{
	int64_t offset = quota_day_offset(hostid);

	return ((now + offset) / DAY_S + 1) * DAY_S - offset;
}

bool quota_reliable(
    const struct conf *cf, const struct host_app_version *hav, bool usual_host)
{
	double most = (double)cf->reliable_max_avg_turnaround *
	              (usual_host ? 1 : UNUSUAL);

	if (hav == NULL || hav->consecutive_valid < PROVED_IN_A_ROW ||
	    quota_stored(cf, hav->max_jobs_per_day) < cf->daily_result_quota)
		return false;
	return most == 0 || hav->turnaround_n <= SAMPLES || hav->turnaround_avg <= most;
}

/*
 * Apps that use almost no CPU (app.non_cpu_intensive): every host has one job of each
 * of them at a time, whether it asks for work or not, and its other work does not count
 * against it (scheduling.md 2.14).
 */

bool nci_job(const struct ctx *c, const struct job *j)
{
	const struct app *app = catalog_app(c->snap->cat, j->appid);

	return app != NULL && app->non_cpu_intensive != 0;
}

static bool is_reported(const struct request *rq, const char *name)
{
	for (size_t i = 0; i < rq->nreports; i++)
		if (strcmp(rq->reports[i].name, name) == 0)
			return true;
	return false;
}

bool decide_app_on_host(
    const struct request *rq, const struct snapshot *s, int64_t appid)
{
	for (size_t i = 0; i < s->nin_progress; i++)
		if (s->in_progress[i].appid == appid &&
		    !is_reported(rq, s->in_progress[i].name))
			return true;
	for (size_t i = 0; s->others != NULL && i < rq->nother_results; i++)
		if (s->others[i].owner != 0 && s->others[i].appid == appid)
			return true;
	return false;
}

bool nci_taken(const struct ctx *c, int64_t appid)
{
	if (decide_app_on_host(c->req, c->snap, appid))
		return true;
	for (size_t i = 0; i < c->d->nsends; i++)
		if (c->d->sends[i].job->appid == appid)
			return true;
	return false;
}

enum { GPUS_MOST = 64 };

size_t limits_per_rpc(
    const struct conf *cf, const struct request *rq, const struct machine *m)
{
	double processors = cf->non_cpu_intensive ? 1 : m->ncpus;

	if (cf->max_wus_to_send == 0)
		return SIZE_MAX;
	for (size_t r = 1; r < rq->nresources && !cf->non_cpu_intensive; r++)
		processors += cf->gpu_multiplier *
		              fmin(fmax(rq->resources[r].count, 0), GPUS_MOST);
	return (size_t)(processors * (double)cf->max_wus_to_send);
}

double limits_instances(const struct ctx *c, size_t r)
{
	return r == 0 ? c->m.ncpus : fmax(c->req->resources[r].count, 1);
}

/* Resource of jobs of this plan class, SIZE_MAX if unknown. */
static size_t resource_of_class(const struct ctx *c, const char *plan_class)
{
	const struct plan_class *pc = plan_class_named(
	    c->snap->cat->classes, plan_class);

	return pc == NULL ? SIZE_MAX : plan_class_resource(pc, c->req);
}

/*
 * Resource of a task that the client lists: that of its version, else that of its plan
 * class, else the CPU.
 */
static size_t resource_of_other(const struct ctx *c, const struct rq_other *o)
{
	const struct request *rq = c->req;
	size_t r = SIZE_MAX;

	if (o->app_version >= 0 && (size_t)o->app_version < rq->napp_versions)
		r = request_resource(rq, rq->app_versions[o->app_version].coproc_type);
	else if (o->plan_class != NULL)
		r = resource_of_class(c, o->plan_class);
	return r == SIZE_MAX ? 0 : r;
}

/*
 * The same for a result's row: the resource of its version, or of the client's own
 * program.
 */
static size_t resource_of_job(const struct ctx *c, const struct job *j)
{
	const struct catalog *cat = c->snap->cat;
	int64_t id = j->result_app_version_id;
	size_t r = SIZE_MAX;

	for (size_t i = 0; i < cat->nversions && id > 0; i++)
		if (cat->versions[i].id == id)
			r = resource_of_class(c, cat->versions[i].plan_class);
	for (size_t i = 0; i < c->req->nresources && id < 0; i++)
		if (resource_own_program(c->req->resources[i].type) == id)
			r = i;
	return r == SIZE_MAX ? 0 : r;
}

/*
 * App of a task that the client lists: that of its version, else that of its row; NULL
 * if neither is known.
 */
static const struct app *app_of_other(
    const struct ctx *c, const struct rq_other *o, const struct job *row)
{
	const struct request *rq = c->req;
	const char *name = NULL;

	if (o->app_version >= 0 && (size_t)o->app_version < rq->napp_versions)
		name = rq->app_versions[o->app_version].app_name;
	if (name != NULL)
		return catalog_app_named(c->snap->cat, name);
	return row == NULL ? NULL : catalog_app(c->snap->cat, row->appid);
}

static int compare_job_names(const void *a, const void *b)
{
	const struct job *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Sorts the host's rows by name, because a client may list any number of tasks. */
static const struct job **rows_by_name(const struct ctx *c)
{
	const struct job **v = NEWN(
	    c->a, const struct job *, c->snap->nin_progress + 1);

	for (size_t i = 0; i < c->snap->nin_progress; i++)
		v[i] = &c->snap->in_progress[i];
	qsort(v, c->snap->nin_progress, sizeof(*v), compare_job_names);
	return v;
}

/*
 * The client's own list counts, as it does upstream: jobs that never reached the client
 * do not keep new ones away. For a client without a list, the database counts.
 */
void limits_count_in_progress(struct ctx *c)
{
	const struct request *rq = c->req;
	const struct catalog *cat = c->snap->cat;
	const struct job **rows = rows_by_name(c);

	c->in_progress = NEWN(c->a, double, c->work.n);
	c->of_app = NEWN(c->a, double, c->work.n * cat->napps + 1);
	for (size_t i = 0; !rq->has_other_results && i < c->snap->nin_progress; i++) {
		const struct job *j = &c->snap->in_progress[i];

		if (!nci_job(c, j))
			limits_count(
			    c, catalog_app(cat, j->appid), resource_of_job(c, j));
	}
	for (size_t i = 0; i < rq->nother_results; i++) {
		const struct rq_other *o = &rq->other_results[i];
		const struct job wanted = { .name = o->name }, *key = &wanted;
		const struct job *const *found = bsearch(&key, rows,
		    c->snap->nin_progress, sizeof(*rows), compare_job_names);

		const struct job *row = found == NULL ? NULL : *found;

		if (row == NULL || !nci_job(c, row))
			limits_count(
			    c, app_of_other(c, o, row), resource_of_other(c, o));
	}
}

static size_t app_slot(const struct ctx *c, const struct app *app, size_t r)
{
	return (size_t)(app - c->snap->cat->apps) * c->work.n + r;
}

void limits_count(struct ctx *c, const struct app *app, size_t r)
{
	c->in_progress[r]++;
	if (app != NULL)
		c->of_app[app_slot(c, app, r)]++;
}

/* Number of jobs that the limit allows on this resource, INFINITY = no limit. */
static double limit_jobs(const struct ctx *c, const struct job_limit *l, size_t r)
{
	if (!l->set)
		return INFINITY;
	return l->per_proc ? floor(l->jobs * limits_instances(c, r)) : l->jobs;
}

/* Is a limit of the project or of an app reached? n: jobs by resource. */
static bool limit_reached(
    const struct ctx *c, const struct job_limits_of *o, const double *n, size_t r)
{
	double total = 0;

	for (size_t i = 0; i < c->work.n; i++)
		total += n[i];
	return total >= limit_jobs(c, &o->total, r) ||
	       n[r] >= limit_jobs(c, r == 0 ? &o->cpu : &o->gpu, r);
}

enum reason limits_app(const struct ctx *c, const struct app *app, size_t r)
{
	const struct job_limits *l = c->snap->cat->limits;

	for (size_t i = 0; l != NULL && i < l->napps; i++)
		if (strcmp(l->apps[i].app_name, app->name) == 0 &&
		    limit_reached(c, &l->apps[i], &c->of_app[app_slot(c, app, 0)], r))
			return WHY_APP_LIMIT;
	return WHY_NONE;
}

double limits_app_jobs(const struct ctx *c, const struct app *app)
{
	double total = 0;

	for (size_t i = 0; i < c->work.n; i++)
		total += c->of_app[app_slot(c, app, i)];
	return total;
}

double limits_in_progress(const struct ctx *c, size_t r)
{
	const struct job_limits *l = c->snap->cat->limits;
	int64_t each = r == 0 ? c->conf->max_wus_in_progress :
	                        c->conf->max_wus_in_progress_gpu;

	double most = each > 0 ? (double)each * limits_instances(c, r) : INFINITY;

	if (l != NULL)
		most = fmin(most,
		    fmin(limit_jobs(c, &l->project.total, r),
			limit_jobs(c, r == 0 ? &l->project.cpu : &l->project.gpu, r)));
	return most;
}

enum reason limits_resource(const struct ctx *c, size_t r)
{
	const struct job_limits *l = c->snap->cat->limits;

	if (!work_req_wants(&c->work, r))
		return WHY_RSC_NOT_WANTED;
	if (l != NULL && limit_reached(c, &l->project, c->in_progress, r))
		return WHY_IN_PROGRESS_LIMIT;
	return c->in_progress[r] >= limits_in_progress(c, r) ? WHY_IN_PROGRESS_LIMIT :
	                                                       WHY_NONE;
}

/* The account's own limit counts the jobs of all resources together. */
static bool max_jobs_reached(const struct ctx *c)
{
	double n = 0;

	for (size_t r = 0; r < c->work.n; r++)
		n += c->in_progress[r];
	return c->snap->project_prefs.max_jobs > 0 &&
	       n >= c->snap->project_prefs.max_jobs;
}

enum reason limits_more(const struct ctx *c)
{
	enum reason why = WHY_NOT_WANTED;

	if (max_jobs_reached(c))
		return work_req_needed(&c->work) ? WHY_MAX_JOBS : WHY_NOT_WANTED;
	for (size_t r = 0; r < c->work.n; r++) {
		enum reason of_r = c->has_apps[r] ? limits_resource(c, r) :
		                                    WHY_RSC_NOT_WANTED;

		if (of_r == WHY_NONE)
			return c->d->nsends < c->most_sends ? WHY_NONE : WHY_RPC_LIMIT;
		if (of_r == WHY_IN_PROGRESS_LIMIT)
			why = of_r;
	}
	return why;
}

/*
 * Does the client's clock run ahead? It then gives tasks up as not started by their
 * deadline, for which there is time by the clock of this server, and would do the same
 * with all that it gets.
 */
static bool clock_is_ahead(const struct ctx *c)
{
	for (size_t i = 0; i < c->req->nreports; i++) {
		const struct snap_report *r = &c->snap->reports[i];

		if (c->req->reports[i].exit_status == EXIT_UNSTARTED_LATE && r->found &&
		    r->result.hostid == c->snap->host.id &&
		    r->result.report_deadline > c->now)
			return true;
	}
	return false;
}

enum reason limits_gate(struct ctx *c)
{
	int64_t interval = c->conf->min_sendwork_interval;
	int64_t last = c->snap->last_rpc_time;

	if (c->conf->dont_send_jobs || c->req->dont_send_work)
		return WHY_DONT_SEND;
	if (clock_is_ahead(c) && work_req_needed(&c->work))
		return WHY_CLOCK_AHEAD;
	if (interval > 0 && last > 0 && c->now - last < interval &&
	    work_req_needed(&c->work))
		return WHY_RPC_TOO_SOON;
	if (c->snap->account_full && work_req_needed(&c->work))
		return WHY_ACCOUNT_LIMIT;
	return WHY_NONE;
}
