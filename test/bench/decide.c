/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures parsing, deciding and rendering without I/O; prints one line "bench:
 * case=NAME key=value ..." for each case. Times are CPU time of this process, the
 * median of several rounds of many runs each; arena is the memory that one run takes
 * from its arena.
 *
 *     decide [-n ROUNDS] [-1] [CASE ...]     -1: each step once, for callgrind
 */
#include <getopt.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "rules/sched/decide.h"
#include "test/bench/decide_cases.h"
#include "test/unit/golden_world.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

enum { ROUNDS_MAX = 99, ROUND_US = 10000 };

struct run {
	const struct bench_case *c;
	struct arena step; /* reset after each run, as in the scheduler */
	struct golden *g;
	struct buf reply;
};

struct cost {
	double us, least_us; /* median and minimum of the rounds */
	size_t arena;        /* bytes */
};

/* --- the steps; not inlined, so that callgrind tells them apart --- */

__attribute__((noinline)) static void step_parse(struct run *r)
{
	struct request *q;
	struct fail f = { 0 };
	enum err e = request_parse(&r->step, r->c->request, r->c->request_n, &q, &f);

	if (!r->c->hostile) /* a hostile request may be refused */
		bench_need(e, &f);
}

__attribute__((noinline)) static void step_decide(struct run *r)
{
	struct golden *g = r->g;
	struct rng rng = rng_seed((uint64_t)g->seed);

	decide(&r->step, g->conf, g->req, &g->snap, g->now, &rng, NULL, 0);
}

__attribute__((noinline)) static void step_render(struct run *r)
{
	struct golden *g = r->g;

	r->reply = buf_new(&r->step);
	reply_render(&r->reply, &(struct reply_in){ .conf = g->conf,
				    .req = g->req,
				    .snap = &g->snap,
				    .dec = g->dec,
				    .keys = &g->keys,
				    .hostid = g->snap.host.id,
				    .trickles_stored = true });
}

/* --- measuring --- */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns the mean time of a run in one round, in us. */
static double round_us(struct run *r, void (*step)(struct run *))
{
	double start = clock_cpu_us(), spent;
	size_t n = 0;

	do {
		step(r);
		arena_reset(&r->step);
		n++;
		spent = clock_cpu_us() - start;
	} while (spent < ROUND_US);
	return spent / (double)n;
}

/* Measures one step. With rounds 0 the step runs once and is not timed. */
static struct cost measure_step(struct run *r, void (*step)(struct run *), int rounds)
{
	double us[ROUNDS_MAX];
	struct cost c = { 0 };

	step(r);
	c.arena = r->step.used;
	if (rounds == 0)
		return c;
	arena_reset(&r->step);
	for (int i = 0; i < rounds; i++)
		us[i] = round_us(r, step);
	qsort(us, (size_t)rounds, sizeof(*us), by_value);
	c.us = us[rounds / 2];
	c.least_us = us[0];
	return c;
}

static void print_cost(const char *step, const struct cost *c)
{
	printf(" %s_us=%.1f %s_least_us=%.1f %s_arena=%zu", step, c->us, step,
	    c->least_us, step, c->arena);
}

static void run_case(const struct bench_case *c, int rounds)
{
	struct arena a = { 0 };
	struct run r = { .c = c };
	struct request *q;
	struct fail f = { 0 };
	struct cost cost = measure_step(&r, step_parse, rounds);

	printf("bench: case=%s kind=%s bytes=%zu", c->name,
	    c->hostile ? "hostile" : "usual", c->request_n);
	print_cost("parse", &cost);
	if (request_parse(&a, c->request, c->request_n, &q, &f) == OK) {
		r.g = golden_world(
		    &a, q, bench_defaults(&a), c->name, arena_strdup(&a, c->world));
		golden_run(
		    r.g, &(struct buf){ .a = &a, .p = arena_alloc(&a, 64), .cap = 64 });
		cost = measure_step(&r, step_decide, rounds);
		print_cost("decide", &cost);
		cost = measure_step(&r, step_render, rounds);
		print_cost("render", &cost);
		printf(" sends=%zu reply=%zu", r.g->dec->nsends, r.reply.n);
	}
	printf("\n");
	fflush(stdout);
	arena_free(&r.step);
	arena_free(&a);
}

/* --- */

static struct {
	char **names; /* names of cases or their prefixes; none: all cases */
	int nnames;
	int64_t rounds;
} args = { .rounds = 9 };

static bool is_named(const char *name)
{
	bool found = args.nnames == 0;

	for (int i = 0; i < args.nnames; i++)
		found = found ||
		        strncmp(name, args.names[i], strlen(args.names[i])) == 0;
	return found;
}

/* A Check test, because the golden world reports errors by failing the test. */
START_TEST(bench)
{
	struct arena a = { 0 };
	struct bench_case *cases;
	size_t n;

	cases = bench_cases(&a, &n);
	for (size_t i = 0; i < n; i++)
		if (is_named(cases[i].name))
			run_case(&cases[i], (int)args.rounds);
	arena_free(&a);
}
END_TEST

int main(int argc, char **argv)
{
	SRunner *sr;
	TCase *tc = tcase_create("decide");
	Suite *s = suite_create("decide");
	int c, failed;

	while ((c = getopt(argc, argv, "1n:")) != -1)
		if (c == '1')
			args.rounds = 0;
		else if (c != 'n' || !text_i64(optarg, 1, ROUNDS_MAX, &args.rounds))
			return 2;
	args.names = argv + optind;
	args.nnames = argc - optind;
	tcase_add_test(tc, bench);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_set_fork_status(sr, CK_NOFORK);
	srunner_run_all(sr, CK_MINIMAL);
	failed = srunner_ntests_failed(sr);
	if (failed > 0)
		srunner_print(sr, CK_NORMAL);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
