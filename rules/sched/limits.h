/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many jobs a host may get: per request, in progress, and how soon again
 * (scheduling.md 2.8).
 */
#ifndef RULES_SCHED_LIMITS_H
#define RULES_SCHED_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/rng.h"
#include "model/conf.h"
#include "model/rows.h"

/*
 * File sets, and apps without, of which this process has lost claims lately: many hosts
 * want jobs of them at once, so each request takes others (performance.md 2).
 */

enum { CONTENDED_SETS = 16 };

struct contention { /* process lifetime; all 0 = nothing was lost */
	struct contended_set {
		int64_t fileset_id, since; /* the last loss, s UTC */
		int losses;
	} sets[CONTENDED_SETS];
};

/* A claim of a job of this set was lost; of a plain job: minus its app's id. */
void contention_lost(struct contention *, int64_t fileset_id, int64_t now);
/* Was one lost in the last seconds? */
bool contention_is(const struct contention *, int64_t fileset_id, int64_t now);
/* So many unsent jobs of the set are left to others: 0, or a random number, the larger
 * the more was lost, below 64. */
int64_t contention_skip(
    const struct contention *, int64_t fileset_id, int64_t now, struct rng *);

/*
 * The daily quota of a version on a host (scheduling.md 2.8): the events that change
 * it, for the scheduler, the transitioner and the validator.
 */

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
