/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated host moves from event to event on a virtual clock. An event is the end
 * of a task, a checkpoint that a rule waits for, a change of power or network, the
 * attachment or detachment of a project, or the time at which a rule wants to look
 * again.
 */
#include "client/sim/sim.h"

#include <math.h>
#include "client/sim/state.h"
#include "lib/clock.h"
#include "lib/banned.h"

/* Times closer than NEAR_S are the same; the rules are applied again after AGAIN_S at
 * the earliest. */
static const double NEAR_S = 1e-6, AGAIN_S = 1;

/* --- passing of time --- */

static bool computing(const struct sim *s)
{
	return s->on.on && s->active.on;
}

static void run_task(struct sim *s, uint32_t i, double dt)
{
	struct cw_task *t = &s->world.tasks[i];
	struct sim_job *j = &s->jobs[i];
	const struct server *v = sim_server_of(s, i);
	struct sim_project_sums *p = v->sums;
	double *used = s->world.projects[t->project].used;
	double overhead = cw_min(j->overhead_s, dt), ck = j->app->checkpoint_s;
	double remaining;
	struct run_facts f = { .static_s = j->est_s *
		                           v->factor[j->app - v->project->apps] };

	j->ran_s += dt;
	p->used_flops += dt * j->flops;
	used[t->rsc] += dt * t->use;
	p->used[t->rsc] += dt * t->use;
	if (t->rsc != CW_CPU) {
		used[CW_CPU] += dt * t->ncpus;
		p->used[CW_CPU] += dt * t->ncpus;
	}
	s->sums->lost_flops += overhead * j->flops;
	j->overhead_s -= overhead;
	j->done_s += dt - overhead;
	if (ck <= 0)
		j->saved_s = j->done_s;
	else if (j->done_s >= j->saved_s + ck - NEAR_S)
		j->saved_s = ck * floor((j->done_s + NEAR_S) / ck);
	t->since_checkpoint_s = cw_max(0, j->done_s - j->saved_s);
	if (j->saved_s > 0)
		t->checkpointed_at = s->world.now + dt - t->since_checkpoint_s;
	f.elapsed_s = f.fraction_elapsed_s = j->done_s;
	f.fraction_done = j->done_s / j->size_s;
	remaining = j->overhead_s + estimate_remaining_s(&f, 1);
	if (remaining > t->remaining_s ||
	    remaining < t->remaining_s - CW_REMAINING_FALLS * dt)
		cw_grew(&s->world);
	t->remaining_s = remaining;
}

static void advance_clock(struct sim *s, double t)
{
	double dt = t - s->world.now;

	if (computing(s)) {
		for (size_t k = 0; k < s->nrunning; k++)
			run_task(s, s->running[k], dt);
		estimate_gaps(&s->gaps, dt, s->connected.on);
		s->sums->on_flops += dt * cw_total_flops(&s->world);
	}
	s->world.now = t;
}

static double next_task_event(const struct sim *s)
{
	double t = INFINITY;

	if (!computing(s))
		return t;
	for (size_t k = 0; k < s->nrunning; k++) {
		const struct sim_job *j = &s->jobs[s->running[k]];
		double ck = j->app->checkpoint_s;

		t = cw_min(t, j->overhead_s + j->size_s - j->done_s);
		if (s->at_checkpoint && ck > 0)
			t = cw_min(t, j->overhead_s + j->saved_s + ck - j->done_s);
	}
	return s->world.now + cw_max(t, 0);
}

static double next_event_time(const struct sim *s)
{
	double t = cw_min(next_task_event(s), s->attach_at);

	t = cw_min(t, cw_min(s->on.until, cw_min(s->active.until, s->connected.until)));
	if (s->on.on)
		t = cw_min(t, s->check_at);
	return t;
}

/* --- events --- */

static void stop_all(struct sim *s, bool keep)
{
	for (uint32_t i = 0; i < s->world.ntasks; i++) {
		if (s->world.tasks[i].running)
			sim_stop_task(s, i, keep);
		else if (!keep)
			s->world.tasks[i].in_memory = false;
	}
}

static void end_tasks(struct sim *s)
{
	uint32_t gone = 0;

	for (size_t k = 0; k < s->nrunning; k++) {
		uint32_t i = s->running[k] - gone;
		const struct sim_job *j = &s->jobs[i];

		if (s->world.tasks[i].running &&
		    j->overhead_s + j->size_s - j->done_s <= NEAR_S) {
			sim_end_task(s, i);
			gone++;
		}
	}
}

static void list_running(struct sim *s)
{
	if (!s->relist)
		return;
	s->relist = false;
	s->nrunning = 0;
	for (uint32_t i = 0; i < s->world.ntasks; i++)
		if (s->world.tasks[i].running)
			PUSH(s->keep, s->running, s->nrunning, s->running_cap) = i;
}

/* --- the rules --- */

/* Was the task chosen because of its deadline? Only of interest to a listener. */
static bool is_urgent(const struct sim *s, const struct run_list *list, uint32_t task)
{
	for (size_t i = 0; i < list->n && s->options->event != NULL; i++)
		if (list->item[i].task == task)
			return list->item[i].edf;
	return false;
}

static bool stops_lose_work(const struct sim *s, const struct enforced *e)
{
	for (size_t i = 0; i < e->nstop; i++)
		if (sim_loss_s(s, e->stop[i].task, e->stop[i].keep) > 0)
			return true;
	return false;
}

static void choose_tasks(struct sim *s, struct rr_sim *rr)
{
	struct run_list list;
	struct enforced e;

	s->options->policy->order(&s->world, s->options->policy, &s->round, rr, &list);
	enforce(&s->world, s->options->policy, &s->round, &list, &e);
	/* The lost work would count already if this came later. */
	if (rr->outlook.valid && stops_lose_work(s, &e))
		rr_simulate(&s->world, &s->round, rr);
	for (size_t i = 0; i < e.nstop; i++)
		sim_stop_task(s, e.stop[i].task, e.stop[i].keep);
	for (size_t i = 0; i < e.nstart; i++)
		sim_start_task(s, e.start[i], is_urgent(s, &list, e.start[i]));
	s->check_at = e.recheck_at;
	s->at_checkpoint = e.at_checkpoint;
	enforce_done(&s->world, rr);
}

/* Most of the time nothing is going to happen, and then no simulation is needed. */
static void predict(struct sim *s, struct rr_sim *rr)
{
	if (!s->options->policy->needs_low_water) {
		rr_simulate(&s->world, &s->round, rr);
		return;
	}
	if (!rr_outlook_lasts(&s->world, &s->outlook.outlook)) {
		arena_reset(&s->outlook_arena);
		rr_predict(&s->world, &s->outlook_arena, &s->outlook);
	}
	*rr = s->outlook;
}

/* Does the outlook last until the rules are applied again? */
static bool outlook_suffices(
    const struct sim *s, const struct rr_sim *rr, const struct contact *c)
{
	double next = cw_min(s->check_at, c->recheck_at);

	return !rr->outlook.valid ||
	       rr_outlook_holds(&s->world, &rr->outlook, next - s->world.now);
}

static void find_contact(struct sim *s, const struct rr_sim *rr, struct contact *c)
{
	if (s->connected.on)
		contact_next(&s->world, s->options->policy, &s->round, rr, c);
}

/* Makes contacts until there is nothing left to do. Whatever the policy wants, the
 * host asks each project at most twice at one moment. */
static void apply_rules(struct sim *s)
{
	const struct policy *p = s->options->policy;
	size_t most = 2 * s->world.nprojects + 1;
	struct contact c = { .recheck_at = INFINITY };
	struct rr_sim rr;
	bool fresh = true;

	s->world.prefs.min_s = cw_max(
	    s->scenario->prefs.min_s, estimate_gap_buffer_s(&s->gaps));
	sim_abort_late(s);
	p->account(&s->world, p);
	do {
		if (fresh) {
			predict(s, &rr);
			s->check_at = INFINITY;
			if (computing(s))
				choose_tasks(s, &rr);
		}
		find_contact(s, &rr, &c);
		/* If nothing is due until later than the outlook is good for, simulates
		 * after all. */
		if (c.why == CONTACT_NONE && !outlook_suffices(s, &rr, &c)) {
			rr_simulate(&s->world, &s->round, &rr);
			find_contact(s, &rr, &c);
		}
		if (!s->connected.on || c.why == CONTACT_NONE)
			break;
		fresh = sim_contact(s, &c);
		c.recheck_at = s->world.now + 60;
	} while (--most > 0);
	if (c.why != CONTACT_NONE && !outlook_suffices(s, &rr, &c))
		rr_simulate(&s->world, &s->round, &rr);
	s->check_at = cw_min(s->check_at, s->world.now + rr.recheck_s);
	s->check_at = cw_max(cw_min(s->check_at, c.recheck_at), s->world.now + AGAIN_S);
	if (s->options->poll_s > 0)
		s->check_at = s->options->poll_s *
		              ceil(s->check_at / s->options->poll_s);
}

static void run_until_end(struct sim *s)
{
	for (;;) {
		double t = next_event_time(s);

		if (t >= s->end_s)
			break;
		advance_clock(s, t);
		bool was = computing(s);

		if (onoff_at(&s->on, s->world.now, &s->rng)) {
			sim_tell(s, SIM_HOST, NULL, NULL, 0, s->on.on, NULL);
			if (!s->on.on)
				stop_all(s, false);
		}
		onoff_at(&s->active, s->world.now, &s->rng);
		onoff_at(&s->connected, s->world.now, &s->rng);
		if (was && !computing(s))
			stop_all(s, s->world.prefs.leave_in_memory);
		end_tasks(s);
		if (s->attach_at <= s->world.now)
			sim_attach(s);
		if (s->on.on)
			apply_rules(s);
		list_running(s);
		s->sums->events++;
		arena_reset(&s->round);
	}
	advance_clock(s, s->end_s);
}

/* --- start --- */

static enum err check_resources(const struct sim_scenario *sc, struct fail *f)
{
	for (size_t i = 0; i < sc->nprojects; i++)
		for (size_t k = 0; k < sc->projects[i].napps; k++) {
			const struct sim_app *a = &sc->projects[i].apps[k];

			if (a->rsc < 0 || (size_t)a->rsc >= sc->nrsc)
				return FAIL(f, E_BADREQ,
				    "project %s has an app for a resource that the host does not have",
				    sc->projects[i].name);
			if (!(a->run_s > 0) || !(a->use > 0))
				return FAIL(f, E_BADREQ,
				    "project %s has an app whose jobs take no time",
				    sc->projects[i].name);
		}
	return OK;
}

enum err sim_run(const struct sim_scenario *sc, const struct sim_options *opt,
    struct arena *a, struct sim_sums *sums, struct fail *f)
{
	struct sim s = { .scenario = sc,
		.options = opt,
		.keep = a,
		.sums = sums,
		.end_s = opt->days * 86400 };
	double began = clock_cpu_ms();

	TRY(check_resources(sc, f));
	*sums = (struct sim_sums){ .seed = opt->seed };
	sim_set_up(&s);
	run_until_end(&s);
	for (size_t i = 0; i < s.nservers; i++) {
		const struct server *v = &s.servers[i];

		s.sums->used_flops += v->sums->used_flops;
		if (v->world < 0)
			continue;
		v->sums->attached_s += s.end_s - v->project->attach_s;
		if (v->nrunning == 0)
			v->sums->gap2_s3 += pow(s.end_s - v->quiet_since, 3) / 3;
	}
	s.sums->days = s.end_s / 86400;
	s.sums->available_flops = s.end_s * cw_total_flops(&s.world);
	arena_free(&s.round);
	arena_free(&s.outlook_arena);
	sums->cpu_ms = clock_cpu_ms() - began;
	return OK;
}
