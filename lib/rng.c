/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xoshiro256** by Blackman and Vigna; splitmix64 fills its state from the seed. Short,
 * because nothing else is random.
 */
#include "lib/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

struct rng rng_seed(uint64_t seed)
{
	struct rng r;

	for (size_t i = 0; i < 4; i++) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15u);
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		r.s[i] = z ^ (z >> 31);
	}
	return r;
}

uint64_t rng_next(struct rng *r)
{
	uint64_t *s = r->s;
	uint64_t out = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return out;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	uint64_t x, reject;

	assert(n > 0);
	reject = -n % n; /* 2^64 mod n: as many values would be drawn once too often */
	do
		x = rng_next(r);
	while (x < reject);
	return x % n;
}

double rng_unit(struct rng *r)
{
	return (double)(rng_next(r) >> 11) * 0x1p-53;
}

double rng_gauss(struct rng *r)
{
	const double two_pi = 6.283185307179586;
	double u = 1 - rng_unit(r); /* (0, 1]: its logarithm is finite */

	return sqrt(-2 * log(u)) * cos(two_pi * rng_unit(r));
}

static void swap_bytes(char *a, char *b, size_t n)
{
	char tmp[64];

	for (size_t i = 0; i < n; i += sizeof(tmp)) {
		size_t k = n - i < sizeof(tmp) ? n - i : sizeof(tmp);
		memcpy(tmp, a + i, k);
		memcpy(a + i, b + i, k);
		memcpy(b + i, tmp, k);
	}
}

void rng_shuffle(struct rng *r, void *base, size_t n, size_t size)
{
	char *p = base;

	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)rng_below(r, i);
		if (j != i - 1)
			swap_bytes(p + (i - 1) * size, p + j * size, size);
	}
}
