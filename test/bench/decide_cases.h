/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and worlds of bench-decide: captures of real clients, and made ones. */
#ifndef TEST_BENCH_DECIDE_CASES_H
#define TEST_BENCH_DECIDE_CASES_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"

struct bench_case {
	const char *name;
	char *request;
	size_t request_n;
	char *world;  /* lines of a .snapshot file (test/unit/golden_world.h) */
	bool hostile; /* made to cost much for its size */
};

/* All of them, the captures first; nothing is found without the sources in srcdir. */
struct bench_case *bench_cases(struct arena *, size_t *n);
/* Fails the test, and so all of it, if e is not OK. */
void bench_need(enum err e, const struct fail *);
/* test/golden/default.snapshot, anew: reading it changes it. */
char *bench_defaults(struct arena *);

#endif
