/* SPDX-License-Identifier: Apache-2.0 */
/* Work fetch: what all policies share. */
#include "rules/client/policy.h"

#include "lib/banned.h"

bool
fetch_able(const struct client_world *w, const struct rr_sim *rr, size_t project,
    size_t rsc, bool ignore_backoff)
{
	const struct cw_project *p = &w->projects[project];
	const struct cw_rsc_state *s = &p->rsc[rsc];

	if (!cw_contactable(w, project) || p->nci || p->stalled_download ||
	    p->suspended_task || s->no_apps || s->excluded)
		return false;
	if (p->share <= 0 && rr->r[rsc].nidle <= 0)
		return false;
	return ignore_backoff || s->backoff_until <= w->now;
}

double
fetch_share(const struct client_world *w, const bool *able, size_t project)
{
	double sum = 0;

	for (size_t i = 0; i < w->nprojects; i++)
		sum += able[i] ? w->projects[i].share : 0;
	return able[project] && sum > 0 ? w->projects[project].share / sum : 0;
}
