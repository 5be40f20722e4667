/* SPDX-License-Identifier: Apache-2.0 */
/* Which instances of a coprocessor its tasks get, and which tasks keep running
 * (client.md 4.4). */
#include "test/unit/unit.h"

#include <math.h>
#include <string.h>
#include "rules/client/policies.h"
#include "lib/banned.h"

#define NEARLY(got, want)                                                              \
	ck_assert_msg(fabs((got) - (want)) < 1e-6, "line %d: %.12g, not %.12g",        \
	    __LINE__, (double)(got), (double)(want))

enum { TASKS = 4, NONE = -1, STOPPED = -2 };

/* Tasks in the order of the list; a running task runs on instance "at". */
static const struct {
	const char *what;
	struct {
		double use;
		int32_t at; /* NONE: not running */
	} task[TASKS];
	int32_t device[TASKS]; /* instance it is started on; NONE: unchanged; STOPPED */
} devices[] = {
	{ "one each", { { 1, NONE }, { 1, NONE }, { 1, NONE } }, { 0, 1, NONE } },
	{ "as many as there are", { { 2, NONE }, { 1, NONE } }, { 0, NONE } },
	{ "no room for a task of two", { { 1, NONE }, { 2, NONE }, { 1, NONE } },
	    { 0, NONE, 1 } },
	{ "halves share", { { 0.5, NONE }, { 0.5, NONE }, { 1, NONE } }, { 0, 0, 1 } },
	{ "the fuller device first",
	    { { 0.3, NONE }, { 0.8, NONE }, { 0.2, NONE }, { 0.5, NONE } },
	    { 0, 1, 1, 0 } },
	{ "a running task keeps its device", { { 1, 1 }, { 1, NONE } }, { NONE, 0 } },
	{ "a running half keeps its device", { { 0.5, 1 }, { 0.5, NONE }, { 1, NONE } },
	    { NONE, 1, 0 } },
	{ "a running half keeps the emptier device",
	    { { 0.6, 0 }, { 0.3, 1 }, { 0.4, NONE }, { 0.7, NONE } },
	    { NONE, NONE, 0, 1 } },
	{ "one and a half take two", { { 1.5, NONE }, { 0.5, NONE } }, { 0, NONE } },
	{ "more than there are take all", { { 3, NONE }, { 0.5, NONE } }, { 0, NONE } },
	{ "a task of two keeps both", { { 2, 0 }, { 1, NONE } }, { NONE, NONE } },
	{ "from the second on, too", { { 2, 1 }, { 1, NONE } }, { NONE, NONE } },
	{ "a task within its slice keeps its device from a task of two",
	    { { 2, NONE }, { 1, 1 } }, { NONE, NONE } },
};

START_TEST(devices_by_table)
{
	struct arena a = { 0 };
	struct cw_project p = { .share = 1, .dcf = 1 };
	struct cw_task t[TASKS] = { { 0 } };
	struct client_world w = { .now = 10,
		.rsc = { { "CPU", 1, 1, 1 }, { "GPU", 2, 4, 1 } },
		.nrsc = 2,
		.prefs = { .period_s = 3600 },
		.projects = &p,
		.nprojects = 1,
		.tasks = t };
	struct run_item item[TASKS];
	struct run_list list = { .item = item };
	struct enforced e;
	int32_t got[TASKS] = { NONE, NONE, NONE, NONE };

	for (uint32_t i = 0; i < TASKS && devices[_i].task[i].use > 0; i++) {
		int32_t at = devices[_i].task[i].at;

		t[w.ntasks++] = (struct cw_task){ .rsc = 1,
			.use = devices[_i].task[i].use,
			.remaining_s = 100,
			.deadline = 1e6,
			.running = at != NONE,
			/* of a task that does not run, the device of last time */
			.device = at != NONE ? at : 1 };
		item[list.n++] = (struct run_item){ i, false };
	}
	enforce(&w, &policy_rec, &a, &list, &e);
	for (size_t i = 0; i < e.nstart; i++)
		got[e.start[i]] = e.device[i];
	for (size_t i = 0; i < e.nstop; i++)
		got[e.stop[i].task] = STOPPED;
	for (size_t i = 0; i < w.ntasks; i++)
		ck_assert_msg(got[i] == devices[_i].device[i], "%s: task %zu: %d",
		    devices[_i].what, i, (int)got[i]);
	arena_free(&a);
}
END_TEST

/* Tasks of one CPU each on four CPUs and 8 GB, in the order of the list: a task gives
 * way if smaller ones can keep the CPUs busy that it would leave idle. */
static const struct {
	const char *what;
	double gb[6];
	bool edf[6], running[6]; /* running: within its time slice */
	bool runs[6];
} memories[] = {
	{ "one great task beside three small ones", { 5, 5, 1, 1, 1, 1 }, { false },
	    { false }, { true, false, true, true, true } },
	{ "the second leaves two CPUs idle, small tasks would not",
	    { 3, 3, 1.5, 1.5, 1.5, 1.5 }, { false }, { false },
	    { true, false, true, true, true } },
	{ "no small task would use the CPUs", { 3, 3, 3, 3, 3, 3 }, { false },
	    { false }, { true, true } },
	{ "a task in danger comes first, whatever it leaves",
	    { 1.5, 3, 3, 1.5, 1.5, 1.5 }, { false, true, true }, { false },
	    { true, true, true } },
	{ "so does one within its slice", { 3, 3, 1.5, 1.5, 1.5, 1.5 }, { false },
	    { true, true }, { true, true, true } },
	{ "what needs more than there is does not run", { 9, 1, 1, 1, 1, 1 }, { false },
	    { false }, { false, true, true, true, true } },
};

/* scale: of all memory */
static void memory_case(size_t row, double scale)
{
	for (const struct policy *const *how = policies; *how != NULL; how++) {
		struct arena a = { 0 };
		struct cw_project p = { .share = 1, .dcf = 1 };
		struct cw_task t[6] = { { 0 } };
		struct client_world w = { .now = 60,
			.rsc = { { "CPU", 4, 1, 1 } },
			.nrsc = 1,
			.prefs = { .period_s = 3600, .ram_bytes = 8 * scale },
			.projects = &p,
			.nprojects = 1,
			.tasks = t,
			.ntasks = 6 };
		struct run_item item[6];
		struct run_list list = { .item = item, .n = 6 };
		struct enforced e;
		bool runs[6] = { false };

		for (uint32_t i = 0; i < 6; i++) {
			t[i] = (struct cw_task){ .use = 1,
				.ncpus = 1,
				.remaining_s = 100,
				.deadline = 1e6,
				.rss_bytes = memories[row].gb[i] * scale,
				.running = memories[row].running[i] };
			runs[i] = t[i].running;
			item[i] = (struct run_item){ i, memories[row].edf[i] };
		}
		enforce(&w, *how, &a, &list, &e);
		for (size_t i = 0; i < e.nstart; i++) {
			runs[e.start[i]] = true;
			ck_assert_int_eq(e.device[i], -1);
		}
		for (size_t i = 0; i < e.nstop; i++)
			runs[e.stop[i].task] = false;
		for (size_t i = 0; i < w.ntasks; i++)
			ck_assert_msg(runs[i] == memories[row].runs[i],
			    "%s, %s: task %zu", (*how)->name, memories[row].what, i);
		arena_free(&a);
	}
}

START_TEST(memory_by_table)
{
	memory_case((size_t)_i, 1);
	memory_case((size_t)_i, 1 / 128.0);
}
END_TEST

/* --- which tasks fit into memory beside others --- */

/* Four CPUs and 8 GB; task 6 is on a coprocessor. */
struct memory {
	struct arena a;
	struct cw_project p;
	struct cw_task t[7];
	struct client_world w;
};

static struct memory *four_cpus(struct memory *m, const double gb[7])
{
	*m = (struct memory){ .p = { .share = 1 } };
	m->w = (struct client_world){ .rsc = { { "CPU", 4, 1, 1 }, { "GPU", 1, 4, 1 } },
		.nrsc = 2,
		.prefs = { .period_s = 3600, .ram_bytes = 8 },
		.projects = &m->p,
		.nprojects = 1,
		.tasks = m->t,
		.ntasks = 7 };
	for (int i = 0; i < 7; i++)
		m->t[i] = (struct cw_task){
			.use = 1, .ncpus = i < 6 ? 1 : 0.1, .rss_bytes = gb[i]
		};
	m->t[6].rsc = 1;
	return m;
}

static const struct {
	const char *what;
	double gb[7];
	bool limit;
} limits[] = {
	{ "all fit exactly", { 2, 2, 1, 1, 1, 1, 0 }, false },
	{ "they are too much by a little", { 2, 2, 1, 1, 1, 1, 0.1 }, true },
	{ "any five fit: one more than CPUs", { 1.6, 1.6, 1.6, 1.6, 1.6, 1.6, 1.6 },
	    false },
	{ "five do not", { 1.61, 1.6, 1.6, 1.6, 1.6, 1.6, 1.6 }, true },
	{ "what never fits does not count", { 9, 1, 1, 1, 1, 1, 1 }, false },
	{ "a task that is exactly as great as the memory does", { 8, 1, 1, 1, 1, 1, 1 },
	    true },
};

START_TEST(memory_is_a_limit)
{
	struct memory m;

	four_cpus(&m, limits[_i].gb);
	ck_assert_msg((packing_of(&m.w, &m.a) != NULL) == limits[_i].limit, "%s",
	    limits[_i].what);
	for (int i = 0; i < 7; i++) {
		m.w.prefs.ram_bytes = 8 / 128.0;
		m.t[i].rss_bytes /= 128;
	}
	ck_assert_msg((packing_of(&m.w, &m.a) != NULL) == limits[_i].limit, "%s / 128",
	    limits[_i].what);
	m.w.prefs.ram_bytes = 0;
	ck_assert_ptr_null(packing_of(&m.w, &m.a));
	arena_free(&m.a);
}
END_TEST

START_TEST(suspended_tasks_need_no_memory)
{
	struct memory m;

	four_cpus(&m, (double[]){ 5, 5, 1, 1, 1, 0, 0 });
	ck_assert_ptr_nonnull(packing_of(&m.w, &m.a));
	m.t[0].suspended = true;
	ck_assert_ptr_null(packing_of(&m.w, &m.a));
	arena_free(&m.a);
}
END_TEST

/* Which tasks would leave CPUs idle that others could use. */
START_TEST(tasks_that_leave_cpus_idle)
{
	struct memory m;
	struct packing *p;

	four_cpus(&m, (double[]){ 5, 3, 1, 1, 1, 0.5, 3 });
	p = packing_of(&m.w, &m.a);
	ck_assert(!packing_leaves_idle(p, 5.4, 4, 0)); /* nothing was placed yet */
	m.w.small_first = true;
	ck_assert(packing_leaves_idle(p, 5.4, 4, 0)); /* 2, 3, 4 and 5 fit instead */
	ck_assert(!packing_leaves_idle(p, 8, 4, 1));
	m.w.small_first = false;
	packing_take(p, 0);
	ck_assert(packing_leaves_idle(p, 3, 3, 1)); /* 2, 3 and 5 fit instead */
	ck_assert(!packing_leaves_idle(p, 3, 3, 2));
	ck_assert(!packing_leaves_idle(p, 3, 1, 1));   /* it fills what is left */
	ck_assert(!packing_leaves_idle(p, 3, 3, 6));   /* not on a CPU */
	ck_assert(!packing_leaves_idle(p, 2.9, 3, 1)); /* does not fit anyway */
	packing_take(p, 2);
	packing_take(p, 3);
	packing_take(p, 4);
	ck_assert(!packing_leaves_idle(p, 3, 1, 1));
	ck_assert(!packing_leaves_idle(p, 3, 2, 1)); /* only 5 could take its place */
	m.t[5].suspended = true;
	p = packing_of(&m.w, &m.a);
	packing_take(p, 0);
	ck_assert(!packing_leaves_idle(p, 2.5, 3, 2));
	arena_free(&m.a);
	/* Otherwise a task that needs all memory would never run. */
	four_cpus(&m, (double[]){ 8, 3, 1, 1, 1, 9, 0 });
	m.t[5].ncpus = m.t[5].use =
	    16; /* the least memory for each CPU, but too much */
	p = packing_of(&m.w, &m.a);
	ck_assert(!packing_leaves_idle(p, 8, 4, 0));
	packing_take(p, 1);
	ck_assert(packing_leaves_idle(p, 8, 3, 0));
	arena_free(&m.a);
	/* What counts is memory for each CPU: 4 takes less of it than 2. */
	four_cpus(&m, (double[]){ 4, 3, 1.5, 9, 2, 9, 9 });
	m.t[4].ncpus = m.t[4].use = 2;
	p = packing_of(&m.w, &m.a);
	packing_take(p, 0);
	ck_assert(packing_leaves_idle(p, 4, 3, 1));
	ck_assert(!packing_leaves_idle(p, 3.5, 3, 4));
	ck_assert(!packing_leaves_idle(p, 3.5, 3, 2));
	ck_assert(packing_leaves_idle(p, 3.4, 3, 2)); /* 4 would not fit beside it */
	arena_free(&m.a);
}
END_TEST

/* --- whole decisions --- */

enum { NOW = 10000, SLICE = 3600 };

/* Two projects, two CPUs and two coprocessors; tasks as they are listed. */
struct decision {
	struct arena a;
	struct cw_project p[2];
	struct cw_app app[2];
	struct cw_task t[6];
	struct run_item item[6];
	struct run_list list;
	struct client_world w;
	struct enforced e;
};

static struct decision *no_tasks(struct decision *d)
{
	*d = (struct decision){ .p = { { .share = 1 }, { .share = 1 } } };
	d->w = (struct client_world){ .now = NOW,
		.rsc = { { "CPU", 2, 1, 1 }, { "GPU", 2, 4, 1 } },
		.nrsc = 2,
		.prefs = { .period_s = SLICE },
		.projects = d->p,
		.nprojects = 2,
		.tasks = d->t };
	d->list.item = d->item;
	return d;
}

/* Adds a task of one CPU to the list. */
static struct cw_task *listed(struct decision *d, bool edf)
{
	struct cw_task *t = &d->t[d->w.ntasks];

	*t = (struct cw_task){
		.use = 1, .ncpus = 1, .remaining_s = 100, .deadline = 1e6
	};
	d->item[d->list.n++] = (struct run_item){ (uint32_t)d->w.ntasks++, edf };
	return t;
}

static struct cw_task *on_coprocessor(struct cw_task *t, double ncpus)
{
	t->rsc = 1;
	t->ncpus = ncpus;
	return t;
}

/* It began so many seconds ago, and saved its work now. */
static struct cw_task *runs_for(struct cw_task *t, double s)
{
	t->running = t->started = true;
	t->run_since = NOW - s;
	t->checkpointed_at = NOW;
	return t;
}

/* Which tasks run afterwards, one letter each: '+' is started, 'r' runs on, '-' is
 * stopped, 'k' is kept in memory, '.' waits. */
static const char *decided(struct decision *d, const struct policy *how)
{
	static char s[7];

	enforce(&d->w, how, &d->a, &d->list, &d->e);
	for (size_t i = 0; i < d->w.ntasks; i++)
		s[i] = d->t[i].running ? 'r' : '.';
	s[d->w.ntasks] = '\0';
	for (size_t i = 0; i < d->e.nstart; i++)
		s[d->e.start[i]] = '+';
	for (size_t i = 0; i < d->e.nstop; i++) {
		ck_assert_int_eq(s[d->e.stop[i].task], 'r'); /* once */
		s[d->e.stop[i].task] = d->e.stop[i].keep ? 'k' : '-';
	}
	return s;
}

/* All policies, those that wait for checkpoints among them. */
#define DECIDED(d, want)                                                               \
	for (const struct policy *const *how = policies; *how != NULL; how++)          \
	ck_assert_msg(strcmp(decided(d, *how), want) == 0, "line %d, %s: %s, not %s",  \
	    __LINE__, (*how)->name, decided(d, *how), want)

START_TEST(suspended_tasks_stop)
{
	struct decision d;

	runs_for(listed(no_tasks(&d), false), 10)->suspended = true;
	d.t[0].checkpointed_at = NOW - 5;
	d.w.scheduled_at = NOW - 1;
	DECIDED(&d, "-");
	d.list.n = 0;
	DECIDED(&d, "-");
	d.t[0].suspended = false;
	d.p[0].suspended = true;
	DECIDED(&d, "-");
	d.p[0].suspended = false;
	DECIDED(&d, "r");
	d.t[0].downloading = true;
	DECIDED(&d, "-");
	d.t[0].running = false;
	d.list.n = 1;
	DECIDED(&d, ".");
	arena_free(&d.a);
}
END_TEST

/* What a stopped task loses: it is kept in memory if the volunteer says so, if it never
 * saved its work, or if it alone needs too much memory; never on a coprocessor. */
START_TEST(stopped_tasks_are_kept)
{
	struct decision d;
	struct cw_task *t = runs_for(listed(no_tasks(&d), false), 10);

	t->suspended = true;
	DECIDED(&d, "-");
	d.w.prefs.leave_in_memory = true;
	DECIDED(&d, "k");
	t->rsc = 1;
	DECIDED(&d, "-");
	t->rsc = 0;
	d.w.prefs.leave_in_memory = false;
	t->checkpointed_at = 0;
	DECIDED(&d, "k");
	t->checkpointed_at = 0.5;
	DECIDED(&d, "-");
	d.w.prefs.ram_bytes = 0.5;
	t->rss_bytes = 0.5;
	DECIDED(&d, "-");
	t->rss_bytes = 0.6;
	DECIDED(&d, "k");
	d.w.prefs.ram_bytes = 0;
	DECIDED(&d, "-");
	arena_free(&d.a);
}
END_TEST

/* client.md 4.4: not CPU-intensive, danger, coprocessor (in its slice first), slice,
 * place in the list. */
START_TEST(urgency)
{
	struct decision d;

	no_tasks(&d)->w.rsc[0].ninst = 1;
	listed(&d, false);
	listed(&d, true);
	DECIDED(&d, ".+");
	runs_for(&d.t[0], 10);
	for (const struct policy *const *how = policies; *how != NULL; how++)
		ck_assert_str_eq(decided(&d, *how), "-+");
	d.item[1].edf = false;
	DECIDED(&d, "r.");
	listed(&d, false)->nci = true; /* takes no part of the CPU */
	DECIDED(&d, "r.+");
	d.p[1].nci = true;
	d.t[2].nci = false;
	d.t[2].project = 1;
	DECIDED(&d, "r.+");
	d.t[2].project = 0;
	d.t[0].running = false;
	on_coprocessor(&d.t[1], 1); /* takes its CPU first */
	DECIDED(&d, ".+.");
	d.item[0].edf = true;
	DECIDED(&d, "++.");
	arena_free(&d.a);
}
END_TEST

/* Coprocessor tasks may overcommit the CPUs by one, and so does a CPU task. */
START_TEST(overcommitted_cpus)
{
	struct decision d;

	on_coprocessor(listed(no_tasks(&d), false), 1.5);
	on_coprocessor(listed(&d, false), 1.5);
	listed(&d, false);
	DECIDED(&d, "++.");
	d.t[1].ncpus = 1.6;
	DECIDED(&d, "+.+");
	d.t[0].ncpus = 0.5;
	d.t[1].ncpus = 0.5;
	listed(&d, false);
	DECIDED(&d, "+++.");
	d.t[2].use = d.t[2].ncpus = 0.5;
	d.t[3].use = d.t[3].ncpus = 4;
	DECIDED(&d, "++++");
	d.t[0].ncpus = 1;
	d.t[2].use = d.t[2].ncpus = 2;
	DECIDED(&d, "+++.");
	arena_free(&d.a);
}
END_TEST

static void three_apart(struct decision *d)
{
	no_tasks(d)->w.rsc[0].ninst = 3;
	listed(d, false)->project = 1;
	listed(d, false);
	listed(d, false);
	d->t[0].app = 1;
}

/* Of a project, and of an app, no more tasks run than their limits allow. */
START_TEST(concurrency)
{
	struct decision d;

	three_apart(&d);
	DECIDED(&d, "+++");
	d.p[0].max_concurrent = 1;
	DECIDED(&d, "++.");
	d.p[0].max_concurrent = 2;
	DECIDED(&d, "+++");
	d.p[0].max_concurrent = 0;
	d.w.apps = d.app;
	d.w.napps = 1;
	d.t[0].app = 0;
	d.app[0].max_concurrent = 2;
	DECIDED(&d, "++.");
	d.app[0].max_concurrent = 0;
	d.t[0].app = 1;
	d.w.napps = 2;
	d.app[1].project = 1;
	DECIDED(&d, "+++");
	d.app[0].max_concurrent = 1;
	DECIDED(&d, "++.");
	d.app[0].max_concurrent = 0;
	d.app[1].max_concurrent = 1;
	DECIDED(&d, "+++");
	on_coprocessor(&d.t[2], 0.1)->app = 1;
	DECIDED(&d, ".++");
	arena_free(&d.a);
}
END_TEST

/* Tasks that the list leaves out start where no listed task fits. */
START_TEST(the_rest_is_used)
{
	struct decision d;

	no_tasks(&d);
	listed(&d, false);
	listed(&d, false);
	listed(&d, false);
	d.list.n = 1;
	DECIDED(&d, "++.");
	on_coprocessor(&d.t[2], 0); /* the CPUs are full, a coprocessor is free */
	d.w.rsc[0].ninst = 1;
	DECIDED(&d, "+.+");
	for (size_t i = 0; i < d.e.nstart; i++)
		ck_assert_int_eq(d.e.device[i], d.e.start[i] == 2 ? 0 : -1);
	d.t[2].suspended = true;
	DECIDED(&d, "+..");
	d.t[2].suspended = false;
	runs_for(&d.t[0], 10);
	DECIDED(&d, "r.+");
	d.t[2].rsc = 0;
	d.list.n = 0; /* it runs, although it is not listed */
	DECIDED(&d, "r..");
	d.w.rsc[0].ninst = 2;
	DECIDED(&d, "r+.");
	arena_free(&d.a);
}
END_TEST

/* --- when to look again --- */

static const struct {
	const char *what;
	double ran, saved; /* seconds ago; ran < 0: does not run */
	double again;      /* in s; -1: never */
	bool at_checkpoint;
} rechecks[] = {
	{ "it starts", -1, 0, SLICE, false },
	{ "in its slice", 1000, 0, SLICE - 1000, false },
	{ "its slice is over, the next has begun", SLICE + 10, 0, SLICE - 10, false },
	{ "its slice ends now", SLICE, 0, SLICE, false },
	{ "it saved its work in its slice", SLICE + 10, 20, SLICE - 10, true },
	{ "it saved its work when the slice ended", SLICE + 10, 10, SLICE - 10, false },
	{ "in its third slice", 2 * SLICE + 10, 2 * SLICE, SLICE - 10, true },
	{ "just before its slice ends", SLICE - 1, 0, 1, false },
};

/* One task runs, another waits. */
START_TEST(rechecks_by_table)
{
	struct decision d;

	listed(no_tasks(&d), false);
	d.w.rsc[0].ninst = 1;
	if (rechecks[_i].ran >= 0)
		runs_for(&d.t[0], rechecks[_i].ran)->checkpointed_at -=
		    rechecks[_i].saved;
	for (int n = 0; n < 4; n++) {
		decided(&d, &policy_rec);
		ck_assert_msg(
		    d.e.recheck_at == (n < 2 ? INFINITY : NOW + rechecks[_i].again),
		    "%s: %d: at %g", rechecks[_i].what, n, d.e.recheck_at);
		ck_assert_msg(
		    d.e.at_checkpoint == (n >= 2 && rechecks[_i].at_checkpoint), "%s",
		    rechecks[_i].what);
		if (n < 3) /* alone, beside a task of its project, and of others */
			listed(&d, false)->project = n > 0;
		if (n == 2)
			d.t[1].project = 1;
	}
	d.t[1].suspended = d.t[2].suspended = d.t[3].suspended = true;
	decided(&d, &policy_rec);
	ck_assert(d.e.recheck_at == INFINITY && !d.e.at_checkpoint);
	d.t[1].suspended = false;
	d.w.prefs.period_s = 0;
	decided(&d, &policy_rec);
	ck_assert(d.e.recheck_at == INFINITY && !d.e.at_checkpoint);
	arena_free(&d.a);
}
END_TEST

/* Nothing has to be looked at again for a task that is not CPU-intensive, but also if
 * only a task of its own project waits. */
START_TEST(no_rechecks)
{
	struct decision d;

	runs_for(listed(no_tasks(&d), false), 10);
	d.w.rsc[0].ninst = 1;
	listed(&d, false)->nci = true;
	d.t[1].project = 1;
	listed(&d, false);
	decided(&d, &policy_rec);
	ck_assert(d.e.recheck_at == INFINITY);
	d.t[2].project = 1;
	decided(&d, &policy_rec);
	NEARLY(d.e.recheck_at, NOW + SLICE - 10);
	arena_free(&d.a);
}
END_TEST

/* --- debt1: checkpoints (client.md 2.5) --- */

/* A task in danger takes the place of the one that loses least; others wait until a
 * task that is not wanted saves its work after the choice. */
START_TEST(checkpoints)
{
	struct decision d;

	no_tasks(&d);
	listed(&d, false);
	listed(&d, false);
	for (int i = 0; i < 2; i++)
		runs_for(listed(&d, false), SLICE + 200 + i);
	d.w.scheduled_at = NOW - 100;
	ck_assert_str_eq(decided(&d, &policy_debt1), "++--");
	ck_assert(!d.e.at_checkpoint);
	d.t[2].checkpointed_at = NOW - 101;
	ck_assert_str_eq(decided(&d, &policy_debt1), "+.r-");
	ck_assert(d.e.at_checkpoint);
	d.t[2].checkpointed_at = NOW - 100;
	ck_assert_str_eq(decided(&d, &policy_debt1), "++--");
	d.t[2].checkpointed_at = d.t[3].checkpointed_at = NOW - 101;
	ck_assert_str_eq(decided(&d, &policy_debt1), "..rr");
	d.t[2].since_checkpoint_s = 7;
	d.t[3].since_checkpoint_s = 8;
	d.item[1].edf = true;
	ck_assert_str_eq(decided(&d, &policy_debt1), ".+-r");
	d.t[2].since_checkpoint_s = 9;
	ck_assert_str_eq(decided(&d, &policy_debt1), ".+r-");
	d.item[0].edf = true;
	ck_assert_str_eq(decided(&d, &policy_debt1), "++--");
	ck_assert_uint_eq(d.e.stop[0].task, 3);
	d.t[0].use = d.t[0].ncpus = 2; /* the other does not fit beside it */
	ck_assert_str_eq(decided(&d, &policy_debt1), "+.r-");
	d.t[0].use = d.t[0].ncpus = 1;
	d.item[1].edf = false; /* they are wanted now, too */
	d.w.rsc[0].ninst = 4;
	ck_assert_str_eq(decided(&d, &policy_debt1), "++rr");
	ck_assert(!d.e.at_checkpoint);
	arena_free(&d.a);
}
END_TEST

/* Also of one that is in danger itself, but no longer fits into memory. */
START_TEST(great_task_in_danger)
{
	struct decision d;

	runs_for(listed(no_tasks(&d), true), 10)->checkpointed_at = NOW - 5;
	listed(&d, true);
	d.w.scheduled_at = NOW - 1;
	d.w.prefs.ram_bytes = 8;
	d.t[0].rss_bytes = 9;
	ck_assert_str_eq(decided(&d, &policy_debt1), "k+");
	arena_free(&d.a);
}
END_TEST

/* --- afterwards --- */

START_TEST(danger_is_noted)
{
	struct decision d;
	struct rr_task task[3] = { { 0, true }, { 0, false }, { 0, true } };
	struct rr_sim rr = { .tasks = task, .rsc[1].missed_use = 0.5 };

	runs_for(listed(no_tasks(&d), false), 10);
	runs_for(listed(&d, false), 10);
	listed(&d, false);
	enforce_done(&d.w, &rr);
	NEARLY(d.w.scheduled_at, NOW);
	NEARLY(d.t[0].endangered_at, NOW);
	NEARLY(d.t[1].endangered_at, 0);
	NEARLY(d.t[2].endangered_at, 0);
}
END_TEST

UNIT_MAIN("enforce", {
	ADD_LOOP(devices_by_table, N(devices));
	ADD_LOOP(memory_by_table, N(memories));
	ADD_LOOP(memory_is_a_limit, N(limits));
	ADD(suspended_tasks_need_no_memory);
	ADD(tasks_that_leave_cpus_idle);
	ADD(suspended_tasks_stop);
	ADD(stopped_tasks_are_kept);
	ADD(urgency);
	ADD(overcommitted_cpus);
	ADD(concurrency);
	ADD(the_rest_is_used);
	ADD_LOOP(rechecks_by_table, N(rechecks));
	ADD(no_rechecks);
	ADD(checkpoints);
	ADD(great_task_in_danger);
	ADD(danger_is_noted);
})
