/* SPDX-License-Identifier: Apache-2.0 */
/* The state under which a workunit is counted (model/tally.h). */
#include "model/states.h"
#include "model/tally.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

void
tally_clear(struct workunit *wu)
{
	wu->tally = 0;
	wu->tally_inactive = wu->tally_live = wu->tally_ended = 0;
	wu->tally_never_sent = wu->tally_success = wu->tally_valid = 0;
	wu->tally_failed = 0;
}

void
tally_result(struct workunit *wu, const struct result *r)
{
	wu->tally_inactive += r->server_state == RESULT_INACTIVE;
	wu->tally_live += r->server_state == RESULT_UNSENT ||
	                  r->server_state == RESULT_IN_PROGRESS;
	wu->tally_ended += r->server_state == RESULT_OVER;
	wu->tally_never_sent += r->outcome == OUTCOME_COULDNT_SEND ||
	                        r->outcome == OUTCOME_DIDNT_NEED;
	wu->tally_success += r->outcome == OUTCOME_SUCCESS;
	wu->tally_valid += r->validate_state == VALIDATE_VALID;
	wu->tally_failed += r->outcome != OUTCOME_INIT &&
	                    r->outcome != OUTCOME_SUCCESS &&
	                    r->outcome != OUTCOME_DIDNT_NEED;
}

/* It may wait for results that the transitioner will not make by itself. */
static bool
lacks_results(const struct workunit *wu)
{
	int32_t least = wu->min_quorum > 1 ? wu->min_quorum : 1;

	if (wu->canonical_resultid != 0 || wu->error_mask != 0 ||
	    wu->assimilate_state != ASSIMILATE_INIT)
		return false;
	if (wu->transitioner_flags == WU_NO_TRANSITION ||
	    wu->transitioner_flags == WU_BROADCAST)
		return false;
	return wu->transitioner_flags == WU_NO_NEW_RESULTS ||
	       wu->target_nresults < least;
}

void
tally_code(struct workunit *wu)
{
	const struct {
		bool set;
		enum tally_bit bit;
	} bits[] = {
		{ wu->canonical_resultid > 0, TALLY_CANONICAL },
		{ wu->need_validate != 0, TALLY_TO_VALIDATE },
		{ wu->assimilate_state == ASSIMILATE_DONE, TALLY_ASSIMILATED },
		{ wu->assimilate_state == ASSIMILATE_READY, TALLY_TO_ASSIMILATE },
		{ wu->error_mask != 0, TALLY_ERROR },
		{ (wu->error_mask & WU_ERROR_CANCELLED) != 0, TALLY_CANCELLED },
		{ lacks_results(wu), TALLY_LACKING },
		{ wu->tally_live > 0, TALLY_LIVE },
	};

	wu->tally = TALLY_COUNTED;
	for (size_t i = 0; i < N(bits); i++)
		wu->tally |= bits[i].set ? (int32_t)bits[i].bit : 0;
}
