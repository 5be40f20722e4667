/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the terms of client.md 0 on the host's value. */
#include "rules/client/world.h"

#include "lib/banned.h"

bool
cw_contactable(const struct client_world *w, size_t project)
{
	const struct cw_project *p = &w->projects[project];

	return !p->suspended && !p->no_new_work && !p->rpc.master_pending &&
	       p->rpc.min_rpc_time <= w->now;
}

void
cw_potentially_runnable(const struct client_world *w, bool *sharing)
{
	for (size_t p = 0; p < w->nprojects; p++)
		sharing[p] = !w->projects[p].nci &&
		             (cw_contactable(w, p) ||
				 w->projects[p].rpc.latency_limited_until > w->now);
	for (size_t i = 0; i < w->ntasks; i++)
		if (cw_nearly_runnable(w, &w->tasks[i]) && !cw_nci(w, &w->tasks[i]))
			sharing[w->tasks[i].project] = true;
}

void
cw_accrue(struct client_world *w, double dt)
{
	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];

		if (!t->running || t->nci)
			continue;
		w->projects[t->project].used[t->rsc] += dt * t->use;
		if (t->rsc != CW_CPU)
			w->projects[t->project].used[CW_CPU] += dt * t->ncpus;
	}
}

double
cw_total_flops(const struct client_world *w)
{
	double sum = 0;

	for (size_t r = 0; r < w->nrsc; r++)
		sum += w->rsc[r].ninst * w->rsc[r].flops;
	return sum;
}

void
cw_tally_tasks(struct client_world *w)
{
	if (cw_unchanged(w, w->tallied_version))
		return;
	w->tallied_version = w->version;
	for (size_t i = 0; i < w->nprojects; i++)
		w->projects[i].acct.runnable_mask = 0;
	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];
		struct cw_acct *c = &w->projects[t->project].acct;
		double bound = t->deadline - t->received_at;

		if (t->nci)
			continue;
		c->gave[t->rsc] = true;
		if (c->delay_bound_s <= 0 || bound < c->delay_bound_s)
			c->delay_bound_s = bound;
		if (t->rsc == CW_CPU && t->rss_bytes > 0 &&
		    (c->rss_bytes <= 0 || t->rss_bytes < c->rss_bytes))
			c->rss_bytes = t->rss_bytes;
		if (t->remaining_s > c->longest_s)
			c->longest_s = t->remaining_s;
		if (cw_nearly_runnable(w, t))
			c->runnable_mask |= 1U << t->rsc;
	}
}
