/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of scenario files, refused scenarios, and figures computed from sums by hand.
 */
#include "test/unit/unit.h"

#include <limits.h>
#include <math.h>
#include "client/sim/server.h"
#include "client/sim/read.h"
#include "client/sim/report.h"
#include "lib/fs.h"
#include "lib/banned.h"

static const struct refused {
	const char *text, *says;
} refused[] = {
#define REFUSED(text, says) { text, says },
#include "test/unit/sim_read.def"
#undef REFUSED
};

static enum err sim_read_parse(
    struct arena *a, const char *text, struct sim_scenario *s, struct fail *f)
{
	char dir[PATH_MAX];
	const char *path;
	enum err e;

	path = arena_printf(a, "%s/S", unit_dir(dir));
	ck_assert_int_eq(fs_write(path, text, strlen(text), 0600, f), OK);
	e = sim_read(a, path, s, f);
	ck_assert_int_eq(fs_rmtree(dir, f), OK);
	return e;
}

static struct sim_scenario good(struct arena *a, const char *text)
{
	struct sim_scenario s;
	struct fail f = { 0 };

	ck_assert_msg(sim_read_parse(a, text, &s, &f) == OK, "%s: %s", text, f.detail);
	return s;
}

START_TEST(refused_with_reason)
{
	struct arena a = { 0 };
	struct sim_scenario s;
	struct fail f = { 0 };

	ck_assert_int_eq(sim_read_parse(&a, refused[_i].text, &s, &f), E_BADREQ);
	ck_assert_msg(strstr(f.detail, refused[_i].says) != NULL, "%s: %s", f.detail,
	    refused[_i].says);
	arena_free(&a);
}
END_TEST

struct log {
	const struct sim_scenario *s;
	struct buf b;
};

static void sim_read_add_line(void *to, const struct sim_event *e)
{
	struct log *l = to;

	sim_log_line(l->s, e, &l->b);
	buf_puts(&l->b, "\n");
}

static char *sim_read_history(struct arena *a, const struct sim_scenario *s)
{
	struct log l = { s, buf_new(a) };
	struct sim_options o = { .policy = policies[0],
		.days = 3,
		.seed = 1,
		.event = sim_read_add_line,
		.listener = &l };
	struct sim_sums sums;
	struct fail f = { 0 };

	ck_assert_msg(sim_run(s, &o, a, &sums, &f) == OK, "%s", f.detail);
	return l.b.p;
}

/*
 * Scenario 1 of "Client scheduling policies", verbatim and as JSON, gives the same
 * history.
 */
START_TEST(two_notations_of_one_scenario)
{
	struct arena a = { 0 };
	struct sim_scenario seed = good(&a,
	    "P1(0.1, 1, .5) P2(1, 24, .25) P3(1, 24, .25) NCPUS = 2 "
	    "leave_in_memory = false cpu_scheduling_period = 1");
	struct sim_scenario json = good(&a,
	    "{\"host\": {\"ncpus\": 2}, \"projects\": ["
	    "{\"share\": 0.5, \"apps\": [{\"C\": 0.1, \"D\": 1}]},"
	    "{\"share\": 0.25, \"apps\": [{\"C\": 1, \"D\": 24}]},"
	    "{\"share\": 0.25, \"apps\": [{\"C\": 1, \"D\": 24}]}]}");
	char *one = sim_read_history(&a, &seed);

	ck_assert_uint_gt(strlen(one), 1000);
	ck_assert_str_eq(one, sim_read_history(&a, &json));
	arena_free(&a);
}
END_TEST

/*
 * A client's buffer is at least three minutes of work; deadlines are moved earlier by
 * the buffer.
 */
START_TEST(least_buffer)
{
	struct arena a = { 0 };
	struct sim_scenario s = good(&a,
	    "{\"prefs\": {\"min_days\": 0.0001}, \"projects\": ["
	    "{\"apps\": [{\"C\": 0.1, \"D\": 1}]}]}");

	ck_assert_double_eq(s.prefs.min_s, 180);
	ck_assert_double_eq(s.prefs.cushion_s, 180);
	arena_free(&a);
}
END_TEST

START_TEST(every_word_of_the_notation)
{
	struct arena a = { 0 };
	struct sim_scenario s = good(&a,
	    "# a host\nNCPUS=4 NGPU=2 GPU_SPEED=5 min_queue=2 additional_queue=3\n"
	    "leave_in_memory=true cpu_scheduling_period=.5 ON=.9 ACTIVE=.8 "
	    "CONNECTED=.7\n"
	    "P(1, 10, 3; sd=.2, ncpus=2) P(2, 20, 3; gpu=.5)\n"
	    "Q(1,10,1;gpu,ncpus=1) AVAIL(P, .4, 6) ATTACH(Q, 24) DETACH(Q, 48)\n"
	    "CHECKPOINT(P, .1) OVERHEAD(P, .05) LIMIT(P, 7) EST(P, 1.5)");
	const struct sim_project *p = &s.projects[0], *q = &s.projects[1];

	ck_assert_uint_eq(s.nprojects, 2);
	ck_assert_uint_eq(p->napps, 2);
	ck_assert_double_eq(s.rsc[CW_CPU].ninst, 4);
	ck_assert_double_eq(s.rsc[SIM_GPU].ninst, 2);
	ck_assert_double_eq(s.rsc[SIM_GPU].flops, 5);
	ck_assert_double_eq(s.prefs.min_s, 7200);
	ck_assert_double_eq(s.prefs.extra_s, 10800);
	ck_assert_double_eq(s.prefs.cushion_s, 7200);
	ck_assert_double_eq(s.prefs.period_s, 1800);
	ck_assert(s.prefs.leave_in_memory);
	ck_assert_double_eq(s.on.fraction, .9);
	ck_assert_double_eq(s.active.fraction, .8);
	ck_assert_double_eq(s.connected.fraction, .7);
	ck_assert_double_eq(p->apps[0].sd, .2);
	ck_assert_double_eq(p->apps[0].use, 2);
	ck_assert_int_eq(p->apps[0].rsc, CW_CPU);
	ck_assert_double_eq(p->apps[1].use, .5);
	ck_assert_double_eq(p->apps[1].ncpus, .01);
	ck_assert_int_eq(p->apps[1].rsc, SIM_GPU);
	ck_assert_double_eq(q->apps[0].ncpus, 1);
	ck_assert_double_eq(p->up.fraction, .4);
	ck_assert_double_eq(p->up.mean_on_s, 6 * 3600);
	ck_assert_double_eq(q->attach_s, 86400);
	ck_assert_double_eq(q->detach_s, 2 * 86400);
	ck_assert_double_eq(p->apps[1].checkpoint_s, 360);
	ck_assert_double_eq(p->apps[1].restart_s, 180);
	ck_assert_int_eq(p->apps[0].in_progress_most, 7);
	ck_assert_double_eq(p->apps[0].bias, 1.5);
	arena_free(&a);
}
END_TEST

/* --- figures --- */

/* The best division, computed by hand: shares of three projects, and the violation. */
static const struct best {
	const char *what, *text;
	double days, part[3], violation, idle;
} bests[] = {
	{ "shares", "A(1,9,1) B(1,9,3) NCPUS=2", 10, { .25, .75 }, 0, 0 },
	{ "each its own resource",
	    "A(1,9,3) B(1,9,1;gpu,ncpus=0) NCPUS=4 NGPU=1 GPU_SPEED=10", 10,
	    { 4. / 14, 10. / 14 }, 2 * (.75 - 4. / 14), 0 },
	{ "a GPU shared so that all is even (example 1)",
	    "A(1,9,1;gpu,ncpus=0) B(1,9,1) B(1,9,1;gpu,ncpus=0) NGPU=1 GPU_SPEED=2", 10,
	    { .5, .5 }, 0, 0 },
	{ "what a limit leaves goes to the others by share",
	    "A(1,9,2) LIMIT(A,1) B(1,9,1) C(1,9,1) NCPUS=4", 10, { .25, .375, .375 },
	    .5, 0 },
	{ "limits of all: idle", "A(1,9,1) LIMIT(A,1) B(1,9,1) LIMIT(B,2) NCPUS=4", 10,
	    { 1. / 3, 2. / 3 }, 1. / 3, .25 },
	{ "attached late, and owed the rest", "A(1,9,1) B(1,9,1) ATTACH(B,120)", 10,
	    { .5, .5 }, 0, 0 },
	{ "attached too late", "A(1,9,1) B(1,9,3) ATTACH(B,120)", 10, { .5, .5 }, .5,
	    0 },
	{ "jobs that no server sends: with the margin they are late",
	    "A(1,9,1) B(7,9,1)", 10, { 1, 0 }, 1, 0 },
	{ "jobs that just fit", "A(1,9,1) B(6.6,9,1)", 10, { .5, .5 }, 0, 0 },
	{ "coprocessor jobs take CPUs",
	    "A(1,9,1;gpu,ncpus=1) B(1,9,1) NCPUS=4 NGPU=1 GPU_SPEED=10", 10,
	    { 11. / 14, 3. / 14 }, 2 * (11. / 14 - .5), 0 },
	{ "or overcommit them",
	    "A(1,9,1;gpu,ncpus=0.5) B(1,9,1) NCPUS=4 NGPU=1 GPU_SPEED=10", 10,
	    { 10.5 / 14.5, 4 / 14.5 }, 2 * (10.5 / 14.5 - .5), 0 },
	{ "a backup project gets what is left", "A(1,9,1) LIMIT(A,1) B(1,9,0) NCPUS=2",
	    10, { .5, .5 }, 1, 0 },
};

START_TEST(best_division)
{
	const struct best *c = &bests[_i];
	struct arena a = { 0 };
	struct sim_scenario s = good(&a, c->text);
	struct sim_bound b;

	sim_bound(&s, c->days, 1, &a, &b);
	for (size_t i = 0; i < s.nprojects; i++)
		ck_assert_msg(fabs(b.share[i] - c->part[i]) < 1e-5, "%s: %zu has %.9g",
		    c->what, i, b.share[i]);
	ck_assert_msg(fabs(b.share_violation - c->violation) < 1e-5, "%s: %.9g",
	    c->what, b.share_violation);
	ck_assert_msg(fabs(b.idle - c->idle) < 1e-5, "%s: %.9g", c->what, b.idle);
	arena_free(&a);
}
END_TEST

/* 16 CPUs with 16 GB: three jobs of 4 GB run all the time, and beside them one of the
 * middle size, not 1.4. */
START_TEST(best_division_of_memory)
{
	static const double gb[] = { 4, 1.2, 0.2 }, part[] = { 3, 1, 12 };
	struct arena a = { 0 };
	struct sim_scenario s = good(&a, "A(1,9,3) B(1,9,1) C(1,9,1) NCPUS=16");
	struct sim_bound b;

	s.prefs.ram_bytes = 16;
	for (size_t i = 0; i < 3; i++)
		s.projects[i].apps[0].rss_bytes = gb[i];
	sim_bound(&s, 4, 1, &a, &b);
	for (size_t i = 0; i < 3; i++)
		ck_assert_msg(fabs(b.share[i] - part[i] / 16) < 1e-5, "%zu has %.9g", i,
		    b.share[i]);
	arena_free(&a);
}
END_TEST

/* What runs while a project cannot be reached for longer than its delay bound is late.
 */
static const struct {
	const char *what, *text;
	double part; /* of the first project, whose server is down for a day of four */
} outages[] = {
	{ "longer than the delay bound", "A(1,23,9) B(1,9,1)", .75 },
	{ "as long as the delay bound", "A(1,24,9) B(1,9,1)", .9 },
	{ "one of two apps", "A(1,23,9) A(1,24,9) B(1,9,1)", .9 },
	{ "the others could not use more", "A(1,23,3) B(1,9,1)", .75 },
	{ "while which nothing is used at all", "A(1,23,9) B(1,9,1) ATTACH(B,72)", .9 },
};

START_TEST(best_division_with_outage)
{
	struct arena a = { 0 };
	struct sim_scenario s = good(&a, outages[_i].text);
	struct sim_bound b;

	s.projects[0].down_from_s = 86400;
	s.projects[0].down_until_s = 2 * 86400;
	sim_bound(&s, 4, 1, &a, &b);
	ck_assert_msg(fabs(b.share[0] - outages[_i].part) < 1e-5, "%s: %.9g",
	    outages[_i].what, b.share[0]);
	arena_free(&a);
}
END_TEST

/* Ten servers that come and go make more kinds of spans than are told apart; the bound
 * then only becomes greater. */
START_TEST(best_division_of_many)
{
	struct arena a = { 0 };
	struct buf text = buf_new(&a);
	struct sim_scenario s;
	struct sim_bound b;
	double sum = 0;

	for (int i = 0; i < 10; i++)
		buf_printf(&text, "%c(1,3,1) AVAIL(%c,.5,9) ", 'A' + i, 'A' + i);
	s = good(&a, text.p);
	sim_bound(&s, 400, 1, &a, &b);
	for (size_t i = 0; i < s.nprojects; i++)
		sum += b.share[i];
	ck_assert_double_eq_tol(sum, 1, 1e-6);
	ck_assert(b.idle < 0.01 && b.share_violation < 0.01);
	arena_free(&a);
}
END_TEST

/* A history is that of the run with the same seed. */
START_TEST(path_of_a_run)
{
	struct arena a = { 0 };
	struct sim_scenario s = good(
	    &a, "A(1,9,1) AVAIL(A,.5,2) B(1,9,1) ON=.5 CONNECTED=.5");
	struct sim_options o = { .policy = policies[0], .days = 20, .seed = 7 };
	struct sim_path path;
	struct sim_sums sums;
	struct fail f = { 0 };
	double on = 0, reached = 0;

	ck_assert_int_eq(sim_run(&s, &o, &a, &sums, &f), OK);
	sim_path(&s, 20, 7, &a, &path);
	ck_assert_double_eq(path.at[0], 0);
	ck_assert_double_eq(path.at[path.n], 20 * 86400);
	for (size_t i = 0; i < path.n; i++) {
		double t = path.at[i + 1] - path.at[i];

		ck_assert(t > 0);
		on += path.computing[i] ? t : 0;
		reached += path.gap_s[2 * i + 1] <= 0 ? t : 0;
		ck_assert(path.gap_s[2 * i] >= 0 && path.gap_s[2 * i + 1] >= 0);
	}
	ck_assert_double_eq_tol(on, sums.on_flops, 1e-3);
	ck_assert(reached > 0 && reached < on);
	arena_free(&a);
}
END_TEST

START_TEST(figures_of_sums)
{
	struct arena a = { 0 };
	struct sim_scenario s = good(&a, "A(1,9,3) B(1,9,1) NCPUS=2");
	struct sim_project_sums p[2] = {
		{ .used_flops = 60,
		    .wasted_flops = 5,
		    .fetched = 6,
		    .met = 4,
		    .missed = 1,
		    .bytes = 300,
		    .gap2_s3 = 400,
		    .attached_s = 100 },
		{ .used_flops = 30, .fetched = 4, .met = 3, .attached_s = 100 },
	};
	struct sim_sums sums = { .days = 2,
		.seed = 1,
		.available_flops = 200,
		.on_flops = 100,
		.contacts = 5,
		.fetched = 10,
		.cpu_ms = 3,
		.projects = p };
	struct sim_figures f, runs[2], mean;

	s.prefs.period_s = 10;
	sim_figures(&s, &sums, &a, &f);
	ck_assert_double_eq_tol(f.idle, .1, 1e-12);
	ck_assert_double_eq_tol(f.wasted, .05, 1e-12);
	ck_assert_double_eq_tol(f.share_violation, 2 * (.75 - 2. / 3), 1e-12);
	ck_assert_double_eq_tol(f.share_violation_attainable, f.share_violation, 1e-9);
	/* A did not run for 2 s, root mean square: 2 / (10 s * 2 * 2). */
	ck_assert_double_eq_tol(f.monotony, 1 - 1 / (1 + 2. / 40), 1e-12);
	ck_assert_double_eq_tol(f.rpcs_per_job, .5, 1e-12);
	ck_assert_double_eq_tol(f.bytes_per_job, 30, 1e-12);
	ck_assert_double_eq_tol(f.cpu_ms_per_day, 1.5, 1e-12);
	ck_assert_uint_eq(f.met, 7);
	ck_assert_uint_eq(f.missed, 1);
	runs[0] = runs[1] = f;
	runs[1].met = 9;
	runs[1].idle = .3;
	sim_figures_mean(runs, 2, 2, &a, &mean);
	ck_assert_uint_eq(mean.met, 8);
	ck_assert_double_eq_tol(mean.idle, .2, 1e-12);
	ck_assert_double_eq_tol(mean.share[0], 2. / 3, 1e-12);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("sim_read", {
	ADD_LOOP(refused_with_reason, N(refused));
	ADD(two_notations_of_one_scenario);
	ADD(least_buffer);
	ADD(every_word_of_the_notation);
	ADD_LOOP(best_division, N(bests));
	ADD(best_division_of_memory);
	ADD_LOOP(best_division_with_outage, N(outages));
	ADD(best_division_of_many);
	ADD(path_of_a_run);
	ADD(figures_of_sums);
})
