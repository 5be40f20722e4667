/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulation tells: the best that could be, its log, its picture. */
#ifndef CLIENT_SIM_REPORT_H
#define CLIENT_SIM_REPORT_H

#include <stdbool.h>
#include "lib/buf.h"
#include "client/sim/sim.h"

/*
 * The best that any policy could reach, as if work were a fluid: every project gets as
 * much of the host as its share asks and its jobs can use, and what it cannot use goes
 * to the others by their shares (weighted max-min fairness).  Of all divisions that
 * leave nothing idle this one has the least share violation too.  Deadlines, whole jobs
 * and outages of servers are left out: they only make it worse.
 */
struct sim_bound {
	double idle; /* of the FLOPS of the host while it is on */
	double share_violation;
	double *share; /* per project: its part of all FLOPS used; sum 1 */
};
void sim_bound(
    const struct sim_scenario *, double days, struct arena *, struct sim_bound *);

/* One line of the event log, without line feed; the same bytes for the same event. */
void sim_log_line(const struct sim_scenario *, const struct sim_event *, struct buf *);

/*
 * Collects a run, and draws it as SVG: what each instance ran, how much work each
 * project had queued, and what each was owed by its share.
 */
struct sim_plot *sim_plot_new(
    struct arena *, const struct sim_scenario *, const char *title, double days);
void sim_plot_event(struct sim_plot *, const struct sim_event *);
void sim_plot_draw(struct sim_plot *, struct buf *);

/* --- figures.c --- */
/* The figures by name, in the order of the manual. */
struct sim_figure {
	const char *name;
	size_t off; /* in struct sim_figures */
	bool whole; /* a uint64_t, else a double */
};
extern const struct sim_figure sim_figure_table[]; /* name NULL ends it */
double sim_figure_value(const struct sim_figures *, const struct sim_figure *);
/* The mean of n runs. */
void sim_figures_mean(const struct sim_figures *, size_t n, size_t nprojects,
    struct arena *, struct sim_figures *);

#endif
