/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the terms of client.md 0 on the host's value. */
#include "rules/client/world.h"

#include <math.h>
#include "rules/client/policy.h"
#include "lib/banned.h"

bool cw_contactable(const struct client_world *w, size_t project)
{
	const struct cw_project *p = &w->projects[project];

	return !p->suspended && !p->no_new_work && !p->rpc.master_pending &&
	       p->rpc.min_rpc_time <= w->now;
}

void cw_potentially_runnable(const struct client_world *w, bool *sharing)
{
	for (size_t p = 0; p < w->nprojects; p++)
		sharing[p] = !w->projects[p].nci &&
		             (cw_contactable(w, p) ||
				 w->projects[p].rpc.latency_limited_until > w->now);
	for (size_t i = 0; i < w->ntasks; i++)
		if (cw_nearly_runnable(w, &w->tasks[i]) && !cw_nci(w, &w->tasks[i]))
			sharing[w->tasks[i].project] = true;
}

void cw_accrue(struct client_world *w, double dt)
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

double cw_total_flops(const struct client_world *w)
{
	double sum = 0;

	for (size_t r = 0; r < w->nrsc; r++)
		sum += w->rsc[r].ninst * w->rsc[r].flops;
	return sum;
}

void cw_tally_tasks(struct client_world *w)
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

/* How long a task will take (client.md 4.6), and availability (4.7). */

enum { LEARN_TASKS = 10 };
static const double FACTOR_MOST = 100, GAP_LEAST_S = 60, GAP_BUFFER_MOST_S = 10 * 86400;

double estimate_remaining_s(const struct run_facts *f, double dcf)
{
	double all = f->static_s * (f->no_dcf ? 1 : dcf), dynamic, part;

	if (f->elapsed_s <= 0)
		return all;
	if (f->fraction_done <= 0)
		return f->elapsed_s / (1 - exp(-f->elapsed_s / all)) - f->elapsed_s;
	dynamic = f->fraction_elapsed_s / f->fraction_done;
	part = f->exact || f->elapsed_s > all ? 1 : f->fraction_done;
	return fmax(0, part * dynamic + (1 - part) * all - f->elapsed_s);
}

double estimate_dcf(double dcf, double static_s, double elapsed_s)
{
	double raw = elapsed_s / static_s, adj = raw / dcf;

	dcf = adj > 1.1 ? raw :
	      adj < 0.1 ? 0.99 * dcf + 0.01 * raw :
	                  0.9 * dcf + 0.1 * raw;
	return fmin(100, fmax(0.01, dcf));
}

void estimate_learn(struct correction *c, double static_s, double elapsed_s)
{
	double raw = elapsed_s / static_s, weight;

	if (!(static_s > 0) || !(elapsed_s > 0))
		return;
	weight = c->ntasks < LEARN_TASKS ? 1.0 / ++c->ntasks : 1.0 / LEARN_TASKS;
	c->factor += weight * (raw - c->factor);
	c->factor = fmin(FACTOR_MOST, fmax(1 / FACTOR_MOST, c->factor));
}

double estimate_factor(const struct correction *c)
{
	return c->ntasks > 0 ? c->factor : 1;
}

double estimate_mean_factor(const struct correction *const *all, size_t n)
{
	double sum = 0, ntasks = 0;

	for (size_t i = 0; i < n; i++) {
		sum += all[i]->factor * all[i]->ntasks;
		ntasks += all[i]->ntasks;
	}
	return ntasks > 0 ? sum / ntasks : 1;
}

void estimate_gaps(struct cw_gaps *g, double dt, bool connected)
{
	double weight;

	if (!connected) {
		g->open_s += dt;
		return;
	}
	if (g->open_s < GAP_LEAST_S) {
		g->open_s = 0;
		return;
	}
	g->ngaps = g->ngaps < LEARN_TASKS ? g->ngaps + 1 : LEARN_TASKS;
	weight = 1.0 / g->ngaps;
	g->mean_s += weight * (g->open_s - g->mean_s);
	g->square_s2 += weight * (g->open_s * g->open_s - g->square_s2);
	g->open_s = 0;
}

double estimate_gap_buffer_s(const struct cw_gaps *g)
{
	double sd = sqrt(fmax(0, g->square_s2 - g->mean_s * g->mean_s));

	if (g->ngaps == 2) /* two that are alike say little about the others */
		sd = fmax(sd, g->mean_s);
	return fmin(GAP_BUFFER_MOST_S, g->mean_s + 2.5 * sd);
}

static void update_average(double *x, double s, double now)
{
	static const double tau_s = 10 * 86400;

	*x = now + (*x - now) * exp(-s / tau_s);
}

void estimate_fractions(struct cw_fractions *f, double off_s, double on_s, bool active)
{
	static const double off_most_s = 14 * 86400;

	if (off_s <= off_most_s)
		update_average(&f->on, off_s, 0);
	update_average(&f->on, on_s, 1);
	update_average(&f->active, on_s, active);
	update_average(&f->gpu_active, on_s, active);
}
