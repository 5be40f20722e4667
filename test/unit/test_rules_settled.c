/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points of a request on which the documents and BOINC's server disagree (locality.md
 * 1.9 (D15 to D18)), each settled by a decision.
 */
#include "test/unit/unit.h"

#include "proto/prefs.h"
#include "rules/sched/decide.h"
#include "rules/sched/work_req.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

enum { RESOURCES = 4 };

/* --- D15: requests of the old style count the project's resource share --- */

/* Returns how many jobs of 30 GFLOP are sent to a host of 1 GFLOPS. */
static size_t sent_of_30_gflop(struct world *w)
{
	char *plain = arena_strdup(&w->a, "");

	for (int i = 0; i < 60; i++)
		plain = arena_printf(&w->a, "%s %d/%d", plain, 100 + i, 100 + i);
	world_plain(w, plain);
	for (size_t i = 0; i < w->snap.nplain; i++)
		w->snap.plain[i].rsc_fpops_est = 30e9;
	return world_decide(w)->nsends;
}

static struct world *old_style(double seconds, double share)
{
	struct world *w = world_new("<max_wus_to_send>100</max_wus_to_send>", 0);

	w->req.has_cpu_request = w->req.resources[0].has_request = false;
	w->req.work_req_seconds = seconds;
	w->req.resource_share_fraction = share;
	return w;
}

/*
 * client.md 0: at 1 GFLOPS, share 0.5, on 0.8, active 0.9, a request of 1,000
 * project-normalised seconds is answered with at least 360 GFLOP: 12 jobs.
 */
START_TEST(D15_example_of_the_seed)
{
	struct world *w = old_style(1000, 0.5);

	w->req.host.on_frac = 0.8;
	w->req.host.active_frac = 0.9;
	ck_assert_uint_eq(sent_of_30_gflop(w), 12);
	world_free(w);
}
END_TEST

/*
 * Product of share, on and active, each varied; the new style asks for seconds of the
 * host.
 */
static const struct {
	double share, on, active;
	bool new_style;
	size_t jobs;
} shares[] = {
	{ 1, 1, 1, false, 34 },
	{ 0.5, 1, 1, false, 17 },
	{ 1, 0.5, 1, false, 17 },
	{ 1, 1, 0.5, false, 17 },
	{ 0.5, 0.5, 1, false, 9 },
	{ 0.25, 0.5, 1, false, 5 },
	{ 0.5, 1, 1, true, 34 },
	{ 0.25, 0.5, 1, true, 17 },
};

START_TEST(D15_share_on_and_active)
{
	struct world *w = old_style(1000, shares[_i].share);

	w->req.host.on_frac = shares[_i].on;
	w->req.host.active_frac = shares[_i].active;
	if (shares[_i].new_style) {
		w->req.has_cpu_request = true;
		w->req.cpu_req_secs = 1000;
	}
	ck_assert_uint_eq(sent_of_30_gflop(w), shares[_i].jobs);
	world_free(w);
}
END_TEST

static const struct {
	double share, running, want;
} fractions[] = { { 0.5, 1, 0.5 }, { 0.5, 0.8, 0.8 }, { 1, 1, 1 }, { 0, 0, 1 },
	{ -1, 2, 1 } };

/* The share is relative to the projects that may run now, if the client reports it. */
START_TEST(D15_which_share)
{
	struct request q = { .resource_share_fraction = fractions[_i].share,
		.prrs_fraction = fractions[_i].running };

	ck_assert_double_eq(work_req_share(&q), fractions[_i].want);
}
END_TEST

/* --- D16: results that are likely to miss their deadline are avoided --- */

/*
 * Options; whether the client lists a two-hour task due in two hours; the job's delay
 * bound in units of its run time; whether it is sent.
 */
static const struct {
	const char *options;
	bool listed;
	double bound;
	bool sent;
} deadlines[] = {
	{ "", false, 1, true },
	{ "", false, 0.99, false }, /* also on an idle host, if no option is set */
	{ "<deadline_spares_idle/>", false, 0.99, true },
	{ "<ignore_delay_bound/>", false, 0.99, true },
	{ "", true, 2.9, false }, /* simulated whenever the request has a list */
	{ "", true, 3, true },
	{ "<workload_sim>0</workload_sim>", true, 2.9, false },
};

START_TEST(D16_likely_to_miss)
{
	struct world *w = world_new(deadlines[_i].options, HOUR);
	struct rq_in_progress task = { .name = (char[]){ "x" },
		.report_deadline = (double)WORLD_NOW + 2 * HOUR,
		.time_remaining = 2 * HOUR,
		.avg_ncpus = 1 };
	struct decision *d;

	world_plain(w, "1/1");
	w->snap.plain[0].delay_bound = (int64_t)(deadlines[_i].bound * HOUR);
	if (deadlines[_i].listed) {
		w->req.has_in_progress = true;
		w->req.in_progress = &task;
		w->req.nin_progress = 1;
	}
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, deadlines[_i].sent);
	ck_assert_int_eq(d->why, deadlines[_i].sent ? WHY_NONE : WHY_DEADLINE);
	ck_assert_int_eq(d->no_work_deadlines, !deadlines[_i].sent);
	world_free(w);
}
END_TEST

/* Nothing is sent, but not because of deadlines. */
START_TEST(D16_other_reasons_are_not_deadlines)
{
	struct world *w = world_new("", HOUR);

	world_plain(w, "1/1");
	w->snap.plain[0].rsc_memory_bound = 1e13;
	ck_assert(!world_decide(w)->no_work_deadlines);
	world_free(w);
}
END_TEST

/* --- D17: one switch per type of processor; no_gpus refuses all GPUs --- */

/* Project preferences; which of CPU, NVIDIA, ATI, SPE get jobs. */
static const struct {
	const char *prefs, *sent;
} switches[] = {
	{ "", "CPU NVIDIA ATI SPE " },
	{ "<no_gpus>1</no_gpus>", "CPU SPE " },
	{ "<no_gpus>0</no_gpus>", "CPU NVIDIA ATI SPE " },
	{ "<no_cuda>1</no_cuda>", "CPU ATI SPE " },
	{ "<no_ati>1</no_ati>", "CPU NVIDIA SPE " },
	{ "<no_cpu>1</no_cpu>", "NVIDIA ATI SPE " },
	{ "<no_cpu>1</no_cpu><no_gpus>1</no_gpus>", "SPE " },
	{ "<no_rsc>SPE</no_rsc>", "CPU NVIDIA ATI " },
	{ "<no_gpus>1</no_gpus><no_cuda>0</no_cuda>", "CPU SPE " },
};

START_TEST(D17_switches_of_types)
{
	static char none[] = "", amd[] = "amd", cpu[] = "CPU", nvidia[] = "NVIDIA",
		    ati[] = "ATI", spe[] = "SPE", nv_class[] = "nv", spe_class[] = "s";
	static char *const types[RESOURCES] = { cpu, nvidia, ati, spe };
	static char *const names[RESOURCES] = { none, nv_class, amd, spe_class };
	static char gpu_nvidia[] = "nvidia";
	static char *const gpus[RESOURCES] = { none, gpu_nvidia, amd, spe };
	struct world *w = world_new("<max_wus_to_send>9</max_wus_to_send>", 1);
	struct rq_resource r[RESOURCES] = { w->req.resources[0] };
	struct app_version v[RESOURCES];
	struct plan_class pc[RESOURCES] = { 0 };
	struct plan_classes classes = { .classes = pc, .n = RESOURCES };
	struct catalog cat = *w->snap.cat;
	char *text, *got = arena_strdup(&w->a, "");
	struct decision *d;

	for (int i = 0; i < RESOURCES; i++) {
		v[i] = cat.versions[0];
		v[i].id = i + 1;
		v[i].plan_class = names[i];
		pc[i] = world_class(w, names[i], gpus[i]);
		if (i > 0)
			r[i] = (struct rq_resource){ .type = types[i],
				.has_request = true,
				.req_secs = 1,
				.count = 1,
				.peak_flops = 1e12,
				.name = none,
				.opencl_version = none,
				.opencl_driver_version = none };
	}
	cat.versions = v;
	cat.nversions = RESOURCES;
	cat.classes = &classes;
	w->snap.cat = &cat;
	w->req.resources = r;
	w->req.nresources = RESOURCES;
	text = arena_printf(
	    &w->a, "<project_preferences>%s</project_preferences>", switches[_i].prefs);
	w->snap.project_prefs = prefs_project(&w->a, text, "");
	world_plain(w, "1/1 2/2 3/3 4/4 5/5 6/6");
	d = world_decide(w);
	for (size_t t = 0; t < RESOURCES; t++) {
		size_t n = 0;

		for (size_t i = 0; i < d->nsends; i++)
			n += d->sends[i].resource == t;
		ck_assert_uint_le(n, 1);
		if (n > 0)
			got = arena_printf(&w->a, "%s%s ", got, types[t]);
	}
	ck_assert_msg(strcmp(got, switches[_i].sent) == 0, "%s: %s, not %s",
	    switches[_i].prefs, got, switches[_i].sent);
	world_free(w);
}
END_TEST

/* --- D18: the presence of an element makes a request new style, not its value --- */

static const struct {
	const char *name;
	bool present;
	double secs, instances, work_req_seconds;
	size_t sent; /* one-hour jobs */
} styles[] = {
	{ "no element: work_req_seconds", false, 0, 0, 2 * HOUR, 2 },
	{ "no element, nothing asked", false, 0, 0, 0, 0 },
	{ "an element of zero: nothing is wanted", true, 0, 0, 2 * HOUR, 0 },
	{ "seconds", true, HOUR, 0, 9 * HOUR, 1 },
	{ "instances alone are a request", true, 0, 2, 0, 2 },
	{ "instances alone, whatever the old element says", true, 0, 2, 9 * HOUR, 2 },
	{ "both until both are met", true, HOUR, 2, 0, 2 },
	{ "both until both are met", true, 3 * HOUR, 2, 0, 3 },
};

START_TEST(D18_presence_not_value)
{
	struct world *w = world_new("", styles[_i].secs);
	struct decision *d;

	w->req.has_cpu_request = w->req.resources[0].has_request = styles[_i].present;
	w->req.cpu_req_instances = styles[_i].instances;
	w->req.work_req_seconds = styles[_i].work_req_seconds;
	world_plain(w, "1/1 2/2 3/3 4/4");
	d = world_decide(w);
	ck_assert_msg(
	    d->nsends == styles[_i].sent, "%s: %zu sent", styles[_i].name, d->nsends);
	ck_assert_int_eq(d->work_wanted, styles[_i].sent > 0);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_settled", {
	ADD(D15_example_of_the_seed);
	ADD_LOOP(D15_share_on_and_active, N(shares));
	ADD_LOOP(D15_which_share, N(fractions));
	ADD_LOOP(D16_likely_to_miss, N(deadlines));
	ADD(D16_other_reasons_are_not_deadlines);
	ADD_LOOP(D17_switches_of_types, N(switches));
	ADD_LOOP(D18_presence_not_value, N(styles));
})
