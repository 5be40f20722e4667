/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of an app a host gets: the fastest usable version for its platforms, in
 * order (scheduling.md 2.11), or the client's own on the anonymous platform.
 */
#ifndef RULES_SCHED_VERSION_H
#define RULES_SCHED_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include "model/conf.h"
#include "model/decision.h"
#include "model/request.h"
#include "model/catalog.h"

/* The reasons given to users, the most decisive one first (answers.def). */

struct answer {
	enum reason why;
	bool notice;    /* shown to the user as a notice */
	double delay_s; /* delay of the next request, if this is the decisive reason */
};
extern const struct answer answers[];
extern const size_t nanswers;

/* Rank of a reason in this table, from 0; nanswers if the table does not have it. */
size_t answers_rank(enum reason);
/* Row of a reason that the table has. */
const struct answer *answers_of(enum reason);

/*
 * What a host can do, how fast a version runs on it, and how long a job takes
 * (scheduling.md 2.4, 2.6).
 */

/* the host as scheduling sees it, with its owner's preferences applied */
struct machine {
	int32_t ncpus;       /* usable CPUs, 1 .. 4096 */
	double p_fpops;      /* of one CPU, plausible */
	double usable_ram;   /* bytes */
	double disk;         /* bytes that jobs may take; <= 0: space lacking */
	double bwdown;       /* bytes/s, 0 = unknown */
	double availability; /* fraction of wall time in which jobs run, 0.1 .. 1 */
	double coproc_availability; /* the same for jobs that use a coprocessor */
};

/* Taken from the request if it describes the host, else from the row. */
struct machine machine_of(
    const struct conf *, const struct request *, const struct snapshot *);
/*
 * The global preferences in force (protocol.md 3.4): the client's working preferences,
 * else the newer of its master copy and the account's; all zero if there are none.
 */
const struct rq_prefs *prefs_in_force(const struct request *, const struct snapshot *);

struct speed {
	double flops; /* projected FLOP/s, > 0 */
	enum speed_source source;
};
struct effort { /* what a job uses, and how fast that is */
	double ncpus, coprocs;
	double coproc_flops; /* peak of one coprocessor */
	double plan_flops;   /* projected by the plan class, 0 = unknown */
};
/*
 * Projects the speed of a version on a host, in order of preference, from: statistics
 * of the version on this host (more than 10 samples; elapsed times, or the efficiency
 * with estimate_flops_from_hav_pfc); statistics of the version on all hosts (more than
 * 100 samples). Both are limited to 250 times the plan class's projection. Otherwise,
 * and always with rte_no_stats, from the CPU's benchmark, each coprocessor counting as
 * ten CPUs, because peak figures of GPUs are far from what applications reach
 * (scheduling.md 2.4). hav and v may be NULL.
 */
struct speed estimate_speed(const struct conf *, const struct machine *,
    const struct host_app_version *hav, const struct app_version *v,
    const struct effort *);

/*
 * The value by which versions are compared: the plan class's projection (FLOP/s, 0 =
 * none) as long as nothing was measured; a measurement on this host outweighs it, the
 * more so the more samples it has.
 */
double estimate_score(
    const struct speed *, const struct host_app_version *hav, double plan_flops);

/* Wall seconds of a job; an estimate of 0 FLOP counts as 1e12. */
double estimate_runtime_s(double fpops_est, double flops, double availability);

/*
 * The row of a version on this host, NULL if there is none; app_version_id as in
 * host_app_version.
 */
const struct host_app_version *estimate_find(
    const struct host_app_version *, size_t n, int64_t app_version_id);

#endif
