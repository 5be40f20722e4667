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

static struct cw_task task(int32_t project, double run_s)
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

static size_t rr_sim_fill_host(
    const struct small *c, struct client_world *w, struct cw_task *t)
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

/* Four tasks of 10 s: two projects, what each task needs of 8 GB. */
static const struct {
	const char *what;
	double cpus, gb[4]; /* two tasks of each project */
	double idle, shortfall, finish[4];
	bool small_first;
} memories[] = {
	{ "all fit", 4, { 2, 2, 2, 2 }, 0, 360, { 10, 10, 10, 10 }, false },
	{ "half of them fit", 4, { 4, 4, 4, 4 }, 2, 360, { 20, 20, 20, 20 }, false },
	{ "two of a project do not fit, one beside two small ones does", 4,
	    { 5, 5, 1, 1 }, 1, 360, { 10, 20, 10, 10 }, false },
	{ "they need 12 GB, so they advance at two thirds of full speed", 4,
	    { 5, 2, 4, 1 }, 4 / 3.0, 360, { 15, 15, 15, 15 }, false },
	{ "a task that never fits is no work", 4, { 9, 1, 1, 1 }, 1, 370,
	    { 0, 10, 10, 10 }, false },
	{ "small and great ones alike at four fifths of full speed", 4, { 4, 4, 1, 1 },
	    0.8, 360, { 12.5, 12.5, 12.5, 12.5 }, false },
	{ "or small ones at full speed", 4, { 4, 4, 1, 1 }, 0.5, 360,
	    { 12.5, 12.5, 10, 10 }, true },
	{ "there are no small ones", 4, { 5, 2, 4, 1 }, 4 / 3.0, 360,
	    { 15, 15, 15, 15 }, true },
	{ "great ones that fit beside small ones keep their share", 2, { 5, 5, 1, 1 },
	    0, 160, { 10, 20, 20, 20 }, true },
};
static const double GB = 0.1; /* any unit does */

START_TEST(memory_by_table)
{
	struct arena a = { 0 };
	struct cw_project p[2] = { { .share = 1 }, { .share = 1 } };
	struct cw_task t[4];
	struct client_world w = { .prefs = { .min_s = 100, .ram_bytes = 8 * GB },
		.rsc = { { "CPU", memories[_i].cpus, 1, 1 }, { "GPU", 1, 1, 1 } },
		.nrsc = 2,
		.projects = p,
		.nprojects = 2,
		.tasks = t,
		.ntasks = 4,
		.small_first = memories[_i].small_first };
	struct rr_sim rr;

	for (int i = 0; i < 4; i++) {
		t[i] = task(i / 2, 10);
		t[i].rss_bytes = memories[_i].gb[i] * GB;
	}
	rr_simulate(&w, &a, &rr);
	ck_assert_msg(fabs(rr.rsc[0].nidle - memories[_i].idle) < 0.01, "%s: idle %g",
	    memories[_i].what, rr.rsc[0].nidle);
	ck_assert_msg(fabs(rr.rsc[0].shortfall - memories[_i].shortfall) < 2,
	    "%s: shortfall %g", memories[_i].what, rr.rsc[0].shortfall);
	NEARLY(rr.rsc[1].nidle, 1, memories[_i].what);
	for (int i = 0; i < 4; i++)
		ck_assert_msg(fabs(rr.tasks[i].finish_s - memories[_i].finish[i]) < 0.1,
		    "%s: task %d at %g", memories[_i].what, i, rr.tasks[i].finish_s);
	arena_free(&a);
}
END_TEST

/* Small tasks fill the memory exactly: nothing is idle, not even by an error of
 * rounding. */
START_TEST(memory_filled_by_small_tasks)
{
	struct arena a = { 0 };
	struct cw_project p[2] = { { .share = 1 }, { .share = 3 } };
	struct cw_task t[5];
	struct client_world w = { .prefs = { .min_s = 100, .ram_bytes = 8 },
		.rsc = { { "CPU", 4, 1, 1 } },
		.nrsc = 1,
		.projects = p,
		.nprojects = 2,
		.tasks = t,
		.ntasks = 5,
		.small_first = true };
	struct rr_sim rr;

	for (int i = 0; i < 5; i++) {
		t[i] = task(i > 0, 10);
		t[i].rss_bytes = i > 0 ? 2 : 7;
	}
	rr_simulate(&w, &a, &rr);
	ck_assert_double_eq(rr.rsc[0].nidle, 0);
	arena_free(&a);
}
END_TEST

/* Fifteen tasks that do not fit are passed by a smaller one, sixteen are not: the
 * search ends. */
START_TEST(passed_over)
{
	enum { SMALL_ONE = 17 };
	struct arena a = { 0 };
	struct cw_project p = { .share = 1 };
	struct cw_task t[SMALL_ONE + 1];
	struct client_world w = { .prefs = { .min_s = 100, .ram_bytes = 8 },
		.rsc = { { "CPU", 2, 1, 1 } },
		.nrsc = 1,
		.projects = &p,
		.nprojects = 1,
		.tasks = t,
		.ntasks = SMALL_ONE + 1 };
	struct rr_sim rr;

	for (int i = 0; i <= SMALL_ONE; i++) {
		t[i] = task(0, 10);
		t[i].rss_bytes = i == 0 ? 7 : i < SMALL_ONE ? 5 : 1;
	}
	for (int k = 0; k < 2; k++) {
		rr_simulate(&w, &a, &rr);
		NEARLY(rr.tasks[0].finish_s, 10, "the great one");
		ck_assert((rr.tasks[SMALL_ONE].finish_s == 10) == (k == 1));
		t[1].suspended = true;
	}
	arena_free(&a);
}
END_TEST

/* --- one app on both resources --- */

/* Task 0 on the CPU waits for task 1, which the coprocessor runs first, because only
 * one of the app may run, or because there is memory for one only. */
START_TEST(one_after_the_other)
{
	struct arena a = { 0 };
	struct cw_project p = { .share = 1 };
	struct cw_app app = { 0, 1 };
	struct cw_task t[3] = { task(0, 10), task(0, 10), task(0, 5) };
	struct client_world w = { .prefs.min_s = 100,
		.rsc = { { "CPU", 1, 1, 1 }, { "GPU", 1, 1, 1 } },
		.nrsc = 2,
		.projects = &p,
		.nprojects = 1,
		.apps = &app,
		.napps = 1,
		.tasks = t,
		.ntasks = 3 };
	struct rr_sim rr;

	t[1].rsc = t[2].rsc = 1;
	t[1].ncpus = t[2].ncpus = 0;
	for (int k = 0; k < 3; k++) {
		rr_simulate(&w, &a, &rr);
		NEARLY(rr.tasks[1].finish_s, 10, "the first on the coprocessor");
		NEARLY(rr.tasks[0].finish_s, k == 0 ? 20 : 25, "the task on the CPU");
		NEARLY(rr.tasks[2].finish_s, k == 0 ? 25 : 15, "the other");
		NEARLY(rr.rsc[0].shortfall, 90, "idle CPU");
		NEARLY(rr.rsc[1].shortfall, 85, "idle coprocessor");
		w.napps = 0;
		p.max_concurrent = k == 0;
		w.prefs.ram_bytes = k == 0 ? 0 : 8;
		t[0].rss_bytes = t[1].rss_bytes = t[2].rss_bytes = 5;
	}
	arena_free(&a);
}
END_TEST

/* Two tasks on the CPU wait for their apps, whose tasks the coprocessors run for 5 and
 * 6 s. A great one, passed over for want of memory, comes before both: none is lost.
 */
START_TEST(held_behind_a_great_one)
{
	struct arena a = { 0 };
	struct cw_project p = { .share = 1 };
	struct cw_app apps[3] = { { 0, 1 }, { 0, 1 }, { 0, 0 } };
	struct cw_task t[6] = { task(0, 10), task(0, 5), task(0, 10), task(0, 10),
		task(0, 6), task(0, 10) };
	struct client_world w = { .prefs = { .min_s = 100, .ram_bytes = 8 },
		.rsc = { { "CPU", 1, 1, 1 }, { "GPU", 2, 1, 1 } },
		.nrsc = 2,
		.projects = &p,
		.nprojects = 1,
		.apps = apps,
		.napps = 3,
		.tasks = t,
		.ntasks = 6 };
	struct rr_sim rr;

	t[1].rsc = t[4].rsc = 1;
	t[1].ncpus = t[4].ncpus = 0;
	t[3].app = t[4].app = 1;
	t[2].app = t[5].app = 2;
	t[1].rss_bytes = 4;
	t[2].rss_bytes = 5;
	t[5].rss_bytes = 3;
	rr_simulate(&w, &a, &rr);
	NEARLY(rr.tasks[5].finish_s, 10, "the one that fits");
	NEARLY(rr.tasks[2].finish_s, 20, "the great one");
	NEARLY(rr.tasks[0].finish_s, 30, "the first that waited for its app");
	NEARLY(rr.tasks[3].finish_s, 40, "the second");
	arena_free(&a);
}
END_TEST

/* --- against a slow implementation of the definition --- */

enum { MANY = 40, MOST_PROJECTS = 6, MOST_APPS = 2 * MOST_PROJECTS, HORIZON = 50 };
struct slow {
	const struct client_world *w;
	double left[MANY], finish[MANY];
	bool takes_part[MANY], active[MANY], ended[MANY];
	double now;               /* since the start */
	double idle[CW_RSC_MOST]; /* now */
	/* As in struct rr_sim. */
	double shortfall[CW_RSC_MOST], nidle[CW_RSC_MOST], saturated[CW_RSC_MOST];
	bool seen_idle[CW_RSC_MOST];
	double entitled[MOST_PROJECTS][CW_RSC_MOST];
	double gap[MOST_PROJECTS][CW_RSC_MOST];
};

/* Instances that the project's active tasks could use. */
static double slow_use(const struct slow *s, size_t p, size_t r)
{
	double use = 0;

	for (size_t i = 0; i < s->w->ntasks; i++)
		if (s->active[i] && s->w->tasks[i].project == (int32_t)p &&
		    s->w->tasks[i].rsc == (int32_t)r)
			use += s->w->tasks[i].use;
	return use;
}

/* Do the tasks of its project leave it too little memory? */
static bool slow_too_big(const struct slow *s, const struct cw_task *t)
{
	double rss = 0;

	for (size_t i = 0; i < s->w->ntasks; i++)
		if (s->active[i] && s->w->tasks[i].project == t->project)
			rss += s->w->tasks[i].rss_bytes;
	return s->w->prefs.ram_bytes > 0 && rss > 0 &&
	       rss + t->rss_bytes > s->w->prefs.ram_bytes;
}

/* May the task not run beside the active ones, because of a limit? */
static bool slow_limited(const struct slow *s, const struct cw_task *t)
{
	const struct client_world *w = s->w;
	int32_t most = w->projects[t->project].max_concurrent, n = 0, napp = 0;

	for (size_t i = 0; i < w->ntasks; i++) {
		n += s->active[i] && w->tasks[i].project == t->project;
		napp += s->active[i] && w->tasks[i].app == t->app;
	}
	return (most > 0 && n >= most) ||
	       (w->napps > 0 && w->apps[t->app].max_concurrent > 0 &&
		   napp >= w->apps[t->app].max_concurrent);
}

/* Activates tasks: coprocessors first, in order of arrival, up to the task that fills
 * the instances. */
static void slow_fill(struct slow *s)
{
	const struct client_world *w = s->w;

	for (size_t k = 0; k < w->nrsc; k++)
		for (size_t p = 0; p < w->nprojects; p++) {
			size_t r = w->nrsc - 1 - k, big = 0;

			for (size_t i = 0; i < w->ntasks && big < 16; i++) {
				const struct cw_task *t = &w->tasks[i];

				if (t->project != (int32_t)p || t->rsc != (int32_t)r ||
				    !s->takes_part[i] || s->active[i] || s->ended[i] ||
				    slow_use(s, p, r) >= w->rsc[r].ninst - 1e-9 ||
				    slow_limited(s, t))
					continue;
				if (slow_too_big(s, t))
					big++; /* smaller ones may pass it */
				else
					s->active[i] = true;
			}
		}
}

/* Shares the capacity in rounds among the projects with a share, or without: a project
 * that is full leaves the rest to the others. Returns what is left. */
static double slow_water(
    const struct slow *s, size_t r, double capacity, bool backup, double *get)
{
	const struct client_world *w = s->w;
	bool full[MOST_PROJECTS] = { false }, more = true;
	double rest = capacity;

	while (more) {
		double shares = 0, left = capacity;

		more = false;
		for (size_t p = 0; p < w->nprojects; p++) {
			if ((w->projects[p].share <= 0) != backup)
				continue;
			get[p] = fmin(slow_use(s, p, r), w->rsc[r].ninst);
			if (full[p] || get[p] == 0)
				left -= get[p];
			else
				shares += backup ? 1 : w->projects[p].share;
		}
		rest = left;
		for (size_t p = 0; p < w->nprojects; p++) {
			double part = left * (backup ? 1 : w->projects[p].share) /
			              shares;

			if ((w->projects[p].share <= 0) != backup || full[p] ||
			    get[p] == 0)
				continue;
			if (part < get[p]) {
				get[p] = part;
				rest -= part;
			} else
				more = full[p] = true;
		}
	}
	return rest;
}

/* Sets the speed of each active task, and what is idle. */
static void slow_share_out(struct slow *s, double *speed)
{
	const struct client_world *w = s->w;
	double taken = 0;

	for (size_t k = 0; k < w->nrsc; k++) {
		size_t r = w->nrsc - 1 - k;
		double get[MOST_PROJECTS], all = w->rsc[r].ninst;

		all = slow_water(
		    s, r, r == 0 ? all - fmin(taken, all) : all, false, get);
		s->idle[r] = slow_water(s, r, all, true, get);
		for (size_t i = 0; i < w->ntasks; i++) {
			const struct cw_task *t = &w->tasks[i];
			size_t p = (size_t)t->project;

			if (!s->active[i] || t->rsc != (int32_t)r)
				continue;
			speed[i] = get[p] / slow_use(s, p, r);
			taken += r > 0 ? speed[i] * t->ncpus : 0;
		}
	}
}

static void slow_count(struct slow *s, double dt)
{
	double buffer = fmax(0, fmin(dt, HORIZON - s->now));

	for (size_t r = 0; r < s->w->nrsc; r++) {
		if (s->idle[r] > 1e-9) {
			s->shortfall[r] += s->idle[r] * buffer;
			if (!s->seen_idle[r])
				s->saturated[r] = s->now;
			s->seen_idle[r] = true;
		}
		for (size_t p = 0; p < s->w->nprojects; p++)
			s->gap[p][r] += buffer *
			                fmax(0, s->entitled[p][r] - slow_use(s, p, r));
	}
}

/* Advances to the end of the next task; returns false if there is no task. */
static bool slow_step(struct slow *s)
{
	const struct client_world *w = s->w;
	double speed[MANY] = { 0 }, dt = INFINITY;
	bool any = false;

	slow_fill(s);
	slow_share_out(s, speed);
	for (size_t i = 0; i < w->ntasks; i++)
		if (speed[i] > 0)
			dt = fmin(dt, s->left[i] / speed[i]);
	if (s->now == 0)
		memcpy(s->nidle, s->idle, sizeof(s->nidle));
	slow_count(s, dt);
	if (dt == INFINITY)
		return false;
	s->now += dt;
	for (size_t i = 0; i < w->ntasks; i++) {
		s->left[i] -= speed[i] * dt;
		if (!s->active[i] || s->left[i] > 1e-9)
			continue;
		s->active[i] = false;
		any = s->ended[i] = true;
		s->finish[i] = s->now;
	}
	ck_assert(any);
	return true;
}

/* The projects that could run something share the host. */
static void slow_start(struct slow *s, const struct client_world *w)
{
	bool shares[MOST_PROJECTS];
	double sum = 0;

	*s = (struct slow){ .w = w };
	for (size_t p = 0; p < w->nprojects; p++)
		shares[p] = !w->projects[p].suspended && !w->projects[p].no_new_work &&
		            !w->projects[p].nci;
	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];
		const struct cw_project *p = &w->projects[t->project];

		s->takes_part[i] = !t->suspended && !p->suspended && !t->nci && !p->nci;
		s->left[i] = t->remaining_s / w->rsc[t->rsc].avail;
		shares[t->project] |= s->takes_part[i];
	}
	for (size_t p = 0; p < w->nprojects; p++)
		sum += shares[p] ? w->projects[p].share : 0;
	for (size_t p = 0; p < w->nprojects; p++)
		for (size_t r = 0; r < w->nrsc && sum > 0; r++)
			s->entitled[p][r] = shares[p] ? w->projects[p].share / sum *
			                                    w->rsc[r].ninst :
			                                0;
}

static void rr_sim_random_world(struct client_world *w, struct rng *rng)
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

/* More of what tasks and projects can be. */
static void rr_sim_odd_world(struct client_world *w, struct rng *rng)
{
	double scale = rng_below(rng, 2) == 0 ? 1 : 1 / 16.0; /* of bytes and shares */

	rr_sim_random_world(w, rng);
	w->now = 1000;
	w->prefs.cushion_s = 20;
	w->rsc[0].avail = rng_below(rng, 2) == 0 ? 1 : 0.5;
	w->napps = rng_below(rng, 2) == 0 ? 0 : 2 * w->nprojects;
	/* Of several projects: see memory_by_table. */
	w->prefs.ram_bytes = w->nprojects == 1 && w->napps == 0 ? 8 * scale : 0;
	/* Two for each project: for each resource, or one of them without a limit. */
	for (size_t i = 0; i < w->napps; i++)
		w->apps[i] = (struct cw_app){ (int32_t)i / 2,
			w->nrsc == 1 && i % 2 == 1 ? 0 : (int32_t)rng_below(rng, 3) };
	for (size_t p = 0; p < w->nprojects; p++) {
		w->projects[p].share *= rng_below(rng, 5) == 0 ? 0 : scale;
		w->projects[p].suspended = rng_below(rng, 12) == 0;
		w->projects[p].no_new_work = rng_below(rng, 6) == 0;
		w->projects[p].nci = rng_below(rng, 12) == 0;
	}
	for (size_t i = 0; i < w->ntasks; i++) {
		struct cw_task *t = &w->tasks[i];

		if (t->rsc == 0 && rng_below(rng, 8) == 0)
			t->use = t->ncpus = 1.5;
		t->rss_bytes = (0.5 + 4 * rng_unit(rng)) * scale;
		t->app = 2 * t->project + (w->nrsc == 2 ? t->rsc : (int32_t)i % 2);
		t->suspended = rng_below(rng, 12) == 0;
		t->downloading = rng_below(rng, 8) == 0;
		t->nci = rng_below(rng, 12) == 0;
		t->received_at = 990;
		t->deadline = 1000 + floor(500 * rng_unit(rng) * rng_unit(rng));
	}
}

static void close_to(double got, double want, const char *what, int world)
{
	ck_assert_msg(fabs(got - want) < 1e-6 || got == want,
	    "world %d, %s: %.9g, not %.9g", world, what, got, want);
}

static void compare_resources(const struct slow *s, const struct rr_sim *rr, int k)
{
	const struct client_world *w = s->w;

	for (size_t r = 0; r < w->nrsc; r++) {
		close_to(rr->rsc[r].nidle, s->nidle[r], "idle", k);
		close_to(rr->rsc[r].shortfall, s->shortfall[r], "shortfall", k);
		close_to(rr->rsc[r].saturated_s, s->saturated[r], "saturated", k);
		for (size_t p = 0; p < w->nprojects; p++)
			close_to(rr->projects[p].shortfall[r], s->gap[p][r],
			    "shortfall of a project", k);
	}
}

/* Counts of each project, and what the tasks' ends mean. */
static void compare_tasks(const struct slow *s, const struct rr_sim *rr, int k)
{
	const struct client_world *w = s->w;
	struct rr_project want[MOST_PROJECTS] = { { .shortfall = { 0 } } };
	double missed_use[CW_RSC_MOST] = { 0 }, spare_s = INFINITY, again = INFINITY;

	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];
		struct rr_project *p = &want[t->project];
		double cushion = fmin(20, (t->deadline - t->received_at) / 2);
		double spare = t->deadline - cushion - 1000 - s->finish[i];

		close_to(rr->tasks[i].finish_s, s->finish[i], "end", k);
		if (!s->takes_part[i])
			continue;
		ck_assert(rr->tasks[i].miss == (spare < 0));
		p->ntasks[t->rsc]++;
		p->nrunnable[t->rsc] += !t->downloading;
		p->queued[t->rsc] += t->remaining_s * t->use;
		p->misses[t->rsc] += spare < 0;
		missed_use[t->rsc] += spare < 0 ? t->use : 0;
		spare_s = fmin(spare_s, spare);
		if (spare >= 0)
			again = fmin(again, fmax(spare, 60));
	}
	close_to(rr->spare_s, spare_s, "spare time", k);
	close_to(rr->recheck_s, again, "time to look again", k);
	for (size_t r = 0; r < w->nrsc; r++) {
		close_to(rr->rsc[r].missed_use, missed_use[r], "missed use", k);
		for (size_t p = 0; p < w->nprojects; p++) {
			close_to(
			    rr->projects[p].ntasks[r], want[p].ntasks[r], "tasks", k);
			close_to(rr->projects[p].nrunnable[r], want[p].nrunnable[r],
			    "runnable tasks", k);
			close_to(
			    rr->projects[p].queued[r], want[p].queued[r], "queue", k);
			close_to(
			    rr->projects[p].misses[r], want[p].misses[r], "misses", k);
		}
	}
}

/* How long all instances are busy with tasks that would miss: each instance takes the
 * task with the earliest deadline when it is free. */
static void compare_busy(const struct slow *s, const struct rr_sim *rr, int k)
{
	const struct client_world *w = s->w;

	for (size_t r = 0; r < w->nrsc; r++) {
		double free_at[8] = { 0 }, least = INFINITY;
		size_t n = (size_t)w->rsc[r].ninst;
		bool done[MANY] = { false };

		for (size_t more = w->ntasks; more > 0; more--) {
			size_t next = MANY, at = 0;

			for (size_t i = 0; i < w->ntasks; i++)
				if (!done[i] && rr->tasks[i].miss &&
				    w->tasks[i].rsc == (int32_t)r &&
				    (next == MANY ||
					w->tasks[i].deadline < w->tasks[next].deadline))
					next = i;
			if (next == MANY)
				break;
			done[next] = true;
			for (double use = fmin(w->tasks[next].use, (double)n); use > 0;
			     use--) {
				for (size_t i = at = 0; i < n; i++)
					at = free_at[i] < free_at[at] ? i : at;
				free_at[at] += fmin(use, 1) *
				               w->tasks[next].remaining_s /
				               w->rsc[r].avail;
			}
		}
		for (size_t i = 0; i < n; i++)
			least = fmin(least, free_at[i]);
		close_to(rr->rsc[r].busy_s, least, "busy", k);
	}
}

START_TEST(agrees_with_the_definition)
{
	struct rng rng = rng_seed((uint64_t)_i + 1);
	struct cw_project p[MOST_PROJECTS];
	struct cw_app apps[MOST_APPS] = { { 0, 0 } };
	struct cw_task tasks[MANY];
	struct client_world w = {
		.projects = p, .apps = apps, .tasks = tasks, .prefs.min_s = HORIZON
	};
	struct arena a = { 0 };

	for (int k = 0; k < 50; k++) {
		struct slow s;
		struct rr_sim rr;

		rr_sim_odd_world(&w, &rng);
		slow_start(&s, &w);
		while (slow_step(&s))
			;
		rr_simulate(&w, &a, &rr);
		compare_tasks(&s, &rr, k);
		compare_resources(&s, &rr, k);
		compare_busy(&s, &rr, k);
		arena_reset(&a);
	}
	arena_free(&a);
}
END_TEST

/* Whatever limits tasks have to wait for, each ends. */
START_TEST(every_task_ends)
{
	struct rng rng = rng_seed((uint64_t)_i + 1);
	struct cw_project p[MOST_PROJECTS];
	struct cw_app apps[MOST_APPS];
	struct cw_task tasks[MANY];
	struct client_world w = {
		.projects = p, .apps = apps, .tasks = tasks, .prefs.min_s = HORIZON
	};
	struct arena a = { 0 };

	for (int k = 0; k < 50; k++) {
		struct rr_sim rr;

		rr_sim_odd_world(&w, &rng);
		w.prefs.ram_bytes = 8;
		w.napps = 2 * w.nprojects;
		for (size_t i = 0; i < w.napps; i++)
			apps[i] = (struct cw_app){ (int32_t)i / 2,
				(int32_t)rng_below(&rng, 4) };
		rr_simulate(&w, &a, &rr);
		for (size_t i = 0; i < w.ntasks; i++)
			if (rr_takes_part(&w, &tasks[i]))
				ck_assert(rr.tasks[i].finish_s > 0 &&
					  rr.tasks[i].finish_s < INFINITY);
		arena_reset(&a);
	}
	arena_free(&a);
}
END_TEST

/* --- predictions without a simulation --- */

static void outlook_random_world(struct client_world *w, struct rng *rng)
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
static void compare_outlook(const struct client_world *w, const struct rr_sim *rr)
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
static void outlook_pass_time(struct client_world *w, struct rng *rng)
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
			t->remaining_s = fmax(
			    0.1, t->remaining_s - CW_REMAINING_FALLS * dt);
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
	ADD(memory_filled_by_small_tasks);
	ADD(passed_over);
	ADD(one_after_the_other);
	ADD(held_behind_a_great_one);
	ADD_LOOP(small_worlds, N(smalls));
	ADD_LOOP(agrees_with_the_definition, 20);
	ADD_LOOP(every_task_ends, 20);
	ADD_LOOP(outlook_agrees_with_simulation, 20);
})
