/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The projects' servers in a simulation: each has an unlimited supply of jobs and sends
 * as much as was asked for while it can be done in time, by the rule of Locus's
 * scheduler (rules/sched/workload.h): the host lists its tasks, and a job is sent if
 * neither it nor another task would miss its deadline.
 */
#include "client/sim/server.h"

#include <math.h>
#include <stdlib.h>
#include "client/sim/state.h"
#include "rules/sched/workload.h"
#include "lib/banned.h"

/*
 * When the host of a run computes, and when it can reach each project: known from the
 * scenario and the seed, whatever the policy.
 */

struct times {
	struct arena *a;
	double *at, end;
	size_t n, cap;
};

static void note_time(struct times *t, double at)
{
	if (at > 0 && at < t->end)
		PUSH(t->a, t->at, t->n, t->cap) = at;
}

static int by_time(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static void switch_host(struct sim *s, double t)
{
	onoff_at(&s->on, t, &s->rng);
	onoff_at(&s->active, t, &s->rng);
	onoff_at(&s->connected, t, &s->rng);
}

static double next_switch(const struct sim *s)
{
	return cw_min(s->on.until, cw_min(s->active.until, s->connected.until));
}

/* A run's power, network and servers at its start. */
static struct sim start_history(
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
static void find_times(struct sim s, struct arena *a, struct sim_path *path)
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
	for (size_t i = 0; i < s.scenario->nprojects; i++) {
		const struct sim_project *p = &s.scenario->projects[i];

		note_time(&t, p->attach_s);
		note_time(&t, p->detach_s);
		note_time(&t, p->down_from_s);
		note_time(&t, p->down_until_s);
		for (size_t k = 0; k < p->napps; k++) {
			note_time(&t, p->apps[k].from_s);
			note_time(&t, p->apps[k].until_s);
		}
	}
	if (t.n > 0)
		qsort(t.at, t.n, sizeof(*t.at), by_time);
	path->at = NEWN(a, double, t.n + 2);
	for (size_t i = 0; i < t.n; i++)
		if (t.at[i] > path->at[n - 1])
			path->at[n++] = t.at[i];
	path->at[n] = s.end_s;
	path->n = n;
}

/* For each project: the lengths of the spans' gaps without contact; 0 while there is
 * contact, INFINITY before the first one. */
static void measure_gaps(struct sim_path *path, size_t nprojects)
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

static bool is_up(struct server *v, double t)
{
	onoff_at(&v->up, t, &v->up_rng);
	return v->up.on &&
	       !(t >= v->project->down_from_s && t < v->project->down_until_s);
}

void sim_path(const struct sim_scenario *sc, double days, uint64_t seed,
    struct arena *a, struct sim_path *path)
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
		for (size_t k = 0; k < s.nservers; k++) {
			struct server *v = &s.servers[k];
			bool up = is_up(v, t);

			path->gap_s[i * sc->nprojects + (size_t)v->scenario] =
			    up && s.on.on && s.connected.on &&
				    t >= v->project->attach_s &&
				    t < v->project->detach_s ?
				0 :
				1;
		}
	}
	measure_gaps(path, sc->nprojects);
}

enum { JOBS_MOST = 10000 };            /* per reply and resource */
static const double SIZE_LEAST = 0.05; /* of a job, relative to the mean */

struct supply { /* apps of one project that have jobs for one resource */
	const struct sim_app *app[64];
	size_t n;
	double weight;
};

static uint32_t count_in_progress(const struct sim *s, const struct sim_app *app)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->world.ntasks; i++)
		n += s->jobs[i].app == app;
	return n;
}

static struct supply supply_of(const struct sim *s, const struct server *v, size_t rsc)
{
	struct supply u = { .n = 0 };

	for (size_t i = 0; i < v->project->napps && u.n < N(u.app); i++) {
		const struct sim_app *app = &v->project->apps[i];

		if (app->rsc != (int32_t)rsc || s->world.now < app->from_s ||
		    s->world.now >= app->until_s)
			continue;
		u.app[u.n++] = app;
		u.weight += app->weight;
	}
	return u;
}

static size_t pick_app(const struct supply *u, struct rng *rng)
{
	double x;
	size_t i = 0;

	if (u->n == 1)
		return 0;
	x = rng_unit(rng) * u->weight;
	while (i + 1 < u->n && x >= u->app[i]->weight)
		x -= u->app[i++]->weight;
	return i;
}

static void strike_app(struct supply *u, size_t i)
{
	u->weight -= u->app[i]->weight;
	u->app[i] = u->app[--u->n];
}

/* Jobs for the host's current file come first, then one for a new file. */
static void count_bytes(struct server *v, const struct sim_app *app)
{
	double *jobs = &v->job_of_file[app - v->project->apps];

	if (app->file_bytes <= 0)
		return;
	if (*jobs == 0)
		v->sums->bytes += app->file_bytes;
	*jobs = *jobs + 1 >= app->jobs_per_file ? 0 : *jobs + 1;
}

static void send_job(struct sim *s, struct server *v, const struct sim_app *app)
{
	const struct client_world *w = &s->world;
	double size = app->run_s;
	size_t i = w->ntasks;

	size_t cap = s->tasks_cap;

	s->world.tasks = arena_grow(
	    s->keep, s->world.tasks, s->world.ntasks, &cap, sizeof(*s->world.tasks));
	s->jobs = arena_grow(
	    s->keep, s->jobs, s->world.ntasks, &s->tasks_cap, sizeof(*s->jobs));
	if (app->sd > 0)
		size *= fmax(SIZE_LEAST, 1 + app->sd * rng_gauss(&v->job_rng));
	s->jobs[i] = (struct sim_job){ .id = ++s->njobs,
		.app = app,
		.size_s = size,
		.est_s = app->run_s * app->bias,
		.flops = app->ncpus * w->rsc[CW_CPU].flops };
	if (app->rsc != CW_CPU)
		s->jobs[i].flops += app->use * w->rsc[app->rsc].flops;
	s->world.tasks[i] = (struct cw_task){ .id = (uint32_t)s->njobs,
		.project = v->world,
		.app = v->app_base + (int32_t)(app - v->project->apps),
		.rsc = app->rsc,
		.use = app->use,
		.ncpus = app->ncpus,
		.remaining_s = s->jobs[i].est_s * v->factor[app - v->project->apps],
		.deadline = w->now + app->deadline_s,
		.received_at = w->now,
		.rss_bytes = app->rss_bytes };
	s->world.ntasks++;
	s->late_at = cw_min(s->late_at, s->world.tasks[i].deadline);
	cw_grew(&s->world);
	v->sums->fetched++;
	s->sums->fetched++;
	count_bytes(v, app);
	sim_tell(s, SIM_JOB, v, &s->jobs[i], s->world.tasks[i].deadline, 0, NULL);
}

/* --- deadline check --- */

struct load { /* the host's load on one resource */
	const struct sim *sim;
	size_t rsc;
	/* work_s, longest_s: wall time; first_deadline: from now. */
	double work_s, longest_s, first_deadline;
	bool plain; /* no task takes more than one instance */
	struct edf edf;
	bool listed; /* edf holds the tasks */
	double delay_s;
};

/* As in rules/sched/workload.c: the deadline less the buffer, but at least half of the
 * time. */
static double sim_to_be_done_by(const struct sim *s, double deadline)
{
	double left = deadline - s->world.now;

	return left > 0 ? deadline - cw_min(s->scenario->prefs.min_s, left / 2) :
	                  deadline;
}

static void load_add(struct load *l, double length, double use, double deadline)
{
	double by = sim_to_be_done_by(l->sim, deadline);

	l->work_s += length * use;
	l->longest_s = cw_max(l->longest_s, length);
	l->first_deadline = cw_min(l->first_deadline, by - l->sim->world.now);
	l->plain &= use <= 1;
	l->delay_s += length * use / l->sim->world.rsc[l->rsc].ninst;
	if (l->listed)
		edf_add(&l->edf, (struct edf_task){ (int64_t)by, length, use });
}

static struct load load_of(const struct sim *s, size_t rsc, double delay_s)
{
	struct load l = {
		.sim = s, .rsc = rsc, .first_deadline = INFINITY, .plain = true
	};

	for (size_t i = 0; i < s->world.ntasks; i++) {
		const struct cw_task *t = &s->world.tasks[i];

		if (t->rsc == (int32_t)rsc)
			load_add(&l, t->remaining_s / s->world.rsc[rsc].avail, t->use,
			    t->deadline);
	}
	l.delay_s = delay_s;
	return l;
}

static void load_list_tasks(struct sim *s, struct load *l)
{
	l->edf = edf_new(&s->round, (int64_t)s->world.now, s->world.rsc[l->rsc].ninst);
	l->listed = true;
	for (size_t i = 0; i < s->world.ntasks; i++) {
		const struct cw_task *t = &s->world.tasks[i];

		if (t->rsc == (int32_t)l->rsc)
			edf_add(&l->edf,
			    (struct edf_task){
				(int64_t)sim_to_be_done_by(s, t->deadline),
				t->remaining_s / s->world.rsc[l->rsc].avail, t->use });
	}
}

static bool would_send(struct sim *s, const struct server *v, struct load *l,
    const struct sim_app *app, double length)
{
	if (v->project->no_deadline_check)
		return true;
	if (v->project->delay_check)
		return l->delay_s + length <= app->deadline_s;
	/* Without pauses, tasks in any order are all done after work / instances + the
	 * longest task. Only if that is too late are they laid out one by one. */
	double by = sim_to_be_done_by(s, s->world.now + app->deadline_s);
	double all = (l->work_s + length * app->use) / s->world.rsc[l->rsc].ninst +
	             cw_max(l->longest_s, length);

	if (l->plain && app->use <= 1 &&
	    all < cw_min(l->first_deadline, by - s->world.now) - 1)
		return true;
	if (!l->listed)
		load_list_tasks(s, l);
	return edf_accepts(&l->edf, (struct edf_task){ (int64_t)by, length, app->use });
}

static void send_for(struct sim *s, struct server *v, const struct work_ask *ask,
    size_t rsc, struct reply_facts *f)
{
	struct supply u = { .n = 0 };
	double secs = ask->secs[rsc], inst = ask->inst[rsc];
	struct load l;

	if (secs <= 0 && inst <= 0)
		return;
	u = supply_of(s, v, rsc);
	l = load_of(s, rsc, ask->delay_s[rsc]);
	while ((secs > 0 || inst > 0) && u.n > 0 && f->ntasks[rsc] < JOBS_MOST) {
		size_t i = pick_app(&u, &v->job_rng);
		const struct sim_app *app = u.app[i];
		double length = app->run_s * app->bias / s->world.rsc[rsc].avail;

		if (!would_send(s, v, &l, app, length)) {
			f->latency_limited = true;
			strike_app(&u, i);
			continue;
		}
		if (app->in_progress_most > 0 &&
		    count_in_progress(s, app) >= (uint32_t)app->in_progress_most) {
			strike_app(&u, i);
			continue;
		}
		send_job(s, v, app);
		load_add(&l, length, app->use, s->world.now + app->deadline_s);
		f->ntasks[rsc]++;
		secs -= length * app->use;
		inst -= app->use;
	}
}

static void take_reports(struct sim *s, struct server *v)
{
	struct cw_rpc *rpc = &s->world.projects[v->world].rpc;

	for (size_t i = 0; i < v->nready; i++) {
		bool late = s->world.now > v->ready[i].deadline;

		*(late ? &v->sums->missed : &v->sums->met) += 1;
		v->sums->wasted_flops += late ? v->ready[i].flops : 0;
	}
	if (v->nready > 0)
		sim_tell(s, SIM_REPORT, v, NULL, 0, (int64_t)v->nready, NULL);
	v->nready = 0;
	rpc->nready = 0;
	rpc->report_now = false;
}

static void tell_contact(struct sim *s, const struct server *v, const struct contact *c)
{
	const char *text = contact_words(c->why);

	if (s->options->event == NULL)
		return;
	for (size_t r = 0; r < s->world.nrsc; r++)
		if (c->ask.secs[r] > 0 || c->ask.inst[r] > 0)
			text = arena_printf(&s->round,
			    "%s; %s %.0f s, %.2f instances, busy for %.0f s", text,
			    s->world.rsc[r].name, c->ask.secs[r], c->ask.inst[r],
			    c->ask.delay_s[r]);
	sim_tell(s, SIM_CONTACT, v, NULL, 0, 0, text);
}

bool sim_contact(struct sim *s, const struct contact *c)
{
	struct server *v = &s->servers[s->server_index[c->project]];
	struct reply_facts f = { .request_delay_s = v->project->request_delay_s };
	size_t project = (size_t)c->project, n = 0;

	if (c->why != CONTACT_MASTER) {
		v->sums->contacts++;
		s->sums->contacts++;
	}
	tell_contact(s, v, c);
	if (!is_up(v, s->world.now)) {
		sim_tell(s, SIM_FAILED, v, NULL, 0, 0, NULL);
		if (c->why == CONTACT_MASTER)
			contact_master(&s->world, s->options->policy, project, 0, 0,
			    &v->backoff_rng);
		else
			contact_failed(
			    &s->world, s->options->policy, project, &v->backoff_rng);
		return false;
	}
	if (c->why == CONTACT_MASTER) {
		contact_master(
		    &s->world, s->options->policy, project, 1, 0, &v->backoff_rng);
		return false;
	}
	take_reports(s, v);
	for (size_t k = 0; k < s->world.nrsc; k++) {
		send_for(s, v, &c->ask, s->world.nrsc - 1 - k, &f);
		n += f.ntasks[s->world.nrsc - 1 - k];
	}
	f.latency_limited = f.latency_limited && n == 0;
	sim_tell(s, SIM_REPLY, v, NULL, 0, (int64_t)n, NULL);
	contact_replied(&s->world, s->options->policy, c, &f, &v->backoff_rng);
	return n > 0;
}
