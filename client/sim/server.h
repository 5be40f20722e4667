/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The projects' servers in a simulation: each has an unlimited supply of jobs and sends
 * as much as was asked for while it can be done in time, by the rule of Locus's
 * scheduler (rules/sched/workload.h): the host lists its tasks, and a job is sent if
 * neither it nor another task would miss its deadline.
 */
#ifndef CLIENT_SIM_SERVER_H
#define CLIENT_SIM_SERVER_H

#include "client/sim/sim.h"

struct sim_path {
	size_t n;        /* spans of time in which nothing changes */
	double *at;      /* their starts, in s, and the end of the last one: n + 1 */
	bool *computing; /* per span: tasks may run */
	/* [span * nprojects + project]: the length of the gap between two contacts that
	 * the span is part of; 0: the project can be reached now; INFINITY: it never
	 * could before. */
	double *gap_s;
};
/* The scenario must be one that sim_run() accepts. */
void sim_path(const struct sim_scenario *, double days, uint64_t seed, struct arena *,
    struct sim_path *);

#endif
