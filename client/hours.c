/* SPDX-License-Identifier: Apache-2.0 */
/* Hours of the day and of the week in which the user allows something. */
#include "client/client.h"

#include <time.h>
#include "lib/banned.h"

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
