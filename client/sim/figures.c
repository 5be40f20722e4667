/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a run, defined as in upstream's emulator so that they can be compared.
 * If the host is off part of the time, they are relative to what it could do while it
 * was on. */
#include "client/sim/report.h"

#include <inttypes.h>
#include <math.h>
#include "lib/banned.h"

const struct field sim_figure_table[] = {
#define FIGURE(name)                                                                   \
	{                                                                              \
#name, FIELD_OF(struct sim_figures, name)                              \
	}
	FIGURE(idle),
	FIGURE(wasted),
	FIGURE(share_violation),
	FIGURE(share_violation_attainable),
	FIGURE(monotony),
	FIGURE(rpcs_per_job),
	FIGURE(met),
	FIGURE(missed),
	FIGURE(bytes_per_job),
	FIGURE(cpu_ms_per_day),
	{ 0 },
#undef FIGURE
};

/* a / b, but 0 if b is 0. */
static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double monotony(const struct sim_scenario *s, const struct sim_sums *sums)
{
	double sum = 0, n = (double)s->nprojects;

	for (size_t i = 0; i < s->nprojects; i++)
		sum += sqrt(
		    ratio(sums->projects[i].gap2_s3, sums->projects[i].attached_s));
	return 1 - 1 / (1 + sum / (s->prefs.period_s * n * n));
}

void sim_figures(const struct sim_scenario *s, const struct sim_sums *sums,
    struct arena *a, struct sim_figures *f)
{
	double shares = 0, used = 0, wasted = 0, bytes = 0;
	struct sim_bound best;

	sim_bound(s, sums->days, sums->seed, a, &best);
	*f = (struct sim_figures){ .share = NEWN(a, double, s->nprojects) };
	for (size_t i = 0; i < s->nprojects; i++) {
		const struct sim_project_sums *p = &sums->projects[i];

		shares += s->projects[i].share;
		used += p->used_flops;
		wasted += p->wasted_flops;
		bytes += p->bytes;
		f->met += p->met;
		f->missed += p->missed;
	}
	for (size_t i = 0; i < s->nprojects; i++) {
		f->share[i] = ratio(sums->projects[i].used_flops, used);
		if (used <= 0)
			continue;
		f->share_violation += fabs(
		    f->share[i] - ratio(s->projects[i].share, shares));
		f->share_violation_attainable += fabs(f->share[i] - best.share[i]);
	}
	f->idle = fmax(0, 1 - ratio(used, sums->on_flops));
	f->wasted = ratio(wasted, sums->on_flops);
	f->monotony = monotony(s, sums);
	f->rpcs_per_job = ratio((double)sums->contacts, (double)sums->fetched);
	f->bytes_per_job = ratio(bytes, (double)sums->fetched);
	f->cpu_ms_per_day = ratio(sums->cpu_ms, sums->days);
}

void sim_figures_mean(const struct sim_figures *runs, size_t n, size_t nprojects,
    struct arena *a, struct sim_figures *mean)
{
	*mean = (struct sim_figures){ .share = NEWN(a, double, nprojects) };
	for (const struct field *g = sim_figure_table; g->name != NULL; g++) {
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += field_number(g, &runs[i]);
		sum /= (double)n;
		field_put_number(g, mean, g->type == FIELD_I64 ? round(sum) : sum);
	}
	for (size_t p = 0; p < nprojects; p++)
		for (size_t i = 0; i < n; i++)
			mean->share[p] += runs[i].share[p] / (double)n;
}

/* --- the event log: a line depends on nothing but its event --- */

void sim_log_line(
    const struct sim_scenario *s, const struct sim_event *e, struct buf *b)
{
	const char *text = e->text == NULL ? "" : e->text;

	buf_printf(
	    b, "%.3f %s ", e->t, e->project < 0 ? "-" : s->projects[e->project].name);
	switch (e->kind) {
	case SIM_CONTACT:
		buf_printf(b, "contact %s", text);
		return;
	case SIM_FAILED:
		buf_printf(b, "no-answer %s", text);
		return;
	case SIM_REPLY:
		buf_printf(b, "reply jobs=%" PRId64 " %s", e->n, text);
		return;
	case SIM_JOB:
		buf_printf(b, "job %" PRIu64 " app=%d deadline=%.3f", e->job,
		    (int)e->app, e->x);
		return;
	case SIM_START:
		buf_printf(b, "start %" PRIu64 " on=%s", e->job, s->rsc[e->rsc].name);
		return;
	case SIM_PREEMPT:
		buf_printf(b, "preempt %" PRIu64 " lost=%.3f", e->job, e->x);
		return;
	case SIM_END:
		buf_printf(
		    b, "end %" PRIu64 " %s", e->job, e->n != 0 ? "met" : "missed");
		return;
	case SIM_ABORT:
		buf_printf(b, "abort %" PRIu64, e->job);
		return;
	case SIM_REPORT:
		buf_printf(b, "report jobs=%" PRId64, e->n);
		return;
	case SIM_HOST:
		buf_puts(b, e->n != 0 ? "host on" : "host off");
		return;
	case SIM_ATTACH:
		buf_puts(b, "attach");
		return;
	case SIM_DETACH:
		buf_puts(b, "detach");
		return;
	}
}
