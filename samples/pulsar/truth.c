/* SPDX-License-Identifier: Apache-2.0 */
/* The hidden signal of a seed; see truth.h. */
#include "samples/pulsar/truth.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "lib/rng.h"
#include "samples/pulsar/pulsar.h"
#include "lib/banned.h"

struct pulsar_truth pulsar_truth(uint64_t seed, uint32_t files)
{
	/* A peak at the end of the band would be cut off. */
	const double margin_hz = 0.5;
	const double low = pulsar_hz(0) + margin_hz;
	const double high = pulsar_hz(PULSAR_TRIALS - 1) - margin_hz;
	struct rng r = rng_seed(seed);
	struct pulsar_truth t;

	assert(files > 0);
	t.file = (uint32_t)rng_below(&r, files);
	t.hz = low + rng_unit(&r) * (high - low);
	t.phase = rng_unit(&r);
	t.trial = (int32_t)lround(t.hz * PULSAR_PER_HZ) - PULSAR_FIRST;
	return t;
}

void pulsar_name(char name[PULSAR_NAME_SIZE], uint32_t i)
{
	assert(i < PULSAR_MAX_FILES);
	snprintf(name, PULSAR_NAME_SIZE, "h1_%04u.dat", i);
}
