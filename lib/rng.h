/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded randomness (xoshiro256**): pure and replayable; the seed is logged. */
#ifndef LIB_RNG_H
#define LIB_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t s[4];
};

struct rng rng_seed(uint64_t seed);
uint64_t rng_next(struct rng *);
uint64_t rng_below(struct rng *, uint64_t n); /* uniform in [0, n), n > 0, unbiased */
double rng_unit(struct rng *);                /* uniform in [0, 1) */
double rng_gauss(struct rng *);               /* mean 0, variance 1 */
void rng_shuffle(struct rng *, void *base, size_t n, size_t size);

#endif
