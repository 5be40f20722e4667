/* SPDX-License-Identifier: Apache-2.0 */
/* The end of life of large files: never while anything may need them. */
#include "test/unit/unit.h"

#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum { NOW = 1000000, RETAIN_S = 1000, IDLE_LONG = NOW - RETAIN_S - RETIRE_SETTLE_S };

static const struct {
	struct retire_set
	    set; /* workunit, no_work_available, paused, parts, next, idle */
	enum retire_step step;
} cases[] = {
	/* it has work, or work may come */
	{ { true, true, FILESET_DRAINING, 3, 3, 0 }, RETIRE_NONE },
	{ { false, false, FILESET_OPEN, 3, 2, 0 }, RETIRE_NONE },
	{ { false, false, FILESET_OPEN, 0, 0, 0 }, RETIRE_NONE },
	{ { false, true, FILESET_PAUSED, 3, 3, 0 }, RETIRE_NONE },
	/* again */
	{ { true, true, FILESET_DRAINING, 3, 3, IDLE_LONG }, RETIRE_NEEDED },
	{ { false, false, FILESET_OPEN, 4, 3, IDLE_LONG }, RETIRE_NEEDED },
	{ { false, false, FILESET_OPEN, 0, 0, IDLE_LONG }, RETIRE_NEEDED },
	{ { false, true, FILESET_PAUSED, 3, 3, IDLE_LONG }, RETIRE_NEEDED },
	/* nothing needs it: made, said by a generator, said by an admin */
	{ { false, false, FILESET_OPEN, 3, 3, 0 }, RETIRE_IDLE },
	{ { false, true, FILESET_OPEN, 0, 0, 0 }, RETIRE_IDLE },
	{ { false, false, FILESET_DRAINING, 3, 1, 0 }, RETIRE_IDLE },
	/* for how long */
	{ { false, true, FILESET_OPEN, 0, 0, NOW - RETAIN_S + 1 }, RETIRE_NONE },
	{ { false, true, FILESET_OPEN, 0, 0, NOW - RETAIN_S }, RETIRE_DRAIN },
	{ { false, true, FILESET_OPEN, 0, 0, 1 }, RETIRE_DRAIN },
	{ { false, true, FILESET_DRAINING, 0, 0, IDLE_LONG + 1 }, RETIRE_NONE },
	{ { false, true, FILESET_DRAINING, 0, 0, IDLE_LONG }, RETIRE_REMOVE },
	{ { false, false, FILESET_DRAINING, 3, 3, 1 }, RETIRE_REMOVE },
	/* the clock was set back */
	{ { false, true, FILESET_DRAINING, 0, 0, NOW + 1 }, RETIRE_NEEDED },
};

START_TEST(end_of_a_set)
{
	ck_assert_int_eq(retire(&cases[_i].set, RETAIN_S, NOW), cases[_i].step);
}
END_TEST

UNIT_MAIN("rules_retire", { ADD_LOOP(end_of_a_set, N(cases)); })
