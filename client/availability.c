/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the fraction of time in which the host is on, and in which tasks may run
 * then (client.md 4.7); the rules plan with it, and requests report it.  Also measures
 * the times in which tasks may run but the network must not be used.
 */
#include <math.h>
#include <time.h>
#include "client/client.h"
#include "lib/clock.h"
#include "lib/banned.h"

/* Hours of the day and of the week in which the user allows something. */

bool
hours_allow(const struct hours *h, double hour)
{
	if (h->start == h->end)
		return true;
	if (h->start < h->end)
		return hour >= h->start && hour < h->end;
	return hour >= h->start || hour < h->end; /* over midnight */
}

bool
hours_now(const struct client *c, const struct hours *every_day,
    const struct hours week[WEEK])
{
	time_t t = (time_t)c->now;
	struct tm tm;
	double hour;

	if (localtime_r(&t, &tm) == NULL)
		return true;
	hour = tm.tm_hour + tm.tm_min / 60.0 + tm.tm_sec / 3600.0;
	return hours_allow(
	    week[tm.tm_wday].given ? &week[tm.tm_wday] : every_day, hour);
}

static const double EVERY_S = 10, GAP_S = 100;

struct cw_fractions
availability_now(const struct client *c)
{
	return c->state->fractions_at > 0 ? c->state->fractions :
	                                    (struct cw_fractions){ 1, 1, 1 };
}

/* Time during which this process ran counts as on, even if an exchange took that long;
 * it is measured by a clock that stands still while the machine sleeps.  Short gaps
 * count as on, too. */
void
availability_measure(struct client *c)
{
	struct state *st = c->state;
	double dt = (double)c->now - st->fractions_at, here = 0, off;
	int64_t ms = clock_mono_ms();

	if (st->fractions_at > 0 && dt <= EVERY_S)
		return;
	if (c->measured_ms != 0)
		here = (double)(ms - c->measured_ms) / 1000;
	off = fmax(dt - here, 0);
	if (off <= GAP_S)
		off = 0;
	if (st->fractions_at > 0)
		estimate_fractions(
		    &st->fractions, off, dt - off, c->hindered.run == HINDER_NOTHING);
	else
		st->fractions = availability_now(c);
	if (st->fractions_at > 0 && c->hindered.run == HINDER_NOTHING)
		estimate_gaps(
		    &st->gaps, dt - off, c->hindered.network == HINDER_NOTHING);
	st->fractions_at = (double)c->now;
	c->measured_ms = ms;
	c->accounts_changed = true;
}
