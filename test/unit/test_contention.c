/* SPDX-License-Identifier: Apache-2.0 */
/* File sets that many hosts want at once are recognised by lost claims. */
#include "test/unit/unit.h"

#include "rules/sched/limits.h"
#include "lib/banned.h"

START_TEST(lost_claims_show_contention_for_a_while)
{
	struct contention h = { 0 };
	struct rng rng = rng_seed(1);
	int64_t most = 0;

	ck_assert_int_eq(contention_skip(&h, 7, 1000, &rng), 0);
	ck_assert(!contention_is(&h, 7, 1000) && !contention_is(&h, 0, 1000));
	contention_lost(&h, 7, 1000);
	ck_assert(contention_is(&h, 7, 1000) && contention_is(&h, 7, 1009));
	ck_assert(!contention_is(&h, 7, 1010) && !contention_is(&h, 8, 1000));
	for (int i = 0; i < 1000; i++) {
		int64_t skip = contention_skip(&h, 7, 1001, &rng);

		ck_assert(skip >= 0 && skip < 8);
		most = skip > most ? skip : most;
	}
	ck_assert_int_eq(most, 7);
	ck_assert_int_eq(contention_skip(&h, 8, 1001, &rng), 0);
	for (int i = 0; i < 100; i++)
		contention_lost(&h, 7, 1002);
	for (int i = 0; i < 1000; i++) {
		int64_t skip = contention_skip(&h, 7, 1002, &rng);

		ck_assert(skip >= 0 && skip < 64);
		most = skip > most ? skip : most;
	}
	ck_assert_int_eq(most, 63);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(contention_skip(&h, 7, 1012, &rng), 0); /* long ago */
	contention_lost(&h, 7, 2000);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_lt(contention_skip(&h, 7, 2000, &rng), 8);
}
END_TEST

START_TEST(the_oldest_contended_set_is_replaced)
{
	struct contention h = { 0 };
	struct rng rng = rng_seed(1);
	int64_t most[CONTENDED_SETS + 2] = { 0 };

	for (int64_t id = 1; id <= CONTENDED_SETS + 1; id++)
		contention_lost(&h, id, 1000 + (id > 1));
	for (int i = 0; i < 1000; i++)
		for (int64_t id = 1; id <= CONTENDED_SETS + 1; id++)
			most[id] += contention_skip(&h, id, 1002, &rng);
	ck_assert_int_eq(most[1], 0);
	for (int64_t id = 2; id <= CONTENDED_SETS + 1; id++)
		ck_assert_int_gt(most[id], 0);
}
END_TEST

UNIT_MAIN("hot", {
	ADD(lost_claims_show_contention_for_a_while);
	ADD(the_oldest_contended_set_is_replaced);
})
