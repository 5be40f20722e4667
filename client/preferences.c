/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's preferences for the whole host: the newest global preferences of all
 * accounts, at the host's venue in the project that sent them, unless the command line
 * overrides them (protocol.md 1.4, 13.6, client.md 4.8).
 */
#include "client/client.h"

#include <math.h>
#include <string.h>
#include "lib/log.h"
#include "proto/prefs.h"
#include "lib/banned.h"

enum { TEXT_MOST = 64 << 10 };
static const double DAY_S = 86400, MINUTE_S = 60;
static const double PERIOD_S = 3600, BUFFER_LEAST_S = 180, DAYS_MOST = 30,
		    MINUTES_MOST = 24 * 60;

static struct rq_prefs
parse_preferences(struct client *c, const char *inside, const char *venue)
{
	return prefs_global(&c->scratch,
	    arena_printf(
		&c->scratch, "<global_preferences>%s</global_preferences>", inside),
	    venue, c->now);
}

void
preferences_read(struct client *c)
{
	const struct state *st = c->state;

	c->prefs = (struct rq_prefs){ 0 };
	if (st->preferences != NULL && st->preferences[0] != '\0')
		c->prefs = parse_preferences(c, st->preferences, st->preferences_venue);
}

/* Do these preferences come from the same project as the current ones, or are they
 * newer? */
static bool
replaces(struct client *c, const struct cproject *p, const char *text)
{
	const char *from = c->state->preferences_from;

	return from == NULL || strcmp(from, p->master_url) == 0 ||
	       state_project(c->state, from) == NULL ||
	       parse_preferences(c, text, NULL).mod_time > c->prefs.mod_time;
}

void
preferences_take(struct client *c, const struct cproject *p, const struct reply *rp)
{
	const char *text = rp->global_preferences;
	struct state *st = c->state;

	if (text != NULL && strlen(text) > TEXT_MOST) {
		log_warn("preferences of %zu bytes are too long", strlen(text));
		return;
	}
	if (text != NULL && replaces(c, p, text)) {
		st->preferences = arena_strdup(&c->keep, text);
		st->preferences_from = arena_strdup(&c->keep, p->master_url);
	}
	if (st->preferences_from == NULL ||
	    strcmp(st->preferences_from, p->master_url) != 0)
		return;
	if (rp->host_venue != NULL)
		st->preferences_venue = arena_strdup(&c->keep, rp->host_venue);
	preferences_read(c);
	preferences_complain("", c->prefs.bad);
}

void
preferences_complain(const char *kind, const char *bad)
{
	if (bad != NULL)
		log_warn(
		    "the account's %spreferences: %s is not a number (write decimals with a point); ignored",
		    kind, bad);
}

static double
limit_to_range(double x, double least, double most)
{
	return fmin(fmax(x, least), most);
}

double
preferences_ram_part(const struct client *c)
{
	/* Whether the machine is in use is not checked. */
	double percent = c->prefs.ram_max_used_idle_pct;

	return c->options.own_ram || percent <= 0 ?
	           c->options.ram_part :
	           limit_to_range(percent, 1, 100) / 100;
}

struct cw_prefs
preferences_now(const struct client *c)
{
	const struct rq_prefs *p = &c->prefs;
	double minutes = p->cpu_scheduling_period_minutes;
	struct cw_prefs w = { .min_s = c->options.min_buffer_s,
		.extra_s = c->options.extra_buffer_s,
		.period_s = minutes > 0 ?
		                MINUTE_S * limit_to_range(minutes, 1, MINUTES_MOST) :
		                PERIOD_S,
		.ram_bytes = preferences_ram_part(c) * c->ram_bytes,
		.leave_in_memory = !c->options.quit_when_stopped,
		.backoff_min_s = c->options.backoff.min_s,
		.backoff_most_s = c->options.backoff.max_s };

	if (!c->options.own_buffer && p->has_work_buf_min)
		w.min_s = fmax(
		    DAY_S * limit_to_range(p->work_buf_min_days, 0, DAYS_MOST),
		    BUFFER_LEAST_S);
	if (!c->options.own_buffer && p->has_work_buf_additional)
		w.extra_s = DAY_S *
		            limit_to_range(p->work_buf_additional_days, 0, DAYS_MOST);
	if (p->has_leave_apps)
		w.leave_in_memory &= p->leave_apps_in_memory;
	w.cushion_s = w.min_s;
	if (!c->options.own_buffer)
		w.min_s = fmax(w.min_s, estimate_gap_buffer_s(&c->state->gaps));
	return w;
}
