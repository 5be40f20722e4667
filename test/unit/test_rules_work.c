/* SPDX-License-Identifier: Apache-2.0 */
/* What a host asks for, what it can do, what fits it, and its limits (scheduling.md 2).
 */
#include "test/unit/unit.h"

#include "model/rows.h"
#include "rules/sched/decide.h"
#include "rules/sched/version.h"
#include "rules/sched/limits.h"
#include "rules/sched/work_req.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define GIB 1073741824.0

static const struct {
	const char *name;
	bool has_cpu;
	double cpu_secs, cpu_inst;
	bool has_gpu;
	double gpu_secs, gpu_inst, old;
	bool cpu, gpu;
} asks[] = {
#define CASE(name, ...) { #name, __VA_ARGS__ },
#include "test/unit/rules_work.def"
#undef CASE
};

START_TEST(work_wanted)
{
	struct arena a = { 0 };
	struct rq_resource r[2] = { { .has_request = asks[_i].has_cpu },
		{ .has_request = asks[_i].has_gpu,
		    .req_secs = asks[_i].gpu_secs,
		    .req_instances = asks[_i].gpu_inst } };
	struct request q = { .has_cpu_request = asks[_i].has_cpu,
		.cpu_req_secs = asks[_i].cpu_secs,
		.cpu_req_instances = asks[_i].cpu_inst,
		.work_req_seconds = asks[_i].old,
		.resources = r,
		.nresources = 2 };
	struct work_req w = work_req_new(&a, &q);

	ck_assert_int_eq(work_req_wants(&w, 0), asks[_i].cpu);
	ck_assert_int_eq(work_req_wants(&w, 1), asks[_i].gpu);
	ck_assert(!work_req_wants(&w, 2));
	ck_assert_int_eq(work_req_needed(&w), asks[_i].cpu || asks[_i].gpu);
	ck_assert_int_eq(work_req_asks(&q), asks[_i].cpu || asks[_i].gpu);
	arena_free(&a);
}
END_TEST

/*
 * A job counts against the request of its own resource, in seconds and instances, and
 * both must be met; in the old style it counts against the whole request. Fields:
 * seconds and instances requested of resource 1 (instances -1: work_req_seconds
 * instead); two jobs, each with resource 1 or 0, seconds and usage; what is left, and
 * whether more work is wanted.
 */
static const struct {
	double secs, instances;
	struct {
		size_t r;
		double secs, usage;
	} jobs[2];
	double secs_left, instances_left;
	bool wanted;
} takes[] = {
	{ 100, 3, { { 1, 25, 2 } }, 50, 1, true },
	{ 100, 3, { { 1, 25, 2 }, { 1, 50, 1 } }, 0, 0, false },
	{ 100, 0, { { 1, 100, 0.5 } }, 50, -0.5, true },
	{ 100, 0, { { 1, 200, 0.5 } }, 0, -0.5, false },
	{ 1, 2, { { 1, 1000, 1 } }, -999, 1, true }, /* the instances are not met yet */
	{ 1, 2, { { 1, 1000, 1 }, { 1, 1000, 1 } }, -1999, 0, false },
	{ 100, 1, { { 0, 1000, 1 } }, 100, 1, true }, /* another resource */
	{ 100, -1, { { 1, 60, 0.5 } }, 40, 0,
	    true }, /* a coprocessor job counts all its seconds */
	{ 100, -1, { { 0, 60, 0.5 } }, 70, 0, true },
	{ 100, -1, { { 0, 60, 1 }, { 1, 40, 1 } }, 0, 0, false },
};

START_TEST(work_is_taken)
{
	struct arena a = { 0 };
	bool old = takes[_i].instances < 0;
	struct rq_resource r[2] = { { 0 }, { .has_request = !old,
					       .req_secs = takes[_i].secs,
					       .req_instances = takes[_i].instances } };
	struct request q = {
		.resources = r, .nresources = 2, .work_req_seconds = takes[_i].secs
	};
	struct work_req w = work_req_new(&a, &q);

	for (size_t i = 0; i < 2; i++)
		if (takes[_i].jobs[i].secs > 0)
			work_req_take(&w, takes[_i].jobs[i].r, takes[_i].jobs[i].secs,
			    takes[_i].jobs[i].usage);
	ck_assert_double_eq(old ? w.old_secs : w.left[1].secs, takes[_i].secs_left);
	ck_assert_double_eq(w.left[1].instances, takes[_i].instances_left);
	ck_assert(work_req_wants(&w, 1) == takes[_i].wanted);
	ck_assert(!work_req_wants(&w, 2));
	arena_free(&a);
}
END_TEST

/*
 * Samples on the host and 1/speed there; samples of the version and its peak/estimate
 * ratio; CPUs; FLOP/s; expected speed source; coprocessors; FLOP/s of the plan class;
 * expected score.
 */
static const struct {
	double et_n, et_avg, pfc_n, pfc_avg, ncpus, flops;
	enum speed_source source;
	double coprocs, plan, score;
	const char *options;
} speeds[] = {
	/*
	 * a GPU of 1 TFLOPS with a CPU of 1 GFLOPS counts as ten CPUs until it was
	 * measured
	 */
	{ 0, 0, 0, 0, 0.5, 10.5e9, SPEED_BENCHMARK, 1, 0, 10.5e9, "" },
	{ 0, 0, 0, 0, 0.5, 5.5e9, SPEED_BENCHMARK, 0.5, 300e9, 300e9, "" },
	{ 0, 0, 200, 2, 0, 250e9, SPEED_VERSION, 0.5, 300e9, 250e9, "" },
	{ 20, 1 / 100e9, 200, 2, 1, 100e9, SPEED_HOST_VERSION, 1, 300e9, 110e9, "" },
	{ 20, 1 / 1e15, 0, 0, 1, 75e12, SPEED_HOST_VERSION, 1, 300e9, 0, "" },
	{ 20, 1 / 1e15, 0, 0, 1, 2750e9, SPEED_HOST_VERSION, 1, 0, 2750e9, "" },
	{ 11, 1 / 2e9, 200, 4, 1, 2e9, SPEED_HOST_VERSION, 0, 0, 0, "" },
	{ 10, 1 / 2e9, 200, 4, 1, 2.5e8, SPEED_VERSION, 0, 0, 0, "" },
	{ 10, 1 / 2e9, 100, 4, 1, 1e9, SPEED_BENCHMARK, 0, 0, 0, "" },
	{ 11, 0, 0, 0, 1, 1e9, SPEED_BENCHMARK, 0, 0, 0, "" },
	{ 11, 1 / 1e15, 0, 0, 1, 250e9, SPEED_HOST_VERSION, 0, 0, 0, "" },
	{ 0, 0, 200, 1e-9, 1, 250e9, SPEED_VERSION, 0, 0, 0, "" },
	{ 0, 0, 0, 0, 4, 4e9, SPEED_BENCHMARK, 0, 0, 0, "" },
	{ 0, 0, 200, 2, 4, 2e9, SPEED_VERSION, 0, 0, 0, "" },
	/* efficiency instead of elapsed times, and no statistics */
	{ 11, 1 / 2e9, 200, 4, 1, 2e8, SPEED_HOST_PEAK, 0, 0, 2e8,
	    "<estimate_flops_from_hav_pfc/>" },
	{ 11, 1 / 2e9, 200, 4, 1, 2e8, SPEED_HOST_PEAK, 0, 13e8, 3e8,
	    "<estimate_flops_from_hav_pfc/>" },
	{ 10, 1 / 2e9, 0, 0, 1, 1e9, SPEED_BENCHMARK, 0, 0, 0,
	    "<estimate_flops_from_hav_pfc/>" },
	{ 11, 0, 0, 0, 1, 1e9, SPEED_BENCHMARK, 0, 0, 0,
	    "<estimate_flops_from_hav_pfc/>" },
	{ 11, 1 / 2e9, 200, 4, 1, 1e9, SPEED_BENCHMARK, 0, 0, 1e9, "<rte_no_stats/>" },
};

START_TEST(projected_speed)
{
	struct machine m = { .p_fpops = 1e9 };
	struct host_app_version hav = { .et_n = speeds[_i].et_n,
		.et_avg = speeds[_i].et_avg,
		.pfc_n = speeds[_i].et_n,
		.pfc_avg = speeds[_i].et_avg > 0 ? 5 : 0 };
	struct app_version v = { .pfc_n = speeds[_i].pfc_n,
		.pfc_avg = speeds[_i].pfc_avg };
	struct world *w = world_new(speeds[_i].options, 0);
	struct speed s = estimate_speed(w->conf, &m, &hav, &v,
	    &(struct effort){ .ncpus = speeds[_i].ncpus,
		.coprocs = speeds[_i].coprocs,
		.coproc_flops = 1e12,
		.plan_flops = speeds[_i].plan });

	if (speeds[_i].score > 0)
		ck_assert_double_eq_tol(
		    estimate_score(&s, &hav, speeds[_i].plan), speeds[_i].score, 1);
	ck_assert_double_eq_tol(s.flops, speeds[_i].flops, 1);
	ck_assert_int_eq(s.source, speeds[_i].source);
	world_free(w);
}
END_TEST

START_TEST(runtime)
{
	ck_assert_double_eq(estimate_runtime_s(1e12, 1e9, 0.5), 2000);
	ck_assert_double_eq(estimate_runtime_s(0, 1e9, 1), 1000); /* counts as 1e12 */
}
END_TEST

/*
 * The host is described by its request or, if the request has no host element, by its
 * row.
 */
START_TEST(machine_described)
{
	struct world *w = world_new("<max_ncpus>6</max_ncpus>", 0);
	struct host row = { .p_ncpus = 2,
		.p_fpops = 2e9,
		.m_nbytes = 1e9,
		.on_frac = 0.5,
		.active_frac = 0.5 };
	struct catalog cat = *w->snap.cat;
	struct machine m;

	w->snap.cat = &cat;
	w->snap.host = row;
	w->req.host.p_ncpus = 8;
	ck_assert_int_eq(machine_of(w->conf, &w->req, &w->snap).ncpus, 6);
	w->conf->max_ncpus = 9999; /* upper limit of any configuration */
	w->req.host.p_ncpus = 5000;
	ck_assert_int_eq(machine_of(w->conf, &w->req, &w->snap).ncpus, 4096);
	w->conf->max_ncpus = 6;
	w->req.host.p_ncpus = 8;
	w->req.prefs.max_ncpus_pct = 50;
	ck_assert_int_eq(machine_of(w->conf, &w->req, &w->snap).ncpus, 4);
	w->req.prefs.max_ncpus_pct = 1;
	ck_assert_int_eq(machine_of(w->conf, &w->req, &w->snap).ncpus, 1);
	w->req.prefs.max_ncpus_pct = 0;
	w->req.host.p_fpops = 0;
	ck_assert_double_eq(machine_of(w->conf, &w->req, &w->snap).p_fpops, 3.3e9);
	w->req.host.p_fpops = 1e30;
	ck_assert_double_eq(machine_of(w->conf, &w->req, &w->snap).p_fpops, 1e11);
	cat.fpops_median = 5e9, cat.fpops_p95 = 8e9;
	ck_assert_double_eq(machine_of(w->conf, &w->req, &w->snap).p_fpops, 8.8e9);
	w->req.host.p_fpops = 8.8e9;
	ck_assert_double_eq(machine_of(w->conf, &w->req, &w->snap).p_fpops, 8.8e9);
	w->req.host.p_fpops = 0;
	ck_assert_double_eq(machine_of(w->conf, &w->req, &w->snap).p_fpops, 5e9);
	cat.fpops_median = cat.fpops_p95 = 0;
	w->snap.project_prefs.max_cpus = 2;
	ck_assert_int_eq(machine_of(w->conf, &w->req, &w->snap).ncpus, 2);
	w->snap.project_prefs.max_cpus = 0;
	w->req.host.on_frac = 0;
	ck_assert_double_eq(machine_of(w->conf, &w->req, &w->snap).availability, 0.1);
	w->req.host.present = false;
	m = machine_of(w->conf, &w->req, &w->snap);
	ck_assert_int_eq(m.ncpus, 2);
	ck_assert_double_eq(m.p_fpops, 2e9);
	ck_assert_double_eq(m.usable_ram, 1e9);
	ck_assert_double_eq(m.availability, 0.25);
	world_free(w);
}
END_TEST

/* In the oldest clients on_frac is the whole availability (protocol.md 1.5). */
static const struct {
	int32_t version;
	double on_frac, availability;
} ages[] = { { 0, 0.5, 0.25 }, { 1, 0.5, 0.5 }, { 41900, 0.5, 0.5 },
	{ 41901, 0.5, 0.25 }, { 41900, 0, 0.1 } };

START_TEST(availability_of_old_clients)
{
	struct world *w = world_new("", 0);

	w->req.version = ages[_i].version;
	w->req.host.on_frac = ages[_i].on_frac;
	w->req.host.active_frac = 0.5;
	ck_assert_double_eq(
	    machine_of(w->conf, &w->req, &w->snap).availability, ages[_i].availability);
	world_free(w);
}
END_TEST

/* Candidates are read only for hosts that may get work. */
START_TEST(who_wants_work)
{
	struct world *w = world_new("", HOUR);

	ck_assert(decide_wants_work(w->conf, &w->req));
	w->req.dont_send_work = 1;
	ck_assert(!decide_wants_work(w->conf, &w->req));
	w->req.dont_send_work = 0;
	w->conf->dont_send_jobs = true;
	ck_assert(!decide_wants_work(w->conf, &w->req));
	w->conf->dont_send_jobs = false;
	w->req.cpu_req_secs = 0;
	ck_assert(!decide_wants_work(w->conf, &w->req));
	world_free(w);
}
END_TEST

/* Percentiles need at least ten hosts; hosts without a benchmark do not count. */
START_TEST(benchmarks_of_all)
{
	struct catalog cat = { .fpops_p95 = 1 };
	double v[22] = { 0 };

	for (size_t i = 0; i < 9; i++)
		v[2 * i] = 1e9;
	catalog_benchmarks(&cat, v, 20);
	ck_assert_double_eq(cat.fpops_p95, 0);
	for (size_t i = 0; i < 22; i++)
		v[i] = (double)((i * 7) % 22); /* 0 .. 21 in disorder */
	catalog_benchmarks(&cat, v, 22);
	ck_assert_double_eq(cat.fpops_median, 11);
	ck_assert_double_eq(cat.fpops_p95, 20);
}
END_TEST

/* --- what fits --- */

struct fitted { /* values that a case may change */
	struct world *w;
	int64_t lost;
};
static struct world *now_world;
static char *work_text(const char *s)
{
	return arena_strdup(&now_world->a, s);
}

static void machine(const char *os, const char *vendor, const char *model)
{
	now_world->req.host.os_name = work_text(os);
	now_world->req.host.p_vendor = work_text(vendor);
	now_world->req.host.p_model = work_text(model);
}

/* The account has selected this app. */
static void work_choose(int64_t appid)
{
	struct project_prefs *p = &now_world->snap.project_prefs;

	p->apps = arena_memdup(&now_world->a, &appid, sizeof(appid));
	p->napps = 1;
}

enum fit_case {
#define CASE(name, options, change, why) FIT_##name,
#include "test/unit/rules_fit.def"
#undef CASE
	FIT__MAX
};

/* Parameters: everything that the code of a table row may change. */
static void work_change_world(enum fit_case n, struct fitted *w, struct request *q,
    struct job *j, struct app *app, struct app_version *version,
    struct platform *platform, struct host_app_version *hav)
{
	switch (n) {
#define CASE(name, options, change, why)                                               \
	case FIT_##name:                                                               \
		change;                                                                \
		break;
#include "test/unit/rules_fit.def"
#undef CASE
	case FIT__MAX:
		break;
	}
}

static const struct {
	const char *name, *options;
	enum reason why;
} fits[] = {
#define CASE(name, options, change, why) { #name, options, WHY_##why },
#include "test/unit/rules_fit.def"
#undef CASE
};

START_TEST(fit)
{
	struct world *w = world_new(fits[_i].options, HOUR);
	struct fitted x = { .w = w };
	struct app app = w->snap.cat->apps[0];
	struct app_version version = w->snap.cat->versions[0];
	struct platform platform = w->snap.cat->platforms[0];
	struct catalog cat = { .apps = &app,
		.napps = 1,
		.platforms = &platform,
		.nplatforms = 1,
		.versions = &version,
		.nversions = 1 };
	struct host_app_version hav = { .host_id = WORLD_HOST, .app_version_id = 3 };
	struct rq_resource cpu_gpu[2] = { w->req.resources[0],
		{ .type = (char[]){ "NVIDIA" }, .count = 1, .estimated_delay = -1 } };
	struct decision *d;
	int64_t id = 31;

	now_world = w;
	w->snap.cat = &cat;
	w->snap.havs = &hav;
	w->snap.nhavs = 1;
	w->req.resources = cpu_gpu;
	w->req.nresources = 2;
	world_plain(w, "31/9");
	work_change_world((enum fit_case)_i, &x, &w->req, &w->snap.plain[0], &app,
	    &version, &platform, &hav);
	d = decide(
	    &w->a, w->conf, &w->req, &w->snap, WORLD_NOW, &w->rng, &id, x.lost != 0);
	ck_assert_msg(d->why == fits[_i].why, "%s: %s, not %s", fits[_i].name,
	    reason_code(d->why), reason_code(fits[_i].why));
	ck_assert_uint_eq(d->nsends, fits[_i].why == WHY_NONE);
	/* A host that asked in vain gets exactly one message with the reason. */
	if (fits[_i].why != WHY_NONE && fits[_i].why != WHY_DONT_SEND) {
		ck_assert_uint_eq(d->nmessages, 1);
		ck_assert_ptr_nonnull(
		    strstr(d->messages[0].text, reason_text(fits[_i].why)));
	}
	world_free(w);
}
END_TEST

/*
 * The fastest version on the best platforms is chosen; the choice is made again when
 * the request of a resource is met.
 */
START_TEST(fastest_version)
{
	struct world *w = world_new("<locality_scheduling/>", 2 * HOUR);
	static char none_class[] = "";
	struct app_version v[3] = {
		{ .id = 1, .appid = 1, .platformid = 1, .plan_class = none_class },
		{ .id = 2,
		    .appid = 1,
		    .platformid = 1,
		    .plan_class = none_class,
		    .pfc_n = 200,
		    .pfc_avg = 0.5 },
		{ .id = 3,
		    .appid = 2,
		    .platformid = 1,
		    .plan_class = none_class,
		    .pfc_n = 200,
		    .pfc_avg = 0.1 }
	};
	struct catalog cat = *w->snap.cat;
	struct decision *d;

	cat.versions = v;
	cat.nversions = 3;
	w->snap.cat = &cat;
	world_plain(w, "1/1 2/2 3/3 4/4 5/5");
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 4); /* half an hour each on version 2 */
	ck_assert_int_eq(d->sends[0].version->id, 2);
	ck_assert_int_eq(d->sends[0].client_version, -1);
	ck_assert_double_eq(d->sends[0].projected_flops, 2e9);
	ck_assert_double_eq(d->sends[0].runtime_s, HOUR / 2);
	world_free(w);
}
END_TEST

START_TEST(anonymous_platform)
{
	struct world *w = world_new("", HOUR);
	struct rq_app_version v[2] = { { .app_name = (char[]){ "other" },
					   .version_num = 1 },
		{ .app_name = (char[]){ "stars" },
		    .version_num = 7,
		    .avg_ncpus = 0.5,
		    .flops = 2e9 } };
	struct decision *d;

	w->conf->locality_scheduling = true;
	w->req.platforms[0] = arena_strdup(&w->a, "anonymous");
	w->req.app_versions = v;
	w->req.napp_versions = 2;
	world_plain(w, "1/1");
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 1);
	ck_assert_ptr_null(d->sends[0].version);
	ck_assert_int_eq(d->sends[0].client_version, 1);
	ck_assert_double_eq(d->sends[0].projected_flops, 2e9);
	ck_assert_double_eq(d->sends[0].usage, 0.5);
	w->req.napp_versions = 1;
	d = world_decide(w);
	ck_assert_int_eq(d->why, WHY_NO_APP_VERSION);
	ck_assert(d->messages[0].notice);
	ck_assert_double_eq(d->request_delay, 14400);
	world_free(w);
}
END_TEST

START_TEST(unused_resources_are_named)
{
	struct world *w = world_new("", 0);
	struct rq_resource r[2] = { w->req.resources[0],
		{ .type = (char[]){ "NVIDIA" } } };
	struct decision *d;

	w->req.resources = r;
	w->req.nresources = 2;
	d = world_decide(w);
	ck_assert_uint_eq(d->nno_rsc_apps, 1);
	ck_assert_str_eq(d->no_rsc_apps[0], "NVIDIA");
	world_free(w);
}
END_TEST

/*
 * T3 (client.md 0): 1000 project-normalized seconds of a CPU of 1 GFLOPS,
 * half of which is the project's, on a host that is on for 0.8 of the time and computes
 * in 0.9 of that, are answered with 360 GFLOPs or more, and not with a job too many.
 * Jobs of so many GFLOPs, and how many of them are sent.
 */
static const struct {
	double gflops;
	size_t sent;
} normalized[] = { { 100, 4 }, { 119, 4 }, { 121, 3 }, { 359, 2 }, { 361, 1 } };

START_TEST(t3_a_request_is_answered_in_operations)
{
	struct world *w = world_new("", 0);

	w->req.has_cpu_request = w->req.resources[0].has_request = false;
	w->req.work_req_seconds = 1000;
	w->req.prrs_fraction = 0.5;
	w->req.host.on_frac = 0.8;
	w->req.host.active_frac = 0.9;
	world_plain(w, "11/1 12/2 13/3 14/4 15/5 16/6");
	for (size_t i = 0; i < w->snap.nplain; i++)
		w->snap.plain[i].rsc_fpops_est = normalized[_i].gflops * 1e9;
	ck_assert_uint_eq(world_decide(w)->nsends, normalized[_i].sent);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_work", {
	ADD_LOOP(t3_a_request_is_answered_in_operations, N(normalized));
	ADD_LOOP(work_wanted, N(asks));
	ADD_LOOP(work_is_taken, N(takes));
	ADD_LOOP(projected_speed, N(speeds));
	ADD(runtime);
	ADD(machine_described);
	ADD_LOOP(availability_of_old_clients, N(ages));
	ADD(who_wants_work);
	ADD(benchmarks_of_all);
	ADD_LOOP(fit, N(fits));
	ADD(fastest_version);
	ADD(anonymous_platform);
	ADD(unused_resources_are_named);
})
