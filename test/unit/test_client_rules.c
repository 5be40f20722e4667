/* SPDX-License-Identifier: Apache-2.0 */
/* How long a host stays away, by a table. */
#include "test/unit/unit.h"

#include "lib/arena.h"
#include "rules/client/policy.h"
#include "lib/banned.h"

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

UNIT_MAIN("client rules", { ADD_LOOP(backoff_by_table, N(backoffs)); })
