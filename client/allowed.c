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

/* What the user sets to "always" does not depend on the hour. */
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

void
allowed_update(struct client *c)
{
	const struct host_prefs *h = &c->host_prefs;
	struct hours run = { h->start_hour, h->end_hour, true };
	struct hours network = { h->net_start_hour, h->net_end_hour, true };

	look_at_disk(c);
	c->hindered.run = hindered(c, &c->state->run_mode, &run, h->run);
	if (c->hindered.run == HINDER_NOTHING && c->disk_full)
		c->hindered.run = HINDER_DISK;
	c->hindered.gpu = c->hindered.run;
	if (c->hindered.gpu == HINDER_NOTHING)
		c->hindered.gpu = hindered(c, &c->state->gpu_mode, &run, h->run);
	c->hindered.network = hindered(
	    c, &c->state->network_mode, &network, h->network);
}
