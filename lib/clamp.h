/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are limited: to a range, and pauses that grow to a bound. */
#ifndef LIB_CLAMP_H
#define LIB_CLAMP_H

#include <stdint.h>

/* NaN gives lo. */
static inline double clamp(double v, double lo, double hi)
{
	return v >= lo ? (v <= hi ? v : hi) : lo;
}

/* The pause after the n-th failure in a row (n >= 1): first, doubled n - 1 times, at
 * most most. */
static inline int64_t pause_doubled(int64_t first, int64_t n, int64_t most)
{
	int64_t pause = first;

	for (int64_t i = 1; i < n && pause < most; i++)
		pause *= 2;
	return pause < most ? pause : most;
}

#endif
