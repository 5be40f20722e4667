/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of an app a host gets: the fastest usable version for its platforms, in
 * order (scheduling.md 2.11), or the client's own on the anonymous platform.
 */
#include "rules/sched/version.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "lib/arena.h"
#include "lib/clamp.h"
#include "model/catalog.h"
#include "rules/sched/ctx.h"
#include "rules/sched/host.h"
#include "rules/sched/limits.h"
#include "rules/sched/plan_class.h"
#include "lib/banned.h"

const struct answer answers[] = {
#define ANSWER(why, notice, delay_s) { WHY_##why, notice, delay_s },
#include "rules/sched/answers.def"
#undef ANSWER
};
const size_t nanswers = N(answers);

size_t answers_rank(enum reason why)
{
	size_t i = 0;

	while (i < nanswers && answers[i].why != why)
		i++;
	return i;
}

const struct answer *answers_of(enum reason why)
{
	size_t i = answers_rank(why);

	assert(i < nanswers);
	return &answers[i];
}

/*
 * The host as numbers, and runtimes derived from them. Values from clients are bounded
 * here, so that none of them makes an estimate infinite, zero or negative.
 */

static const double GIB = 1073741824.0;
static const double RAM_UNKNOWN = 64e6;    /* bytes, scheduling.md 2.2 */
static const double FPOPS_UNKNOWN = 3.3e9; /* if there are too few hosts for a median */
static const double FPOPS_MOST = 1e11;     /* of one CPU core: no benchmark is higher */
static const double FPOPS_ABOVE_MOST = 1.1; /* times the speed of the 95th percentile */
static const double FPOPS_EST_UNKNOWN = 1e12;
static const double STATISTICS_MOST = 250; /* times the projected speed */
static const double COPROC_CPUS = 10;
enum { SAMPLES_HOST = 10, SAMPLES_VERSION = 100, NCPUS_MOST = 4096 };
enum { ON_FRAC_ALONE_VERSION = 41900 }; /* up to it, active_frac does not count */

static int32_t usable_cpus(
    const struct conf *cf, const struct rq_prefs *p, int32_t most, int32_t p_ncpus)
{
	double n = p_ncpus, pct = p->max_ncpus_pct;

	if (pct > 0 && pct < 100)
		n = floor(n * pct / 100);
	if (n > (double)cf->max_ncpus)
		n = (double)cf->max_ncpus;
	if (most > 0 && n > most)
		n = most;
	return (int32_t)clamp(n, 1, NCPUS_MOST);
}

static double usable_ram(const struct rq_prefs *p, double m_nbytes)
{
	double ram = m_nbytes > 0 ? m_nbytes : RAM_UNKNOWN, frac = 1;

	if (p->ram_max_used_busy_pct > 0 && p->ram_max_used_idle_pct > 0)
		frac = fmax(p->ram_max_used_busy_pct, p->ram_max_used_idle_pct) / 100;
	return ram * clamp(frac, 0, 1);
}

/* The tightest of three limits (scheduling.md 2.6, disk). */
static double disk_left(const struct conf *cf, const struct rq_prefs *p, double total,
    double free_bytes, double used)
{
	double keep = fmax(p->disk_min_free_gb, cf->default_disk_min_free_gb) * GIB;
	double left = free_bytes - keep;

	if (p->disk_max_used_pct > 0)
		left = fmin(left, total * p->disk_max_used_pct / 100 - used);
	if (p->disk_max_used_gb > 0)
		left = fmin(left, p->disk_max_used_gb * GIB - used);
	return left;
}

/* The oldest clients' on_frac already includes activity (protocol.md 1.5). */
static double active_part(const struct request *rq, double on_frac, double active_frac)
{
	bool old = rq->version > 0 && rq->version <= ON_FRAC_ALONE_VERSION;

	return old && on_frac > 0 ? 1 : active_frac;
}

/*
 * A running client has been on and active for some time, so two zeros mean that it did
 * not report them.
 */
static double availability(double on_frac, double active_frac)
{
	if (on_frac <= 0 && active_frac <= 0)
		return 1;
	return clamp(on_frac * active_frac, 0.1, 1);
}

const struct rq_prefs *prefs_in_force(
    const struct request *rq, const struct snapshot *s)
{
	if (rq->has_working_prefs)
		return &rq->prefs;
	return s->master_prefs.mod_time > s->account_prefs.mod_time ? &s->master_prefs :
	                                                              &s->account_prefs;
}

/* Clients before 6.13 measure activity of the CPU only. */
static double coproc_availability(
    double on_frac, double active_frac, double gpu_active_frac)
{
	return availability(
	    on_frac, gpu_active_frac > 0 ? gpu_active_frac : active_frac);
}

/* A benchmark that hardly any other host reaches is not credible. */
static double plausible_fpops(const struct catalog *cat, double said)
{
	double usual = cat->fpops_median > 0 ? cat->fpops_median : FPOPS_UNKNOWN;
	double most = cat->fpops_p95 > 0 ? FPOPS_ABOVE_MOST * cat->fpops_p95 :
	                                   FPOPS_MOST;

	return said > 0 ? fmin(said, fmin(most, FPOPS_MOST)) : usual;
}

struct machine machine_of(
    const struct conf *cf, const struct request *rq, const struct snapshot *s)
{
	const struct rq_host *r = &rq->host;
	const struct host *h = &s->host;
	const struct rq_prefs *p = prefs_in_force(rq, s);
	bool said = r->present;
	double fpops = said ? r->p_fpops : h->p_fpops;
	struct machine m = { 0 };

	m.ncpus = usable_cpus(
	    cf, p, s->project_prefs.max_cpus, said ? r->p_ncpus : h->p_ncpus);
	m.p_fpops = plausible_fpops(s->cat, fpops);
	m.usable_ram = usable_ram(p, said ? r->m_nbytes : h->m_nbytes);
	m.disk = said ? disk_left(cf, p, r->d_total, r->d_free, r->d_boinc_used_total) :
	                disk_left(cf, p, h->d_total, h->d_free, h->d_boinc_used_total);
	m.bwdown = said ? r->n_bwdown : h->n_bwdown;
	m.availability = said ? availability(r->on_frac,
				    active_part(rq, r->on_frac, r->active_frac)) :
	                        availability(h->on_frac,
				    active_part(rq, h->on_frac, h->active_frac));
	m.coproc_availability = said ? coproc_availability(r->on_frac, r->active_frac,
					   r->gpu_active_frac) :
	                               coproc_availability(h->on_frac, h->active_frac,
					   h->gpu_active_frac);
	return m;
}

struct speed estimate_speed(const struct conf *cf, const struct machine *m,
    const struct host_app_version *hav, const struct app_version *v,
    const struct effort *e)
{
	double ncpus = e->ncpus > 0 || e->coprocs > 0 ? e->ncpus : 1;
	double base = m->p_fpops * (ncpus + COPROC_CPUS * e->coprocs);
	double peak = m->p_fpops * ncpus + e->coproc_flops * e->coprocs;
	double most = STATISTICS_MOST * (e->plan_flops > 0 ? e->plan_flops : base);

	if (cf->rte_no_stats)
		return (struct speed){ base, SPEED_BENCHMARK };
	if (cf->estimate_flops_from_hav_pfc) {
		if (hav != NULL && hav->pfc_n > SAMPLES_HOST && hav->pfc_avg > 0)
			return (struct speed){ fmin(peak / hav->pfc_avg, most),
				SPEED_HOST_PEAK };
	} else if (hav != NULL && hav->et_n > SAMPLES_HOST && hav->et_avg > 0) {
		return (
		    struct speed){ fmin(1 / hav->et_avg, most), SPEED_HOST_VERSION };
	}
	if (v != NULL && v->pfc_n > SAMPLES_VERSION && v->pfc_avg > 0)
		return (struct speed){ fmin(peak / v->pfc_avg, most), SPEED_VERSION };
	return (struct speed){ base, SPEED_BENCHMARK };
}

double estimate_score(
    const struct speed *s, const struct host_app_version *hav, double plan_flops)
{
	double n = 0; /* samples */

	if (plan_flops <= 0 || s->source == SPEED_VERSION)
		return s->flops;
	if (s->source == SPEED_HOST_VERSION)
		n = hav->et_n;
	else if (s->source == SPEED_HOST_PEAK)
		n = hav->pfc_n;
	return n > 0 ? (s->flops * (n - 1) + plan_flops) / n : plan_flops;
}

double estimate_runtime_s(double fpops_est, double flops, double avail)
{
	double work = fpops_est > 0 ? fpops_est : FPOPS_EST_UNKNOWN;

	return work / flops / avail;
}

const struct host_app_version *estimate_find(
    const struct host_app_version *v, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].app_version_id == id)
			return &v[i];
	return NULL;
}

/* Number of best versions of one resource with which a job is tried. */
enum { PICKS_OF_RESOURCE = 3 };
static const double FAILING = 0.01; /* factor on the score */
enum { TRIED_AGAIN = 100 };         /* one in this many choices */

/*
 * Largest memory of a 32-bit process, by system of the primary platform (protocol.md
 * 3.12).
 */
static const struct {
	const char *part; /* part of the platform's name */
	double gib;
} limits_32bit[] = { { "linux", 3 }, { "darwin", 4 }, { "solaris", 4 }, { "", 2 } };

static bool needs_64bit(const struct request *rq, double memory_bound)
{
	const char *primary = rq->nplatforms > 0 ? rq->platforms[0] : "";
	size_t i = 0;

	while (strstr(primary, limits_32bit[i].part) == NULL)
		i++;
	return memory_bound > limits_32bit[i].gib * 1073741824.0;
}

int64_t version_full(int64_t v)
{
	return v < 10000 ? v * 100 : v;
}

static enum reason client_unfit(const struct request *rq, const struct app_version *v)
{
	if (v->min_core_version > 0 && rq->version < version_full(v->min_core_version))
		return WHY_CLIENT_TOO_OLD;
	if (v->max_core_version > 0 && rq->version > version_full(v->max_core_version))
		return WHY_CLIENT_TOO_NEW;
	return WHY_NONE;
}

/*
 * Noise spreads hosts over versions of which little is known. With locality there is
 * none: all versions are for the same platforms (locality.md 1.1 (L17)), and choices
 * must be repeatable.
 */
static double score_noise(
    struct ctx *c, const struct app *app, const struct host_app_version *hav)
{
	double n = hav != NULL && hav->pfc_n > 1 ? hav->pfc_n : 1;

	if (c->conf->locality_scheduling || app->locality_scheduling)
		return 1;
	return fmax(
	    0.1, 1 + c->conf->version_select_random_factor * rng_gauss(c->rng) / n);
}

/*
 * A version that has only failed on the host, down to one job a day, yields to any
 * other version; now and then it is tried again (scheduling.md 2.11).
 */
static double failing_factor(
    struct ctx *c, const struct app *app, const struct host_app_version *hav)
{
	bool sure = c->conf->locality_scheduling || app->locality_scheduling;

	if (hav == NULL || hav->pfc_n > 0 || hav->max_jobs_per_day != 1 ||
	    hav->consecutive_valid > 0)
		return 1;
	return !sure && rng_below(c->rng, TRIED_AGAIN) == 0 ? 1 : FAILING;
}

static const struct host_app_version *version_statistics(
    const struct ctx *c, int64_t appid, int64_t app_version_id)
{
	return estimate_find(c->snap->havs, c->snap->nhavs,
	    resource_statistics_id(appid, app_version_id));
}

/* Daily quota left after the jobs that this reply already sends. */
static int32_t quota_left(const struct ctx *c, const struct pick *p)
{
	double weight = c->conf->gpu_multiplier > 0 ? c->conf->gpu_multiplier : 1;
	double processors = p->resource == 0 ?
	                        c->m.ncpus :
	                        c->req->resources[p->resource].count * weight;
	int32_t sent = 0;

	for (size_t i = 0; i < c->d->nsends; i++)
		sent += c->d->sends[i].app->id == p->app->id &&
		        c->d->sends[i].app_version_id == p->app_version_id &&
		        !c->d->sends[i].expect_in_progress;
	return quota_room(c->conf, version_statistics(c, p->app->id, p->app_version_id),
		   processors) -
	       sent;
}

/*
 * Is this resource present, allowed, wanted, and below its limits? The last two do not
 * matter to an app that hardly uses it.
 */
static enum reason resource_usable(const struct ctx *c, const struct app *app, size_t r)
{
	if (r == SIZE_MAX)
		return WHY_NO_COPROC;
	if (prefs_refuse_device(&c->snap->project_prefs, &c->req->resources[r]))
		return WHY_RSC_DISABLED;
	return app->non_cpu_intensive ? WHY_NONE : limits_resource(c, r);
}

static bool usual_host(const struct ctx *c)
{
	const struct rq_host *r = &c->req->host;
	const struct host *h = &c->snap->host;

	return r->present ? hr_usual(r->os_name, r->p_vendor) :
	                    hr_usual(h->os_name, h->p_vendor);
}

static enum reason pick_usable(
    const struct ctx *c, const struct choice *q, const struct pick *p)
{
	enum reason why = resource_usable(c, q->app, p->resource);

	if (why == WHY_NONE)
		why = limits_app(c, p->app, p->resource);
	if (why == WHY_NONE && !q->resend && quota_left(c, p) <= 0)
		return WHY_DAILY_QUOTA;
	if (why == WHY_NONE && q->reliable &&
	    !quota_reliable(c->conf,
		version_statistics(c, p->app->id, p->app_version_id), usual_host(c)))
		return WHY_NOT_RELIABLE;
	return why;
}

/*
 * Computes what a job of the version's class uses on this host. A version without a
 * class is sequential; a class is usable if the client knows classes and the project
 * defines it. A class that depends on workunits is evaluated for each job.
 */
static enum reason class_usable(
    struct ctx *c, struct choice *q, const struct app_version *v, struct pick *p)
{
	const struct plan_class *pc = NULL;
	struct plan_class_host h = { .req = c->req,
		.userid = c->snap->user.id,
		.project_prefs = c->snap->project_prefs.text,
		.ncpus = c->m.ncpus,
		.p_fpops = c->m.p_fpops,
		.usable_ram = c->m.usable_ram };
	struct plan_class_job j = { q->job->workunitid, q->job->batch };
	enum reason why;

	if (v->plan_class[0] != '\0') {
		if (!c->req->client_cap_plan_class)
			return WHY_CLIENT_TOO_OLD;
		pc = plan_class_named(c->snap->cat->classes, v->plan_class);
		if (pc == NULL)
			return WHY_CLASS_UNKNOWN;
		q->of_job |= pc->min_wu_id > 0 || pc->max_wu_id > 0 ||
		             pc->min_batch > 0 || pc->max_batch > 0;
		p->resource = plan_class_resource(pc, c->req);
	}
	why = resource_usable(c, q->app, p->resource);
	if (why == WHY_NONE)
		why = plan_class_use(c->a, pc, &h, &j, c->rng, &p->use);
	p->usage = p->resource == 0 ? p->use.avg_ncpus : p->use.coproc_count;
	return why;
}

static void set_speed(struct ctx *c, struct pick *p, const struct host_app_version *hav)
{
	struct effort e = { .ncpus = p->use.avg_ncpus,
		.coprocs = p->use.coproc_count,
		.coproc_flops = c->req->resources[p->resource].peak_flops,
		.plan_flops = p->use.flops };

	p->speed = estimate_speed(c->conf, &c->m, hav, p->version, &e);
	p->peak_flops = c->m.p_fpops * e.ncpus + e.coproc_flops * e.coprocs;
}

/*
 * Does another version with the same app, platform and plan class exist, with a number
 * above this one, that this client may use?
 */
static bool has_other(const struct ctx *c, const struct app_version *v, int32_t above)
{
	const struct catalog *cat = c->snap->cat;

	for (size_t i = 0; i < cat->nversions; i++) {
		const struct app_version *w = &cat->versions[i];

		if (w->version_num > above && w->appid == v->appid &&
		    w->platformid == v->platformid && !w->deprecated &&
		    strcmp(w->plan_class, v->plan_class) == 0 &&
		    client_unfit(c->req, w) == WHY_NONE)
			return true;
	}
	return false;
}

/* May the job use this version, whatever the client? */
static bool version_meant(const struct choice *q, const struct app_version *v)
{
	if (q->pinned_version_id == 0 ? v->deprecated : v->id != q->pinned_version_id)
		return false;
	return q->pinned_num == 0 || v->version_num == q->pinned_num;
}

static enum reason version_usable(
    struct ctx *c, struct choice *q, const struct app_version *v, struct pick *p)
{
	const struct host_app_version *hav = estimate_find(
	    c->snap->havs, c->snap->nhavs, v->id);
	bool pinned = q->pinned_version_id != 0 || q->pinned_num != 0;
	enum reason why;

	if (!version_meant(q, v))
		return WHY_NO_APP_VERSION;
	why = client_unfit(c->req, v);
	/* A newer client would only get this version instead of the other one. */
	if (why != WHY_NONE && !pinned && has_other(c, v, -1))
		return WHY_NO_APP_VERSION;
	if (why != WHY_NONE)
		return why;
	/*
	 * A version replaces those with lower numbers and the same app, platform and
	 * plan class, for every client that it serves: a release takes effect when it
	 * is made, whatever the statistics of its predecessor. Jobs bound to a version
	 * or a number still get that one.
	 */
	if (!pinned && has_other(c, v, v->version_num))
		return WHY_NO_APP_VERSION;
	p->version = v;
	p->client_version = -1;
	p->app_version_id = v->id;
	if ((why = class_usable(c, q, v, p)) != WHY_NONE)
		return why;
	if ((why = pick_usable(c, q, p)) != WHY_NONE)
		return why;
	set_speed(c, p, hav);
	p->score = estimate_score(&p->speed, hav, p->use.flops) *
	           score_noise(c, q->app, hav) * failing_factor(c, q->app, hav);
	return WHY_NONE;
}

/* Inserts the pick by score; among equal scores the first one found stays first. */
static void pick_add(struct ctx *c, struct choice *q, const struct pick *p)
{
	size_t at, of_resource = 0;

	PUSH(c->a, q->picks, q->npicks, q->picks_cap) = *p;
	for (at = q->npicks - 1; at > 0 && q->picks[at - 1].score < p->score; at--)
		q->picks[at] = q->picks[at - 1];
	q->picks[at] = *p;
	for (at = 0; at < q->npicks; at++)
		of_resource += q->picks[at].resource == p->resource;
	if (of_resource <= PICKS_OF_RESOURCE)
		return;
	while (q->picks[--at].resource != p->resource)
		;
	for (q->npicks--; at < q->npicks; at++)
		q->picks[at] = q->picks[at + 1];
}

/*
 * Adds the pick, or remembers the refusal: of several refusals the one that ranks first
 * among the reasons given to users; each of them says more than "no version".
 */
static void pick_judge(
    struct ctx *c, struct choice *q, const struct pick *p, enum reason why)
{
	if (why == WHY_NONE) {
		q->why = WHY_NONE;
		pick_add(c, q, p);
	} else if (why != WHY_NO_APP_VERSION &&
		   (q->why == WHY_NO_APP_VERSION ||
		       (q->why != WHY_NONE &&
			   answers_rank(why) < answers_rank(q->why)))) {
		q->why = why;
	}
}

static void try_platform(struct ctx *c, struct choice *q, int64_t platformid)
{
	const struct catalog *cat = c->snap->cat;

	for (size_t i = 0; i < cat->nversions; i++) {
		const struct app_version *v = &cat->versions[i];
		struct pick p = { .app = q->app };

		if (v->appid == q->app->id && v->platformid == platformid)
			pick_judge(c, q, &p, version_usable(c, q, v, &p));
	}
}

static void choose_by_platform(struct ctx *c, struct choice *q)
{
	const struct request *rq = c->req;

	for (size_t i = 0; i < rq->nplatforms; i++) {
		const struct platform *pl = catalog_platform_named(
		    c->snap->cat, rq->platforms[i]);

		if (pl == NULL || (q->need_64bit && strstr(pl->name, "64") == NULL))
			continue;
		try_platform(c, q, pl->id);
		if (q->why == WHY_NONE && c->conf->prefer_primary_platform)
			return;
	}
}

/*
 * Uses what the client says about its own program; values that it does not give count
 * as 1.
 */
static enum reason own_version_usable(
    struct ctx *c, struct choice *q, const struct rq_app_version *v, struct pick *p)
{
	const struct host_app_version *hav;
	enum reason why;

	p->resource = request_resource(c->req, v->coproc_type);
	if (p->resource == SIZE_MAX)
		return WHY_NO_COPROC;
	p->use.type = c->req->resources[p->resource].type;
	p->use.avg_ncpus = v->avg_ncpus > 0 ? v->avg_ncpus : 1;
	p->use.flops = v->flops > 0 ? v->flops : 0; /* limits what is measured */
	p->use.coproc_count = p->resource == 0    ? 0 :
	                      v->coproc_count > 0 ? v->coproc_count :
	                                            1;
	p->usage = p->resource == 0 ? p->use.avg_ncpus : p->use.coproc_count;
	p->app_version_id = resource_own_program(p->use.type);
	if ((why = pick_usable(c, q, p)) != WHY_NONE)
		return why;
	hav = version_statistics(c, q->app->id, p->app_version_id);
	set_speed(c, p, hav);
	if (p->speed.source == SPEED_BENCHMARK && v->flops > 0)
		p->speed = (struct speed){ v->flops, SPEED_CLIENT };
	p->score = p->speed.flops;
	return WHY_NONE;
}

static void choose_clients_own(struct ctx *c, struct choice *q)
{
	const struct request *rq = c->req;

	for (size_t i = 0; i < rq->napp_versions; i++) {
		const struct rq_app_version *v = &rq->app_versions[i];
		struct pick p = { .app = q->app, .client_version = (int32_t)i };

		if (strcmp(v->app_name, q->app->name) == 0 &&
		    (q->pinned_num == 0 || v->version_num == q->pinned_num))
			pick_judge(c, q, &p, own_version_usable(c, q, v, &p));
	}
}

static bool same_question(const struct choice *a, const struct choice *b)
{
	return a->app == b->app && a->pinned_version_id == b->pinned_version_id &&
	       a->pinned_num == b->pinned_num && a->need_64bit == b->need_64bit &&
	       a->reliable == b->reliable && a->resend == b->resend;
}

/*
 * A choice holds as long as its resource is wanted and, for new jobs, the quota lasts;
 * then a new one is made among the versions for other resources ("Work fetch and
 * GPUs"). A refusal always holds: within one request nothing becomes wanted or allowed
 * again.
 */
static const struct choice *choice_remembered(
    const struct ctx *c, const struct choice *q)
{
	for (size_t i = c->nchoices; i-- > 0;) {
		const struct choice *old = &c->choices[i];

		if (same_question(old, q) &&
		    (old->why != WHY_NONE ||
			pick_usable(c, old, &old->picks[0]) == WHY_NONE))
			return old;
	}
	return NULL;
}

double version_memory(const struct job *j, const struct pick *p)
{
	return p->use.mem_bytes > 0 ? p->use.mem_bytes : j->rsc_memory_bound;
}

bool version_hurry(const struct conf *cf, const struct job *j)
{
	return cf->reliable_on_priority > 0 && j->priority >= cf->reliable_on_priority;
}

/* Another job of the same workunit in this reply binds it, too. */
static int64_t bound_version(const struct ctx *c, const struct job *j)
{
	for (size_t i = 0; i < c->d->nsends; i++)
		if (c->d->sends[i].job->workunitid == j->workunitid)
			return c->d->sends[i].app_version_id;
	return j->app_version_id;
}

bool version_still(const struct ctx *c, const struct choice *q, const struct pick *p)
{
	return pick_usable(c, q, p) == WHY_NONE;
}

bool version_of_job(const struct choice *q)
{
	return q->why == WHY_CLASS_WORKUNIT || q->why == WHY_NOT_RELIABLE ||
	       q->pinned_num != 0 || q->pinned_version_id != 0 ||
	       (q->why == WHY_NO_APP_VERSION && q->need_64bit);
}

/* The key of a choice: everything that it depends on. */
static struct choice choice_question(
    const struct ctx *c, const struct app *app, const struct job *j, bool resend)
{
	return (struct choice){ .app = app,
		.pinned_num = j->app_version_num,
		.pinned_version_id = app != NULL && app->homogeneous_app_version ?
		                         bound_version(c, j) :
		                         0,
		.need_64bit = needs_64bit(c->req, j->rsc_memory_bound),
		.reliable = !resend && version_hurry(c->conf, j),
		.resend = resend,
		.job = j,
		.why = WHY_NO_APP_VERSION };
}

/* Why the app as a whole is refused. */
static enum reason app_usable(const struct ctx *c, const struct app *app, bool resend)
{
	if (app == NULL)
		return WHY_NO_APP_VERSION;
	/* says nothing about other apps, so the search continues */
	if (app->deprecated)
		return WHY_PAUSED;
	/* what a host has lost is no new task */
	if (app->drain_time != 0 && !resend)
		return WHY_DRAINING;
	if (prefs_app(c, app) == APP_REFUSED)
		return WHY_APP_NOT_SELECTED;
	if (prefs_app(c, app) == APP_BETA_REFUSED)
		return WHY_BETA;
	/* a client's own programs match no other host's */
	if (app->homogeneous_app_version && request_is_anonymous(c->req))
		return WHY_NO_APP_VERSION;
	return WHY_NONE;
}

struct choice version_choose(struct ctx *c, const struct job *j, bool resend)
{
	const struct app *app = catalog_app(c->snap->cat, j->appid);
	struct choice q = choice_question(c, app, j, resend);
	enum reason why = app_usable(c, app, resend);
	const struct choice *old;

	if (why != WHY_NONE) {
		q.why = why;
		return q;
	}
	if ((old = choice_remembered(c, &q)) != NULL)
		return *old;
	if (request_is_anonymous(c->req))
		choose_clients_own(c, &q);
	else
		choose_by_platform(c, &q);
	if (!q.of_job)
		PUSH(c->a, c->choices, c->nchoices, c->choices_cap) = q;
	return q;
}

bool version_for_platforms(const struct ctx *c, const struct app_version *v)
{
	for (size_t i = 0; i < c->req->nplatforms; i++) {
		const struct platform *p = catalog_platform_named(
		    c->snap->cat, c->req->platforms[i]);

		if (p != NULL && p->id == v->platformid)
			return true;
	}
	return false;
}

/* Is the client new enough for the version and its class? */
static bool new_enough(const struct ctx *c, const struct app_version *v)
{
	const struct plan_class *pc;

	if (client_unfit(c->req, v) != WHY_NONE)
		return false;
	if (v->plan_class[0] == '\0')
		return true;
	pc = plan_class_named(c->snap->cat->classes, v->plan_class);
	return c->req->client_cap_plan_class && pc != NULL &&
	       c->req->version >= pc->min_core_client_version;
}

bool version_any_for_client(const struct ctx *c)
{
	const struct catalog *cat = c->snap->cat;

	for (size_t i = 0; i < cat->nversions; i++) {
		const struct app_version *v = &cat->versions[i];
		const struct app *app = catalog_app(cat, v->appid);

		if (app != NULL && !app->deprecated && !v->deprecated &&
		    version_for_platforms(c, v) && new_enough(c, v))
			return true;
	}
	return false;
}

/*
 * If all resources were listed, a client would never come back. A client with its own
 * programs decides by itself what they can use.
 */
void version_no_rsc_apps(struct ctx *c)
{
	const struct request *rq = c->req;
	const struct serving *s = &c->serving;
	bool any = false;

	if (request_is_anonymous(rq))
		return;
	for (size_t r = 0; r < rq->nresources; r++)
		any = any || serving_any(s, r);
	if (!any)
		return;
	c->d->no_rsc_apps = NEWN(c->a, char *, rq->nresources);
	for (size_t r = 0; r < rq->nresources; r++)
		if (!serving_any(s, r))
			c->d->no_rsc_apps[c->d->nno_rsc_apps++] = rq->resources[r].type;
}
