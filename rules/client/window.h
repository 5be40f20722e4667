/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of policy window: the balance and what runs (policy_window.c), how the
 * buffer should be divided (window_plan.c), and whom to ask for work (window_fetch.c).
 */
#ifndef RULES_CLIENT_WINDOW_H
#define RULES_CLIENT_WINDOW_H

#include "rules/client/policies.h"

enum { WINDOW_GIVEN_UP_S = 10 * 86400, WINDOW_BACKOFF_LONG_S = 6 * 3600 };

/* Could the project use the resource? Yes if it has tasks for it, or may still send
 * some. A project that gave none when asked, or none for hours, or has not answered
 * for days, does not count. */
static inline bool window_can_use(
    const struct client_world *w, const struct cw_project *p, size_t rsc)
{
	const struct cw_rsc_state *s = &p->rsc[rsc];

	if (p->nci || p->share <= 0 || p->suspended || s->excluded)
		return false;
	if (p->acct.runnable_mask & 1U << rsc)
		return true;
	if (p->no_new_work || s->no_apps ||
	    (p->rpc.nrpc_failures > 0 &&
		w->now > p->rpc.last_contact + WINDOW_GIVEN_UP_S))
		return false;
	if (p->rpc.latency_limited_until > w->now &&
	    (p->acct.gave[rsc] || rsc == CW_CPU))
		return true; /* the deadlines of others keep it from sending tasks */
	return p->acct.gave[rsc] ? s->backoff_s < WINDOW_BACKOFF_LONG_S :
	                           s->backoff_s <= 0;
}

/* --- window.c: window plan --- */

struct plan { /* for one resource, per project */
	double *want;
	double *have, *soon, *all; /* see struct queues */
	double *owed;              /* see owed_s() */
	bool *in, *rising;         /* rising: it would get more if the level rose */
	bool *answers; /* its last contact succeeded, or it has all it should have */
	double shares; /* of the projects in[] */
	double ninst;  /* without CPUs that coprocessor tasks take */
};

/* Tasks at hand, in instance-seconds of wall time; nrsc rows of nprojects. */
struct queues {
	double *have; /* within the buffer: a longer task counts as long as that */
	double *soon; /* before the low-water mark */
	double *all;  /* until they are done */
	double cpus;  /* that coprocessor tasks take now */
};

/* --- window.c: window fetch --- */

#endif
