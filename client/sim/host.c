/* SPDX-License-Identifier: Apache-2.0 */
/* What changes in a simulation over time: power, network, servers, projects. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "client/sim/state.h"
#include "lib/banned.h"

/* The tasks of a simulated host: they start, stop, end, and report events. */

/* A factor that moved by less does not matter. */
static const double MOVED = 0.05;

/* Parameters: the members of an event. */
void sim_tell(struct sim *s, enum sim_kind kind, const struct server *v,
    const struct sim_job *j, double x, int64_t n, const char *text)
{
	struct sim_event e = { .t = s->world.now,
		.kind = kind,
		.project = v == NULL ? -1 : v->scenario,
		.app = -1,
		.rsc = -1,
		.x = x,
		.n = n,
		.text = text };

	if (s->options->event == NULL)
		return;
	if (j != NULL) {
		e.job = j->id;
		e.app = (int32_t)(j->app - v->project->apps);
		e.rsc = j->app->rsc;
	}
	s->options->event(s->options->listener, &e);
}

struct server *sim_server_of(struct sim *s, uint32_t task)
{
	return &s->servers[s->server_index[s->world.tasks[task].project]];
}

void sim_start_task(struct sim *s, uint32_t i, bool edf)
{
	struct cw_task *t = &s->world.tasks[i];
	struct sim_job *j = &s->jobs[i];
	struct server *v = sim_server_of(s, i);

	if (t->started && !t->in_memory)
		j->overhead_s = j->app->restart_s;
	t->running = t->started = true;
	t->in_memory = false;
	t->run_since = s->world.now;
	s->relist = true;
	if (v->nrunning++ == 0)
		v->sums->gap2_s3 += pow(s->world.now - v->quiet_since, 3) / 3;
	sim_tell(s, SIM_START, v, j, 0, edf, NULL);
}

/* Ends an episode of running, for whatever reason. */
static void stop_running(struct sim *s, uint32_t i)
{
	struct server *v = sim_server_of(s, i);

	s->world.tasks[i].running = false;
	s->relist = true;
	if (--v->nrunning == 0)
		v->quiet_since = s->world.now;
}

double sim_loss_s(const struct sim *s, uint32_t i, bool keep)
{
	return keep ? 0 : s->jobs[i].done_s - s->jobs[i].saved_s;
}

void sim_stop_task(struct sim *s, uint32_t i, bool keep)
{
	struct cw_task *t = &s->world.tasks[i];
	struct sim_job *j = &s->jobs[i];
	double lost = sim_loss_s(s, i, keep);

	stop_running(s, i);
	t->in_memory = keep;
	if (!keep) {
		j->done_s = j->saved_s;
		j->overhead_s = 0;
		t->since_checkpoint_s = 0;
		t->remaining_s += lost;
		if (lost > 0)
			cw_grew(&s->world);
		s->sums->lost_flops += lost * j->flops;
	}
	s->sums->preemptions++;
	sim_tell(s, SIM_PREEMPT, sim_server_of(s, i), j, lost, 0, NULL);
}

static void sim_drop_task(struct sim *s, uint32_t i)
{
	size_t after = --s->world.ntasks - i;

	cw_changed(&s->world);
	s->relist = true;
	memmove(&s->world.tasks[i], &s->world.tasks[i + 1],
	    after * sizeof(*s->world.tasks));
	memmove(&s->jobs[i], &s->jobs[i + 1], after * sizeof(*s->jobs));
}

/* The task is done with and waits to be reported. */
static void hand_in(struct sim *s, uint32_t i)
{
	const struct cw_task *t = &s->world.tasks[i];
	const struct sim_job *j = &s->jobs[i];
	struct server *v = sim_server_of(s, i);

	PUSH(s->keep, v->ready, v->nready,
	    v->ready_cap) = (struct finished_job){ t->deadline, j->ran_s * j->flops };
	contact_ready(
	    &s->world.projects[t->project].rpc, s->world.now, t->deadline, false);
	sim_drop_task(s, i);
}

/* Tells the rules what was learned about a project's estimates. */
static void sim_correct(struct sim *s, const struct server *v)
{
	const struct correction **of = NEWN(
	    &s->round, const struct correction *, v->project->napps + 1);

	for (size_t r = 0; r < s->world.nrsc; r++) {
		size_t n = 0;

		for (size_t k = 0; k < v->project->napps; k++)
			if (v->project->apps[k].rsc == (int32_t)r)
				of[n++] = &v->learned[k];
		s->world.projects[v->world].correction[r] = estimate_mean_factor(of, n);
	}
}

/* Learns how long the app's jobs take. The tasks at hand are estimated anew only if
 * the factor moved: thousands may wait. */
static void learn_from(struct sim *s, struct server *v, const struct sim_job *j)
{
	const struct sim_app *app = j->app;
	size_t k = (size_t)(app - v->project->apps);
	double factor;

	estimate_learn(&v->learned[k], j->est_s, j->size_s);
	factor = estimate_factor(&v->learned[k]);
	if (fabs(factor / v->factor[k] - 1) < MOVED)
		return;
	v->factor[k] = factor;
	cw_grew(&s->world);
	s->world.projects[v->world].acct.longest_s = 0; /* as of the old factor */
	sim_correct(s, v);
	for (size_t i = 0; i < s->world.ntasks; i++)
		if (s->jobs[i].app == app && !s->world.tasks[i].started)
			s->world.tasks[i].remaining_s = s->jobs[i].est_s * factor;
}

void sim_end_task(struct sim *s, uint32_t i)
{
	struct cw_task t = s->world.tasks[i];

	stop_running(s, i);
	sim_tell(s, SIM_END, sim_server_of(s, i), &s->jobs[i], 0,
	    s->world.now <= t.deadline, NULL);
	learn_from(s, sim_server_of(s, i), &s->jobs[i]);
	hand_in(s, i);
	contact_task_done(&s->world, &t);
}

/* As a real host does (client.md 4.8): the work would be of no use any more. */
void sim_abort_late(struct sim *s)
{
	if (s->world.now <= s->late_at)
		return;
	s->late_at = INFINITY;
	for (uint32_t i = (uint32_t)s->world.ntasks; i-- > 0;) {
		if (s->world.tasks[i].started)
			continue;
		if (s->world.now <= s->world.tasks[i].deadline) {
			s->late_at = cw_min(s->late_at, s->world.tasks[i].deadline);
			continue;
		}
		sim_tell(s, SIM_ABORT, sim_server_of(s, i), &s->jobs[i], 0, 0, NULL);
		hand_in(s, i);
	}
}

/* --- on and off --- */

static double next_length(const struct onoff *o, struct rng *rng)
{
	double f = o->params->fraction, on = o->params->mean_on_s;

	if (f >= 1)
		return INFINITY;
	return -(o->on ? on : on * (1 - f) / f) * log(1 - rng_unit(rng));
}

static void onoff_start(
    struct onoff *o, const struct sim_onoff *params, struct rng *rng)
{
	o->params = params;
	o->on = params->fraction > 0;
	o->until = o->on ? next_length(o, rng) : INFINITY;
}

bool onoff_at(struct onoff *o, double t, struct rng *rng)
{
	bool was = o->on;

	while (o->until <= t) {
		o->on = !o->on;
		o->until += next_length(o, rng);
	}
	return o->on != was;
}

/* --- canonical order of the projects: by content, whatever their listing and names
 * --- */

static int three_way(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int compare_apps(const struct sim_app *a, const struct sim_app *b)
{
	const double pairs[][2] = { { b->run_s, a->run_s }, { a->sd, b->sd },
		{ a->deadline_s, b->deadline_s }, { a->ncpus, b->ncpus },
		{ a->rsc, b->rsc }, { a->use, b->use }, { a->weight, b->weight },
		{ a->bias, b->bias }, { a->checkpoint_s, b->checkpoint_s },
		{ a->restart_s, b->restart_s }, { a->from_s, b->from_s },
		{ a->until_s, b->until_s }, { a->rss_bytes, b->rss_bytes },
		{ a->file_bytes, b->file_bytes },
		{ a->jobs_per_file, b->jobs_per_file },
		{ a->max_concurrent, b->max_concurrent },
		{ a->in_progress_most, b->in_progress_most } };

	for (size_t i = 0; i < N(pairs); i++)
		if (pairs[i][0] != pairs[i][1])
			return three_way(pairs[i][0], pairs[i][1]);
	return 0;
}

static int by_content(const void *pa, const void *pb)
{
	const struct sim_project *a = ((const struct server *)pa)->project;
	const struct sim_project *b = ((const struct server *)pb)->project;
	const double pairs[][2] = { { b->share, a->share },
		{ (double)a->napps, (double)b->napps },
		{ a->up.fraction, b->up.fraction },
		{ a->up.mean_on_s, b->up.mean_on_s }, { a->attach_s, b->attach_s },
		{ a->detach_s, b->detach_s },
		{ a->request_delay_s, b->request_delay_s },
		{ a->down_from_s, b->down_from_s },
		{ a->down_until_s, b->down_until_s },
		{ a->max_concurrent, b->max_concurrent }, { a->nci, b->nci },
		{ a->no_deadline_check, b->no_deadline_check },
		{ a->delay_check, b->delay_check } };

	for (size_t i = 0; i < N(pairs); i++)
		if (pairs[i][0] != pairs[i][1])
			return three_way(pairs[i][0], pairs[i][1]);
	for (size_t i = 0; i < a->napps; i++) {
		int c = compare_apps(&a->apps[i], &b->apps[i]);

		if (c != 0)
			return c;
	}
	return strcmp(a->name, b->name); /* tie-break for identical projects */
}

static void create_servers(struct sim *s)
{
	int32_t napps = 0;
	bool limited = false;

	s->nservers = s->scenario->nprojects;
	s->servers = NEWN(s->keep, struct server, s->nservers + 1);
	s->server_index = NEWN(s->keep, int32_t, s->nservers + 1);
	s->sums->projects = NEWN(s->keep, struct sim_project_sums, s->nservers + 1);
	for (size_t i = 0; i < s->nservers; i++)
		s->servers[i] = (struct server){ .project = &s->scenario->projects[i],
			.sums = &s->sums->projects[i],
			.scenario = (int32_t)i,
			.world = -1 };
	qsort(s->servers, s->nservers, sizeof(*s->servers), by_content);
	for (size_t i = 0; i < s->nservers; i++) {
		struct server *v = &s->servers[i];

		v->app_base = napps;
		v->up_rng = rng_seed(rng_next(&s->rng));
		v->job_rng = rng_seed(rng_next(&s->rng));
		v->backoff_rng = rng_seed(rng_next(&s->rng));
		v->job_of_file = NEWN(s->keep, double, v->project->napps + 1);
		v->learned = NEWN(s->keep, struct correction, v->project->napps + 1);
		v->factor = NEWN(s->keep, double, v->project->napps + 1);
		for (size_t k = 0; k < v->project->napps; k++)
			v->factor[k] = 1;
		onoff_start(&v->up, &v->project->up, &v->up_rng);
		napps += (int32_t)v->project->napps;
		for (size_t k = 0; k < v->project->napps; k++)
			limited |= v->project->apps[k].max_concurrent > 0;
	}
	if (!limited)
		return;
	s->world.napps = (size_t)napps;
	s->world.apps = NEWN(s->keep, struct cw_app, s->world.napps);
	for (size_t i = 0; i < s->nservers; i++)
		for (size_t k = 0; k < s->servers[i].project->napps; k++)
			s->world.apps[(size_t)s->servers[i].app_base + k]
			    .max_concurrent =
			    s->servers[i].project->apps[k].max_concurrent;
}

/* Updates all project indices after a project came or went. */
static void renumber(struct sim *s, const int32_t *was)
{
	cw_grew(&s->world);
	for (size_t i = 0; i < s->world.nprojects; i++)
		s->servers[s->server_index[i]].world = (int32_t)i;
	for (size_t i = 0; i < s->world.ntasks; i++)
		s->world.tasks[i].project =
		    s->servers[was[s->world.tasks[i].project]].world;
	for (size_t i = 0; i < s->nservers && s->world.napps > 0; i++)
		for (size_t k = 0; k < s->servers[i].project->napps; k++)
			s->world.apps[(size_t)s->servers[i].app_base + k].project =
			    s->servers[i].world;
}

static void attach_project(struct sim *s, int32_t server_index, const int32_t *was)
{
	struct server *v = &s->servers[server_index];
	size_t at = 0;

	while (at < s->world.nprojects && s->server_index[at] < server_index)
		at++;
	memmove(&s->server_index[at + 1], &s->server_index[at],
	    (s->world.nprojects - at) * sizeof(*s->server_index));
	memmove(&s->world.projects[at + 1], &s->world.projects[at],
	    (s->world.nprojects - at) * sizeof(*s->world.projects));
	s->server_index[at] = server_index;
	s->world.projects[at] = (struct cw_project){ .name = v->project->name,
		.share = v->project->share,
		.attached_at = s->world.now,
		.max_concurrent = v->project->max_concurrent,
		.nci = v->project->nci,
		.dcf = 1,
		.rpc = { .nurls = 1, .never_contacted = true } };
	s->world.nprojects++;
	v->quiet_since = s->world.now;
	renumber(s, was);
	sim_correct(s, v);
	sim_tell(s, SIM_ATTACH, v, NULL, 0, 0, NULL);
}

static void detach_project(struct sim *s, int32_t server_index, const int32_t *was)
{
	struct server *v = &s->servers[server_index];
	size_t at = (size_t)v->world;

	for (size_t i = s->world.ntasks; i-- > 0;)
		if (s->world.tasks[i].project == v->world) {
			if (s->world.tasks[i].running)
				sim_stop_task(s, (uint32_t)i, false);
			sim_drop_task(s, (uint32_t)i);
		}
	sim_tell(s, SIM_DETACH, v, NULL, 0, 0, NULL);
	v->sums->attached_s += s->world.now - v->project->attach_s;
	v->sums->gap2_s3 += pow(s->world.now - v->quiet_since, 3) / 3;
	s->world.nprojects--;
	memmove(&s->server_index[at], &s->server_index[at + 1],
	    (s->world.nprojects - at) * sizeof(*s->server_index));
	memmove(&s->world.projects[at], &s->world.projects[at + 1],
	    (s->world.nprojects - at) * sizeof(*s->world.projects));
	v->world = -1;
	v->nready = 0;
	renumber(s, was);
}

void sim_attach(struct sim *s)
{
	s->attach_at = INFINITY;
	for (size_t i = 0; i < s->nservers; i++) {
		const struct server *v = &s->servers[i];
		bool here = v->project->attach_s <= s->world.now &&
		            s->world.now < v->project->detach_s;
		int32_t *was = NEWN(&s->round, int32_t, s->nservers + 1);

		memcpy(was, s->server_index, s->nservers * sizeof(*was));
		if (here && v->world < 0)
			attach_project(s, (int32_t)i, was);
		if (!here && v->world >= 0)
			detach_project(s, (int32_t)i, was);
		if (v->project->attach_s > s->world.now)
			s->attach_at = fmin(s->attach_at, v->project->attach_s);
		if (v->project->detach_s > s->world.now)
			s->attach_at = fmin(s->attach_at, v->project->detach_s);
	}
}

void sim_set_up(struct sim *s)
{
	const struct sim_scenario *sc = s->scenario;
	double avail = sc->on.fraction * sc->active.fraction;

	s->rng = rng_seed(s->options->seed);
	onoff_start(&s->on, &sc->on, &s->rng);
	onoff_start(&s->active, &sc->active, &s->rng);
	onoff_start(&s->connected, &sc->connected, &s->rng);
	s->world.prefs = sc->prefs;
	s->world.nrsc = sc->nrsc;
	memcpy(s->world.rsc, sc->rsc, sizeof(s->world.rsc));
	for (size_t r = 0; r < s->world.nrsc; r++)
		s->world.rsc[r].avail = fmax(avail, 0.01);
	s->world.projects = NEWN(s->keep, struct cw_project, sc->nprojects + 1);
	create_servers(s);
	sim_attach(s);
}
