/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fair division of a host among projects that cannot all use all of it. Projects
 * are the sources of a flow; resources in spans of time are its sinks. The greatest
 * level at which every project gets level * share is found at the minimum cut: the
 * projects behind the cut are settled, and the others rise further.
 */
#include <float.h>
#include <math.h>
#include <string.h>
#include "client/sim/report.h"
#include "client/sim/server.h"
#include "lib/banned.h"

/*
 * What memory leaves of the CPUs for each project in the best possible division. The
 * first aim is to keep all CPUs busy, the second to divide them by share: the projects
 * rise together while the rest can still be filled, and those whose tasks need most
 * memory per CPU stop first.
 */

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
static struct fit fit_of(
    const struct sim_scenario *s, const struct sim_project *p, const bool *jobs)
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
static double filled(const struct memory *m, double level)
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
static bool fix_some(struct memory *m, double level)
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
static void count_whole_jobs(struct memory *m, double all)
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
static bool fixed_at_whole_jobs(const struct memory *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct fit *f = &m->fit[i];

		if (f->fixed && f->cpus > 0 &&
		    (f->job <= 0 || fabs(remainder(f->cpus, f->job)) > NEAR))
			return false;
	}
	return true;
}

static bool memory_is_short(const struct memory *m)
{
	double need = 0, most = 0;

	for (size_t i = 0; i < m->n; i++) {
		need += m->fit[i].most * m->fit[i].ram;
		most = fmax(most, m->fit[i].ram);
	}
	return need > m->ram && most * m->cpus > m->ram;
}

/* Sets how many CPUs memory leaves for each project; INFINITY: it is no limit. First
 * all CPUs are kept busy as far as possible, then shares count. jobs[]: for each app
 * of all projects, whether its jobs are of use. */
static void sim_memory_cpus(
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

/* ROUNDS: until the CPUs that coprocessor jobs take no longer change. */
enum { SPANS_MOST = 256, ROUNDS = 8 };
#define TINY 1e-9 /* of the whole; less is rounding error */

struct flow_net {
	size_t nprojects, nsinks; /* number of projects and of sinks */
	double *give, *passed;    /* per project: wanted, and actually sent */
	double *limit, *flow;     /* [project * nsinks + sink] */
	double *room, *taken;     /* per sink */
	/* Reachable from the source, so on its side of the cut. */
	bool *project_seen, *sink_seen;
	size_t *queue;                    /* projects, then sinks (nprojects + s) */
	size_t *project_from, *sink_from; /* predecessor on the path */
	double eps;
};

/* Parameters: projects and sinks have separate arrays. */
static void reach_node(struct flow_net *n, bool *seen, size_t *from, size_t what,
    size_t by, size_t node, size_t *tail)
{
	if (seen[what])
		return;
	seen[what] = true;
	from[what] = by;
	n->queue[(*tail)++] = node;
}

/* Searches breadth first along edges with room; returns a sink with room left, or
 * nsinks. */
static size_t find_path(struct flow_net *n)
{
	size_t head = 0, tail = 0;

	memset(n->project_seen, 0, n->nprojects * sizeof(*n->project_seen));
	memset(n->sink_seen, 0, n->nsinks * sizeof(*n->sink_seen));
	for (size_t p = 0; p < n->nprojects; p++)
		if (n->give[p] - n->passed[p] > n->eps)
			reach_node(
			    n, n->project_seen, n->project_from, p, SIZE_MAX, p, &tail);
	while (head < tail) {
		size_t at = n->queue[head++];

		if (at < n->nprojects) {
			for (size_t s = 0; s < n->nsinks; s++)
				if (n->limit[at * n->nsinks + s] -
					n->flow[at * n->nsinks + s] >
				    n->eps)
					reach_node(n, n->sink_seen, n->sink_from, s, at,
					    n->nprojects + s, &tail);
			continue;
		}
		at -= n->nprojects;
		if (n->room[at] - n->taken[at] > n->eps)
			return at;
		for (size_t p = 0; p < n->nprojects; p++)
			if (n->flow[p * n->nsinks + at] > n->eps)
				reach_node(n, n->project_seen, n->project_from, p, at,
				    p, &tail);
	}
	return n->nsinks;
}

/* Computes the greatest flow for give[]; afterwards *_seen mark the source's side of a
 * minimum cut. */
static void max_flow(struct flow_net *n)
{
	memset(n->passed, 0, n->nprojects * sizeof(*n->passed));
	memset(n->taken, 0, n->nsinks * sizeof(*n->taken));
	memset(n->flow, 0, n->nprojects * n->nsinks * sizeof(*n->flow));
	for (size_t s; (s = find_path(n)) < n->nsinks;) {
		/* Sends as much as fits along the path that ends at sink s. */
		double most = n->room[s] - n->taken[s];
		size_t at = s, p;

		for (;;) {
			p = n->sink_from[at];
			most = fmin(most,
			    n->limit[p * n->nsinks + at] - n->flow[p * n->nsinks + at]);
			if (n->project_from[p] == SIZE_MAX)
				break;
			at = n->project_from[p];
			most = fmin(most, n->flow[p * n->nsinks + at]);
		}
		most = fmin(most, n->give[p] - n->passed[p]);
		n->passed[p] += most;
		n->taken[s] += most;
		for (at = s;;) {
			p = n->sink_from[at];
			n->flow[p * n->nsinks + at] += most;
			if (n->project_from[p] == SIZE_MAX)
				break;
			at = n->project_from[p];
			n->flow[p * n->nsinks + at] -= most;
		}
	}
}

/* Capacity for what leaves the projects behind the cut. */
static double cut_room(const struct flow_net *n)
{
	double sum = 0;

	for (size_t s = 0; s < n->nsinks; s++) {
		if (n->sink_seen[s]) {
			sum += n->room[s];
			continue;
		}
		for (size_t p = 0; p < n->nprojects; p++)
			if (n->project_seen[p])
				sum += n->limit[p * n->nsinks + s];
	}
	return sum;
}

/* Raises all unsettled projects to the same level of share, as high as possible, and
 * settles those that cannot rise further. Returns true while some are left. */
static bool raise_level(struct flow_net *n, const double *share, bool *settled)
{
	double level = DBL_MAX, room = 0, left = 0;
	bool more = false;

	for (size_t s = 0; s < n->nsinks; s++)
		room += n->room[s];
	memset(n->sink_seen, true, n->nsinks * sizeof(*n->sink_seen));
	memset(n->project_seen, true, n->nprojects * sizeof(*n->project_seen));
	/* Newton's method: each cut gives the level that it could carry. */
	for (size_t step = 0; step <= n->nprojects + n->nsinks; step++) {
		double weight = 0, bears = step == 0 ? room : cut_room(n);

		for (size_t p = 0; p < n->nprojects; p++) {
			if (n->project_seen[p] && settled[p])
				bears -= n->give[p];
			else if (n->project_seen[p])
				weight += share[p];
		}
		if (weight <= 0)
			break;
		level = fmin(level, fmax(0, bears / weight));
		for (size_t p = 0; p < n->nprojects; p++)
			if (!settled[p])
				n->give[p] = level * share[p];
		max_flow(n);
		left = 0;
		for (size_t p = 0; p < n->nprojects; p++)
			left += n->give[p] - n->passed[p];
		if (left <= n->eps * (double)(n->nprojects + n->nsinks))
			break;
	}
	/* Projects that reach a sink with room can rise further. */
	for (size_t p = 0; p < n->nprojects; p++) {
		double had = n->give[p];

		if (settled[p])
			continue;
		n->give[p] = had + room;
		settled[p] = find_path(n) == n->nsinks;
		n->give[p] = had;
		more |= !settled[p];
	}
	return more;
}

/* --- the scenario as a flow network --- */

/* Spans of a history in which the same jobs are of use. */
struct spans {
	double s;   /* their total length */
	bool *jobs; /* per app of all projects: its jobs can run and be in time */
};

/* The server finds that a job would be late even on an idle host (see server.c). */
static bool never_sent(const struct sim_scenario *s, const struct sim_project *p,
    const struct sim_app *app)
{
	double length = app->run_s * app->bias /
	                fmax(0.01, s->on.fraction * s->active.fraction);
	double margin = p->delay_check ? 0 : fmin(s->prefs.min_s, app->deadline_s / 2);

	return !p->no_deadline_check && length > app->deadline_s - margin;
}

/* A job that runs at a time when its project cannot be reached came before this gap and
 * is reported after it. If the gap is longer than the delay bound, it is late. */
static void find_jobs(
    const struct sim_scenario *s, const struct sim_path *path, size_t span, bool *jobs)
{
	double t = path->at[span];

	for (size_t i = 0; i < s->nprojects; i++) {
		const struct sim_project *p = &s->projects[i];
		double gap = path->gap_s[span * s->nprojects + i];

		for (size_t k = 0; k < p->napps; k++) {
			const struct sim_app *app = &p->apps[k];

			*jobs++ = t >= p->attach_s && t < p->detach_s && !p->nci &&
			          t >= app->from_s && t < app->until_s &&
			          app->weight > 0 && gap <= app->deadline_s &&
			          !never_sent(s, p, app);
		}
	}
}

/* Returns how many different kinds of spans there are. */
static size_t sort_spans(const struct sim_scenario *s, const struct sim_path *path,
    struct arena *a, struct spans *spans)
{
	size_t n = 0, napps = 0;
	bool *jobs;

	for (size_t i = 0; i < s->nprojects; i++)
		napps += s->projects[i].napps;
	jobs = NEWN(a, bool, napps + 1);
	for (size_t i = 0; i < path->n; i++) {
		size_t k = 0;

		if (!path->computing[i])
			continue;
		find_jobs(s, path, i, jobs);
		while (k < n && memcmp(spans[k].jobs, jobs, napps) != 0)
			k++;
		if (k ==
		    SPANS_MOST) { /* the rest together: as if all jobs were of use */
			k--;
			for (size_t j = 0; j < napps; j++)
				spans[k].jobs[j] |= jobs[j];
		}
		if (k == n) {
			spans[n].jobs = NEWN(a, bool, napps + 1);
			memcpy(spans[n++].jobs, jobs, napps);
		}
		spans[k].s += path->at[i + 1] - path->at[i];
	}
	return n;
}

/* Limit of the app's running jobs; INFINITY: none. */
static double concurrent_jobs(const struct sim_project *p, const struct sim_app *app)
{
	double most = INFINITY;

	if (p->max_concurrent > 0)
		most = p->max_concurrent;
	if (app->max_concurrent > 0)
		most = fmin(most, app->max_concurrent);
	if (app->in_progress_most > 0)
		most = fmin(most, app->in_progress_most);
	return most;
}

/* What a project can use of a resource. */
struct use {
	double flops;
	/* CPUs that its coprocessor jobs use, and that other jobs then cannot have, per
	 * FLOPS of the coprocessor. A CPU may be overcommitted (enforce.c), so a job
	 * that takes a part of one keeps no CPU job from running. */
	double cpus, displaced;
};

static struct use usable_by(const struct sim_scenario *s, const struct sim_project *p,
    size_t rsc, const bool *jobs)
{
	struct use u = { 0 };
	double time = 0;

	for (size_t k = 0; k < p->napps; k++) {
		const struct sim_app *app = &p->apps[k];
		double job = app->use * s->rsc[rsc].flops, t = app->weight * app->run_s;

		if ((size_t)app->rsc != rsc || !jobs[k])
			continue;
		u.flops += concurrent_jobs(p, app) * job;
		if (rsc == CW_CPU)
			continue;
		time += t * job;
		u.cpus += t * app->ncpus;
		u.displaced += t * floor(app->ncpus + TINY);
	}
	if (time > 0) {
		u.cpus /= time;
		u.displaced /= time;
	}
	u.flops = fmin(u.flops, s->rsc[rsc].ninst * s->rsc[rsc].flops);
	return u;
}

struct bound { /* the network of a scenario, and from what it is made */
	const struct sim_scenario *scenario;
	struct spans spans[SPANS_MOST];
	size_t nspans;
	struct use *use; /* [project * nsinks + sink] */
	double *cpus;    /* [project * nspans + span]: what memory leaves */
	struct flow_net net;
};

/* Coprocessor jobs use CPUs, too: these count as work of their projects, and are lost
 * to CPU jobs. Both follow from the flow that was found before; at first there is
 * none. */
static void set_rooms(struct bound *b)
{
	const struct sim_scenario *s = b->scenario;
	struct flow_net *n = &b->net;

	for (size_t i = 0; i < b->nspans; i++) {
		double *cpu = &n->room[i * s->nrsc], cpu_flops = s->rsc[CW_CPU].flops;

		*cpu = s->rsc[CW_CPU].ninst * cpu_flops * b->spans[i].s;
		for (size_t r = 1; r < s->nrsc; r++) {
			size_t sink = i * s->nrsc + r;
			double own = s->rsc[r].ninst * s->rsc[r].flops * b->spans[i].s;
			double cpus = 0;

			for (size_t p = 0; p < n->nprojects; p++) {
				const struct use *u = &b->use[p * n->nsinks + sink];
				double flops = n->flow[p * n->nsinks + sink] /
				               (1 + u->cpus * cpu_flops);

				cpus += flops * u->cpus * cpu_flops;
				*cpu -= flops * u->displaced * cpu_flops;
			}
			n->room[sink] = own + cpus;
		}
		*cpu = fmax(0, *cpu);
	}
}

static void set_limits(struct bound *b, struct arena *a)
{
	const struct sim_scenario *s = b->scenario;
	struct flow_net *n = &b->net;

	for (size_t i = 0; i < b->nspans; i++) {
		const bool *jobs = b->spans[i].jobs;

		sim_memory_cpus(s, jobs, a, b->cpus);
		for (size_t p = 0; p < n->nprojects; jobs += s->projects[p++].napps)
			for (size_t r = 0; r < s->nrsc; r++) {
				size_t at = p * n->nsinks + i * s->nrsc + r;
				struct use u = usable_by(s, &s->projects[p], r, jobs);

				if (r == CW_CPU)
					u.flops = fmin(
					    u.flops, b->cpus[p] * s->rsc[r].flops);
				b->use[at] = u;
				n->limit[at] = b->spans[i].s * u.flops *
				               (1 + u.cpus * s->rsc[CW_CPU].flops);
			}
	}
}

static void build_net(struct bound *b, const struct sim_path *path, struct arena *a)
{
	const struct sim_scenario *s = b->scenario;
	struct flow_net *n = &b->net;

	b->nspans = sort_spans(s, path, a, b->spans);
	*n = (struct flow_net){ .nprojects = s->nprojects,
		.nsinks = b->nspans * s->nrsc };
	n->give = NEWN(a, double, n->nprojects + 1);
	n->passed = NEWN(a, double, n->nprojects + 1);
	n->limit = NEWN(a, double, n->nprojects * n->nsinks + 1);
	n->flow = NEWN(a, double, n->nprojects * n->nsinks + 1);
	n->room = NEWN(a, double, n->nsinks + 1);
	n->taken = NEWN(a, double, n->nsinks + 1);
	n->project_seen = NEWN(a, bool, n->nprojects + 1);
	n->sink_seen = NEWN(a, bool, n->nsinks + 1);
	n->queue = NEWN(a, size_t, n->nprojects + n->nsinks + 1);
	n->project_from = NEWN(a, size_t, n->nprojects + 1);
	n->sink_from = NEWN(a, size_t, n->nsinks + 1);
	b->use = NEWN(a, struct use, n->nprojects * n->nsinks + 1);
	b->cpus = NEWN(a, double, n->nprojects + 1);
	set_limits(b, a);
}

/* The share of a backup project is so small that it takes what no other can use. */
static void divide(struct bound *b, double shares, struct arena *a)
{
	const struct sim_scenario *s = b->scenario;
	bool *settled = NEWN(a, bool, s->nprojects + 1);
	double *share = NEWN(a, double, s->nprojects + 1), whole = 0;

	for (size_t p = 0; p < s->nprojects; p++) {
		b->net.give[p] = 0;
		share[p] = fmax(s->projects[p].share / shares, 1e-6);
	}
	for (size_t i = 0; i < b->net.nsinks; i++)
		whole += b->net.room[i];
	b->net.eps = whole * TINY;
	while (raise_level(&b->net, share, settled))
		;
}

void sim_bound(const struct sim_scenario *s, double days, uint64_t seed,
    struct arena *a, struct sim_bound *best)
{
	struct bound b = { .scenario = s };
	struct sim_path path;
	double shares = 0, used = 0, whole = 0, flops = 0;

	for (size_t r = 0; r < s->nrsc; r++)
		flops += s->rsc[r].ninst * s->rsc[r].flops;
	sim_path(s, days, seed, a, &path);
	build_net(&b, &path, a);
	*best = (struct sim_bound){ .share = NEWN(a, double, s->nprojects) };
	for (size_t p = 0; p < s->nprojects; p++)
		shares += s->projects[p].share;
	for (int i = 0; i < (s->nrsc > 1 ? ROUNDS : 1); i++) {
		set_rooms(&b);
		divide(&b, shares, a);
	}
	for (size_t p = 0; p < s->nprojects; p++)
		used += b.net.give[p];
	for (size_t i = 0; i < b.nspans; i++)
		whole += flops * b.spans[i].s;
	best->idle = whole > 0 ? fmax(0, 1 - used / whole) : 0;
	for (size_t p = 0; p < s->nprojects; p++) {
		best->share[p] = used > 0 ? b.net.give[p] / used : 0;
		best->share_violation += fabs(
		    best->share[p] - s->projects[p].share / shares);
	}
}
