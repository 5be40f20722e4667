/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The examples of the documents under the buffers that volunteers have: each policy
 * must give what sim_examples.def says, within its tolerance. For a policy whose
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
#define LAST_DAYS(...)
#include "test/unit/sim_examples.def"
#undef EXAMPLE
#undef LAST_DAYS
};

static void run_example(const char *policy, const char *text, double days,
    struct arena *a, struct sim_figures *fig, struct sim_sums *sums)
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

/* What one project has of a resource between two days, as a part of the whole. */
static const struct {
	const char *what, *prefs, *text;
	double from, to;
	size_t project, rsc;
	double part[PLAIN]; /* in the order of the policies above */
} last_days[] = {
#define EXAMPLE(...)
#define LAST_DAYS(what, prefs, text, from, to, project, rsc, ...)                      \
	{ what, prefs, text, from, to, project, rsc, { __VA_ARGS__ } },
#include "test/unit/sim_examples.def"
#undef EXAMPLE
#undef LAST_DAYS
};

static double used_until(size_t row, const char *policy, const char *text, double day)
{
	struct arena a = { 0 };
	struct sim_figures fig;
	struct sim_sums sums;
	double used;

	run_example(policy, text, day, &a, &fig, &sums);
	used = sums.projects[last_days[row].project].used[last_days[row].rsc];
	arena_free(&a);
	return used;
}

START_TEST(last_days_by_table)
{
	struct arena a = { 0 };
	double from = last_days[_i].from, to = last_days[_i].to;
	const char *text = arena_printf(
	    &a, "{\"prefs\":{%s},%s}", last_days[_i].prefs, last_days[_i].text);

	for (int k = 0; k < PLAIN; k++) {
		const char *policy = examples[0].policy[k];
		double part = (used_until((size_t)_i, policy, text, to) -
				  used_until((size_t)_i, policy, text, from)) /
		              ((to - from) * 86400);

		ck_assert_msg(fabs(part - last_days[_i].part[k]) <= 0.05,
		    "%s, %s: %.3f, not %.2f", last_days[_i].what, policy, part,
		    last_days[_i].part[k]);
	}
	arena_free(&a);
}
END_TEST

UNIT_MAIN("sim examples", {
	ADD_LOOP(examples_by_table, N(examples));
	ADD_LOOP(last_days_by_table, N(last_days));
})
