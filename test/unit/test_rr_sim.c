/* SPDX-License-Identifier: Apache-2.0 */
/* The weighted round-robin simulation, with exact results from tables (client.md 2.3,
 * 7). */
#include "test/unit/unit.h"

#include <math.h>
#include <string.h>
#include "lib/arena.h"
#include "lib/rng.h"
#include "rules/client/rr_sim.h"
#include "lib/banned.h"

/* Tasks of one CPU each, sizes in thirds; finish 0 = not checked. */
static const struct worked {
	const char *what;
	double horizon;
	double share[2];
	double thirds[3]; /* A1, A2, B1 */
	double shortfall[2], total, finish[3];
} worked[] = {
#define WORKED
#include "test/unit/rr_sim.def"
#undef WORKED
};

static struct cw_task
task(int32_t project, double run_s)
{
	return (struct cw_task){ .project = project,
		.use = 1,
		.ncpus = 1,
		.remaining_s = run_s,
		.deadline = 1e9 };
}

#define NEARLY(got, want, what)                                                        \
	ck_assert_msg(fabs((got) - (want)) < 1e-12, "%s: %.15g, not %.15g", what,      \
	    (double)(got), (double)(want))

START_TEST(t1_t2_worked_example)
{
	const struct worked *c = &worked[_i];
	struct arena a = { 0 };
	struct cw_project p[2] = { { .share = c->share[0] }, { .share = c->share[1] } };
	struct cw_task t[3] = { task(0, c->thirds[0] / 3), task(0, c->thirds[1] / 3),
		task(1, c->thirds[2] / 3) };
	struct client_world w = { .prefs.min_s = c->horizon,
		.rsc = { { "CPU", 2, 1, 1 } },
		.nrsc = 1,
		.projects = p,
		.nprojects = 2,
		.tasks = t,
		.ntasks = 3 };
	struct rr_sim rr;

	rr_simulate(&w, &a, &rr);
	NEARLY(rr.projects[0].shortfall[0], c->shortfall[0], c->what);
	NEARLY(rr.projects[1].shortfall[0], c->shortfall[1], c->what);
	NEARLY(rr.rsc[0].shortfall, c->total, c->what);
	for (int i = 0; i < 3; i++)
		if (c->finish[i] > 0)
			NEARLY(rr.tasks[i].finish_s, c->finish[i], c->what);
	arena_free(&a);
}
END_TEST

/* --- deadlines, busy time, idle instances: by table --- */

struct small_task {
	int32_t project, rsc;
	double use, ncpus, run_s, deadline;
};
static const struct small {
	const char *what;
	double ncpus, ngpus, avail, cushion;
	double share[2];
	int32_t most; /* max_concurrent of project 0 */
	struct small_task t[4];
	double finish[4];
	bool miss[4];
	double shortfall[2], nidle[2], saturated[2], busy[2]; /* horizon 100 */
} smalls[] = {
#define SMALL
#include "test/unit/rr_sim.def"
#undef SMALL
};

static size_t
rr_sim_fill_host(const struct small *c, struct client_world *w, struct cw_task *t)
{
	size_t n = 0;

	w->prefs.min_s = 100;
	w->prefs.cushion_s = c->cushion;
	w->rsc[0] = (struct cw_resource){ "CPU", c->ncpus, 1, c->avail };
	w->rsc[1] = (struct cw_resource){ "GPU", c->ngpus, 1, c->avail };
	w->nrsc = c->ngpus > 0 ? 2 : 1;
	for (; n < N(c->t) && c->t[n].run_s > 0; n++)
		t[n] = (struct cw_task){ .project = c->t[n].project,
			.rsc = c->t[n].rsc,
			.use = c->t[n].use,
			.ncpus = c->t[n].ncpus,
			.remaining_s = c->t[n].run_s,
			.deadline = c->t[n].deadline };
	return n;
}

START_TEST(small_worlds)
{
	const struct small *c = &smalls[_i];
	struct arena a = { 0 };
	struct cw_project p[2] = { { .share = c->share[0], .max_concurrent = c->most },
		{ .share = c->share[1] } };
	struct cw_task t[4];
	struct client_world w = { .projects = p, .nprojects = 2, .tasks = t };
	struct rr_sim rr;

	w.ntasks = rr_sim_fill_host(c, &w, t);
	rr_simulate(&w, &a, &rr);
	for (size_t i = 0; i < w.ntasks; i++) {
		NEARLY(rr.tasks[i].finish_s, c->finish[i], c->what);
		ck_assert_msg(
		    rr.tasks[i].miss == c->miss[i], "%s: task %zu", c->what, i);
	}
	for (size_t r = 0; r < w.nrsc; r++) {
		NEARLY(rr.rsc[r].shortfall, c->shortfall[r], c->what);
		NEARLY(rr.rsc[r].nidle, c->nidle[r], c->what);
		NEARLY(rr.rsc[r].saturated_s, c->saturated[r], c->what);
		NEARLY(rr.rsc[r].busy_s, c->busy[r], c->what);
	}
	arena_free(&a);
}
END_TEST

/* --- memory --- */

/* Four tasks of 10 s on four CPUs: two projects, what each task needs of 8 GB. */
static const struct {
	const char *what;
	double gb[4]; /* two tasks of each project */
	double idle, shortfall, finish[4];
	bool small_first;
} memories[] = {
	{ "all fit", { 2, 2, 2, 2 }, 0, 360, { 10, 10, 10, 10 }, false },
	{ "half of them fit", { 4, 4, 4, 4 }, 2, 360, { 20, 20, 20, 20 }, false },
	{ "two of a project do not fit, one beside two small ones does", { 5, 5, 1, 1 },
	    1, 360, { 10, 20, 10, 10 }, false },
	{ "they need 12 GB, so they advance at two thirds of full speed",
	    { 5, 2, 4, 1 }, 4 / 3.0, 360, { 15, 15, 15, 15 }, false },
	{ "a task that never fits is no work", { 9, 1, 1, 1 }, 1, 370,
	    { 0, 10, 10, 10 }, false },
	{ "small and great ones alike at four fifths of full speed", { 4, 4, 1, 1 },
	    0.8, 360, { 12.5, 12.5, 12.5, 12.5 }, false },
	{ "or small ones at full speed", { 4, 4, 1, 1 }, 0.5, 360,
	    { 12.5, 12.5, 10, 10 }, true },
	{ "there are no small ones", { 5, 2, 4, 1 }, 4 / 3.0, 360, { 15, 15, 15, 15 },
	    true },
};

START_TEST(memory_by_table)
{
	struct arena a = { 0 };
	struct cw_project p[2] = { { .share = 1 }, { .share = 1 } };
	struct cw_task t[4];
	struct client_world w = { .prefs = { .min_s = 100, .ram_bytes = 8 },
		.rsc = { { "CPU", 4, 1, 1 } },
		.nrsc = 1,
		.projects = p,
		.nprojects = 2,
		.tasks = t,
		.ntasks = 4,
		.small_first = memories[_i].small_first };
	struct rr_sim rr;

	for (int i = 0; i < 4; i++) {
		t[i] = task(i / 2, 10);
		t[i].rss_bytes = memories[_i].gb[i];
	}
	rr_simulate(&w, &a, &rr);
	ck_assert_msg(fabs(rr.rsc[0].nidle - memories[_i].idle) < 0.01, "%s: idle %g",
	    memories[_i].what, rr.rsc[0].nidle);
	ck_assert_msg(fabs(rr.rsc[0].shortfall - memories[_i].shortfall) < 2,
	    "%s: shortfall %g", memories[_i].what, rr.rsc[0].shortfall);
	for (int i = 0; i < 4; i++)
		ck_assert_msg(fabs(rr.tasks[i].finish_s - memories[_i].finish[i]) < 0.1,
		    "%s: task %d at %g", memories[_i].what, i, rr.tasks[i].finish_s);
	arena_free(&a);
}
END_TEST

/* --- against a slow implementation of the definition --- */

enum { MANY = 40, MOST_PROJECTS = 6 };
struct slow {
	const struct client_world *w;
	double left[MANY], finish[MANY];
	bool active[MANY], ended[MANY];
};

/* Activates tasks: coprocessors first, in order of arrival, up to the task that fills
 * the instances. */
static void
slow_fill(struct slow *s)
{
	const struct client_world *w = s->w;

	for (size_t k = 0; k < w->nrsc; k++)
		for (size_t p = 0; p < w->nprojects; p++) {
			int32_t r = (int32_t)(w->nrsc - 1 - k);
			double use = 0;
			int32_t n = 0;

			for (size_t i = 0; i < w->ntasks; i++)
				if (s->active[i] && w->tasks[i].project == (int32_t)p) {
					n++;
					use += w->tasks[i].rsc == r ? w->tasks[i].use :
					                              0;
				}
			for (size_t i = 0; i < w->ntasks; i++) {
				const struct cw_task *t = &w->tasks[i];

				if (t->project != (int32_t)p || t->rsc != r ||
				    s->active[i] || s->ended[i] ||
				    use >= w->rsc[r].ninst - 1e-9 ||
				    (w->projects[p].max_concurrent > 0 &&
					n >= w->projects[p].max_concurrent))
					continue;
				s->active[i] = true;
				use += t->use;
				n++;
			}
		}
}

/* Shares the instances among the projects in rounds: a project that is full leaves the
 * rest to the others. */
static void
slow_water(const struct slow *s, int32_t r, double capacity, double *get, double *use)
{
	const struct client_world *w = s->w;
	bool full[MOST_PROJECTS] = { false }, more = true;

	memset(use, 0, MOST_PROJECTS * sizeof(*use));
	for (size_t i = 0; i < w->ntasks; i++)
		if (s->active[i] && w->tasks[i].rsc == r)
			use[w->tasks[i].project] += w->tasks[i].use;
	while (more) {
		double shares = 0, left = capacity;

		more = false;
		for (size_t p = 0; p < w->nprojects; p++) {
			get[p] = fmin(use[p], w->rsc[r].ninst);
			if (full[p] || use[p] == 0)
				left -= get[p];
			else
				shares += w->projects[p].share;
		}
		for (size_t p = 0; p < w->nprojects; p++) {
			double part = left * w->projects[p].share / shares;

			if (full[p] || use[p] == 0)
				continue;
			if (part < get[p])
				get[p] = part;
			else
				more = full[p] = true;
		}
	}
}

/* Advances to the end of the next task; returns false if there is no task. */
static bool
slow_step(struct slow *s, double *t)
{
	const struct client_world *w = s->w;
	double speed[MANY] = { 0 }, taken = 0, dt = INFINITY;
	double get[MOST_PROJECTS], use[MOST_PROJECTS];
	bool any = false;

	slow_fill(s);
	for (size_t k = 0; k < w->nrsc; k++) {
		int32_t r = (int32_t)(w->nrsc - 1 - k);

		slow_water(s, r,
		    w->rsc[r].ninst - (r == 0 ? fmin(taken, w->rsc[r].ninst) : 0), get,
		    use);
		for (size_t i = 0; i < w->ntasks; i++) {
			const struct cw_task *q = &w->tasks[i];

			if (!s->active[i] || q->rsc != r)
				continue;
			speed[i] = get[q->project] / use[q->project];
			taken += r > 0 ? speed[i] * q->ncpus : 0;
			if (speed[i] > 0)
				dt = fmin(dt, s->left[i] / speed[i]);
		}
	}
	if (dt == INFINITY)
		return false;
	*t += dt;
	for (size_t i = 0; i < w->ntasks; i++) {
		s->left[i] -= speed[i] * dt;
		if (!s->active[i] || s->left[i] > 1e-9)
			continue;
		s->active[i] = false;
		any = s->ended[i] = true;
		s->finish[i] = *t;
	}
	ck_assert(any);
	return true;
}

static void
rr_sim_random_world(struct client_world *w, struct rng *rng)
{
	w->nprojects = 1 + rng_below(rng, MOST_PROJECTS);
	w->ntasks = 1 + rng_below(rng, MANY);
	w->nrsc = 1 + rng_below(rng, 2);
	w->rsc[0] = (struct cw_resource){ "CPU", (double)(1 + rng_below(rng, 4)), 1,
		1 };
	w->rsc[1] = (struct cw_resource){ "GPU", (double)(1 + rng_below(rng, 2)), 1,
		1 };
	for (size_t p = 0; p < w->nprojects; p++) {
		bool limited = rng_below(rng, 3) == 0;

		w->projects[p] = (struct cw_project){
			.share = (double)(1 + rng_below(rng, 5))
		};
		w->projects[p].max_concurrent = limited ? (int32_t)rng_below(rng, 3) :
		                                          0;
	}
	for (size_t i = 0; i < w->ntasks; i++) {
		struct cw_task *t = &w->tasks[i];

		*t = task(
		    (int32_t)rng_below(rng, w->nprojects), 1 + 100 * rng_unit(rng));
		t->rsc = (int32_t)rng_below(rng, w->nrsc);
		if (t->rsc == 1) {
			t->use = rng_below(rng, 2) == 0 ? 0.5 : 1;
			t->ncpus = 0.25 * (double)rng_below(rng, 4);
		} else if (rng_below(rng, 4) == 0)
			t->use = t->ncpus = rng_below(rng, 2) == 0 ? 0.5 : 2;
	}
}

START_TEST(agrees_with_the_definition)
{
	struct rng rng = rng_seed((uint64_t)_i + 1);
	struct cw_project p[MOST_PROJECTS];
	struct cw_task tasks[MANY];
	struct client_world w = { .projects = p, .tasks = tasks, .prefs.min_s = 50 };
	struct arena a = { 0 };

	for (int k = 0; k < 50; k++) {
		struct slow s = { .w = &w };
		struct rr_sim rr;
		double t = 0;

		rr_sim_random_world(&w, &rng);
		for (size_t i = 0; i < w.ntasks; i++)
			s.left[i] = tasks[i].remaining_s;
		while (slow_step(&s, &t))
			;
		rr_simulate(&w, &a, &rr);
		for (size_t i = 0; i < w.ntasks; i++)
			ck_assert_msg(fabs(rr.tasks[i].finish_s - s.finish[i]) < 1e-6,
			    "seed %d, world %d, task %zu: %.9g, not %.9g", _i + 1, k, i,
			    rr.tasks[i].finish_s, s.finish[i]);
		arena_reset(&a);
	}
	arena_free(&a);
}
END_TEST

/* --- predictions without a simulation --- */

static void
outlook_random_world(struct client_world *w, struct rng *rng)
{
	bool alike = rng_below(rng, 2) == 0;

	rr_sim_random_world(w, rng);
	w->now = 1000;
	w->version = w->growth = 1;
	w->prefs = (struct cw_prefs){
		.min_s = 20 * rng_unit(rng), .period_s = 100, .cushion_s = 20
	};
	for (size_t p = 0; p < w->nprojects; p++)
		if (rng_below(rng, 10) > 0)
			w->projects[p].max_concurrent = 0;
	for (size_t i = 0; i < w->ntasks; i++) {
		struct cw_task *t = &w->tasks[i];

		t->received_at = 900;
		t->deadline = 1000 + 50 + 3000 * rng_unit(rng);
		if (alike) {
			t->remaining_s += 60;
			t->use = t->rsc == 1 ? 1 : t->use > 1 ? 2 : 1;
			t->ncpus = t->rsc == 1 ? 0 : t->use;
		}
	}
}

/* What the outlook says is what the simulation says. */
static void
compare_outlook(const struct client_world *w, const struct rr_sim *rr)
{
	struct arena a = { 0 };
	struct rr_sim want;
	double until = INFINITY;

	rr_simulate(w, &a, &want);
	for (size_t r = 0; r < w->nrsc; r++) {
		ck_assert_double_eq(want.rsc[r].missed_use, 0);
		ck_assert_double_eq(want.rsc[r].nidle, 0);
		ck_assert_double_eq(want.rsc[r].busy_s, 0);
		until = fmin(until, want.rsc[r].saturated_s - w->prefs.min_s);
		for (size_t p = 0; p < w->nprojects; p++) {
			const struct rr_project *x = &rr->projects[p];
			const struct rr_project *y = &want.projects[p];

			ck_assert_uint_eq(x->ntasks[r], y->ntasks[r]);
			ck_assert_uint_eq(x->nrunnable[r], y->nrunnable[r]);
			ck_assert_double_eq(x->used[r], y->used[r]);
		}
	}
	ck_assert_double_ge(until, 0);
	for (double s = 0; s < 100; s += 10)
		if (rr_outlook_holds(w, &rr->outlook, s)) {
			ck_assert_double_le(s, until);
			ck_assert_double_le(s, want.recheck_s);
		}
	arena_free(&a);
}

/* Time passes: some tasks run, some have ended. */
static void
outlook_pass_time(struct client_world *w, struct rng *rng)
{
	double dt = 4 * rng_unit(rng);
	size_t n = rng_below(rng, 3) == 0 ? 1 : 0, at;

	w->now += dt;
	for (size_t r = 0; r < w->nrsc; r++) {
		double left = w->rsc[r].ninst;

		for (size_t i = 0; i < w->ntasks && left > 0; i++) {
			struct cw_task *t = &w->tasks[i];

			if (t->rsc != (int32_t)r || rng_below(rng, 2) == 0)
				continue;
			left -= t->use;
			t->remaining_s = fmax(0.1, t->remaining_s - dt);
		}
	}
	for (; n > 0 && w->ntasks > 1; n--) {
		at = rng_below(rng, w->ntasks);
		memmove(&w->tasks[at], &w->tasks[at + 1],
		    (--w->ntasks - at) * sizeof(*w->tasks));
		cw_changed(w);
	}
}

START_TEST(outlook_agrees_with_simulation)
{
	struct rng rng = rng_seed((uint64_t)_i + 1);
	struct cw_project p[MOST_PROJECTS];
	struct cw_task tasks[MANY];
	struct client_world w = { .projects = p, .tasks = tasks };
	struct arena a = { 0 };
	uint32_t nvalid = 0, nlasting = 0, nkept = 0;

	for (int k = 0; k < 500; k++) {
		struct rr_sim rr = { .recheck_s = 0 };

		outlook_random_world(&w, &rng);
		for (int step = 0; step < 6; step++) {
			if (rr_outlook_lasts(&w, &rr.outlook))
				nlasting++;
			else
				rr_predict(&w, &a, &rr);
			if (!rr.outlook.valid)
				break;
			compare_outlook(&w, &rr);
			nvalid++;
			nkept += step > 0;
			outlook_pass_time(&w, &rng);
		}
		arena_reset(&a);
	}
	ck_assert_uint_gt(nvalid, 50);
	ck_assert_uint_gt(nkept, 20);
	ck_assert_uint_gt(nlasting, 10);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("rr_sim", {
	ADD_LOOP(t1_t2_worked_example, N(worked));
	ADD_LOOP(memory_by_table, N(memories));
	ADD_LOOP(small_worlds, N(smalls));
	ADD_LOOP(agrees_with_the_definition, 20);
	ADD_LOOP(outlook_agrees_with_simulation, 20);
})
