/* SPDX-License-Identifier: Apache-2.0 */
/* Credit of results and its recent average (scheduling.md 4.7). */
#include "test/unit/unit.h"

#include <math.h>
#include <string.h>
#include "rules/daemon/credit.h"
#include "lib/banned.h"

enum { RESULTS_MOST = 5, DAY = 86400 };

/*
 * A workunit's estimate in GFLOPS-days; per result the elapsed time in days, the speed
 * in GFLOPS, and the credit stated for it (-1 = none).
 */
static const struct credit_case {
	const char *name, *method;
	double estimate, most, elapsed_most_days;
	size_t n;
	struct {
		double days, gflops, stated;
	} r[RESULTS_MOST];
	double granted;
} cases[] = {
#define CREDIT_CASES
#include "test/unit/rules_credit.def"
#undef CREDIT_CASES
};

START_TEST(credit_case)
{
	const struct credit_case *t = &cases[_i];
	struct credit_policy p = { .most = t->most,
		.elapsed_s = t->elapsed_most_days * DAY };
	struct workunit wu = { .rsc_fpops_est = t->estimate * 1e9 * DAY };
	double claims[RESULTS_MOST], granted;

	ck_assert(credit_method_named(t->method, &p.method));
	for (size_t i = 0; i < t->n; i++) {
		struct result r = { .elapsed_time = t->r[i].days * DAY,
			.flops_estimate = t->r[i].gflops * 1e9 };

		claims[i] = credit_claim(&p, &wu, &r, t->r[i].stated);
	}
	granted = credit_granted(&p, &wu, claims, t->n);
	ck_assert_msg(fabs(granted - t->granted) <= 1e-9 * (1 + t->granted),
	    "%s: %.12g", t->name, granted);
}
END_TEST

START_TEST(unknown_methods)
{
	enum credit_method m;

	ck_assert(!credit_method_named("", &m));
	ck_assert(!credit_method_named("Elapsed", &m));
	ck_assert(!credit_method_named("new", &m));
}
END_TEST

/* An average of 100, after so many days without a grant. */
static const struct {
	double days, left;
} decays[] = {
#define DECAY_CASES
#include "test/unit/rules_credit.def"
#undef DECAY_CASES
};

START_TEST(decay_case)
{
	double left = credit_decayed(100, decays[_i].days * DAY);

	ck_assert_double_eq_tol(left, decays[_i].left, 1e-6);
	/* Two steps fade as much as one. */
	left = credit_decayed(100, decays[_i].days * DAY * 0.3);
	left = credit_decayed(left, decays[_i].days * DAY * 0.7);
	ck_assert_double_eq_tol(left, decays[_i].left, 1e-6);
}
END_TEST

/* Who earns 240 a day for a year has an average of 240, by the hour or by the week. */
static const int periods_s[] = { 60, 3600, DAY };

START_TEST(steady_work)
{
	double average = 0, each = 240.0 * periods_s[_i] / DAY;

	for (int64_t s = 0; s < 365 * (int64_t)DAY; s += periods_s[_i])
		average = credit_decayed(average, periods_s[_i]) + credit_average(each);
	ck_assert_double_eq_tol(average, 240, 240 * 0.06 * periods_s[_i] / DAY + 1e-6);
}
END_TEST

UNIT_MAIN("rules_credit", {
	ADD_LOOP(credit_case, N(cases));
	ADD(unknown_methods);
	ADD_LOOP(decay_case, N(decays));
	ADD_LOOP(steady_work, N(periods_s));
})
