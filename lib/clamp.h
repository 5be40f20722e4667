/* SPDX-License-Identifier: Apache-2.0 */
/* Limits a number to a range. */
#ifndef LIB_CLAMP_H
#define LIB_CLAMP_H

/* NaN gives lo. */
static inline double
clamp(double v, double lo, double hi)
{
	return v >= lo ? (v <= hi ? v : hi) : lo;
}

#endif
