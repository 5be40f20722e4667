// SPDX-License-Identifier: Apache-2.0
/*
 * What memory leaves of the CPUs for each project in the best possible division.  The
 * first aim is to keep all CPUs busy, the second to divide them by share: the projects
 * rise together while the rest can still be filled, and those whose tasks need most
 * memory per CPU stop first.
 */
#include "client/sim/report.h"

#include <math.h>
#include "lib/banned.h"

enum { HALVINGS = 50 };
static const double NEAR = 1e-9;

struct fit {                /* one per project */
	double share, most; /* most: CPUs that it can use */
	double ram;         /* bytes per CPU */
	double job;         /* CPUs of a job; 0 = its jobs differ */
	double cpus;        /* assigned */
	bool fixed;
};
struct memory {
	struct fit *fit;
	size_t n;
	double cpus, ram; /* of the host */
};

/* CPU tasks of the project, of apps whose jobs are of use: bytes per CPU, as the mean
 * over its jobs. */
static struct fit
fit_of(const struct sim_scenario *s, const struct sim_project *p, const bool *jobs)
{
	struct fit f = { .share = fmax(p->share, 1e-6) };
	double cpus = 0, bytes = 0;

	for (size_t k = 0; k < p->napps; k++) {
		const struct sim_app *app = &p->apps[k];
		double time = app->weight * app->run_s;

		if (app->rsc != CW_CPU || !jobs[k])
			continue;
		cpus += time * app->ncpus;
		bytes += time * app->rss_bytes;
	}
	if (cpus <= 0)
		return f;
	f.ram = bytes / cpus;
	f.most = s->rsc[CW_CPU].ninst;
	f.job = p->napps == 1 ? p->apps[0].ncpus : 0;
	if (p->max_concurrent > 0)
		f.most = fmin(f.most, p->max_concurrent);
	return f;
}

/* CPUs busy if the projects have at least level * share each, and what is left goes to
 * those that need least memory; -1 if there is not enough for the level. */
static double
filled(const struct memory *m, double level)
{
	double cpus = m->cpus, ram = m->ram, last = -1;

	for (size_t i = 0; i < m->n; i++) {
		const struct fit *f = &m->fit[i];
		double x = f->fixed ? f->cpus : fmin(f->most, level * f->share);

		cpus -= x;
		ram -= x * f->ram;
	}
	if (cpus < -NEAR || ram < -NEAR * m->ram)
		return -1;
	for (;;) { /* by ascending need of memory */
		double next = INFINITY;

		for (size_t i = 0; i < m->n; i++)
			if (m->fit[i].ram > last)
				next = fmin(next, m->fit[i].ram);
		if (next == INFINITY)
			return m->cpus - cpus;
		for (size_t i = 0; i < m->n; i++) {
			const struct fit *f = &m->fit[i];
			double x = fmin(f->most - fmin(f->most, level * f->share),
			    fmin(cpus, next > 0 ? ram / next : INFINITY));

			if (f->ram != next || f->fixed || !(x > 0))
				continue;
			cpus -= x;
			ram -= x * next;
		}
		last = next;
	}
}

/* Fixes the projects that have all they can use at the level, or else the one that
 * needs most memory per CPU; returns false if none was left. */
static bool
fix_some(struct memory *m, double level)
{
	size_t top = m->n;
	bool any = false;

	for (size_t i = 0; i < m->n; i++) {
		struct fit *f = &m->fit[i];

		if (f->fixed)
			continue;
		f->cpus = fmin(f->most, level * f->share);
		f->fixed = f->most <= level * f->share;
		any |= f->fixed;
		if (!f->fixed && (top == m->n || f->ram > m->fit[top].ram))
			top = i;
	}
	if (!any && top < m->n)
		m->fit[top].fixed = any = true;
	return any;
}

/* Only whole jobs run: lowers what each project can use to the most jobs beside which
 * the other CPUs can still be kept busy. */
static void
count_whole_jobs(struct memory *m, double all)
{
	for (size_t i = 0; i < m->n; i++) {
		struct fit *f = &m->fit[i];
		double jobs;

		if (f->fixed || f->job <= 0 || f->most <= 0)
			continue;
		jobs = floor(f->most / f->job + NEAR);
		if (f->ram > 0)
			jobs = fmin(jobs, floor(m->ram / (f->ram * f->job) + NEAR));
		f->fixed = true;
		for (; jobs > 0; jobs--) {
			f->cpus = jobs * f->job;
			if (filled(m, 0) >= all - NEAR)
				break;
		}
		f->fixed = false;
		f->most = jobs * f->job;
	}
}

/* Those that have what they can use have it all the time, so the others' jobs must fit
 * beside these; a part of a job is a job for a part of the time. */
static bool
fixed_at_whole_jobs(const struct memory *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct fit *f = &m->fit[i];

		if (f->fixed && f->cpus > 0 &&
		    (f->job <= 0 || fabs(remainder(f->cpus, f->job)) > NEAR))
			return false;
	}
	return true;
}

static bool
memory_is_short(const struct memory *m)
{
	double need = 0, most = 0;

	for (size_t i = 0; i < m->n; i++) {
		need += m->fit[i].most * m->fit[i].ram;
		most = fmax(most, m->fit[i].ram);
	}
	return need > m->ram && most * m->cpus > m->ram;
}

void
sim_memory_cpus(
    const struct sim_scenario *s, const bool *jobs, struct arena *a, double *cpus)
{
	struct memory m = { NEWN(a, struct fit, s->nprojects + 1), s->nprojects,
		s->rsc[CW_CPU].ninst, s->prefs.ram_bytes };
	double all, level = 0;

	for (size_t i = 0; i < m.n; i++) {
		m.fit[i] = fit_of(s, &s->projects[i], jobs);
		jobs += s->projects[i].napps;
		cpus[i] = INFINITY;
	}
	if (m.ram <= 0 || !memory_is_short(&m))
		return;
	all = filled(&m, 0);
	do {
		double low = level, high = m.cpus / 1e-6;

		if (fixed_at_whole_jobs(&m))
			count_whole_jobs(&m, all);
		for (int i = 0; i < HALVINGS; i++) {
			double mid = (low + high) / 2;

			*(filled(&m, mid) >= all - NEAR ? &low : &high) = mid;
		}
		level = low;
	} while (fix_some(&m, level));
	for (size_t i = 0; i < m.n; i++)
		cpus[i] = m.fit[i].cpus;
}
