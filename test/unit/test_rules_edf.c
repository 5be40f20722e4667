/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines: the simulation itself, and the tasks that a client lists
 * (scheduling.md 2.6, 2.7). */
#include "test/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include "rules/sched/workload.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

static const struct {
	const char *name;
	double instances;
	const char *tasks, *more;
	bool accepted;
	size_t misses;
} cases[] = {
#define EDF(name, ...) { #name, __VA_ARGS__ },
#include "test/unit/rules_edf.def"
#undef EDF
};

/* Reads the next task of the text and returns the rest, NULL after the last task; its
 * deadline counts from at. */
static const char *next_task(const char *text, int64_t at, struct edf_task *t)
{
	double deadline;
	int used;

	if (sscanf(text, " %lf/%lf/%lf%n", &deadline, &t->remaining, &t->usage,
		&used) != 3)
		return NULL;
	t->deadline = at + (int64_t)deadline;
	return text + used;
}

/* Deadlines are absolute: the same cases at any time give the same answers. */
START_TEST(deadline_first)
{
	static const int64_t times[] = { 0, WORLD_NOW, 4000000000 };

	for (size_t i = 0; i < N(times); i++) {
		struct arena a = { 0 };
		struct edf e = edf_new(&a, times[i], cases[_i].instances);
		const char *text = cases[_i].tasks;
		struct edf_task t;

		while ((text = next_task(text, times[i], &t)) != NULL)
			edf_add(&e, t);
		ck_assert_msg(edf_misses(&e) == cases[_i].misses, "%s: %zu misses",
		    cases[_i].name, edf_misses(&e));
		ck_assert_ptr_nonnull(next_task(cases[_i].more, times[i], &t));
		for (int again = 0; again < 2; again++)
			ck_assert_msg(edf_accepts(&e, t) == cases[_i].accepted, "%s",
			    cases[_i].name);
		arena_free(&a);
	}
}
END_TEST

/* A remembered refusal applies only to tasks that are as hard; adding a task clears it.
 */
START_TEST(refusals)
{
	struct arena a = { 0 };
	struct edf e = edf_new(&a, WORLD_NOW, 1);
	struct edf_task hard = { WORLD_NOW + 10, 20, 1 },
			easy = { WORLD_NOW + 30, 20, 1 };

	ck_assert(!edf_accepts(&e, hard));
	ck_assert(edf_accepts(&e, easy));
	hard.remaining = 10;
	ck_assert(edf_accepts(&e, hard));
	edf_add(&e, hard);
	edf_add(&e, easy);
	ck_assert_uint_eq(edf_misses(&e), 0);
	ck_assert_int_eq(e.tasks[0].deadline, hard.deadline);
	for (int i = 0; i < 100; i++) /* tasks in any order, all of which fit */
		edf_add(&e, (struct edf_task){ WORLD_NOW + (i * 37) % 100, 0, 1 });
	for (size_t i = 1; i < e.n; i++)
		ck_assert_int_le(e.tasks[i - 1].deadline, e.tasks[i].deadline);
	ck_assert_uint_eq(edf_misses(&e), 0);
	arena_free(&a);
}
END_TEST

/* A task of fewer instances is not as hard. */
START_TEST(refusals_of_many_instances)
{
	struct arena a = { 0 };
	struct edf e = edf_new(&a, WORLD_NOW, 2);
	struct edf_task t = { WORLD_NOW + 15, 10, 2 };

	edf_add(&e, (struct edf_task){ WORLD_NOW + 10, 10, 1 });
	ck_assert(!edf_accepts(&e, t));
	t.usage = 1;
	ck_assert(edf_accepts(&e, t));
	arena_free(&a);
}
END_TEST

/* A slow implementation of the rule without a heap: a task starts when enough of the
 * running tasks have ended. Returns how many tasks, in the order of their deadlines,
 * are late. */
static size_t late_by_words(const struct edf_task *t, size_t n, double instances)
{
	double end[64], free = instances, at = 0;
	bool ended[64] = { false };
	size_t late = 0;

	for (size_t i = 0; i < n; i++) {
		while (free < t[i].usage) {
			size_t next = SIZE_MAX;

			for (size_t k = 0; k < i; k++)
				if (!ended[k] &&
				    (next == SIZE_MAX || end[k] < end[next]))
					next = k;
			ended[next] = true;
			at = fmax(at, end[next]);
			free += t[next].usage;
		}
		free -= t[i].usage;
		end[i] = at + t[i].remaining;
		late += end[i] > (double)(t[i].deadline - WORLD_NOW);
	}
	return late;
}

START_TEST(many_tasks)
{
	struct rng g = rng_seed(1);

	for (int round = 0; round < 300; round++) {
		struct arena a = { 0 };
		size_t n = 1 + rng_below(&g, 60);
		double instances = (double)(1 + rng_below(&g, 12));
		struct edf e = edf_new(&a, WORLD_NOW, instances);

		for (size_t i = 0; i < n; i++)
			edf_add(
			    &e, (struct edf_task){
				    .deadline = WORLD_NOW + (int64_t)rng_below(&g, 400),
				    .remaining = (double)rng_below(&g, 100),
				    .usage = fmin(
					(double)(1 + rng_below(&g, 3)), instances) });
		ck_assert_uint_eq(
		    edf_misses(&e), late_by_words(e.tasks, e.n, instances));
		arena_free(&a);
	}
}
END_TEST

/* --- in a request --- */

/* options; tasks listed as above, in hours from now, "-" = no list; CPUs; the client's
 * estimated delay in hours; buffer in days; delay bound in hours; how many of four jobs
 * of an hour are sent */
static const struct {
	const char *name, *options, *tasks;
	int32_t cpus;
	double delay, buffer, bound;
	size_t sent;
} lists[] = {
	{ "no list: the client's estimate", "", "-", 1, 5, 0, 6, 1 },
	{ "no list: each job waits for the ones before", "", "-", 1, 0, 0, 3, 3 },
	{ "no list: too busy", "", "-", 1, 5, 0, 5, 0 },
	{ "a list outweighs the client's estimate", "", "", 1, 5, 0, 4, 4 },
	{ "idle, too slow", "", "", 1, 0, 0, 0.5, 0 },
	{ "idle, too slow, spared", "<deadline_spares_idle/>", "", 1, 0, 0, 0.5, 1 },
	{ "idle by estimate, spared", "<deadline_spares_idle/>", "-", 1, 0, 0, 0.5, 1 },
	{ "busy is not spared", "<deadline_spares_idle/>", "9/1/1", 1, 0, 0, 0.5, 0 },
	{ "not checked", "<ignore_delay_bound/>", "1/9/1", 1, 9, 0, 0.5, 4 },
	{ "each job adds a task", "", "", 1, 0, 0, 3, 3 },
	{ "two CPUs", "", "", 2, 0, 0, 2, 4 },
	{ "tasks of other projects come first", "", "2/2/1", 1, 0, 0, 4, 2 },
	{ "tasks of other projects are due later", "", "9/2/1", 1, 0, 0, 4, 4 },
	{ "tasks of other projects would miss", "", "4/2/1", 1, 0, 0, 3, 2 },
	{ "a task without CPUs counts as one CPU", "", "2/2/0", 1, 0, 0, 4, 2 },
	{ "a task without CPUs counts as one of two CPUs", "", "2/2/0", 2, 0, 0, 2, 2 },
	{ "two tasks share a CPU", "", "2/2/0.5 2/2/0.5", 1, 0, 0, 4, 2 },
	{ "done already", "", "2/0/1 2/-5/1", 1, 0, 0, 4, 4 },
	{ "long overdue", "", "-900000/1/1", 1, 0, 0, 3, 2 },
	{ "a buffer of two hours", "", "", 1, 0, 2 / 24., 5, 3 },
	{ "a buffer takes at most half of the bound", "", "", 1, 0, 30, 6, 3 },
	{ "a negative buffer counts as none", "", "", 1, 0, -30, 0.5, 0 },
	{ "workload_sim 0 only stops asking for lists",
	    "<workload_sim>0</workload_sim>", "2/2/1", 1, 0, 0, 4, 2 },
};

static void list_tasks(struct world *w, const char *text)
{
	struct edf_task t;
	size_t cap = 0;

	if (text[0] == '-' && text[1] == '\0')
		return;
	w->req.has_in_progress = true;
	while ((text = next_task(text, 0, &t)) != NULL)
		PUSH(&w->a, w->req.in_progress, w->req.nin_progress,
		    cap) = (struct rq_in_progress){ .name = arena_strdup(&w->a, "x"),
			.report_deadline = (double)WORLD_NOW +
			                   (double)t.deadline * HOUR,
			.time_remaining = t.remaining * HOUR,
			.avg_ncpus = t.usage };
}

START_TEST(tasks_of_all_projects)
{
	struct world *w = world_new(lists[_i].options, 4 * HOUR);
	struct decision *d;

	w->req.host.p_ncpus = lists[_i].cpus;
	w->req.prefs.work_buf_min_days = lists[_i].buffer;
	w->req.resources[0].estimated_delay = lists[_i].delay * HOUR;
	list_tasks(w, lists[_i].tasks);
	world_plain(w, "1/1 2/2 3/3 4/4");
	for (size_t i = 0; i < w->snap.nplain; i++)
		w->snap.plain[i].delay_bound = (int64_t)(lists[_i].bound * HOUR);
	d = world_decide(w);
	ck_assert_msg(
	    d->nsends == lists[_i].sent, "%s: %zu sent", lists[_i].name, d->nsends);
	ck_assert_int_eq(d->no_work_deadlines, d->nsends == 0);
	for (size_t i = 0; i < d->nsends;
	     i++) /* stored and sent deadlines are absolute */
		ck_assert_int_eq(
		    d->sends[i].deadline, WORLD_NOW + w->snap.plain[0].delay_bound);
	world_free(w);
}
END_TEST

/* With more tasks than are simulated, the client's estimated delay counts. */
START_TEST(too_many_tasks)
{
	struct world *w = world_new("", HOUR);

	world_plain(w, "1/1");
	w->req.resources[0].estimated_delay = 9e6;
	w->req.has_in_progress = true;
	w->req.in_progress = NEWN(&w->a, struct rq_in_progress, 2001);
	for (size_t i = 0; i < 2001; i++)
		w->req.in_progress[i].name = arena_strdup(&w->a, "x");
	w->req.nin_progress = 2000;
	ck_assert_uint_eq(world_decide(w)->nsends, 1);
	w->req.nin_progress = 2001;
	ck_assert_uint_eq(world_decide(w)->nsends, 0);
	world_free(w);
}
END_TEST

/* The tasks of a GPU do not delay those of the CPUs, nor the other way round. */
START_TEST(tasks_of_each_resource)
{
	struct world *w = world_new("", HOUR);
	struct rq_resource r[2] = { w->req.resources[0],
		{ .type = (char[]){ "NVIDIA" }, .count = 1, .estimated_delay = -1 } };

	w->req.resources = r;
	w->req.nresources = 2;
	world_plain(w, "1/1");
	w->snap.plain[0].delay_bound = 2 * HOUR;
	list_tasks(w, "1/5/0.5");
	w->req.in_progress[0].ncudas = 1;
	ck_assert_uint_eq(world_decide(w)->nsends, 1);
	w->req.in_progress[0].ncudas = 0;
	ck_assert_uint_eq(world_decide(w)->nsends, 0);
	w->req.in_progress[0].natis = 1; /* a GPU that the host does not have */
	ck_assert_uint_eq(world_decide(w)->nsends, 1);
	world_free(w);
}
END_TEST

/* No list of tasks makes a decision endless or absurd. */
START_TEST(strange_lists)
{
	static const double values[] = { 0, -1, 1e300, -1e300, (double)NAN,
		(double)INFINITY, 1e-300 };
	struct world *w = world_new("", HOUR);

	world_plain(w, "1/1");
	list_tasks(w, "1/1/1 2/2/2");
	for (size_t i = 0; i < N(values) * N(values) * N(values); i++) {
		w->req.in_progress[0].report_deadline = values[i % N(values)];
		w->req.in_progress[0].time_remaining =
		    values[i / N(values) % N(values)];
		w->req.in_progress[0].avg_ncpus = values[i / N(values) / N(values)];
		w->req.prefs.work_buf_min_days = values[i % N(values)];
		ck_assert_uint_le(world_decide(w)->nsends, 1);
	}
	world_free(w);
}
END_TEST

/* Hard apps: only hosts with credit get their jobs, and the estimate is multiplied
 * by 1.3 (scheduling.md 2.6). */
START_TEST(hard_apps)
{
	struct world *w = world_new("<deadline_spares_idle/>", HOUR);
	struct app app = w->snap.cat->apps[0];
	struct catalog cat = *w->snap.cat;

	app.weight = -1;
	cat.apps = &app;
	w->snap.cat = &cat;
	world_plain(w, "1/1");
	ck_assert_int_eq(world_decide(w)->why, WHY_DEADLINE);
	w->snap.host.total_credit = 1;
	ck_assert_uint_eq(world_decide(w)->nsends, 1);
	w->snap.plain[0].delay_bound = HOUR * 13 / 10;
	ck_assert_uint_eq(world_decide(w)->nsends, 1);
	w->snap.plain[0].delay_bound--;
	ck_assert_uint_eq(world_decide(w)->nsends, 0);
	world_free(w);
}
END_TEST

/* An urgent job: its bound is reduced if the host can meet it, to twice the estimate at
 * least. */
static const struct {
	int64_t bound, busy, want;
	int32_t priority;
} hurries[] = {
	{ 100 * HOUR, 0, 50 * HOUR, 5 },
	{ 100 * HOUR, 0, 100 * HOUR, 4 },
	{ 100 * HOUR, 50 * HOUR, 100 * HOUR, 5 },
	{ 3 * HOUR, 0, 2 * HOUR, 5 },
	{ 3 * HOUR / 2, 0, 3 * HOUR / 2, 5 },
};

START_TEST(reduced_bounds)
{
	struct world *w = world_new("<reliable_on_priority>5</reliable_on_priority>"
				    "<reliable_reduced_delay_bound>0.5"
				    "</reliable_reduced_delay_bound>",
	    HOUR);
	struct host_app_version hav = { .app_version_id = 3, .consecutive_valid = 10 };
	struct decision *d;

	w->snap.havs = &hav;
	w->snap.nhavs = 1;
	world_plain(w, "1/1");
	w->snap.plain[0].priority = hurries[_i].priority;
	w->snap.plain[0].delay_bound = hurries[_i].bound;
	w->req.resources[0].estimated_delay = (double)hurries[_i].busy;
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 1);
	ck_assert_int_eq(d->sends[0].deadline, WORLD_NOW + hurries[_i].want);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_edf", {
	ADD_LOOP(deadline_first, N(cases));
	ADD(refusals);
	ADD(refusals_of_many_instances);
	ADD(many_tasks);
	ADD_LOOP(tasks_of_all_projects, N(lists));
	ADD(too_many_tasks);
	ADD(tasks_of_each_resource);
	ADD(strange_lists);
	ADD(hard_apps);
	ADD_LOOP(reduced_bounds, N(hurries));
})
