/* SPDX-License-Identifier: Apache-2.0 */
/* The host's rules, by tables of cases; now is 1000. */
#include "test/unit/unit.h"

#include <stdint.h>
#include "lib/arena.h"
#include "rules/client/client_rules.h"
#include "lib/banned.h"

static const struct {
	const char *what;
	struct rpc_view v;
	enum rpc_reason want;
} rpc_cases[] = {
#define RPC_CASES
#include "test/unit/client_rules.def"
#undef RPC_CASES
};

START_TEST(rpc_due_by_table)
{
	ck_assert_msg(rpc_due(&rpc_cases[_i].v, 1000) == rpc_cases[_i].want,
	    "%s: got %s", rpc_cases[_i].what,
	    rpc_reason_text(rpc_due(&rpc_cases[_i].v, 1000)));
}
END_TEST

/* What the client's log says of a contact; each reason has words of its own. */
START_TEST(reasons_of_contact_have_words)
{
	for (int r = RPC_NONE; r <= RPC_NEED_WORK; r++) {
		ck_assert_uint_gt(strlen(rpc_reason_text((enum rpc_reason)r)), 0);
		for (int k = RPC_NONE; k < r; k++)
			ck_assert_str_ne(rpc_reason_text((enum rpc_reason)r),
			    rpc_reason_text((enum rpc_reason)k));
	}
}
END_TEST

static const struct {
	const char *what;
	struct queued q[2];
	size_t n;
	double ncpus, min_s, extra_s, secs, instances, delay;
} fetch_cases[] = {
#define FETCH_CASES
#include "test/unit/client_rules.def"
#undef FETCH_CASES
};

START_TEST(work_fetch_by_table)
{
	struct work_wish w = work_fetch(fetch_cases[_i].q, fetch_cases[_i].n,
	    fetch_cases[_i].ncpus, fetch_cases[_i].min_s, fetch_cases[_i].extra_s);

	ck_assert_msg(w.req_secs == fetch_cases[_i].secs &&
			  w.req_instances == fetch_cases[_i].instances &&
			  w.estimated_delay == fetch_cases[_i].delay,
	    "%s: %g s, %g instances, delay %g", fetch_cases[_i].what, w.req_secs,
	    w.req_instances, w.estimated_delay);
}
END_TEST

static const struct {
	const char *what;
	struct runnable t[3];
	size_t n;
	double ncpus;
	size_t order[3], chosen;
} cpu_cases[] = {
#define CPU_CASES
#include "test/unit/client_rules.def"
#undef CPU_CASES
};

START_TEST(cpu_sched_by_table)
{
	struct runnable t[3];
	size_t chosen;

	memcpy(t, cpu_cases[_i].t, sizeof(t));
	cpu_sched(t, cpu_cases[_i].n, cpu_cases[_i].ncpus, 1000, &chosen);
	ck_assert_msg(chosen == cpu_cases[_i].chosen, "%s: %zu chosen",
	    cpu_cases[_i].what, chosen);
	for (size_t i = 0; i < cpu_cases[_i].n; i++)
		ck_assert_msg(t[i].id == cpu_cases[_i].order[i], "%s: place %zu is %zu",
		    cpu_cases[_i].what, i, t[i].id);
}
END_TEST

/* client.md 1.2: doubled with each failure up to a cap, then cut by up to a half. */
static const struct {
	const struct backoff *b;
	int n;
	double most;
} backoffs[] = {
	{ &backoff_rpc, 1, 120 },
	{ &backoff_rpc, 2, 240 },
	{ &backoff_rpc, 7, 7680 },
	{ &backoff_rpc, 8, 14400 },
	{ &backoff_rpc, 10, 14400 },
	{ &backoff_rpc, 1000000, 14400 },
	{ &backoff_transfer, 1, 240 },
	{ &backoff_transfer, 7, 15360 },
	{ &backoff_transfer, 8, 21600 },
};

START_TEST(backoff_by_table)
{
	struct rng rng = rng_seed(42), same = rng_seed(42);

	for (int k = 0; k < 100; k++)
		ck_assert_double_eq(backoff_s(backoffs[_i].b, backoffs[_i].n, &rng),
		    backoffs[_i].most * (1 + rng_unit(&same)) / 2);
}
END_TEST

UNIT_MAIN("client rules", {
	ADD_LOOP(rpc_due_by_table, N(rpc_cases));
	ADD(reasons_of_contact_have_words);
	ADD_LOOP(work_fetch_by_table, N(fetch_cases));
	ADD_LOOP(cpu_sched_by_table, N(cpu_cases));
	ADD_LOOP(backoff_by_table, N(backoffs));
})
