/* SPDX-License-Identifier: Apache-2.0 */
/* The daily quota as one table: what each event does to max_jobs_per_day. */
#include "rules/sched/quota.h"

#include <math.h>
#include "lib/rng.h"
#include "lib/banned.h"

enum { DAY_S = 86400, SAMPLES = 10 };
static const double UNUSUAL = 1.8; /* times as long for rarer kinds of hosts */

int32_t
quota_first(const struct conf *cf)
{
	int64_t quota = cf->daily_result_quota, first = cf->new_host_daily_quota;

	return (int32_t)(first > 0 && first < quota ? first : quota);
}

/* 0: the row is older than the quota, or was reset. */
static int64_t
quota_stored(const struct conf *cf, int32_t max_jobs_per_day)
{
	return max_jobs_per_day > 0 ? max_jobs_per_day : cf->daily_result_quota;
}

int32_t
quota_after(const struct conf *cf, int32_t max_jobs_per_day, enum quota_event e)
{
	int64_t quota = cf->daily_result_quota, n, to;

	if (quota == 0)
		return max_jobs_per_day;
	n = to = quota_stored(cf, max_jobs_per_day);
	switch (e) {
	case QUOTA_SUCCESS:
		to = n >= quota ? n : 2 * n;
		return (int32_t)(n < quota && to > quota ? quota : to);
	case QUOTA_ERROR:
	case QUOTA_TIMEOUT:
		to = (n < quota ? n : quota) - 1;
		break;
	case QUOTA_VALID:
		to = n < INT32_MAX ? n + 1 : n;
		break;
	case QUOTA_INVALID:
		to = n > quota ? n - 1 : n;
		break;
	case QUOTA_HOPELESS:
		to = 1;
		break;
	}
	return to < 1 ? 1 : (int32_t)to;
}

int32_t
quota_room(const struct conf *cf, const struct host_app_version *hav, double processors)
{
	double most, today = hav == NULL ? 0 : hav->n_jobs_today;

	if (cf->daily_result_quota == 0)
		return INT32_MAX;
	most = hav == NULL ? quota_first(cf) :
	                     (double)quota_stored(cf, hav->max_jobs_per_day);
	/* one job a day is the penalty of a failing host, and is for the whole host */
	if (most > 1)
		most = floor(most * processors);
	most = (most < 1 ? 1 : most) - today;
	return most <= 0 ? 0 : most > INT32_MAX ? INT32_MAX : (int32_t)most;
}

/* How long before midnight UTC the host's day begins, in s. */
static int64_t
quota_day_offset(int64_t hostid)
{
	struct rng r = rng_seed((uint64_t)hostid);

	return (int64_t)rng_below(&r, DAY_S);
}

bool
quota_new_day(int64_t hostid, int64_t last_rpc_time, int64_t now)
{
	int64_t offset = quota_day_offset(hostid);

	return (last_rpc_time + offset) / DAY_S != (now + offset) / DAY_S;
}

int64_t
quota_next_day(int64_t hostid, int64_t now)
{
	int64_t offset = quota_day_offset(hostid);

	return ((now + offset) / DAY_S + 1) * DAY_S - offset;
}

bool
quota_reliable(
    const struct conf *cf, const struct host_app_version *hav, bool usual_host)
{
	double most = (double)cf->reliable_max_avg_turnaround *
	              (usual_host ? 1 : UNUSUAL);

	if (hav == NULL || hav->consecutive_valid < PROVED_IN_A_ROW ||
	    quota_stored(cf, hav->max_jobs_per_day) < cf->daily_result_quota)
		return false;
	return most == 0 || hav->turnaround_n <= SAMPLES || hav->turnaround_avg <= most;
}
