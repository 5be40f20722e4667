/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator's engine: sums that must add up, and inputs that must not change a
 * history.
 */
#include "test/unit/unit.h"

#include <math.h>
#include "client/sim/report.h"
#include "lib/buf.h"
#include "lib/banned.h"

enum { PROJECTS = 4 };
static const double H = 3600;

/* A host with a coprocessor and four projects, one of them often down. */
static void world(
    struct sim_scenario *sc, struct sim_project p[PROJECTS], struct sim_app a[PROJECTS])
{
	static const double run[] = { 2, 0.5, 6, 1 }, share[] = { 400, 100, 100, 200 };
	static const char *const name[] = { "alpha", "beta", "gamma", "delta" };

	for (int i = 0; i < PROJECTS; i++) {
		a[i] = (struct sim_app){ .name = "app",
			.run_s = run[i] * H,
			.sd = 0.2,
			.deadline_s = 24 * H * (i + 1),
			.ncpus = i == 3 ? 0.1 : 1,
			.rsc = i == 3,
			.use = 1,
			.weight = 1,
			.bias = 1,
			.checkpoint_s = i == 2 ? 600 : 0,
			.restart_s = i == 2 ? 60 : 0,
			.until_s = INFINITY,
			.jobs_per_file = 1 };
		p[i] = (struct sim_project){ .name = name[i],
			.share = share[i],
			.apps = &a[i],
			.napps = 1,
			.up = { i == 1 ? 0.5 : 1, 4 * H },
			.detach_s = INFINITY };
	}
	*sc = (struct sim_scenario){ .rsc = { { "CPU", 2, 1, 1 }, { "GPU", 1, 4, 1 } },
		.nrsc = 2,
		.on = { 0.8, 10 * H },
		.active = { 1, 0 },
		.connected = { 0.9, 5 * H },
		.prefs = { .min_s = 0.1 * 86400,
		    .extra_s = 0.5 * 86400,
		    .period_s = H,
		    .cushion_s = 0.1 * 86400 },
		.projects = p,
		.nprojects = PROJECTS };
}

struct log {
	struct buf b;
	const struct sim_scenario *sc;
};

static const char *sim_name_of(const struct log *l, int32_t project)
{
	return project < 0 ? "-" : l->sc->projects[project].name;
}

static void sim_listen(void *listener, const struct sim_event *e)
{
	struct log *l = listener;

	buf_printf(&l->b, "%.3f %d %s %llu %d %d %.3f %lld %s\n", e->t, (int)e->kind,
	    sim_name_of(l, e->project), (unsigned long long)e->job, e->app, e->rsc,
	    e->x, (long long)e->n, e->text == NULL ? "" : e->text);
}

static char *sim_history(struct arena *a, const struct sim_scenario *sc,
    const char *policy, uint64_t seed, struct sim_sums *sums)
{
	struct log l = { buf_new(a), sc };
	struct sim_options o = { .policy = policy_find(policy),
		.days = 10,
		.seed = seed,
		.event = sim_listen,
		.listener = &l };
	struct fail f;

	ck_assert_int_eq(sim_run(sc, &o, a, sums, &f), OK);
	return l.b.p;
}

/*
 * T17: the same seed gives the same log, another seed another log; the order of the
 * projects does not matter.
 */
START_TEST(t17_same_history)
{
	const char *policy = policies[_i]->name;
	struct arena a = { 0 };
	struct sim_scenario sc;
	struct sim_project p[PROJECTS], back[PROJECTS];
	struct sim_app app[PROJECTS];
	struct sim_sums sums;
	char *one, *again, *turned, *other;

	world(&sc, p, app);
	one = sim_history(&a, &sc, policy, 7, &sums);
	again = sim_history(&a, &sc, policy, 7, &sums);
	other = sim_history(&a, &sc, policy, 8, &sums);
	for (int i = 0; i < PROJECTS; i++)
		back[i] = p[PROJECTS - 1 - i];
	sc.projects = back;
	turned = sim_history(&a, &sc, policy, 7, &sums);
	ck_assert_uint_gt(strlen(one), 10000);
	ck_assert_str_eq(one, again);
	ck_assert_str_eq(one, turned);
	ck_assert_str_ne(one, other);
	arena_free(&a);
}
END_TEST

/* T17: names do not matter. */
START_TEST(t17_names_do_not_matter)
{
	static const char *const name[] = { "zeta", "eta", "theta", "iota" };
	const char *policy = policies[_i]->name;
	struct arena a = { 0 };
	struct sim_scenario sc;
	struct sim_project p[PROJECTS];
	struct sim_app app[PROJECTS];
	struct sim_sums was, is;

	world(&sc, p, app);
	sim_history(&a, &sc, policy, 7, &was);
	for (int i = 0; i < PROJECTS; i++)
		p[i].name = name[i];
	sim_history(&a, &sc, policy, 7, &is);
	was.cpu_ms = is.cpu_ms = 0;
	ck_assert_uint_eq(was.events, is.events);
	ck_assert_mem_eq(was.projects, is.projects, PROJECTS * sizeof(*is.projects));
	arena_free(&a);
}
END_TEST

/*
 * Every fetched job is reported or on the host, and no more runs than the CPUs can do.
 */
START_TEST(sums_add_up)
{
	struct arena a = { 0 };
	struct sim_scenario sc;
	struct sim_project p[PROJECTS];
	struct sim_app app[PROJECTS];
	struct sim_sums s;
	double used = 0;
	uint64_t fetched = 0, reported = 0;

	world(&sc, p, app);
	sim_history(&a, &sc, policies[_i]->name, 3, &s);
	for (int i = 0; i < PROJECTS; i++) {
		used += s.projects[i].used_flops;
		fetched += s.projects[i].fetched;
		reported += s.projects[i].met + s.projects[i].missed;
		ck_assert_double_ge(
		    s.projects[i].used_flops, s.projects[i].wasted_flops);
	}
	ck_assert_double_eq_tol(used, s.used_flops, 1e-3);
	ck_assert_uint_eq(fetched, s.fetched);
	ck_assert_uint_ge(fetched, reported);
	ck_assert_uint_gt(reported, 0);
	ck_assert_double_ge(s.available_flops, s.on_flops);
	/* One CPU task may run beside a coprocessor task that uses 0.1 CPU. */
	ck_assert_double_le(s.used_flops, s.on_flops * (1 + 0.1 / 6) + 1);
	arena_free(&a);
}
END_TEST

/* T18: the figures do not depend on the host's polling interval. */
START_TEST(t18_steps_do_not_matter)
{
	static const double poll[] = { 10, 30, 60 };
	struct arena a = { 0 };
	struct sim_scenario sc;
	struct sim_project p[PROJECTS];
	struct sim_app app[PROJECTS];
	struct sim_sums s, first;
	struct fail f;

	world(&sc, p, app);
	for (size_t k = 0; k < N(poll); k++) {
		struct sim_options o = { .policy = policies[_i],
			.days = 100,
			.seed = 1,
			.poll_s = poll[k] };

		ck_assert_int_eq(sim_run(&sc, &o, &a, &s, &f), OK);
		if (k == 0)
			first = s;
		ck_assert_double_eq_tol(
		    s.used_flops / s.on_flops, first.used_flops / first.on_flops, 0.01);
		for (int i = 0; i < PROJECTS; i++)
			ck_assert_double_eq_tol(s.projects[i].used_flops / s.used_flops,
			    first.projects[i].used_flops / first.used_flops, 0.01);
	}
	arena_free(&a);
}
END_TEST

/* --- fields of a scenario, on one CPU --- */

static struct sim_sums one_cpu(
    struct arena *a, struct sim_project *p, size_t n, struct sim_onoff on)
{
	struct sim_scenario sc = { .rsc = { { "CPU", 1, 1, 1 } },
		.nrsc = 1,
		.on = on,
		.active = { 1, 0 },
		.connected = { 1, 0 },
		.prefs = { .min_s = 2 * H, .extra_s = 2 * H, .period_s = H },
		.projects = p,
		.nprojects = n };
	struct sim_options o = { .policy = policies[0], .days = 10, .seed = 1 };
	struct sim_sums sums;
	struct fail f;

	ck_assert_int_eq(sim_run(&sc, &o, a, &sums, &f), OK);
	return sums;
}

static struct sim_app hour_long(void)
{
	return (struct sim_app){ .run_s = H,
		.deadline_s = 100 * H,
		.ncpus = 1,
		.use = 1,
		.weight = 1,
		.bias = 1,
		.until_s = INFINITY,
		.jobs_per_file = 1 };
}

static struct sim_project sim_project(const char *name, struct sim_app *app)
{
	return (struct sim_project){ .name = name,
		.share = 100,
		.apps = app,
		.napps = 1,
		.up = { 1, 0 },
		.detach_s = INFINITY };
}

/* Four jobs use one file, which is downloaded only for the first. */
START_TEST(a_file_is_moved_once)
{
	struct arena a = { 0 };
	struct sim_app app = hour_long();
	struct sim_project p = sim_project("A", &app);
	struct sim_sums s;

	app.file_bytes = 1000;
	app.jobs_per_file = 4;
	s = one_cpu(&a, &p, 1, (struct sim_onoff){ 1, 0 });
	ck_assert_uint_gt(s.fetched, 200);
	ck_assert_double_eq(s.projects[0].bytes, 1000 * ceil((double)s.fetched / 4));
	arena_free(&a);
}
END_TEST

/* B is attached for two of ten days; A is alone before and after. */
START_TEST(projects_come_and_go)
{
	struct arena a = { 0 };
	struct sim_app app = hour_long();
	struct sim_project p[2] = { sim_project("A", &app), sim_project("B", &app) };
	struct sim_sums s;

	p[1].attach_s = 48 * H;
	p[1].detach_s = 96 * H;
	s = one_cpu(&a, p, 2, (struct sim_onoff){ 1, 0 });
	ck_assert_double_eq_tol(s.used_flops, 240 * H, 1);
	ck_assert_double_eq(s.projects[1].attached_s, 48 * H);
	ck_assert_double_gt(s.projects[1].used_flops, 20 * H);
	ck_assert_double_le(s.projects[1].used_flops, 48 * H);
	arena_free(&a);
}
END_TEST

/*
 * A power failure loses the job's progress since its last checkpoint, and each later
 * start takes a minute.
 */
START_TEST(power_goes)
{
	struct arena a = { 0 };
	struct sim_app app = hour_long();
	struct sim_project p = sim_project("A", &app);
	struct sim_onoff half = { 0.5, 2 * H };
	struct sim_sums at_any_time, never, overhead;

	at_any_time = one_cpu(&a, &p, 1, half);
	app.restart_s = 60;
	overhead = one_cpu(&a, &p, 1, half);
	app.checkpoint_s = 1000 * H;
	never = one_cpu(&a, &p, 1, half);
	ck_assert_double_eq(at_any_time.lost_flops, 0);
	ck_assert_double_gt(overhead.lost_flops, 0);
	ck_assert_double_le(overhead.lost_flops, 60.0 * (double)overhead.preemptions);
	ck_assert_double_gt(never.lost_flops, overhead.lost_flops);
	ck_assert_uint_lt(never.projects[0].met, at_any_time.projects[0].met);
	ck_assert_double_eq_tol(never.used_flops, never.on_flops, 1);
	arena_free(&a);
}
END_TEST

static size_t npolicies(void)
{
	size_t n = 0;

	while (policies[n] != NULL)
		n++;
	return n;
}

/* --- the picture --- */

static const struct sim_event picture_events[] = {
	{ .t = 0, .kind = SIM_JOB, .project = 0, .job = 1 },
	{ .t = 0, .kind = SIM_START, .project = 0, .job = 1 },
	{ .t = 0, .kind = SIM_START, .project = 1, .job = 2 },
	{ .t = 21600, .kind = SIM_END, .project = 0, .job = 1, .n = 1 },
	{ .t = 43200, .kind = SIM_HOST, .project = -1, .n = 0 },
	{ .t = 64800, .kind = SIM_HOST, .project = -1, .n = 1 },
};

static const struct {
	const char *part;
	size_t times;
} picture_parts[] = {
	{ ">CPU 1<", 1 },
	{ ">CPU 2<", 1 },
	{ ">CPU 3<", 0 },
	{ ">one<", 1 },
	{ ">t&lt;o<", 1 },
	{ "<rect class=\"f0\"", 1 + 1 }, /* a name, and its six hours on an instance */
	{ "<rect class=\"f1\"", 1 + 2 }, /* the host was off in between */
	{ "<path class=\"f0\"", 1 },
	{ "<path class=\"f1\"", 1 },
	{ "<path class=\"line l0\"", 1 },
	{ "<path class=\"line l1\"", 1 },
	{ "work queued", 1 },
	{ "what each project is owed", 1 },
	{ "nan", 0 },
	{ "inf", 0 },
	{ ">day 0.4<", 1 },
	{ ">day 1<", 1 },
};

START_TEST(picture_shows_who_had_what)
{
	struct sim_app app = { .run_s = 21600, .ncpus = 1, .use = 1 };
	struct sim_project projects[] = { { .name = "one", .share = 1, .apps = &app },
		{ .name = "t<o", .share = 3, .apps = &app } };
	const struct sim_scenario s = {
		.rsc = { { .name = "CPU", .ninst = 2, .flops = 1 } },
		.nrsc = 1,
		.projects = projects,
		.nprojects = 2
	};
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct sim_plot *p = sim_plot_new(&a, &s, "a run", 1);

	for (size_t i = 0; i < N(picture_events); i++)
		sim_plot_event(p, &picture_events[i]);
	sim_plot_draw(p, &b);
	for (size_t i = 0; i < N(picture_parts); i++) {
		size_t n = 0;

		for (const char *at = b.p; (at = strstr(at, picture_parts[i].part));
		     at++)
			n++;
		ck_assert_msg(n == picture_parts[i].times, "%s: %zu times",
		    picture_parts[i].part, n);
	}
	arena_free(&a);
}
END_TEST

UNIT_MAIN("sim", {
	ADD(picture_shows_who_had_what);
	ADD_LOOP(t17_same_history, npolicies());
	ADD_LOOP(t17_names_do_not_matter, npolicies());
	ADD_LOOP(sums_add_up, npolicies());
	ADD_LOOP(t18_steps_do_not_matter, npolicies());
	ADD(a_file_is_moved_once);
	ADD(projects_come_and_go);
	ADD(power_goes);
})
