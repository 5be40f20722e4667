/* SPDX-License-Identifier: Apache-2.0 */
/* Plan classes from their text to what a job uses, on a host described by its request.
 */
#include <math.h>
#include "proto/plan_class.h"
#include "proto/request.h"
#include "rules/sched/plan_class.h"
#include "test/unit/plan_class_hosts.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

struct world {
	struct arena a;
	struct request *req;
	struct plan_class_host host;
	struct plan_class_job job;
};

static void plan_world_make(struct world *w, const char *request, const char *prefs)
{
	struct fail f = { 0 };
	char *text;

	*w = (struct world){ .job = { .wu_id = 100, .batch = 5 } };
	text = arena_printf(
	    &w->a, "<scheduler_request>" BASE "%s</scheduler_request>", request);
	ck_assert_msg(request_parse(&w->a, text, strlen(text), &w->req, &f) == OK, "%s",
	    f.detail);
	w->host = (struct plan_class_host){ .req = w->req,
		.userid = 7,
		.project_prefs = prefs,
		.ncpus = w->req->host.p_ncpus,
		.p_fpops = 2e9,
		.usable_ram = 4294967296.0 };
}

static const struct plan_class *class_of(struct arena *a, const char *inside)
{
	struct fail f = { 0 };
	struct plan_classes *all;
	struct pc_remark *r;
	size_t n;
	/* The name says CUDA, which must have no effect. */
	char *text = arena_printf(a,
	    "<plan_classes><plan_class><name>cuda</name>%s</plan_class></plan_classes>",
	    inside);

	ck_assert_msg(
	    plan_classes_parse(a, "spec", text, strlen(text), &all, &r, &n, &f) == OK,
	    "%s", f.detail);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(!r[i].out, "%s: %s", inside, r[i].text);
	ck_assert_uint_eq(all->n, 1);
	return &all->classes[0];
}

/* --- which hosts fit --- */

static const struct fit_case {
	const char *spec, *request, *prefs;
	enum reason why;
} fits[] = {
#define NO_PREFS                          NULL
#define FIT(spec, request, prefs, reason) { spec, request, prefs, WHY_##reason },
#include "test/unit/plan_class_fit.def"
#undef FIT
#undef NO_PREFS
};

START_TEST(fit)
{
	const struct fit_case *c = &fits[_i];
	struct rng rng = rng_seed(1);
	struct class_use use;
	enum reason got;
	struct world w;

	plan_world_make(&w, c->request, c->prefs);
	got = plan_class_use(
	    &w.a, class_of(&w.a, c->spec), &w.host, &w.job, &rng, &use);
	ck_assert_msg(got == c->why, "%s\nwith %s %s\ngives %s, not %s", c->spec,
	    c->request, c->prefs, reason_code(got), reason_code(c->why));
	arena_free(&w.a);
}
END_TEST

/* Every element has a row that meets it and a row that does not. */
START_TEST(every_element)
{
	static const char *const only_use[] = { "name", "max_threads", "avg_ncpus",
		"nthreads_cmdline", "projected_flops_scale", "cpu_frac",
		"gpu_peak_flops_scale" };

	for (size_t i = 0; i < pc_nelements; i++) {
		bool good = false, bad = false;
		char tag[80];

		snprintf(tag, sizeof(tag), "<%s", pc_elements[i].name);
		for (size_t k = 0; k < N(fits); k++) {
			const char *at = strstr(fits[k].spec, tag);

			if (at == NULL || strchr(">/", at[strlen(tag)]) == NULL)
				continue;
			good = good || fits[k].why == WHY_NONE;
			bad = bad || fits[k].why != WHY_NONE;
		}
		for (size_t k = 0; k < N(only_use); k++)
			if (strcmp(only_use[k], pc_elements[i].name) == 0)
				good = bad = true;
		ck_assert_msg(good && bad, "%s> has no row %s", tag,
		    good ? "that fails" : "that passes");
	}
}
END_TEST

/* --- what a job uses --- */

static const struct use_case {
	const char *spec, *request, *prefs, *type;
	double ncpus, devices, ram_mb, gflops, mem_mb;
	const char *cmdline;
} uses[] = {
#define USE(spec, request, prefs, type, ncpus, devices, ram, gflops, mem, cmdline)     \
	{ spec, request, prefs, type, ncpus, devices, ram, gflops, mem, cmdline },
#include "test/unit/plan_class_use.def"
#undef USE
};

static void near_number(const char *what, double got, double want)
{
	ck_assert_msg(fabs(got - want) <= 1e-9 * (1 + fabs(want)),
	    "%s is %.12g, not %.12g", what, got, want);
}

START_TEST(use)
{
	const struct use_case *c = &uses[_i];
	struct class_use got;
	enum reason why;
	struct world w;

	plan_world_make(&w, c->request, c->prefs);
	why = plan_class_use(
	    &w.a, class_of(&w.a, c->spec), &w.host, &w.job, NULL, &got);
	ck_assert_msg(why == WHY_NONE, "%s: %s", c->spec, reason_code(why));
	ck_assert_str_eq(got.type, c->type);
	near_number("CPUs", got.avg_ncpus, c->ncpus);
	near_number("devices", got.coproc_count, c->devices);
	near_number("device memory", got.gpu_ram_bytes / 1048576, c->ram_mb);
	near_number("GFLOPS", got.flops / 1e9, c->gflops);
	near_number("memory", got.mem_bytes / 1048576, c->mem_mb);
	ck_assert_str_eq(got.cmdline, c->cmdline);
	arena_free(&w.a);
}
END_TEST

START_TEST(no_class)
{
	struct class_use got;
	struct world w;

	/* Old clients that know no plan classes get versions without a class. */
	plan_world_make(&w, "<client_cap_plan_class>0</client_cap_plan_class>", "");
	ck_assert_int_eq(
	    plan_class_use(&w.a, NULL, &w.host, NULL, NULL, &got), WHY_NONE);
	ck_assert_str_eq(got.type, "CPU");
	ck_assert_double_eq(got.avg_ncpus, 1);
	ck_assert_double_eq(got.flops, 2e9);
	ck_assert_str_eq(got.cmdline, "");
	arena_free(&w.a);
}
END_TEST

/* Without a workunit, demands on the workunit pass; without a generator, chance passes.
 */
START_TEST(no_work)
{
	struct class_use got;
	struct world w;

	plan_world_make(&w, "", "");
	ck_assert_int_eq(
	    plan_class_use(&w.a,
		class_of(&w.a, "<min_wu_id>500</min_wu_id><max_wu_id>501</max_wu_id>"
			       "<min_batch>9</min_batch><max_batch>9</max_batch>"
			       "<infeasible_random>1</infeasible_random>"),
		&w.host, NULL, NULL, &got),
	    WHY_NONE);
	arena_free(&w.a);
}
END_TEST

START_TEST(chance)
{
	struct rng one = rng_seed(42), same = rng_seed(42);
	const struct plan_class *pc;
	struct class_use got;
	size_t out = 0;
	struct world w;

	plan_world_make(&w, "", "");
	pc = class_of(&w.a, "<infeasible_random>0.3</infeasible_random>");
	for (size_t i = 0; i < 10000; i++) {
		enum reason why = plan_class_use(&w.a, pc, &w.host, &w.job, &one, &got);

		out += why == WHY_CLASS_CHANCE;
		ck_assert_int_eq(
		    why, plan_class_use(&w.a, pc, &w.host, &w.job, &same, &got));
	}
	ck_assert_uint_gt(out, 2700);
	ck_assert_uint_lt(out, 3300);
	arena_free(&w.a);
}
END_TEST

/* --- the classes that a project starts with --- */

static const struct {
	const char *class, *request;
	enum reason why;
	const char *type;
} samples[] = {
#define SAMPLE(class, request, reason, type) { class, request, WHY_##reason, type },
#include "test/unit/plan_class_sample.def"
#undef SAMPLE
};

static struct plan_classes *sample_classes(struct arena *a)
{
	const char *top = getenv("srcdir");
	struct fail f = { 0 };
	struct plan_classes *all;
	struct pc_remark *r;
	size_t n;

	ck_assert_msg(
	    plan_classes_load(a,
		arena_printf(a, "%s/tools/" PLAN_CLASS_FILE, top == NULL ? "." : top),
		&all, &r, &n, &f) == OK,
	    "%s", f.detail);
	ck_assert_msg(n == 0, "%s", n == 0 ? "" : r[0].text);
	return all;
}

START_TEST(sample)
{
	const struct plan_class *pc;
	struct class_use got_use;
	enum reason got;
	struct world w;

	plan_world_make(&w, samples[_i].request, "");
	pc = plan_class_named(sample_classes(&w.a), samples[_i].class);
	ck_assert_msg(pc != NULL, "no class %s", samples[_i].class);
	got = plan_class_use(&w.a, pc, &w.host, &w.job, NULL, &got_use);
	ck_assert_msg(got == samples[_i].why, "%s with %s gives %s", samples[_i].class,
	    samples[_i].request, reason_code(got));
	if (got == WHY_NONE)
		ck_assert_str_eq(got_use.type, samples[_i].type);
	arena_free(&w.a);
}
END_TEST

/* Each class fits some request of the table, but not every request. */
START_TEST(every_sample)
{
	struct arena a = { 0 };
	const struct plan_classes *all = sample_classes(&a);

	for (size_t i = 0; i < all->n; i++) {
		bool good = false, bad = false;

		for (size_t k = 0; k < N(samples); k++) {
			if (strcmp(samples[k].class, all->classes[i].name) != 0)
				continue;
			good = good || samples[k].why == WHY_NONE;
			bad = bad || samples[k].why != WHY_NONE;
		}
		ck_assert_msg(good && (bad || strcmp(all->classes[i].name, "nci") == 0),
		    "%s is not tried", all->classes[i].name);
	}
	arena_free(&a);
}
END_TEST

/* --- the file --- */

static const struct {
	const char *text, *names, *remark;
} specs[] = {
#define SPEC(text, names, remark) { text, names, remark },
#include "test/unit/plan_class_spec.def"
#undef SPEC
};

START_TEST(spec)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct plan_classes *all;
	struct pc_remark *r;
	const char *said = "", *names = "";
	size_t n;

	ck_assert_msg(plan_classes_parse(&a, "spec", specs[_i].text,
			  strlen(specs[_i].text), &all, &r, &n, &f) == OK,
	    "%s", f.detail);
	for (size_t i = 0; i < all->n; i++)
		names = arena_printf(&a, "%s%s ", names, all->classes[i].name);
	if (n > 0)
		said = arena_printf(&a, "%d%s%s: %s", r[0].line,
		    r[0].out  ? "!" :
		    r[0].lost ? "-" :
				"",
		    r[0].class, r[0].text);
	ck_assert_str_eq(names, specs[_i].names);
	ck_assert_str_eq(said, specs[_i].remark);
	arena_free(&a);
}
END_TEST

/* Without well-formed XML there is no class at all, and the reason names the place. */
START_TEST(not_xml)
{
	static const struct {
		const char *text, *detail;
	} t[] = {
		{ "", "spec:" },
		{ "nothing", "spec:1: not well-formed XML: " },
		{ "\n<boinc/>",
		    "spec:2: the root element must be <plan_classes>, not <boinc>" },
		{ "<!DOCTYPE x [<!ENTITY a 'b'>]><plan_classes/>",
		    "spec: a DOCTYPE is not allowed here" },
	};

	for (size_t i = 0; i < N(t); i++) {
		struct arena a = { 0 };
		struct fail f = { 0 };
		struct plan_classes *all;
		struct pc_remark *r;
		size_t n;

		ck_assert_int_eq(plan_classes_parse(&a, "spec", t[i].text,
				     strlen(t[i].text), &all, &r, &n, &f),
		    E_CONFIG);
		ck_assert_msg(strncmp(f.detail, t[i].detail, strlen(t[i].detail)) == 0,
		    "%s", f.detail);
		ck_assert_uint_eq(all->n, 0);
		ck_assert_ptr_null(plan_class_named(all, "mt"));
		arena_free(&a);
	}
}
END_TEST

/* Upstream's names of built-in classes, in a project without the file. */
START_TEST(built_in)
{
	static const struct {
		const char *name, *class;
	} t[] = {
		{ "mt", "mt" },
		{ "nci", "nci" },
		{ "sse3", "sse3" },
		{ "cuda", "cuda" },
		{ "cuda_fermi", "cuda" },
		{ "cuda23", "cuda" },
		{ "cuda_opencl_101", "opencl_nvidia" },
		{ "ati", "ati14" },
		{ "ati13amd", "ati14" },
		{ "opencl_ati_100", "opencl_ati" },
		{ "opencl_nvidia_101", "opencl_nvidia" },
		{ "opencl_intel_gpu_101", "opencl_intel_gpu" },
		{ "opencl_cpu_intel", "opencl_cpu" },
		{ "vbox32", "vbox32" },
		{ "vbox32_mt", "vbox32" },
		{ "vbox64_mt", "vbox64_mt" },
		{ "vbox64_hwaccel", "vbox64" },
		{ "wsl", "wsl" },
		{ "docker_x", "docker" },
		{ "mt2", NULL },
		{ "", NULL },
	};
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct plan_classes *all;
	struct pc_remark *r;
	size_t n;

	ck_assert_int_eq(
	    plan_classes_load(&a, "/nonexistent/spec.xml", &all, &r, &n, &f), OK);
	ck_assert(all->built_in);
	ck_assert_uint_eq(n, 0);
	for (size_t i = 0; i < N(t); i++) {
		const struct plan_class *pc = plan_class_named(all, t[i].name);

		ck_assert_msg((pc == NULL) == (t[i].class == NULL), "%s", t[i].name);
		if (pc != NULL)
			ck_assert_str_eq(pc->name, t[i].class);
	}
	ck_assert_ptr_null(plan_class_named(NULL, "mt"));
	arena_free(&a);
}
END_TEST

UNIT_MAIN("plan_class", {
	ADD_LOOP(fit, N(fits));
	ADD(every_element);
	ADD_LOOP(use, N(uses));
	ADD(no_class);
	ADD(no_work);
	ADD(chance);
	ADD_LOOP(sample, N(samples));
	ADD(every_sample);
	ADD_LOOP(spec, N(specs));
	ADD(not_xml);
	ADD(built_in);
})
