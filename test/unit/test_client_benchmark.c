/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark as an optimising compiler builds it, whatever this build's flags are:
 * the loop must still be there.
 */
#include "test/unit/unit.h"

#include "lib/clock.h"
#pragma GCC optimize("O3")
#define benchmark_flops optimised_flops
#define benchmark_iops  optimised_iops
#include "client/machine.c"
#include "lib/banned.h"

/* Twice the time is twice the work: no figure depends on how long it is measured. */
static void steady(double (*measure)(int ms))
{
	double a = measure(60), b = measure(120);

	ck_assert_double_gt(a, 1e6);
	ck_assert_double_lt(a, BENCHMARK_MOST / 5);
	ck_assert_double_lt(b, BENCHMARK_MOST / 5);
	ck_assert_double_lt(a / b, 20);
	ck_assert_double_lt(b / a, 20);
}

START_TEST(floating_point)
{
	steady(optimised_flops);
}
END_TEST

START_TEST(integers)
{
	steady(optimised_iops);
}
END_TEST

UNIT_MAIN("client benchmark", {
	ADD(floating_point);
	ADD(integers);
})
