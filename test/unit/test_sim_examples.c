/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The examples of the documents under the buffers that volunteers have: each policy
 * must give what sim_examples.def says, within its tolerance.  For a policy whose
 * description leads elsewhere that value is what it gives, and locus-client-policies(7)
 * says why.
 */
#include "test/unit/unit.h"

#include <math.h>
#include "client/sim/read.h"
#include "lib/banned.h"

enum { PLAIN = 6 };

static const struct {
	const char *what, *prefs, *text; /* prefs: the members of the object */
	double days;
	const char *policy[PLAIN];
	double attainable[PLAIN]; /* violation of the attainable shares */
	double tolerance;
} examples[] = {
#define EXAMPLE(what, prefs, text, days, window, rec, hybrid, debt1, debtr, classic)   \
	{ what, prefs, text, days,                                                     \
		{ "window", "rec", "hybrid", "debt1", "debtR", "classic" },            \
		{ window, rec, hybrid, debt1, debtr, classic }, 0.03 },
#include "test/unit/sim_examples.def"
#undef EXAMPLE
};

static void
run_example(const char *policy, const char *text, double days, struct arena *a,
    struct sim_figures *fig, struct sim_sums *sums)
{
	struct sim_options o = {
		.policy = policy_find(policy), .days = days, .seed = 1
	};
	struct sim_scenario sc;
	struct fail f = { 0 };

	sim_defaults(&sc);
	ck_assert_msg(
	    sim_json(a, policy, text, strlen(text), &sc, &f) == OK, "%s", f.detail);
	ck_assert_int_eq(sim_run(&sc, &o, a, sums, &f), OK);
	sim_figures(&sc, sums, a, fig);
}

START_TEST(examples_by_table)
{
	struct arena a = { 0 };
	const char *text = arena_printf(
	    &a, "{\"prefs\":{%s},%s}", examples[_i].prefs, examples[_i].text);

	for (int k = 0; k < PLAIN; k++) {
		struct sim_figures fig;
		struct sim_sums sums;
		double want = examples[_i].attainable[k], most = examples[_i].tolerance;
		const char *policy = examples[_i].policy[k];

		run_example(policy, text, examples[_i].days, &a, &fig, &sums);
		ck_assert_msg(fabs(fig.share_violation_attainable - want) <= most,
		    "%s, %s: %.4f, not %.2f", examples[_i].what, policy,
		    fig.share_violation_attainable, want);
		if (k > 0)
			continue;
		ck_assert_uint_eq(fig.missed, 0);
		ck_assert_msg(
		    fig.idle < 0.001, "%s: idle %g", examples[_i].what, fig.idle);
	}
	arena_free(&a);
}
END_TEST

/*
 * "Work fetch and GPUs", example 3, where B also has jobs for the CPU: from the day on
 * which B has a program for the coprocessor, each gets half of the whole: a quarter of
 * the coprocessor, twice as fast as the CPU, is B's.
 */
START_TEST(example_3_with_cpu_jobs)
{
	static const char *const prefs[] = { "", "\"min_days\":1,\"add_days\":1",
		"\"min_days\":10,\"add_days\":10" };
	struct arena a = { 0 };
	struct sim_figures fig;
	struct sim_sums early, late;
	const char *text = arena_printf(&a,
	    "{\"prefs\":{%s},\"host\":{\"ncpus\":1,\"ngpus\":1,\"gpu_rel\":2},"
	    "\"projects\":[{\"name\":\"A\",\"share\":1,\"apps\":[{\"C\":1,\"D\":168,"
	    "\"gpu\":1,\"ncpus\":0.01}]},{\"name\":\"B\",\"share\":1,\"apps\":[{\"C\":1,"
	    "\"D\":168},{\"C\":1,\"D\":168,\"gpu\":1,\"ncpus\":0.01,\"from_h\":720}]}]}",
	    prefs[_i]);
	double part;

	run_example("window", text, 40, &a, &fig, &early);
	run_example("window", text, 60, &a, &fig, &late);
	part = (late.projects[1].used[1] - early.projects[1].used[1]) / (20 * 86400.0);
	ck_assert_msg(part > 0.22 && part < 0.28, "B has %g of the coprocessor", part);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("sim examples", {
	ADD_LOOP(examples_by_table, N(examples));
	ADD_LOOP(example_3_with_cpu_jobs, 3);
})
