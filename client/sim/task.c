/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a simulated host: they start, stop, end, and report events. */
#include "client/sim/state.h"

#include <math.h>
#include <string.h>
#include "lib/banned.h"

/* A factor that moved by less does not matter. */
static const double MOVED = 0.05;

/* Parameters: the members of an event. */
void
sim_tell(struct sim *s, enum sim_kind kind, const struct server *v,
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

struct server *
sim_server_of(struct sim *s, uint32_t task)
{
	return &s->servers[s->server_index[s->world.tasks[task].project]];
}

void
sim_start_task(struct sim *s, uint32_t i, bool edf)
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
static void
stop_running(struct sim *s, uint32_t i)
{
	struct server *v = sim_server_of(s, i);

	s->world.tasks[i].running = false;
	s->relist = true;
	if (--v->nrunning == 0)
		v->quiet_since = s->world.now;
}

double
sim_loss_s(const struct sim *s, uint32_t i, bool keep)
{
	return keep ? 0 : s->jobs[i].done_s - s->jobs[i].saved_s;
}

void
sim_stop_task(struct sim *s, uint32_t i, bool keep)
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

void
sim_drop_task(struct sim *s, uint32_t i)
{
	size_t after = --s->world.ntasks - i;

	cw_changed(&s->world);
	s->relist = true;
	memmove(&s->world.tasks[i], &s->world.tasks[i + 1],
	    after * sizeof(*s->world.tasks));
	memmove(&s->jobs[i], &s->jobs[i + 1], after * sizeof(*s->jobs));
}

/* The task is done with and waits to be reported. */
static void
hand_in(struct sim *s, uint32_t i)
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

void
sim_correct(struct sim *s, const struct server *v)
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

/* Learns how long the app's jobs take.  The tasks at hand are estimated anew only if
 * the factor moved: thousands may wait. */
static void
learn_from(struct sim *s, struct server *v, const struct sim_job *j)
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

void
sim_end_task(struct sim *s, uint32_t i)
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
void
sim_abort_late(struct sim *s)
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
