/* SPDX-License-Identifier: Apache-2.0 */
/* How long a host stays away and how long a task takes, by tables. */
#include "test/unit/unit.h"

#include <math.h>
#include "lib/arena.h"
#include "rules/client/policy.h"
#include "lib/banned.h"

/* client.md 1.2: doubled with each failure up to a cap, then cut by up to a half. */
static const struct {
	const struct backoff *b;
	int n;
	double most;
} backoffs[] = {
	{ &backoff_rpc, 1, 120 },
	{ &backoff_rpc, 2, 240 },
	{ &backoff_rpc, 7, 7680 },
	{ &backoff_rpc, 8, 14400 },
	{ &backoff_rpc, 10, 14400 },
	{ &backoff_rpc, 1000000, 14400 },
	{ &backoff_transfer, 1, 240 },
	{ &backoff_transfer, 7, 15360 },
	{ &backoff_transfer, 8, 21600 },
};

START_TEST(backoff_by_table)
{
	struct rng rng = rng_seed(42), same = rng_seed(42);

	for (int k = 0; k < 100; k++)
		ck_assert_double_eq(backoff_s(backoffs[_i].b, backoffs[_i].n, &rng),
		    backoffs[_i].most * (1 + rng_unit(&same)) / 2);
}
END_TEST

#define NEARLY(got, want)                                                              \
	ck_assert_msg(fabs((got) - (want)) < 1e-6, "line %d: %.12g, not %.12g",        \
	    __LINE__, (double)(got), (double)(want))

START_TEST(t3_a_request_in_operations)
{
	NEARLY(estimate_request_ops(1000, 1e9, 0.5, 0.8, 0.9), 360e9);
}
END_TEST

static const struct {
	struct run_facts f;
	double dcf, now, in_2009;
} estimates[] = {
	/* static elapsed fraction at    exact  no_dcf   dcf  left  as in 2009 */
	{ { 1000, 0, 0, 0, false, false }, 1, 1000, 1000 },
	{ { 1000, 0, 0, 0, false, false }, 2, 2000, 2000 },
	{ { 1000, 0, 0, 0, false, true }, 2, 1000, 1000 },
	{ { 1000, 500, 0.5, 500, false, false }, 1, 500, 500 },
	{ { 1000, 1000, 0.5, 1000, false, false }, 1, 500, 875 },
	{ { 1000, 1000, 0.5, 1000, true, false }, 1, 1000, 875 },
	{ { 1000, 2000, 0.5, 2000, false, false }, 1, 2000, 1625 },
	{ { 1000, 700, 1, 700, false, false }, 1, 0, 0 },
};

START_TEST(estimates_by_table)
{
	NEARLY(estimate_remaining_s(&estimates[_i].f, estimates[_i].dcf),
	    estimates[_i].now);
	NEARLY(estimate_remaining_2009_s(&estimates[_i].f, estimates[_i].dcf),
	    estimates[_i].in_2009);
}
END_TEST

START_TEST(duration_correction)
{
	NEARLY(estimate_dcf(1, 100, 200), 2);
	NEARLY(estimate_dcf(1, 100, 100), 1);
	NEARLY(estimate_dcf(1, 100, 50), 0.95);
	NEARLY(estimate_dcf(1, 100, 5), 0.9905);
	NEARLY(estimate_dcf(1, 100, 1e6), 100);
	ck_assert(estimate_trusted(0.02) && estimate_trusted(80));
	ck_assert(!estimate_trusted(0.019) && !estimate_trusted(80.1));
}
END_TEST

/* client.md 4.7: after 10 days 1/e is left of what was. */
START_TEST(fractions)
{
	const double days = 86400, e = exp(-1);
	struct cw_fractions f = { 1, 1, 1 };

	estimate_fractions(&f, 10 * days, 0, true);
	ck_assert(f.active == 1 && f.gpu_active == 1);
	NEARLY(f.on, e);
	estimate_fractions(&f, 15 * days, 0, true);
	NEARLY(f.on, e);
	estimate_fractions(&f, 0, 10 * days, false);
	NEARLY(f.on, 1 - e + e * e);
	NEARLY(f.active, e);
	NEARLY(f.gpu_active, e);
	for (int i = 0; i < 1000; i++) /* in however many steps */
		estimate_fractions(&f, 0, days / 50, true);
	NEARLY(f.active, 1 - (1 - e) * exp(-2));
	estimate_fractions(&f, 0, 1e9, true);
	ck_assert(f.on <= 1 && f.active <= 1);
}
END_TEST

UNIT_MAIN("client rules", {
	ADD_LOOP(backoff_by_table, N(backoffs));
	ADD(t3_a_request_in_operations);
	ADD_LOOP(estimates_by_table, N(estimates));
	ADD(duration_correction);
	ADD(fractions);
})
