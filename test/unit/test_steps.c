/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the table of an RPC's states. */
#include "test/unit/unit.h"

#include "sched/rpc/rpc.h"
#include "lib/banned.h"

struct step {
	enum rpc_step resume;
	unsigned successors;
};

static const struct step steps[] = {
#define TO(step)                                    | 1U << RPC_##step
#define STEP(name, takes, resume, successors, what) { RPC_##resume, 0 successors },
#include "sched/rpc/steps.def"
#undef STEP
#undef TO
};

START_TEST(every_state_is_reached_and_left)
{
	unsigned reached = 1U << RPC_parse;

	for (size_t pass = 0; pass < N(steps); pass++)
		for (size_t i = 0; i < N(steps); i++)
			if (reached & 1U << i)
				reached |= steps[i].successors;
	ck_assert_uint_eq(reached, (1U << (RPC_served + 1)) - 1);
	for (size_t i = 0; i < N(steps); i++) {
		ck_assert_uint_ne(steps[i].successors, 0);
		ck_assert_int_le(steps[i].resume, (int)i);
	}
}
END_TEST

UNIT_MAIN("steps", { ADD(every_state_is_reached_and_left); })
