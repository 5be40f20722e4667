/* SPDX-License-Identifier: Apache-2.0 */
/* Whose results count without comparison? */
#include "rules/sched/trust.h"

#include "model/states.h"
#include "rules/sched/quota.h"
#include "lib/banned.h"

int32_t
trust_results(const struct app *app, const struct job *j)
{
	return app->target_nresults < j->max_success_results ? app->target_nresults :
	                                                       j->max_success_results;
}

enum replication
trust_replication(const struct app *app, const struct job *j,
    const struct host_app_version *hav, struct rng *rng)
{
	if (j->target_nresults != 1 || trust_results(app, j) <= 1 ||
	    (j->transitioner_flags & (WU_TARGETED | WU_BROADCAST)) != 0)
		return REPLICATION_FIXED;
	if (hav == NULL || hav->consecutive_valid < PROVED_IN_A_ROW)
		return REPLICATION_UNTRUSTED;
	return rng_unit(rng) > 1.0 / hav->consecutive_valid ? REPLICATION_ALONE :
	                                                      REPLICATION_SPOT_CHECK;
}
