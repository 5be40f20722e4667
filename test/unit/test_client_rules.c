/* SPDX-License-Identifier: Apache-2.0 */
/* The host's rules, by tables of cases; now is 1000. */
#include "test/unit/unit.h"

#include <math.h>
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
START_TEST(backoff_stays_in_its_bounds)
{
	static const struct {
		const struct backoff *b;
		int n;
		double least, most;
	} t[] = { { &backoff_rpc, 1, 60, 120 }, { &backoff_rpc, 2, 120, 240 },
		{ &backoff_rpc, 7, 3840, 7680 }, { &backoff_rpc, 8, 7200, 14400 },
		{ &backoff_rpc, 10, 7200, 14400 },
		{ &backoff_rpc, 1000000, 7200, 14400 },
		{ &backoff_transfer, 1, 120, 240 },
		{ &backoff_transfer, 7, 7680, 15360 },
		{ &backoff_transfer, 8, 10800, 21600 } };
	struct rng rng = rng_seed(42);

	for (size_t i = 0; i < N(t); i++) {
		double low = INFINITY, high = 0;

		for (int k = 0; k < 2000; k++) {
			double s = backoff_s(t[i].b, t[i].n, &rng);

			low = fmin(low, s);
			high = fmax(high, s);
		}
		ck_assert_msg(low >= t[i].least && high <= t[i].most,
		    "n=%d gave %g to %g s (seed 42)", t[i].n, low, high);
		ck_assert_msg(high - low > 0.9 * (t[i].most - t[i].least),
		    "n=%d is hardly random: %g to %g s (seed 42)", t[i].n, low, high);
	}
}
END_TEST

UNIT_MAIN("client rules", {
	ADD_LOOP(rpc_due_by_table, N(rpc_cases));
	ADD(reasons_of_contact_have_words);
	ADD_LOOP(work_fetch_by_table, N(fetch_cases));
	ADD_LOOP(cpu_sched_by_table, N(cpu_cases));
	ADD(backoff_stays_in_its_bounds);
})
