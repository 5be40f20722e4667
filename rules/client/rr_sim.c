/* SPDX-License-Identifier: Apache-2.0 */
/* The weighted round-robin simulation: tasks in, shortfalls and misses out. */
#include "rules/client/rr_sim.h"

#include <math.h>
#include <stdlib.h>
#include "rules/client/flow.h"
#include "lib/banned.h"

static const double RECHECK_LEAST_S = 60, RECHECK_MOST_S = 600;
static const double NEAR_S = 1e-6; /* two times this close are the same */

struct line { /* tasks waiting, by index; linked by next[] */
	int32_t first, last;
};
struct group {                   /* the tasks of one project for one resource */
	struct line front, wait; /* front: was held back by a limit, goes first */
	uint32_t *active, n;     /* heap, the first to end first */
	uint32_t ntasks;
	double use, other;
	double entitled;    /* instances */
	double used, since; /* so much it used from then on */
};
struct run {
	const struct client_world *w;
	struct rr_sim *out;
	/* Per resource; then of the projects without share, which take what is left. */
	struct flow f[2 * CW_RSC_MOST];
	bool backup;              /* there are such projects */
	struct group *g;          /* nprojects * nrsc */
	int32_t *next;            /* per task */
	double *end_v;            /* per task: v of its stream when it ends */
	int32_t *nproject, *napp; /* active tasks */
	struct line *held;        /* per app */
	double t, horizon;
	bool seen_idle[CW_RSC_MOST];
};

static struct group *
group_of(const struct run *s, const struct cw_task *t)
{
	return &s->g[(size_t)t->project * s->w->nrsc + (size_t)t->rsc];
}

static struct flow *
flow_of(struct run *s, size_t project, size_t rsc)
{
	return &s->f[s->w->projects[project].share > 0 ? rsc : CW_RSC_MOST + rsc];
}

static void
append(struct run *s, struct line *l, int32_t i)
{
	s->next[i] = -1;
	if (l->first < 0)
		l->first = i;
	else
		s->next[l->last] = i;
	l->last = i;
}

static int32_t
remove_first(struct run *s, struct line *l)
{
	int32_t i = l->first;

	if (i >= 0)
		l->first = s->next[i];
	return i;
}

/* --- active tasks of a group: a heap by end_v --- */

static void
activate(struct run *s, struct group *g, uint32_t task)
{
	uint32_t i = g->n++;

	while (i > 0 && s->end_v[task] < s->end_v[g->active[(i - 1) / 2]]) {
		g->active[i] = g->active[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	g->active[i] = task;
}

static uint32_t
end_first(struct run *s, struct group *g)
{
	uint32_t first = g->active[0], last = g->active[--g->n], i = 0;

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k + 1 < g->n && s->end_v[g->active[k + 1]] < s->end_v[g->active[k]])
			k++;
		if (k >= g->n || s->end_v[g->active[k]] >= s->end_v[last])
			break;
		g->active[i] = g->active[k];
		i = k;
	}
	g->active[i] = last;
	return first;
}

/* --- who may run --- */

static bool
project_full(const struct run *s, int32_t project)
{
	int32_t most = s->w->projects[project].max_concurrent;

	return most > 0 && s->nproject[project] >= most;
}

static bool
app_full(const struct run *s, int32_t app)
{
	return s->w->napps > 0 && s->w->apps[app].max_concurrent > 0 &&
	       s->napp[app] >= s->w->apps[app].max_concurrent;
}

/* The next task that a group may run; those of a full app wait for the app. */
static int32_t
next_task(struct run *s, struct group *g)
{
	for (;;) {
		int32_t i = remove_first(s, &g->front);

		if (i < 0)
			i = remove_first(s, &g->wait);
		if (i < 0 || !app_full(s, s->w->tasks[i].app))
			return i;
		append(s, &s->held[s->w->tasks[i].app], i);
	}
}

/* What the project could not use of its part since its use last changed. */
static void
add_shortfall(struct run *s, size_t project, size_t rsc, struct group *g)
{
	double clip = cw_min(s->t, s->horizon), gap = g->entitled - g->used;

	if (gap > 0)
		s->out->p[project].shortfall[rsc] += gap * (clip - g->since);
	g->since = clip;
	g->used = g->use;
}

/* Up to the first task with which all instances would be in use. */
static void
refill(struct run *s, size_t project, size_t rsc)
{
	uint32_t stream = (uint32_t)project;
	struct group *g = &s->g[project * s->w->nrsc + rsc];
	struct flow *f = flow_of(s, project, rsc);
	double v = flow_v(f, stream);

	while (g->use < s->w->rsc[rsc].ninst - 1e-9 &&
	       !project_full(s, (int32_t)project)) {
		int32_t i = next_task(s, g);
		const struct cw_task *t;

		if (i < 0)
			break;
		t = &s->w->tasks[i];
		s->end_v[i] = v + t->remaining_s / s->w->rsc[rsc].avail;
		activate(s, g, (uint32_t)i);
		g->use += t->use;
		g->other += rsc == CW_CPU ? 0 : t->ncpus;
		s->nproject[project]++;
		if (s->w->napps > 0)
			s->napp[t->app]++;
	}
	if (g->use != g->used)
		add_shortfall(s, project, rsc, g);
	flow_set(
	    f, stream, g->use, g->other, g->n > 0 ? s->end_v[g->active[0]] : INFINITY);
}

/* Coprocessors take their CPUs before CPU tasks; projects without share come last. */
static void
share_out(struct run *s)
{
	double taken = 0;
	bool any = false;

	for (size_t r = 0; r < s->w->nrsc; r++)
		any |= s->f[r].unsettled || s->f[CW_RSC_MOST + r].unsettled;
	for (size_t k = 0; k < s->w->nrsc && any; k++) {
		size_t r = s->w->nrsc - 1 - k;
		struct flow *f = &s->f[r], *b = &s->f[CW_RSC_MOST + r];

		if (r == CW_CPU)
			f->capacity = cw_max(0, f->ninst - taken);
		flow_settle(f);
		if (s->backup) {
			b->capacity = flow_idle(f);
			flow_settle(b);
		}
		taken += flow_other(f) + (s->backup ? flow_other(b) : 0);
	}
}

static double
idle_of(const struct run *s, size_t rsc)
{
	return flow_idle(&s->f[s->backup ? CW_RSC_MOST + rsc : rsc]);
}

/* --- before and after --- */

static void
set_shares(struct run *s, struct arena *a)
{
	const struct client_world *w = s->w;
	bool *sharing = NEWN(a, bool, w->nprojects + 1);
	double sum = 0;

	cw_potentially_runnable(w, sharing);
	for (size_t p = 0; p < w->nprojects; p++) {
		sum += sharing[p] ? w->projects[p].share : 0;
		s->backup |= w->projects[p].share <= 0;
	}
	for (size_t r = 0; r < w->nrsc; r++) {
		flow_init(&s->f[r], a, w->nprojects, w->rsc[r].ninst);
		if (s->backup)
			flow_init(
			    &s->f[CW_RSC_MOST + r], a, w->nprojects, w->rsc[r].ninst);
	}
	for (size_t p = 0; p < w->nprojects; p++)
		for (size_t r = 0; r < w->nrsc; r++) {
			double share = w->projects[p].share;

			flow_of(s, p, r)->s[p].share = share > 0 ? share : 1;
			if (sharing[p] && sum > 0)
				s->g[p * w->nrsc + r].entitled = share / sum *
				                                 w->rsc[r].ninst;
		}
}

static bool
simulated(const struct client_world *w, const struct cw_task *t)
{
	return cw_nearly_runnable(w, t) && !cw_nci(w, t);
}

static void
line_up(struct run *s, struct arena *a)
{
	const struct client_world *w = s->w;
	uint32_t *heaps = NEWN(a, uint32_t, w->ntasks + 1);

	for (size_t i = 0; i < w->nprojects * w->nrsc; i++)
		s->g[i].front.first = s->g[i].wait.first = -1;
	for (size_t i = 0; i < w->napps; i++)
		s->held[i].first = -1;
	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];
		struct rr_project *p = &s->out->p[t->project];

		if (!simulated(w, t))
			continue;
		append(s, &group_of(s, t)->wait, (int32_t)i);
		p->ntasks[t->rsc]++;
		p->nrunnable[t->rsc] += cw_runnable(w, t);
		p->queued[t->rsc] += t->remaining_s * t->use;
	}
	for (size_t p = 0; p < w->nprojects; p++)
		for (size_t r = 0; r < w->nrsc; r++) {
			s->g[p * w->nrsc + r].active = heaps;
			heaps += s->out->p[p].ntasks[r];
		}
}

/*
 * When a task is to be done: by its deadline less the cushion, but none is hurried into
 * less than half its time for that (as the server reckons, rules/sched/workload.c).
 */
static double
cushion_of(const struct client_world *w, const struct cw_task *t)
{
	double half = (t->deadline - t->received_at) / 2;

	return cw_min(w->prefs.cushion_s, cw_max(half, 0));
}

static void
judge(struct run *s, uint32_t i)
{
	const struct client_world *w = s->w;
	const struct cw_task *t = &w->tasks[i];
	double cushion = cushion_of(w, t);
	double spare = t->deadline - cushion - w->now - s->t;
	double often = cw_min(cw_max(cushion / 2, RECHECK_LEAST_S), RECHECK_MOST_S);

	s->out->t[i].finish_s = s->t;
	if (spare >= -NEAR_S) {
		s->out->recheck_s = cw_min(s->out->recheck_s, cw_max(spare, often));
		return;
	}
	if (w->prefs.ram_bytes > 0 && t->rss_bytes > w->prefs.ram_bytes)
		return; /* it cannot run now anyway */
	s->out->t[i].miss = true;
	s->out->p[t->project].misses[t->rsc]++;
	s->out->r[t->rsc].missed_use += t->use;
}

/* --- the simulation --- */

static void
advance(struct run *s, double t)
{
	double dt = cw_min(t, s->horizon) - cw_min(s->t, s->horizon);

	for (size_t r = 0; r < s->w->nrsc; r++) {
		double idle = idle_of(s, r);

		if (idle > 0 && !s->seen_idle[r]) {
			s->seen_idle[r] = true;
			s->out->r[r].saturated_s = s->t;
		}
		s->out->r[r].shortfall += idle * dt;
		if (t < INFINITY)
			flow_advance(&s->f[r], t);
		if (t < INFINITY && s->backup)
			flow_advance(&s->f[CW_RSC_MOST + r], t);
	}
	if (t < INFINITY)
		s->t = t;
}

static void
end_task(struct run *s, size_t project, size_t rsc)
{
	struct group *g = &s->g[project * s->w->nrsc + rsc];
	uint32_t i = end_first(s, g);
	const struct cw_task *t = &s->w->tasks[i];

	judge(s, i);
	g->use = g->n == 0 ? 0 : g->use - t->use;
	g->other = g->n == 0 || rsc == CW_CPU ? 0 : g->other - t->ncpus;
	s->nproject[project]--;
	if (s->w->napps > 0) {
		int32_t held;

		s->napp[t->app]--;
		held = remove_first(s, &s->held[t->app]);
		if (held >= 0) {
			const struct cw_task *h = &s->w->tasks[held];

			append(s, &group_of(s, h)->front, held);
			if (h->rsc != (int32_t)rsc)
				refill(s, project, (size_t)h->rsc);
		}
	}
}

static void
step(struct run *s, double t, size_t rsc, uint32_t project)
{
	const struct client_world *w = s->w;

	advance(s, t);
	end_task(s, project, rsc);
	if (w->projects[project].max_concurrent > 0)
		for (size_t k = 0; k < w->nrsc; k++)
			refill(s, project, w->nrsc - 1 - k);
	else
		refill(s, project, rsc);
	share_out(s);
}

static bool
next_event(const struct run *s, double *t, size_t *rsc, uint32_t *project)
{
	*t = INFINITY;
	for (size_t k = 0; k < (s->backup ? 2 : 1); k++)
		for (size_t r = 0; r < s->w->nrsc; r++) {
			uint32_t p = 0;
			double at = flow_next(&s->f[k * CW_RSC_MOST + r], &p);

			if (at < *t) {
				*t = at;
				*rsc = r;
				*project = p;
			}
		}
	return *t < INFINITY;
}

/* --- busy time: what would miss, by earliest deadline (client.md 4.3) --- */

struct urgent {
	double deadline, length_s, use;
	uint32_t task;
};

static int
by_deadline(const void *pa, const void *pb)
{
	const struct urgent *a = pa, *b = pb;

	if (a->deadline != b->deadline)
		return a->deadline < b->deadline ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

/* free_at is a heap; the first instance gets length more. */
static void
load_first(double *free_at, size_t n, double length)
{
	double x = free_at[0] + length;
	size_t i = 0;

	for (;;) {
		size_t k = 2 * i + 1;

		if (k + 1 < n && free_at[k + 1] < free_at[k])
			k++;
		if (k >= n || free_at[k] >= x)
			break;
		free_at[i] = free_at[k];
		i = k;
	}
	free_at[i] = x;
}

static void
busy_time(struct run *s, struct arena *a, size_t rsc)
{
	const struct client_world *w = s->w;
	size_t n = 0, ninst = (size_t)cw_max(1, floor(w->rsc[rsc].ninst + 1e-9));
	double *free_at;
	struct urgent *u;

	if (s->out->r[rsc].missed_use <= 0)
		return;
	free_at = NEWN(a, double, ninst);
	u = NEWN(a, struct urgent, w->ntasks);
	for (uint32_t i = 0; i < w->ntasks; i++)
		if (s->out->t[i].miss && w->tasks[i].rsc == (int32_t)rsc)
			u[n++] = (struct urgent){ w->tasks[i].deadline,
				w->tasks[i].remaining_s / w->rsc[rsc].avail,
				w->tasks[i].use, i };
	qsort(u, n, sizeof(*u), by_deadline);
	for (size_t i = 0; i < n; i++) {
		double use = cw_min(u[i].use, (double)ninst);

		for (; use >= 1 - 1e-9; use--)
			load_first(free_at, ninst, u[i].length_s);
		if (use > 1e-9)
			load_first(free_at, ninst, u[i].length_s * use);
	}
	s->out->r[rsc].busy_s = free_at[0];
}

static void
start(struct run *s, struct arena *a)
{
	const struct client_world *w = s->w;

	set_shares(s, a);
	line_up(s, a);
	for (size_t k = 0; k < w->nrsc; k++)
		for (size_t p = 0; p < w->nprojects; p++) {
			size_t r = w->nrsc - 1 - k;

			refill(s, p, r);
			s->out->p[p].used[r] = cw_min(
			    s->g[p * w->nrsc + r].use, w->rsc[r].ninst);
		}
	share_out(s);
	for (size_t r = 0; r < w->nrsc; r++)
		s->out->r[r].nidle = idle_of(s, r);
}

/* What is left of the buffer after the last task; tasks that never end. */
static void
finish(struct run *s)
{
	const struct client_world *w = s->w;

	advance(s, INFINITY);
	s->t = INFINITY;
	for (size_t p = 0; p < w->nprojects; p++)
		for (size_t r = 0; r < w->nrsc; r++) {
			struct group *g = &s->g[p * w->nrsc + r];

			add_shortfall(s, p, r, g);
			for (uint32_t i = 0; i < g->n; i++)
				judge(s, g->active[i]);
		}
}

void
rr_simulate(const struct client_world *w, struct arena *a, struct rr_sim *out)
{
	struct run s = { .w = w,
		.out = out,
		.g = NEWN(a, struct group, w->nprojects * w->nrsc + 1),
		.next = NEWN(a, int32_t, w->ntasks + 1),
		.end_v = NEWN(a, double, w->ntasks + 1),
		.nproject = NEWN(a, int32_t, w->nprojects + 1),
		.napp = NEWN(a, int32_t, w->napps + 1),
		.held = NEWN(a, struct line, w->napps + 1),
		.horizon = w->prefs.min_s + w->prefs.extra_s };
	double t;
	size_t rsc = 0;
	uint32_t project = 0;

	*out = (struct rr_sim){ .p = NEWN(a, struct rr_project, w->nprojects + 1),
		.t = NEWN(a, struct rr_task, w->ntasks + 1),
		.recheck_s = INFINITY };
	start(&s, a);
	while (next_event(&s, &t, &rsc, &project))
		step(&s, t, rsc, project);
	finish(&s);
	for (size_t r = 0; r < w->nrsc; r++)
		busy_time(&s, a, r);
}
