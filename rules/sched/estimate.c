/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host as numbers, and runtimes derived from them. Values from clients are bounded
 * here, so that none of them makes an estimate infinite, zero or negative.
 */
#include "rules/sched/estimate.h"

#include <math.h>
#include "lib/clamp.h"
#include "lib/banned.h"

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

static int32_t
usable_cpus(
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

static double
usable_ram(const struct rq_prefs *p, double m_nbytes)
{
	double ram = m_nbytes > 0 ? m_nbytes : RAM_UNKNOWN, frac = 1;

	if (p->ram_max_used_busy_pct > 0 && p->ram_max_used_idle_pct > 0)
		frac = fmax(p->ram_max_used_busy_pct, p->ram_max_used_idle_pct) / 100;
	return ram * clamp(frac, 0, 1);
}

/* The tightest of three limits (scheduling.md 2.6, disk). */
static double
disk_left(const struct conf *cf, const struct rq_prefs *p, double total,
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
static double
active_part(const struct request *rq, double on_frac, double active_frac)
{
	bool old = rq->version > 0 && rq->version <= ON_FRAC_ALONE_VERSION;

	return old && on_frac > 0 ? 1 : active_frac;
}

/*
 * A running client has been on and active for some time, so two zeros mean that it did
 * not report them.
 */
static double
availability(double on_frac, double active_frac)
{
	if (on_frac <= 0 && active_frac <= 0)
		return 1;
	return clamp(on_frac * active_frac, 0.1, 1);
}

const struct rq_prefs *
prefs_in_force(const struct request *rq, const struct snapshot *s)
{
	if (rq->has_working_prefs)
		return &rq->prefs;
	return s->master_prefs.mod_time > s->account_prefs.mod_time ? &s->master_prefs :
	                                                              &s->account_prefs;
}

/* Clients before 6.13 measure activity of the CPU only. */
static double
coproc_availability(double on_frac, double active_frac, double gpu_active_frac)
{
	return availability(
	    on_frac, gpu_active_frac > 0 ? gpu_active_frac : active_frac);
}

/* A benchmark that hardly any other host reaches is not credible. */
static double
plausible_fpops(const struct catalog *cat, double said)
{
	double usual = cat->fpops_median > 0 ? cat->fpops_median : FPOPS_UNKNOWN;
	double most = cat->fpops_p95 > 0 ? FPOPS_ABOVE_MOST * cat->fpops_p95 :
	                                   FPOPS_MOST;

	return said > 0 ? fmin(said, fmin(most, FPOPS_MOST)) : usual;
}

struct machine
machine_of(const struct conf *cf, const struct request *rq, const struct snapshot *s)
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

struct speed
estimate_speed(const struct conf *cf, const struct machine *m,
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

double
estimate_score(
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

double
estimate_runtime_s(double fpops_est, double flops, double avail)
{
	double work = fpops_est > 0 ? fpops_est : FPOPS_EST_UNKNOWN;

	return work / flops / avail;
}

const struct host_app_version *
estimate_find(const struct host_app_version *v, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].app_version_id == id)
			return &v[i];
	return NULL;
}
