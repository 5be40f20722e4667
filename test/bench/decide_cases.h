/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and worlds of bench-decide: captures of real clients, and synthetic ones. */
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
	bool hostile; /* built to be expensive for its size */
};

/*
 * Returns all cases, captures first. $srcdir names the source directory; default ".".
 */
struct bench_case *bench_cases(struct arena *, size_t *n);
/* Fails the test, and with it the whole run, if e is not OK. */
void bench_need(enum err e, const struct fail *);
/*
 * Returns a new copy of test/golden/default.snapshot, because reading a world changes
 * it.
 */
char *bench_defaults(struct arena *);

#endif
