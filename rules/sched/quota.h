/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daily quota of one version on one host (scheduling.md 2.8): one table of what
 * moves it, for the scheduler, the transitioner and the validator.
 */
#ifndef RULES_SCHED_QUOTA_H
#define RULES_SCHED_QUOTA_H

#include <stdbool.h>
#include "model/conf.h"
#include "model/rows.h"

enum quota_event {
	QUOTA_SUCCESS,  /* reported, exit status 0: doubles up to the quota */
	QUOTA_ERROR,    /* reported, failed and not aborted by the project: one less */
	QUOTA_TIMEOUT,  /* not reported in time: one less */
	QUOTA_VALID,    /* one more, also above the quota */
	QUOTA_INVALID,  /* one less, only above the quota */
	QUOTA_HOPELESS, /* invalid, and the next ones would be too: one a day */
};
/* The new max_jobs_per_day; daily_result_quota 0 = no quota, nothing moves. */
int32_t quota_after(const struct conf *, int32_t max_jobs_per_day, enum quota_event);

/*
 * How many more jobs of a version today; hav NULL = none sent yet.  INT32_MAX = no
 * quota.  processors: those of the version's resource, GPUs with their weight.
 */
int32_t quota_room(
    const struct conf *, const struct host_app_version *hav, double processors);

/*
 * Has a new day begun for this host between two requests?  Each host has its own start
 * of day, so that not all come back at midnight; then n_jobs_today starts at 0.
 */
bool quota_new_day(int64_t hostid, int64_t last_rpc_time, int64_t now);

/* Valid results in a row that prove a version on a host. */
enum { PROVED_IN_A_ROW = 10 };
/*
 * Has the version proved reliable on this host (scheduling.md 2.9)?  Ten valid results
 * in a row, no quota taken away, and, with reliable_max_avg_turnaround and more than
 * ten samples, a mean turnaround of no more than that; hosts that are not usual
 * (hr_usual) have 1.8 times as long.  hav may be NULL.
 */
bool quota_reliable(
    const struct conf *, const struct host_app_version *hav, bool usual_host);

#endif
