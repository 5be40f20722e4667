/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a workunit still collect the successes that its quorum needs (scheduling.md 4.3,
 * 4.4)?  The transitioner creates results up to target_nresults, within
 * max_total_results, and none once there are that many; the validator acts on
 * min_quorum successes.  max_success_results ends a workunit without agreement and does
 * not limit a quorum.
 */
#include "rules/daemon/daemon_rules.h"

#include "model/states.h"
#include "lib/banned.h"

enum prospect
quorum_prospect(const struct workunit *wu, int64_t results, int64_t alive)
{
	/* At least one success: without any there is nothing to validate. */
	int64_t needs = wu->min_quorum > 1 ? wu->min_quorum : 1;
	int64_t wanted = (int64_t)wu->target_nresults - alive,
		room = (int64_t)wu->max_total_results - results;
	bool makes = wu->transitioner_flags != WU_NO_NEW_RESULTS;

	if (wu->canonical_resultid != 0 || wu->error_mask != 0 ||
	    wu->assimilate_state != ASSIMILATE_INIT)
		return PROSPECT_ENDED;
	if (wu->transitioner_flags == WU_NO_TRANSITION ||
	    wu->transitioner_flags == WU_BROADCAST)
		return PROSPECT_ENDED;
	if (room < 0 || (wanted > room && (makes || room == 0)))
		return PROSPECT_FAILS;
	if (makes && wanted > 0)
		alive += wanted;
	return alive >= needs ? PROSPECT_GOOD : PROSPECT_NONE;
}
