/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts when the work will run out, from the rate in the ledger. */
#include "rules/daemon/daemon_rules.h"

#include "model/states.h"
#include "lib/banned.h"

enum { DAY_S = 86400 };

void
drain_count(struct drain *d, const struct drain_file *f)
{
	if (d->files++ == 0 || f->create_time < d->since)
		d->since = f->create_time;
	d->jobs += f->jobs;
	if (f->paused == FILESET_PAUSED)
		return;
	d->unsent += f->unsent;
	d->makeable += f->no_work || f->paused != FILESET_OPEN ? 0 :
	                                                         f->parts * f->results;
}

int64_t
drain_period_s(const struct drain *d, int64_t now)
{
	int64_t start = (now / DAY_S - 1) * DAY_S;

	if (d->since > start)
		start = d->since;
	return now > start ? now - start : 1;
}

int64_t
drain_s(const struct drain *d, int64_t now)
{
	int64_t left = d->unsent + d->makeable;
	double s;

	if (left <= 0)
		return 0;
	if (d->jobs <= 0 || d->stuck)
		return -1;
	s = (double)left * (double)drain_period_s(d, now) / (double)d->jobs;
	return s < (double)(INT64_MAX / 2) ? (int64_t)s : INT64_MAX / 2;
}
