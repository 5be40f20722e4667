/* SPDX-License-Identifier: Apache-2.0 */
/* What is certain without a simulation: the bounds of rules/client/rr_outlook.c, which
 * test_rr_sim.c compares with simulations, and where nothing is said. */
#include "test/unit/unit.h"

#include <math.h>
#include "rules/client/rr_sim.h"
#include "lib/banned.h"

enum { MANY = 50, NOW = 1000 };

/* One project with tasks of one CPU; a low-water mark of 20 s. */
struct host {
	struct arena a;
	struct cw_project p[2];
	struct cw_app app;
	struct cw_task t[MANY];
	struct client_world w;
	struct rr_sim rr;
};

static struct host *outlook_cpus(struct host *h, double n)
{
	*h = (struct host){ .p = { { .share = 1 }, { .share = 1 } } };
	h->w = (struct client_world){ .now = NOW,
		.rsc = { { "CPU", n, 1, 1 }, { "GPU", 1, 1, 1 } },
		.nrsc = 1,
		.prefs = { .min_s = 20, .period_s = 100 },
		.projects = h->p,
		.nprojects = 1,
		.apps = &h->app,
		.tasks = h->t,
		.version = 1,
		.growth = 1 };
	return h;
}

static void outlook_tasks(
    struct host *h, int32_t project, int n, double run_s, double deadline_s)
{
	for (; n > 0; n--)
		h->t[h->w.ntasks++] = (struct cw_task){ .project = project,
			.use = 1,
			.ncpus = 1,
			.remaining_s = run_s,
			.deadline = NOW + deadline_s };
}

/* Is it certain that all is well? */
static bool certain(struct host *h)
{
	h->rr = (struct rr_sim){ .recheck_s = 0 };
	rr_predict(&h->w, &h->a, &h->rr);
	return h->rr.outlook.valid;
}

/* --- limits --- */

START_TEST(nothing_is_said_of_limits)
{
	struct host h;

	outlook_tasks(outlook_cpus(&h, 2), 0, 4, 1e4, 1e6);
	ck_assert(certain(&h));
	h.p[0].max_concurrent = 9;
	ck_assert(!certain(&h));
	h.p[0].max_concurrent = 0;
	h.w.napps = 1;
	ck_assert(certain(&h));
	h.app.max_concurrent = 9;
	ck_assert(!certain(&h));
	h.t[0].suspended = h.t[1].suspended = true; /* only of tasks that take part */
	h.t[2].suspended = h.t[3].suspended = true;
	h.w.napps = 0;
	ck_assert(!certain(&h)); /* there is none */
	h.t[0].suspended = h.t[1].suspended = h.t[2].suspended = false;
	ck_assert(certain(&h));
	h.p[0].share = 0.5;
	ck_assert(certain(&h));
	h.p[0].share = 0;
	ck_assert(!certain(&h));
	h.p[0].share = 1;
	h.t[0].rss_bytes = h.t[1].rss_bytes = 4;
	ck_assert(certain(&h));
	h.w.prefs.ram_bytes = 8;
	ck_assert(certain(&h));
	h.t[1].rss_bytes = 4.5;
	ck_assert(!certain(&h));
	h.t[0].rss_bytes = h.t[1].rss_bytes = 0.5;
	h.w.prefs.ram_bytes = 0.75;
	ck_assert(!certain(&h));
	arena_free(&h.a);
}
END_TEST

START_TEST(what_is_filled_in)
{
	struct host h;

	outlook_tasks(outlook_cpus(&h, 2), 0, 3, 1e4, 1e6);
	h.t[1].downloading = true;
	h.t[2].use = h.t[2].ncpus = 2;
	ck_assert(certain(&h));
	ck_assert_uint_eq(h.rr.projects[0].ntasks[0], 3);
	ck_assert_uint_eq(h.rr.projects[0].nrunnable[0], 2);
	ck_assert_double_eq(h.rr.projects[0].queued[0], 4e4);
	ck_assert_double_eq(h.rr.projects[0].used[0], 2);
	ck_assert(h.rr.rsc[0].saturated_s == INFINITY && h.rr.recheck_s == INFINITY);
	ck_assert_double_eq(h.rr.outlook.min_s, 20);
	ck_assert_uint_eq(h.rr.outlook.version, 1);
	ck_assert_uint_eq(h.rr.outlook.growth, 1);
	h.w.rsc[0].ninst = 1;
	for (int i = 0; i < 3; i++)
		h.t[i].use = h.t[i].ncpus = 0.5;
	ck_assert(certain(&h)); /* two of them fill the CPU */
	ck_assert_double_eq(h.rr.projects[0].used[0], 1);
	h.w.rsc[0].ninst = 1.2;
	ck_assert(certain(&h));
	ck_assert_double_eq(h.rr.projects[0].used[0], 1.2);
	arena_free(&h.a);
}
END_TEST

/* --- are all instances busy? --- */

/* Up to the low-water mark and a second: by tasks that last so long, or by twice the
 * work of all CPUs until then. */
static const struct {
	const char *what;
	double ncpus, avail;
	int n;
	double run, use;
	bool busy;
	double calm; /* if so: for a quarter of a slice, or not certain for longer */
} busy[] = {
	{ "two last", 1, 1, 2, 21, 1, true, 0 },
	{ "they do not", 1, 1, 2, 20.9, 1, false, 0 },
	{ "one of two CPUs", 2, 1, 1, 1e4, 1, false, 0 },
	{ "two tasks of two", 2, 1, 2, 1e4, 2, true, 25 },
	{ "work of 42 s", 1, 1, 5, 8.5, 1, true, 0 },
	{ "less", 1, 1, 5, 8.3, 1, false, 0 },
	{ "for two CPUs", 2, 1, 9, 9.4, 1, true, 0 },
	{ "less for two CPUs", 2, 1, 9, 9.3, 1, false, 0 },
	{ "available half of the time", 1, 0.5, 2, 10.5, 1, true, 0 },
	{ "less than that", 1, 0.5, 2, 10.4, 1, false, 0 },
	/* 25 s later, when twice as much may have been done of a task. */
	{ "two last for long", 1, 1, 2, 96, 1, true, 25 },
	{ "not for so long", 1, 1, 2, 95.9, 1, true, 0 },
	{ "half of the time", 1, 0.5, 2, 73, 1, true, 25 },
	{ "not for so long, half of the time", 1, 0.5, 2, 72.9, 1, true, 0 },
	/* 2 * 46 s and 50 s on three CPUs: one more, and one overcommitted. */
	{ "work of 242 s", 1, 1, 25, 9.7, 1, true, 25 },
	{ "less than 242 s", 1, 1, 25, 9.6, 1, true, 0 },
	{ "work of 392 s, half of the time", 1, 0.5, 40, 4.91, 1, true, 25 },
	{ "less than 392 s", 1, 0.5, 40, 4.8, 1, true, 0 },
};

START_TEST(busy_by_table)
{
	struct host h;

	outlook_tasks(
	    outlook_cpus(&h, busy[_i].ncpus), 0, busy[_i].n, busy[_i].run, 1e6);
	h.w.rsc[0].avail = busy[_i].avail;
	for (size_t i = 0; i < h.w.ntasks; i++)
		h.t[i].use = h.t[i].ncpus = busy[_i].use;
	ck_assert_msg(certain(&h) == busy[_i].busy, "%s", busy[_i].what);
	if (busy[_i].busy)
		ck_assert_msg(h.rr.outlook.calm_until == NOW + busy[_i].calm, "%s: %g",
		    busy[_i].what, h.rr.outlook.calm_until);
	h.w.prefs.ram_bytes = 0.5; /* limited memory: for no longer than now */
	ck_assert_msg(certain(&h) == busy[_i].busy, "%s", busy[_i].what);
	if (busy[_i].busy)
		ck_assert(h.rr.outlook.calm_until == NOW);
	outlook_tasks(&h, 0, 3, 1e6, 1e7); /* which take no part */
	for (size_t i = h.w.ntasks - 3; i < h.w.ntasks; i++)
		h.t[i].suspended = true;
	ck_assert_msg(certain(&h) == busy[_i].busy, "%s", busy[_i].what);
	arena_free(&h.a);
}
END_TEST

/* Every resource has to be. */
START_TEST(both_resources)
{
	struct host h;

	outlook_tasks(outlook_cpus(&h, 1), 0, 4, 1e4, 1e6);
	h.w.nrsc = 2;
	ck_assert(!certain(&h));
	for (int i = 0; i < 4; i++) {
		h.t[i].rsc = 1;
		h.t[i].ncpus = 0;
		ck_assert(certain(&h) == (i == 1));
	}
	arena_free(&h.a);
}
END_TEST

/* --- do all tasks end in time? --- */

/* By their projects' paces, or by the work of all. */
START_TEST(in_time_by_bounds)
{
	struct host h;

	outlook_tasks(
	    outlook_cpus(&h, 1), 0, 1, 100, 201); /* at worst it ends after another */
	outlook_tasks(&h, 0, 1, 1e4, 1e6);
	h.t[1].use = h.t[1].ncpus = 0.5;
	ck_assert(certain(&h));
	ck_assert_double_eq(h.rr.outlook.in_time_until, NOW);
	h.t[0].deadline = NOW + 250;
	ck_assert(certain(&h));
	ck_assert_double_eq(h.rr.outlook.in_time_until, NOW + 49);
	ck_assert_double_eq(h.rr.outlook.recheck_at, NOW + 60);
	h.t[0].deadline = NOW + 400;
	ck_assert(certain(&h));
	ck_assert_double_eq(h.rr.outlook.recheck_at, NOW + 199);
	h.w.prefs.cushion_s = 180;
	h.t[0].received_at = NOW;
	ck_assert(certain(&h));
	ck_assert_double_eq(h.rr.outlook.in_time_until, NOW + 19);
	ck_assert_double_eq(h.rr.outlook.recheck_at, NOW + 90);
	h.w.prefs.cushion_s = 300; /* at most half of the task's time */
	h.t[0].deadline = NOW + 420;
	ck_assert(certain(&h));
	ck_assert_double_eq(h.rr.outlook.in_time_until, NOW + 9);
	h.t[0].received_at = NOW - 40;
	ck_assert(!certain(&h));
	arena_free(&h.a);
}
END_TEST

/* Mixed sizes, so that a simulation would prove nothing: two CPUs at full speed do the
 * work of 300 s in 150 s, and half of the short one's time may be after that. */
START_TEST(by_the_projects_pace)
{
	struct host h;

	outlook_tasks(outlook_cpus(&h, 2), 0, 2, 100, 201);
	h.t[1].use = h.t[1].ncpus = 2;
	ck_assert(certain(&h));
	h.t[0].deadline--;
	ck_assert(!certain(&h));
	h.t[0].deadline = NOW + 1e4;
	h.t[1].deadline = NOW + 151;
	ck_assert(certain(&h));
	h.t[1].deadline--;
	ck_assert(!certain(&h));
	/* What comes after it does not matter much: 100 s of two CPUs and one task
	 * more. */
	outlook_tasks(&h, 0, 9, 100, 1e5);
	h.t[1].deadline = NOW + 1e5;
	h.t[0].deadline = NOW + 251;
	ck_assert(certain(&h));
	h.t[0].deadline--;
	ck_assert(!certain(&h));
	/* Beside another project it has half of the pace. */
	h.w.ntasks = 1;
	h.w.nprojects = 2;
	outlook_tasks(&h, 1, 20, 100, 1e5);
	h.t[1].use = h.t[1].ncpus = 2;
	h.t[0].deadline = NOW + 101;
	ck_assert(certain(&h));
	h.t[0].deadline--;
	ck_assert(!certain(&h));
	h.p[1].share = 3; /* 100 s at half of a CPU, and half of the time after that */
	h.t[0].deadline = NOW + 201;
	ck_assert(certain(&h));
	h.t[0].deadline--;
	ck_assert(!certain(&h));
	arena_free(&h.a);
}
END_TEST

/* Where the bounds do not suffice, a simulation does if all tasks are alike. */
START_TEST(in_time_by_a_simulation)
{
	struct host h;

	outlook_tasks(outlook_cpus(&h, 2), 0, 3, 100, 110); /* the bound is 200 s */
	h.t[2].deadline = NOW + 1e4;
	ck_assert(certain(&h));
	ck_assert_double_eq(h.rr.outlook.in_time_until, NOW + 9);
	ck_assert_double_eq(h.rr.outlook.recheck_at, NOW + 59);
	h.t[1].deadline = NOW + 101;
	ck_assert(!certain(&h));
	h.t[1].deadline = NOW + 99;
	ck_assert(!certain(&h));
	h.t[0].deadline = h.t[1].deadline = NOW + 170;
	for (int i = 0; i < 3; i++) { /* one is not like the others */
		h.t[i].use = h.t[i].ncpus = 1.5;
		ck_assert(!certain(&h));
		h.t[i].use = h.t[i].ncpus = 0.9;
		ck_assert(!certain(&h));
		h.t[i].use = h.t[i].ncpus = 1;
	}
	h.w.nrsc = 2;
	outlook_tasks(&h, 0, 2, 1000, 1e6);
	h.t[3].rsc = h.t[4].rsc = 1;
	h.t[3].ncpus = h.t[4].ncpus = 0;
	h.t[0].deadline = h.t[1].deadline = NOW + 110;
	ck_assert(certain(&h));
	h.t[3].ncpus = 0.01; /* it takes CPUs */
	h.t[0].deadline = h.t[1].deadline = NOW + 130;
	ck_assert(!certain(&h));
	arena_free(&h.a);
}
END_TEST

/* --- for how long? --- */

START_TEST(outlook_lasts)
{
	struct host h;
	struct rr_outlook l;

	outlook_tasks(outlook_cpus(&h, 1), 0, 2, 1e4, 1e6);
	ck_assert(certain(&h));
	l = h.rr.outlook;
	ck_assert(rr_outlook_lasts(&h.w, &l));
	h.w.now += 25; /* a quarter of a slice */
	ck_assert(rr_outlook_lasts(&h.w, &l));
	h.w.now += 0.1;
	ck_assert(!rr_outlook_lasts(&h.w, &l));
	h.w.now = NOW;
	h.w.prefs.min_s = 21;
	ck_assert(!rr_outlook_lasts(&h.w, &l));
	h.w.prefs.min_s = 20;
	cw_changed(&h.w);
	ck_assert(!rr_outlook_lasts(&h.w, &l));
	h.w.version = 1;
	l.in_time_until = NOW - 0.1;
	ck_assert(!rr_outlook_lasts(&h.w, &l));
	l.in_time_until = NOW;
	ck_assert(rr_outlook_lasts(&h.w, &l));
	l.valid = false;
	ck_assert(!rr_outlook_lasts(&h.w, &l));
	l.valid = true;
	h.w.version = l.version = 0; /* not counted */
	ck_assert(!rr_outlook_lasts(&h.w, &l));
	arena_free(&h.a);
}
END_TEST

START_TEST(outlook_holds)
{
	struct host h;
	struct rr_outlook l;

	outlook_tasks(outlook_cpus(&h, 1), 0, 2, 100, 1e6);
	ck_assert(certain(&h));
	l = h.rr.outlook;
	ck_assert(rr_outlook_holds(&h.w, &l, 25));
	ck_assert(rr_outlook_holds(&h.w, &l, 79)); /* 20 s and 1 s before its end */
	ck_assert(!rr_outlook_holds(&h.w, &l, 79.1));
	l.calm_until = NOW + 90;
	ck_assert(rr_outlook_holds(&h.w, &l, 90));
	l.recheck_at = NOW + 90;
	ck_assert(rr_outlook_holds(&h.w, &l, 90));
	l.recheck_at = NOW + 89;
	ck_assert(!rr_outlook_holds(&h.w, &l, 90));
	arena_free(&h.a);
}
END_TEST

/* As long as there is no more to do than when it was certain, it stays so, although the
 * bounds no longer suffice. */
START_TEST(outlook_is_kept)
{
	struct host h;

	outlook_tasks(outlook_cpus(&h, 2), 0, 2, 100, 250);
	h.t[1].use = h.t[1].ncpus = 2; /* a bound of 200 s */
	ck_assert(certain(&h));
	h.w.now += 45;
	cw_changed(&h.w);
	rr_predict(&h.w, &h.a, &h.rr);
	ck_assert(h.rr.outlook.valid);
	ck_assert_double_eq(h.rr.outlook.in_time_until, NOW + 49);
	h.w.now += 5;
	rr_predict(&h.w, &h.a, &h.rr);
	ck_assert(!h.rr.outlook.valid);
	h.w.now = NOW;
	ck_assert(certain(&h));
	h.w.now += 45;
	h.t[0].remaining_s++;
	cw_grew(&h.w); /* there is more to do */
	h.t[0].remaining_s += 10;
	rr_predict(&h.w, &h.a, &h.rr);
	ck_assert(!h.rr.outlook.valid);
	h.w.version = h.w.growth = 0; /* nobody counts what grows */
	h.w.now = NOW;
	ck_assert(certain(&h));
	h.w.now += 30;
	h.t[0].remaining_s += 40;
	rr_predict(&h.w, &h.a, &h.rr);
	ck_assert(!h.rr.outlook.valid);
	arena_free(&h.a);
}
END_TEST

/* After n attempts in vain in a row, it is not tried again 2^n - 1 times; n is at most
 * four. */
START_TEST(attempts_in_vain)
{
	static const uint32_t skips[] = { 1, 3, 7, 15, 15 };
	struct host h;

	outlook_tasks(outlook_cpus(&h, 2), 0, 1, 1e4, 1e6);
	h.rr = (struct rr_sim){ .recheck_s = 0 };
	for (size_t n = 0; n < N(skips); n++) {
		rr_predict(&h.w, &h.a, &h.rr);
		for (uint32_t left = skips[n];; left--) {
			ck_assert(!h.rr.outlook.valid);
			ck_assert_uint_eq(h.rr.outlook.nskip, left);
			ck_assert_uint_eq(h.rr.outlook.nvain, n < 4 ? n + 1 : 4);
			ck_assert_double_eq(h.rr.rsc[0].nidle, 1);
			if (left == 0)
				break;
			rr_predict(&h.w, &h.a, &h.rr);
		}
	}
	outlook_tasks(&h, 0, 2, 1e4, 1e6);
	rr_predict(&h.w, &h.a, &h.rr);
	ck_assert(h.rr.outlook.valid && h.rr.outlook.nvain == 0);
	arena_free(&h.a);
}
END_TEST

UNIT_MAIN("rr_outlook", {
	ADD(nothing_is_said_of_limits);
	ADD(what_is_filled_in);
	ADD_LOOP(busy_by_table, N(busy));
	ADD(both_resources);
	ADD(in_time_by_bounds);
	ADD(by_the_projects_pace);
	ADD(in_time_by_a_simulation);
	ADD(outlook_lasts);
	ADD(outlook_holds);
	ADD(outlook_is_kept);
	ADD(attempts_in_vain);
})
