/* SPDX-License-Identifier: Apache-2.0 */
/* What a judged result tells about an app version on its host (scheduling.md 2.8,
 * 4.6). */
#include "rules/daemon/daemon_rules.h"

#include <math.h>
#include "model/states.h"
#include "rules/sched/quota.h"
#include "lib/banned.h"

enum { PLAIN_MEAN = 20 };          /* samples; after these, old ones fade */
static const double WEIGHT = 0.01; /* of a new sample from then on */
/* A sample counts for at most this many times the mean. */
static const double OUTLIER = 10;

void
statistics_add(double *n, double *avg, double x)
{
	if (!(x > 0) || !isfinite(x))
		return;
	if (*n < PLAIN_MEAN)
		*avg = (*avg * *n + x) / (*n + 1);
	else
		*avg += WEIGHT * (fmin(x, OUTLIER * *avg) - *avg);
	*n += 1;
}

void
statistics_judged(const struct conf *cf, struct host_app_version *v,
    const struct result *r, const struct workunit *wu, bool hopeless)
{
	bool valid = r->validate_state == VALIDATE_VALID;

	if (!valid) {
		v->consecutive_valid = 0;
		v->max_jobs_per_day = quota_after(
		    cf, v->max_jobs_per_day, hopeless ? QUOTA_HOPELESS : QUOTA_INVALID);
		if (hopeless && cf->daily_result_quota != 0 && v->n_jobs_today < 1)
			v->n_jobs_today = 1;
		return;
	}
	if (wu->min_quorum > 1) { /* with a quorum of 1 no other result confirmed it */
		v->consecutive_valid++;
		v->max_jobs_per_day = quota_after(cf, v->max_jobs_per_day, QUOTA_VALID);
	}
	statistics_add(&v->turnaround_n, &v->turnaround_avg,
	    (double)(r->received_time - r->sent_time));
	if (!(wu->rsc_fpops_est > 0))
		return;
	statistics_add(&v->et_n, &v->et_avg, r->elapsed_time / wu->rsc_fpops_est);
	statistics_add(&v->pfc_n, &v->pfc_avg, statistics_pfc(r, wu));
}

double
statistics_pfc(const struct result *r, const struct workunit *wu)
{
	return wu->rsc_fpops_est > 0 ?
	           r->elapsed_time * r->flops_estimate / wu->rsc_fpops_est :
	           0;
}
