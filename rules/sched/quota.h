/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daily quota of a version on a host (scheduling.md 2.8): the events that change
 * it, for the scheduler, the transitioner and the validator.
 */
#ifndef RULES_SCHED_QUOTA_H
#define RULES_SCHED_QUOTA_H

#include <stdbool.h>
#include "model/conf.h"
#include "model/rows.h"

enum quota_event {
	QUOTA_SUCCESS,  /* reported with exit status 0: doubles, up to the quota */
	QUOTA_ERROR,    /* reported as failed, not aborted by the project: one less */
	QUOTA_TIMEOUT,  /* not reported in time: one less */
	QUOTA_VALID,    /* one more, even above the quota */
	QUOTA_INVALID,  /* one less, only above the quota */
	QUOTA_HOPELESS, /* invalid, and further results would be, too: one a day */
};
/* max_jobs_per_day of a version that a host is given for the first time. */
int32_t quota_first(const struct conf *);
/*
 * The new max_jobs_per_day, of which 0 means daily_result_quota; without a quota
 * (daily_result_quota 0) it does not change.
 */
int32_t quota_after(const struct conf *, int32_t max_jobs_per_day, enum quota_event);

/*
 * Number of further jobs of a version today; hav NULL = none was sent yet. INT32_MAX =
 * no quota. processors: those of the version's resource, GPUs with their weight.
 */
int32_t quota_room(
    const struct conf *, const struct host_app_version *hav, double processors);

/*
 * Has a new day begun for this host since its last request? Each host's day starts at
 * another time, so that hosts do not all come back at midnight. On a new day
 * n_jobs_today restarts at 0.
 */
bool quota_new_day(int64_t hostid, int64_t last_rpc_time, int64_t now);
/* When the host's next day begins, s UTC. */
int64_t quota_next_day(int64_t hostid, int64_t now);

/* Number of valid results in a row that prove a version on a host. */
enum { PROVED_IN_A_ROW = 10 };
/*
 * Has the version proved reliable on this host (scheduling.md 2.9)? It needs ten valid
 * results in a row, an unreduced quota, and, if reliable_max_avg_turnaround is set and
 * there are more than ten samples, a mean turnaround within that limit; unusual hosts
 * (see hr_usual()) are allowed 1.8 times as long. hav may be NULL.
 */
bool quota_reliable(
    const struct conf *, const struct host_app_version *hav, bool usual_host);

#endif
