// SPDX-License-Identifier: Apache-2.0
/*
 * The fair division of a host among projects that cannot all use all of it.  Projects
 * are the sources of a flow; resources in spans of time are its sinks.  The greatest
 * level at which every project gets level * share is found at the minimum cut: the
 * projects behind the cut are settled, and the others rise further.
 */
#include "client/sim/report.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/banned.h"

enum { SPANS_MOST = 64 };
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
static void
reach_node(struct flow_net *n, bool *seen, size_t *from, size_t what, size_t by,
    size_t node, size_t *tail)
{
	if (seen[what])
		return;
	seen[what] = true;
	from[what] = by;
	n->queue[(*tail)++] = node;
}

/* Searches breadth first along edges with room; returns a sink with room left, or
 * nsinks. */
static size_t
find_path(struct flow_net *n)
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

/* Sends as much as fits along the path that ends at sink s. */
static void
push_along_path(struct flow_net *n, size_t s)
{
	double most = n->room[s] - n->taken[s];
	size_t at = s, p;

	for (;;) {
		p = n->sink_from[at];
		most = fmin(
		    most, n->limit[p * n->nsinks + at] - n->flow[p * n->nsinks + at]);
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

/* Computes the greatest flow for give[]; afterwards *_seen mark the source's side of a
 * minimum cut. */
static void
max_flow(struct flow_net *n)
{
	memset(n->passed, 0, n->nprojects * sizeof(*n->passed));
	memset(n->taken, 0, n->nsinks * sizeof(*n->taken));
	memset(n->flow, 0, n->nprojects * n->nsinks * sizeof(*n->flow));
	for (size_t s; (s = find_path(n)) < n->nsinks;)
		push_along_path(n, s);
}

/* Capacity for what leaves the projects behind the cut. */
static double
cut_room(const struct flow_net *n)
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
 * settles those that cannot rise further.  Returns true while some are left. */
static bool
raise_level(struct flow_net *n, const double *share, bool *settled)
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

static size_t
add_time(double *times, size_t n, double t, double end)
{
	if (t <= 0 || t >= end || n == SPANS_MOST)
		return n;
	for (size_t i = 0; i < n; i++)
		if (times[i] == t)
			return n;
	times[n] = t;
	return n + 1;
}

static int
by_time(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* Splits the time where a project's abilities change: the starts of spans, from 0, and
 * the end. */
static size_t
span_starts(const struct sim_scenario *s, double end, double times[SPANS_MOST + 2])
{
	size_t n = 1;

	times[0] = 0;
	for (size_t i = 0; i < s->nprojects; i++) {
		const struct sim_project *p = &s->projects[i];

		n = add_time(times, n, p->attach_s, end);
		n = add_time(times, n, p->detach_s, end);
		for (size_t k = 0; k < p->napps; k++) {
			n = add_time(times, n, p->apps[k].from_s, end);
			n = add_time(times, n, p->apps[k].until_s, end);
		}
	}
	qsort(times, n, sizeof(*times), by_time);
	times[n] = end;
	return n;
}

/* Limit of the app's running jobs; INFINITY: none. */
static double
concurrent_jobs(const struct sim_project *p, const struct sim_app *app)
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

/* FLOPS of a resource that the project can use at time t. */
static double
usable_flops(
    const struct sim_scenario *s, const struct sim_project *p, size_t rsc, double t)
{
	double sum = 0;

	if (t < p->attach_s || t >= p->detach_s || p->nci)
		return 0;
	for (size_t k = 0; k < p->napps; k++) {
		const struct sim_app *app = &p->apps[k];
		double job = app->use * s->rsc[rsc].flops;

		if ((size_t)app->rsc == rsc && t >= app->from_s && t < app->until_s &&
		    app->weight > 0)
			sum += concurrent_jobs(p, app) * job;
	}
	return fmin(sum, s->rsc[rsc].ninst * s->rsc[rsc].flops);
}

static struct flow_net
build_net(const struct sim_scenario *s, double end, struct arena *a)
{
	double times[SPANS_MOST + 2];
	size_t nspans = span_starts(s, end, times);
	struct flow_net n = { .nprojects = s->nprojects, .nsinks = nspans * s->nrsc };
	double *cpus = NEWN(a, double, s->nprojects + 1), whole = 0;

	n.give = NEWN(a, double, n.nprojects);
	n.passed = NEWN(a, double, n.nprojects);
	n.limit = NEWN(a, double, n.nprojects *n.nsinks);
	n.flow = NEWN(a, double, n.nprojects *n.nsinks);
	n.room = NEWN(a, double, n.nsinks);
	n.taken = NEWN(a, double, n.nsinks);
	n.project_seen = NEWN(a, bool, n.nprojects);
	n.sink_seen = NEWN(a, bool, n.nsinks);
	n.queue = NEWN(a, size_t, n.nprojects + n.nsinks);
	n.project_from = NEWN(a, size_t, n.nprojects);
	n.sink_from = NEWN(a, size_t, n.nsinks);
	for (size_t i = 0; i < n.nsinks; i++) {
		size_t rsc = i % s->nrsc;
		double from = times[i / s->nrsc], len = times[i / s->nrsc + 1] - from;

		n.room[i] = s->rsc[rsc].ninst * s->rsc[rsc].flops * len;
		whole += n.room[i];
		if (rsc == CW_CPU)
			sim_memory_cpus(s, from, a, cpus);
		for (size_t p = 0; p < n.nprojects; p++) {
			double most = usable_flops(s, &s->projects[p], rsc, from);

			if (rsc == CW_CPU)
				most = fmin(most, cpus[p] * s->rsc[rsc].flops);
			n.limit[p * n.nsinks + i] = len * most;
		}
	}
	n.eps = whole * TINY;
	return n;
}

void
sim_bound(
    const struct sim_scenario *s, double days, struct arena *a, struct sim_bound *b)
{
	struct flow_net n = build_net(s, days * 86400, a);
	bool *settled = NEWN(a, bool, n.nprojects);
	double *share = NEWN(a, double, n.nprojects), shares = 0, used = 0, whole = 0;

	*b = (struct sim_bound){ .share = NEWN(a, double, n.nprojects) };
	for (size_t p = 0; p < n.nprojects; p++)
		shares += s->projects[p].share;
	/* A backup project takes what no other can use. */
	for (size_t p = 0; p < n.nprojects; p++)
		share[p] = fmax(s->projects[p].share / shares, 1e-6);
	while (raise_level(&n, share, settled))
		;
	for (size_t p = 0; p < n.nprojects; p++)
		used += n.give[p];
	for (size_t i = 0; i < n.nsinks; i++)
		whole += n.room[i];
	b->idle = fmax(0, 1 - used / whole);
	for (size_t p = 0; p < n.nprojects; p++) {
		b->share[p] = used > 0 ? n.give[p] / used : 0;
		b->share_violation += fabs(b->share[p] - s->projects[p].share / shares);
	}
}
