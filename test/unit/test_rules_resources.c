/* SPDX-License-Identifier: Apache-2.0 */
/* Work per resource: the host of "Work fetch and GPUs", with a CPU, GPUs and the SPEs
 * of a Cell. */
#include "test/unit/unit.h"

#include <stdlib.h>
#include "lib/buf.h"
#include "rules/sched/decide.h"
#include "rules/sched/prefs.h"
#include "test/unit/rules_stage.h"
#include "lib/banned.h"

enum { ROUNDS = 1000 };

/* --- cases --- */

enum {
#define CASE(name, ...) CASE_##name,
#define CASES_OF_WORK
#include "test/unit/rules_resources.def"
#undef CASE
	CASES
};

static void resources_change(int n, struct stage *x)
{
	struct world *w = x->w;
	struct request *q = &w->req;
	struct app_version *v = x->v;
	struct plan_class *pc = x->pc;
	struct catalog *cat = &x->cat;
	struct host_app_version *hav = &x->hav;

	(void)q, (void)v, (void)pc, (void)cat, (void)hav;
	switch (n) {
#define CASE(name, o, c, ci, g, gi, s, si, statements, want)                           \
	case CASE_##name:                                                              \
		statements;                                                            \
		break;
#include "test/unit/rules_resources.def"
#undef CASE
	}
}

static const struct {
	const char *name, *options;
	double left[RESOURCES][2];
	const char *want;
} cases[] = {
#define CASE(name, o, c, ci, g, gi, s, si, statements, want)                           \
	{ #name, o, { { c, ci }, { g, gi }, { s, si } }, want },
#include "test/unit/rules_resources.def"
#undef CASE
#undef CASES_OF_WORK
};

/*
 * Returns "CPU 1 NVIDIA 2 SPE 0 reason", then the types without an app, then the number
 * of the client's own program.
 */
static const char *resources_outcome(struct world *w, const struct decision *d)
{
	struct buf b = buf_new(&w->a);
	size_t sent[RESOURCES] = { 0 };
	int64_t own = 0;

	for (size_t i = 0; i < d->nsends; i++) {
		sent[d->sends[i].resource]++;
		if (d->sends[i].version == NULL)
			own = d->sends[i].app_version_id;
		else
			ck_assert_int_eq(
			    d->sends[i].app_version_id, d->sends[i].version->id);
	}
	for (size_t r = 0; r < RESOURCES; r++)
		buf_printf(&b, "%s %zu ", w->req.resources[r].type, sent[r]);
	buf_puts(&b, reason_code(d->why));
	for (size_t i = 0; i < d->nno_rsc_apps; i++)
		buf_printf(&b, " no %s", d->no_rsc_apps[i]);
	if (own != 0)
		buf_printf(&b, " own %lld", (long long)own);
	if (d->nexpire > 0)
		buf_printf(&b, " expired %zu", d->nexpire);
	return b.p;
}

START_TEST(work_per_resource)
{
	struct stage x;
	struct request *q;
	const char *got;

	stage_set(&x, cases[_i].options);
	q = &x.w->req;
	q->cpu_req_secs = cases[_i].left[CPU][0];
	q->cpu_req_instances = cases[_i].left[CPU][1];
	for (int r = NVIDIA; r < RESOURCES; r++) {
		q->resources[r].req_secs = cases[_i].left[r][0];
		q->resources[r].req_instances = cases[_i].left[r][1];
	}
	for (int r = NVIDIA; r < RESOURCES; r++) /* old clients do not report GPUs */
		q->resources[r].has_request = strstr(cases[_i].name, "old_style") ==
		                              NULL;
	resources_change(_i, &x);
	got = resources_outcome(x.w, world_decide(x.w));
	ck_assert_msg(strcmp(got, cases[_i].want) == 0, "%s: %s, not %s",
	    cases[_i].name, got, cases[_i].want);
	world_free(x.w);
}
END_TEST

/* Returns which of three CPU versions the job is sent with. */
static int32_t version_sent(struct stage *x)
{
	struct decision *d = world_decide(x->w);

	ck_assert_uint_eq(d->nsends, 1);
	return d->sends[0].version->version_num;
}

START_TEST(newest_version)
{
	struct stage x;

	for (int seed = 0; seed < 20; seed++) { /* whatever the random noise is */
		stage_set(&x, "");
		x.w->rng = rng_seed((uint64_t)seed);
		x.w->req.cpu_req_secs = 1;
		for (int i = 0; i < RESOURCES; i++) {
			x.v[i].plan_class = stage_text("");
			x.v[i].version_num = (int32_t[]){ 101, 103, 102 }[i];
		}
		ck_assert_int_eq(version_sent(&x), 103);
		x.v[1].min_core_version = 80000;
		ck_assert_int_eq(version_sent(&x), 102);
		x.v[2].deprecated = 1;
		ck_assert_int_eq(version_sent(&x), 101);
		x.v[1].min_core_version = 0;
		x.v[1].appid = 9; /* of another app or platform: never chosen */
		ck_assert_int_eq(version_sent(&x), 101);
		x.v[1].appid = 1;
		x.v[1].platformid = 9;
		ck_assert_int_eq(version_sent(&x), 101);
		for (int i = 0; i < JOBS; i++)
			x.w->snap.plain[i].app_version_num = 101;
		ck_assert_int_eq(version_sent(&x), 101);
		world_free(x.w);
	}
}
END_TEST

/*
 * A job is tried with three versions of a resource, then with three of the next, even
 * if the first has more.
 */
START_TEST(three_versions_of_a_resource)
{
	enum { CLASSES = 6 };
	struct stage x;

	for (int fits = 0; fits < CLASSES; fits++) {
		struct plan_class pc[CLASSES];
		struct app_version v[CLASSES + 1];
		struct decision *d;

		stage_set(&x, "<version_select_random_factor>0"
			      "</version_select_random_factor>");
		for (int i = 0; i < CLASSES; i++) {
			pc[i] = world_class(
			    x.w, arena_printf(&x.w->a, "nv%d", i), "nvidia");
			pc[i].gpu_peak_flops_scale = 1 - 0.1 * i;
			pc[i].mem_usage_base_mb = i == fits ? 1 : 4000;
			v[i + fits % 2] = x.v[NVIDIA];
			v[i + fits % 2].id = 10 + i;
			v[i + fits % 2].plan_class = pc[i].name;
		}
		v[fits % 2 ? 0 : CLASSES] = x.v[CPU]; /* the order does not matter */
		x.classes = (struct plan_classes){ .classes = pc, .n = CLASSES };
		x.cat.versions = v;
		x.cat.nversions = CLASSES + 1;
		x.w->req.cpu_req_secs = x.w->req.resources[NVIDIA].req_secs = 1;
		d = world_decide(x.w);
		ck_assert_uint_gt(d->nsends, 0);
		ck_assert_int_eq(d->sends[0].app_version_id, fits < 3 ? 10 + fits : 1);
		world_free(x.w);
	}
}
END_TEST

/* A newer client would get 103, but a disabled processor gets nothing. */
START_TEST(newer_version_is_no_reason)
{
	struct stage x;
	struct decision *d;

	stage_set(&x, "");
	x.w->req.cpu_req_secs = 1;
	for (int i = 0; i < RESOURCES; i++) {
		x.v[i].plan_class = stage_text("");
		x.v[i].version_num = (int32_t[]){ 101, 103, 102 }[i];
		x.v[i].min_core_version = i == 0 ? 0 : 80000;
	}
	refuse(x.w, "CPU");
	d = world_decide(x.w);
	ck_assert_str_eq(reason_code(d->why), "RSC_DISABLED");
	ck_assert_uint_eq(d->counts[WHY_CLIENT_TOO_OLD], 0);
	x.v[0].min_core_version = 80000;
	d = world_decide(x.w);
	ck_assert_uint_gt(d->counts[WHY_CLIENT_TOO_OLD], 0);
	world_free(x.w);
}
END_TEST

/*
 * However many versions one resource has, versions after the best ones are tried for
 * other resources.
 */
START_TEST(next_behind_many)
{
	struct app_version v[5];
	struct decision *d;
	struct stage x;

	stage_set(&x, "");
	for (int i = 0; i < 5; i++) {
		v[i] = x.v[i < 4 ? NVIDIA : CPU];
		v[i].id = i + 1;
	}
	x.cat.versions = v;
	x.cat.nversions = 5;
	x.pc[0].mem_usage_base_mb = 4000;
	x.w->req.cpu_req_secs = x.w->req.resources[NVIDIA].req_secs = 1;
	d = world_decide(x.w);
	ck_assert_uint_eq(d->nsends, 1);
	ck_assert_int_eq(d->sends[0].version->id, 5);
	world_free(x.w);
}
END_TEST

/* --- messages --- */

enum {
#define SAY(name, ...) SAY_##name,
#define SAY_CASES
#include "test/unit/rules_resources.def"
#undef SAY
	SAYS
};

static void change_said(int n, struct stage *x)
{
	struct world *w = x->w;
	struct request *q = &w->req;
	struct app_version *v = x->v;
	struct plan_class *pc = x->pc;
	struct catalog *cat = &x->cat;

	(void)q, (void)v, (void)pc, (void)cat;
	switch (n) {
#define SAY(name, o, statements, notice, delay, want)                                  \
	case SAY_##name:                                                               \
		statements;                                                            \
		break;
#include "test/unit/rules_resources.def"
#undef SAY
	}
}

static const struct {
	const char *name, *options;
	bool notice;
	double delay;
	const char *want;
} says[] = {
#define SAY(name, o, statements, notice, delay, want) { #name, o, notice, delay, want },
#include "test/unit/rules_resources.def"
#undef SAY
#undef SAY_CASES
};

START_TEST(said)
{
	struct stage x;
	struct decision *d;

	stage_set(&x, says[_i].options);
	x.w->req.resources[NVIDIA].req_secs = 1;
	change_said(_i, &x);
	d = world_decide(x.w);
	ck_assert_msg(d->nsends == 0 && d->nmessages == 1, "%s: %zu sent, %zu said",
	    says[_i].name, d->nsends, d->nmessages);
	ck_assert_msg(strcmp(d->messages[0].text, says[_i].want) == 0, "%s: %s",
	    says[_i].name, d->messages[0].text);
	ck_assert_msg(
	    d->messages[0].notice == says[_i].notice, "%s: level", says[_i].name);
	ck_assert_msg(d->request_delay == says[_i].delay, "%s: delay %g", says[_i].name,
	    d->request_delay);
	world_free(x.w);
}
END_TEST

/* --- which apps can use which resource --- */

/*
 * each step changes the request; expected: the resources that the project has apps for
 */
START_TEST(resources_served)
{
	static const char *const want[] = { "CPU NVIDIA SPE", "CPU NVIDIA SPE",
		"CPU SPE", "NVIDIA", "", "", "", "CPU" };

	for (int i = 0; i < (int)N(want); i++) {
		struct stage x;
		struct request *q;
		struct serving s;
		char *got;

		stage_set(&x, "");
		q = &x.w->req;
		if (i == 1) { /* through another platform of the host */
			q->platforms = NEWN(&x.w->a, char *, 3);
			q->platforms[0] = stage_text("z80-cpm");
			q->platforms[1] = q->platforms[2] = stage_text(
			    "x86_64-pc-linux-gnu");
			q->nplatforms = 3;
		}
		x.v[NVIDIA].deprecated = i == 2;
		if (i >= 3 && i < 6) /* anonymous platform */
			own_versions(x.w, i == 5 ? "ATI" : "NVIDIA", 1);
		if (i == 4)
			q->app_versions[0].app_name = stage_text("moons");
		x.v[0].appid = x.v[1].appid = x.v[2].appid = i == 6 ? 9 : 1;
		x.cat.classes = i == 7 ? NULL : x.cat.classes;
		s = serving_of(&x.w->a, q, &x.cat);
		got = stage_text("");
		for (size_t r = 0; r < RESOURCES; r++) {
			ck_assert(
			    serving_any(&s, r) == serving_app(&s, &x.cat.apps[0], r));
			if (serving_any(&s, r))
				got = arena_printf(&x.w->a, "%s%s%s", got,
				    got[0] == '\0' ? "" : " ", q->resources[r].type);
		}
		ck_assert_msg(strcmp(got, want[i]) == 0, "%d: %s", i, got);
		ck_assert(!serving_app(&s, &x.cat.apps[0], RESOURCES));
		ck_assert(!serving_app(&s, NULL, CPU));
		world_free(x.w);
	}
}
END_TEST

/* --- what a job uses --- */

START_TEST(uses_of_a_gpu_job)
{
	struct stage x;
	struct decision *d;

	stage_set(&x, "");
	x.w->req.resources[NVIDIA].req_secs = 1;
	x.pc[0].ngpus = 0.5;
	x.pc[0].gpu_ram_used_mb = 500;
	x.pc[0].mem_usage_base_mb = 100;
	d = world_decide(x.w);
	ck_assert_uint_eq(d->nsends, 1);
	ck_assert_double_eq(d->sends[0].usage, 0.5);
	ck_assert_double_eq(d->sends[0].avg_ncpus, 0.5);
	ck_assert_double_eq(d->sends[0].gpu_ram_bytes, 500 * 1048576.0);
	ck_assert_double_eq(d->sends[0].memory_bound, 100 * 1048576.0);
	ck_assert_double_eq(d->sends[0].projected_flops, 5.5e9);
	ck_assert_double_eq(d->sends[0].peak_flops, 0.5e9 + 0.5e12);
	world_free(x.w);
}
END_TEST

/* --- random requests --- */

/* True if the request was already met by earlier jobs of the same resource. */
static bool too_many(const struct request *q, const struct decision *d, size_t at)
{
	size_t r = d->sends[at].resource;
	double secs = r == CPU ? q->cpu_req_secs : q->resources[r].req_secs;
	double instances = r == CPU ? q->cpu_req_instances :
	                              q->resources[r].req_instances;

	for (size_t i = 0; i < at; i++)
		if (d->sends[i].resource == r) {
			secs -= d->sends[i].runtime_s * d->sends[i].usage;
			instances -= d->sends[i].usage;
		}
	return secs <= 0 && instances <= 0;
}

START_TEST(nobody_gets_what_was_not_asked_for)
{
	const char *env = getenv("LOCUS_SEED");
	uint64_t seed = env != NULL ? strtoull(env, NULL, 10) : 1;
	struct rng g = rng_seed(seed);
	size_t sent[RESOURCES] = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		struct stage x;
		struct request *q;
		struct decision *d;

		stage_set(&x, "<version_select_random_factor>1"
			      "</version_select_random_factor>");
		q = &x.w->req;
		q->cpu_req_secs = (double)rng_below(&g, 3) * 5000;
		q->cpu_req_instances = (double)rng_below(&g, 2);
		for (int r = NVIDIA; r < RESOURCES; r++) {
			q->resources[r].req_secs = (double)rng_below(&g, 3) * 500;
			q->resources[r].req_instances = (double)rng_below(&g, 3) / 2;
			x.pc[r - 1].ngpus = (double)(1 + rng_below(&g, 4)) / 2;
		}
		if (rng_below(&g, 4) == 0)
			refuse(x.w, q->resources[rng_below(&g, RESOURCES)].type);
		d = world_decide(x.w);
		for (size_t i = 0; i < d->nsends; i++)
			sent[d->sends[i].resource]++;
		for (size_t i = 0; i < d->nsends; i++)
			ck_assert_msg(
			    !too_many(q, d, i) &&
				!prefs_refuse_resource(&x.w->snap.project_prefs,
				    q->resources[d->sends[i].resource].type),
			    "LOCUS_SEED=%llu, round %d: job %zu for %s",
			    (unsigned long long)seed, round, i,
			    q->resources[d->sends[i].resource].type);
		world_free(x.w);
	}
	for (int r = 0; r < RESOURCES; r++) /* otherwise the test would prove nothing */
		ck_assert_uint_gt(sent[r], ROUNDS / 2);
}
END_TEST

UNIT_MAIN("rules_resources", {
	ADD_LOOP(work_per_resource, CASES);
	ADD(newest_version);
	ADD(next_behind_many);
	ADD(three_versions_of_a_resource);
	ADD_LOOP(said, SAYS);
	ADD(resources_served);
	ADD(newer_version_is_no_reason);
	ADD(uses_of_a_gpu_job);
	ADD(nobody_gets_what_was_not_asked_for);
})
