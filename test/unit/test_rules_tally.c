/* SPDX-License-Identifier: Apache-2.0 */
/* How a workunit is counted: its code, and the counts of its results. */
#include "test/unit/unit.h"

#include "model/rows.h"
#include "model/tally.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

static const struct {
	const char *name;
	struct workunit wu;
	struct result results[3];
	size_t n;
	int32_t code, inactive, live, ended, never_sent, success, valid, failed;
} cases[] = {
	{ .name = "new", .wu = { .target_nresults = 1 }, .code = TALLY_COUNTED },
	{ .name = "unsent and in progress",
	    .wu = { .target_nresults = 2 },
	    .results = { { .server_state = RESULT_UNSENT },
		{ .server_state = RESULT_IN_PROGRESS } },
	    .n = 2,
	    .code = TALLY_COUNTED | TALLY_LIVE,
	    .live = 2 },
	{ .name = "inactive",
	    .wu = { .target_nresults = 1 },
	    .results = { { .server_state = RESULT_INACTIVE } },
	    .n = 1,
	    .code = TALLY_COUNTED,
	    .inactive = 1 },
	{ .name = "to validate, one late",
	    .wu = { .target_nresults = 2, .need_validate = 1 },
	    .results = { { .server_state = RESULT_OVER, .outcome = OUTCOME_SUCCESS },
		{ .server_state = RESULT_OVER, .outcome = OUTCOME_NO_REPLY } },
	    .n = 2,
	    .code = TALLY_COUNTED | TALLY_TO_VALIDATE,
	    .ended = 2,
	    .success = 1,
	    .failed = 1 },
	{ .name = "assimilated, one not needed",
	    .wu = { .target_nresults = 2,
		.canonical_resultid = 7,
		.assimilate_state = ASSIMILATE_DONE },
	    .results = { { .server_state = RESULT_OVER,
			     .outcome = OUTCOME_SUCCESS,
			     .validate_state = VALIDATE_VALID },
		{ .server_state = RESULT_OVER, .outcome = OUTCOME_DIDNT_NEED } },
	    .n = 2,
	    .code = TALLY_COUNTED | TALLY_CANONICAL | TALLY_ASSIMILATED,
	    .ended = 2,
	    .never_sent = 1,
	    .success = 1,
	    .valid = 1 },
	{ .name = "cancelled, to assimilate",
	    .wu = { .error_mask = WU_ERROR_CANCELLED,
		.assimilate_state = ASSIMILATE_READY },
	    .results = { { .server_state = RESULT_OVER,
		.outcome = OUTCOME_COULDNT_SEND } },
	    .n = 1,
	    .code = TALLY_COUNTED | TALLY_ERROR | TALLY_CANCELLED | TALLY_TO_ASSIMILATE,
	    .ended = 1,
	    .never_sent = 1,
	    .failed = 1 },
	{ .name = "fewer results than the quorum",
	    .wu = { .target_nresults = 1, .min_quorum = 2 },
	    .code = TALLY_COUNTED | TALLY_LACKING },
	{ .name = "a broadcast has no quorum",
	    .wu = { .min_quorum = 2, .transitioner_flags = WU_BROADCAST },
	    .code = TALLY_COUNTED },
	{ .name = "makes no new results",
	    .wu = { .target_nresults = 1, .transitioner_flags = WU_NO_NEW_RESULTS },
	    .code = TALLY_COUNTED | TALLY_LACKING },
};

START_TEST(counted)
{
	struct workunit wu = cases[_i].wu;

	tally_clear(&wu);
	for (size_t i = 0; i < cases[_i].n; i++)
		tally_result(&wu, &cases[_i].results[i]);
	tally_code(&wu);
	ck_assert_msg(wu.tally == cases[_i].code, "%s: code %d, not %d", cases[_i].name,
	    wu.tally, cases[_i].code);
	ck_assert_int_eq(wu.tally_inactive, cases[_i].inactive);
	ck_assert_int_eq(wu.tally_live, cases[_i].live);
	ck_assert_int_eq(wu.tally_ended, cases[_i].ended);
	ck_assert_int_eq(wu.tally_never_sent, cases[_i].never_sent);
	ck_assert_int_eq(wu.tally_success, cases[_i].success);
	ck_assert_int_eq(wu.tally_valid, cases[_i].valid);
	ck_assert_int_eq(wu.tally_failed, cases[_i].failed);
}
END_TEST

UNIT_MAIN("rules_tally", { ADD_LOOP(counted, N(cases)); })
