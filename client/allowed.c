/* SPDX-License-Identifier: Apache-2.0 */
/* What the host may do now: run tasks, use its coprocessors, use the network. */
#include "client/client.h"

#include "lib/log.h"
#include "lib/banned.h"

const char *const hindrance_words[] = {
#define HINDRANCE(name, bit, words) [HINDER_##name] = words,
#include "client/hindrances.def"
#undef HINDRANCE
};

const int32_t hindrance_numbers[] = {
#define HINDRANCE(name, number, words) [HINDER_##name] = number,
#include "client/hindrances.def"
#undef HINDRANCE
};

void
mode_set(struct client *c, struct mode *m, enum mode_kind kind, double for_s)
{
	if (for_s > 0) {
		m->brief = (int32_t)kind;
		m->brief_until = (double)c->now + for_s;
	} else {
		m->lasting = (int32_t)kind;
		m->brief_until = 0;
	}
	c->changed = true;
}

enum mode_kind
mode_now(const struct client *c, const struct mode *m)
{
	return (enum mode_kind)(
	    m->brief_until > (double)c->now ? m->brief : m->lasting);
}

enum { DISK_EVERY_S = 10 };
static const double DAY_S = 86400;

static enum hindrance
hindered(const struct client *c, const struct mode *m, const struct hours *every_day,
    const struct hours week[WEEK])
{
	if (orders_all(c, "suspend") || mode_now(c, m) == MODE_NEVER)
		return HINDER_USER;
	if (mode_now(c, m) == MODE_AUTO && !hours_now(c, every_day, week))
		return HINDER_HOURS;
	return HINDER_NOTHING;
}

/* What else goes on in the machine.  if_active: tasks may run while it is in use. */
static enum hindrance
hindered_here(const struct client *c, bool if_active)
{
	const struct host_prefs *h = &c->host_prefs;

	if (c->machine.on_batteries)
		return HINDER_BATTERIES;
	if (!if_active && c->machine.in_use)
		return HINDER_ACTIVE;
	if (h->suspend_cpu_usage > 0 && c->machine.busy_pct > h->suspend_cpu_usage)
		return HINDER_BUSY;
	return HINDER_NOTHING;
}

/* What the user sets to "always" depends neither on the hour nor on the machine. */
static enum hindrance
computing_hindered(const struct client *c, const struct mode *m, bool if_active)
{
	const struct host_prefs *h = &c->host_prefs;
	struct hours run = { h->start_hour, h->end_hour, true };
	enum hindrance by = hindered(c, m, &run, h->run);

	return by == HINDER_NOTHING && mode_now(c, m) == MODE_AUTO ?
	           hindered_here(c, if_active) :
	           by;
}

static void
look_at_disk(struct client *c)
{
	struct disk d;
	bool full;

	if (c->now >= c->disk_seen_at && c->now < c->disk_seen_at + DISK_EVERY_S &&
	    c->disk_prefs == c->prefs_changes)
		return;
	c->disk_seen_at = c->now;
	c->disk_prefs = c->prefs_changes;
	d = disk_now(c);
	full = d.used > d.allowed;
	if (full && !c->disk_full)
		log_warn(
		    "the projects' files use %.0f MB of the disk, more than the %.0f MB that the preferences allow",
		    d.used / 1e6, d.allowed / 1e6);
	c->disk_full = full;
}

/* Has the network carried all that it may?  A new period begins with the first look
 * after the last one. */
static bool
traffic_spent(struct client *c)
{
	struct state *st = c->state;
	const struct host_prefs *h = &c->host_prefs;
	double period = DAY_S * h->daily_xfer_period_days, now = (double)c->now;
	double bytes = c->net == NULL ? 0 : net_bytes(c->net);
	double moved = bytes - c->net_bytes;

	c->net_bytes = bytes;
	if (!(h->daily_xfer_limit_mb > 0) || period <= 0)
		return false;
	if (now >= st->traffic_since + period) {
		st->traffic_since = now;
		st->traffic_bytes = 0;
	}
	st->traffic_bytes += moved;
	c->accounts_changed |= moved > 0;
	return st->traffic_bytes >= 1e6 * h->daily_xfer_limit_mb;
}

static enum hindrance
network_hindered(struct client *c)
{
	const struct host_prefs *h = &c->host_prefs;
	const struct mode *m = &c->state->network_mode;
	struct hours network = { h->net_start_hour, h->net_end_hour, true };
	enum hindrance by = hindered(c, m, &network, h->network);
	bool spent = traffic_spent(c);

	return by == HINDER_NOTHING && mode_now(c, m) == MODE_AUTO && spent ?
	           HINDER_TRAFFIC :
	           by;
}

void
allowed_update(struct client *c)
{
	const struct host_prefs *h = &c->host_prefs;

	look_at_disk(c);
	machine_look(c);
	c->hindered.run = computing_hindered(
	    c, &c->state->run_mode, h->run_if_user_active);
	if (c->hindered.run == HINDER_NOTHING && c->disk_full)
		c->hindered.run = HINDER_DISK;
	c->hindered.gpu = c->hindered.run;
	if (c->hindered.gpu == HINDER_NOTHING)
		c->hindered.gpu = computing_hindered(
		    c, &c->state->gpu_mode, h->run_gpu_if_user_active);
	c->hindered.network = network_hindered(c);
}
