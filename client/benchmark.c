/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first value is one that the compiler cannot know: a loop whose result it can work
 * out takes no time.  test/unit/test_client_benchmark.c builds this file with all
 * optimisations.
 */
#include "client/benchmark.h"

#include <stdint.h>
#include "lib/clock.h"
#include "lib/banned.h"

enum { TURNS = 100000, OPS = 2 };

static volatile double any_real = 0.3;
static volatile uint64_t any_number = 12345;

double
benchmark_flops(int ms)
{
	int64_t begin = clock_mono_ms(), took;
	double x = any_real, ops = 0;

	do {
		for (int i = 0; i < TURNS; i++)
			x = x * 0.999999 + 1e-6;
		any_real = x;
		ops += TURNS * OPS;
		took = clock_mono_ms() - begin;
	} while (took < ms);
	return ops * 1000 / (double)took;
}

double
benchmark_iops(int ms)
{
	int64_t begin = clock_mono_ms(), took;
	uint64_t k = any_number;
	double ops = 0;

	do {
		for (int i = 0; i < TURNS; i++)
			k = k * 6364136223846793005u + 1442695040888963407u;
		any_number = k;
		ops += TURNS * OPS;
		took = clock_mono_ms() - begin;
	} while (took < ms);
	return ops * 1000 / (double)took;
}
