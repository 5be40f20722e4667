/* SPDX-License-Identifier: Apache-2.0 */
/* Output of a simulation: the best possible result, the event log, the plot. */
#ifndef CLIENT_SIM_REPORT_H
#define CLIENT_SIM_REPORT_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/field.h"
#include "client/sim/sim.h"

/*
 * The best result that any policy could reach if work were a fluid: every project gets
 * as much of the host as its share allows and its jobs can use, and what it cannot use
 * goes to the others by their shares (weighted max-min fairness). Among all divisions
 * that leave nothing idle this one also has the least share violation. In the history
 * of the run that the seed gives: a job cannot run in a gap between two contacts with
 * its project that is longer than its delay bound, or it will be late. Whole jobs and
 * what a host cannot foresee make the result worse.
 */
struct sim_bound {
	double idle; /* fraction of the host's FLOPS while it is on */
	double share_violation;
	double *share; /* per project: its fraction of all FLOPS used; the sum is 1 */
};
void sim_bound(const struct sim_scenario *, double days, uint64_t seed, struct arena *,
    struct sim_bound *);
/* --- bound.c: bound memory --- */

/* Appends one line of the event log, without a line feed; equal events give equal
 * bytes. */
void sim_log_line(const struct sim_scenario *, const struct sim_event *, struct buf *);

/* Collects the events of a run and draws it as SVG: what each instance ran, how much
 * work each project had queued, and what each was owed by its share. */
struct sim_plot *sim_plot_new(
    struct arena *, const struct sim_scenario *, const char *title, double days);
void sim_plot_event(struct sim_plot *, const struct sim_event *);
void sim_plot_draw(struct sim_plot *, struct buf *);

/* --- figures.c --- */
/* The members of struct sim_figures, in the order of the manual. */
extern const struct field sim_figure_table[];
/* Computes the mean of n runs. */
void sim_figures_mean(const struct sim_figures *, size_t n, size_t nprojects,
    struct arena *, struct sim_figures *);

#endif
