/* SPDX-License-Identifier: Apache-2.0 */
/* How long a host stays away after failures (client.md 1.2). */
#include "rules/client/policy.h"

#include <math.h>
#include "lib/banned.h"

enum { EXPONENT_MOST = 10 };

const struct backoff backoff_rpc = { 60, 14400 };
const struct backoff backoff_transfer = { 120, 21600 };

static int
exponent(int n)
{
	return n > EXPONENT_MOST ? EXPONENT_MOST : n;
}

double
backoff_s(const struct backoff *b, int n, struct rng *rng)
{
	double s = b->min_s * ldexp(1, exponent(n));

	return fmin(s, b->max_s) * (0.5 + 0.5 * rng_unit(rng));
}

/* 2003: uniform in [MIN, min(MAX, e^n)); MIN while e^n is less than MIN. */
static double
uniform_s(const struct backoff *b, int n, struct rng *rng)
{
	double top = fmin(b->max_s, exp(exponent(n)));

	return top <= b->min_s ? b->min_s : b->min_s + (top - b->min_s) * rng_unit(rng);
}

double
backoff_by_law_s(enum backoff_law law, const struct backoff *b, int n, struct rng *rng)
{
	switch (law) {
	case BACKOFF_2003:
		return uniform_s(b, n, rng);
	case BACKOFF_2002:
		return 100 * ldexp(1, exponent(n));
	default:
		return backoff_s(b, n, rng);
	}
}
