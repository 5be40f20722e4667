/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the host of a run computes, and when it can reach each project: known from the
 * scenario and the seed, whatever the policy.
 */
#include "client/sim/path.h"

#include <math.h>
#include <stdlib.h>
#include "client/sim/state.h"
#include "lib/banned.h"

struct times {
	struct arena *a;
	double *at, end;
	size_t n, cap;
};

static void
note_time(struct times *t, double at)
{
	if (at > 0 && at < t->end)
		PUSH(t->a, t->at, t->n, t->cap) = at;
}

static int
by_time(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static void
add_scripted_times(const struct sim_scenario *s, struct times *t)
{
	for (size_t i = 0; i < s->nprojects; i++) {
		const struct sim_project *p = &s->projects[i];

		note_time(t, p->attach_s);
		note_time(t, p->detach_s);
		note_time(t, p->down_from_s);
		note_time(t, p->down_until_s);
		for (size_t k = 0; k < p->napps; k++) {
			note_time(t, p->apps[k].from_s);
			note_time(t, p->apps[k].until_s);
		}
	}
}

static void
switch_host(struct sim *s, double t)
{
	onoff_at(&s->on, t, &s->rng);
	onoff_at(&s->active, t, &s->rng);
	onoff_at(&s->connected, t, &s->rng);
}

static double
next_switch(const struct sim *s)
{
	return cw_min(s->on.until, cw_min(s->active.until, s->connected.until));
}

/* A run's power, network and servers at its start. */
static struct sim
start_history(
    const struct sim_scenario *sc, const struct sim_options *o, struct arena *a)
{
	struct sim s = { .scenario = sc,
		.options = o,
		.keep = a,
		.sums = NEW(a, struct sim_sums),
		.end_s = o->days * 86400 };

	sim_set_up(&s);
	arena_free(&s.round);
	return s;
}

/* Splits the time wherever something changes. */
static void
find_times(struct sim s, struct arena *a, struct sim_path *path)
{
	struct times t = { .a = a, .end = s.end_s };
	size_t n = 1;

	for (double at; (at = next_switch(&s)) < s.end_s;) {
		note_time(&t, at);
		switch_host(&s, at);
	}
	for (size_t i = 0; i < s.nservers; i++) {
		struct server v = s.servers[i];

		for (double at; (at = v.up.until) < s.end_s;) {
			note_time(&t, at);
			onoff_at(&v.up, at, &v.up_rng);
		}
	}
	add_scripted_times(s.scenario, &t);
	if (t.n > 0)
		qsort(t.at, t.n, sizeof(*t.at), by_time);
	path->at = NEWN(a, double, t.n + 2);
	for (size_t i = 0; i < t.n; i++)
		if (t.at[i] > path->at[n - 1])
			path->at[n++] = t.at[i];
	path->at[n] = s.end_s;
	path->n = n;
}

static bool
reachable(const struct sim *s, struct server *v, double t)
{
	const struct sim_project *p = v->project;

	onoff_at(&v->up, t, &v->up_rng);
	return s->on.on && s->connected.on && v->up.on && t >= p->attach_s &&
	       t < p->detach_s && !(t >= p->down_from_s && t < p->down_until_s);
}

/* For each project: the lengths of the spans' gaps without contact; 0 while there is
 * contact, INFINITY before the first one. */
static void
measure_gaps(struct sim_path *path, size_t nprojects)
{
	for (size_t p = 0; p < nprojects; p++) {
		double last = -INFINITY;

		for (size_t i = 0; i < path->n;) {
			size_t next = i;

			while (next < path->n && path->gap_s[next * nprojects + p] > 0)
				next++;
			for (; i < next; i++)
				path->gap_s[i * nprojects + p] = path->at[next] - last;
			if (i < path->n)
				last = path->at[++i];
		}
	}
}

void
sim_path(const struct sim_scenario *sc, double days, uint64_t seed, struct arena *a,
    struct sim_path *path)
{
	struct sim_options o = { .days = days, .seed = seed };
	struct sim s = start_history(sc, &o, a);

	find_times(s, a, path);
	s = start_history(sc, &o, a);
	path->computing = NEWN(a, bool, path->n);
	path->gap_s = NEWN(a, double, path->n * sc->nprojects + 1);
	for (size_t i = 0; i < path->n; i++) {
		double t = path->at[i];

		while (next_switch(&s) <= t)
			switch_host(&s, next_switch(&s));
		path->computing[i] = s.on.on && s.active.on;
		for (size_t k = 0; k < s.nservers; k++)
			path->gap_s[i * sc->nprojects + (size_t)s.servers[k].scenario] =
			    reachable(&s, &s.servers[k], t) ? 0 : 1;
	}
	measure_gaps(path, sc->nprojects);
}
