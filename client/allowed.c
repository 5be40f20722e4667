/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host may do now: run tasks, use its coprocessors, the network and the disk;
 * by the user's preferences and orders.
 */
#include "client/client.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include "lib/clock.h"
#include "lib/fs.h"
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

/* --- hours of the day and of the week in which the user allows something --- */

bool hours_allow(const struct hours *h, double hour)
{
	if (h->start == h->end)
		return true;
	if (h->start < h->end)
		return hour >= h->start && hour < h->end;
	return hour >= h->start || hour < h->end; /* over midnight */
}

/* Is the present time? The hours of a day of the week replace those of every day. */
static bool hours_now(const struct client *c, const struct hours *every_day,
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

/* --- what the host may do --- */

void mode_set(struct client *c, struct mode *m, enum mode_kind kind, double for_s)
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

enum mode_kind mode_now(const struct client *c, const struct mode *m)
{
	return (enum mode_kind)(
	    m->brief_until > (double)c->now ? m->brief : m->lasting);
}

enum { DISK_EVERY_S = 10 };
static const double DAY_S = 86400;

static enum hindrance hindered(const struct client *c, const struct mode *m,
    const struct hours *every_day, const struct hours week[WEEK])
{
	if (orders_all(c, "suspend") || mode_now(c, m) == MODE_NEVER)
		return HINDER_USER;
	if (mode_now(c, m) == MODE_AUTO && !hours_now(c, every_day, week))
		return HINDER_HOURS;
	return HINDER_NOTHING;
}

/* What else goes on in the machine. if_active: tasks may run while it is in use. */
static enum hindrance hindered_here(const struct client *c, bool if_active)
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
static enum hindrance computing_hindered(
    const struct client *c, const struct mode *m, bool if_active)
{
	const struct host_prefs *h = &c->host_prefs;
	struct hours run = { h->start_hour, h->end_hour, true };
	enum hindrance by = hindered(c, m, &run, h->run);

	return by == HINDER_NOTHING && mode_now(c, m) == MODE_AUTO ?
	           hindered_here(c, if_active) :
	           by;
}

static void look_at_disk(struct client *c)
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

/* Has the network carried all that it may? A new period begins with the first look
 * after the last one. */
static bool traffic_spent(struct client *c)
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

static enum hindrance network_hindered(struct client *c)
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

void allowed_update(struct client *c)
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

/* --- the user's orders: the lines of DIR/orders, "WORD" or "WORD NAME" --- */

enum { ORDERS_MAX = 64 << 10 };

static bool has_order(const struct client *c, const char *word, const char *name)
{
	size_t n = strlen(word), k = name == NULL ? 0 : strlen(name);

	for (const char *p = c->orders; *p != '\0';
	     p += strcspn(p, "\n"), p += *p != '\0') {
		size_t line = strcspn(p, "\n");

		if (strncmp(p, word, n) != 0)
			continue;
		if (name == NULL ? line == n :
				   line == n + 1 + k && p[n] == ' ' &&
				       strncmp(p + n + 1, name, k) == 0)
			return true;
	}
	return false;
}

void orders_read(struct client *c)
{
	struct fail f;
	size_t n;

	if (fs_read(&c->scratch, arena_printf(&c->scratch, "%s/orders", c->dir),
		ORDERS_MAX, &c->orders, &n, &f) != OK)
		c->orders = arena_strdup(&c->scratch, "");
	/* A line that was absent in the previous round is a new order, carried out
	 * once. */
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];
		bool wanted = orders_name(c, "update", p->master_url);

		if (wanted == p->update_seen)
			continue;
		p->update_seen = wanted;
		p->rpc.user_request |= wanted;
		c->changed = true;
	}
}

bool orders_all(const struct client *c, const char *word)
{
	return has_order(c, word, NULL);
}

bool orders_name(const struct client *c, const char *word, const char *name)
{
	return has_order(c, word, name);
}

/* --- the times in which it was so ---
 *
 * Measures the fraction of time in which the host is on, and in which tasks may run
 * then (client.md 4.7); the rules plan with it, and requests report it. Also measures
 * the times in which tasks may run but the network must not be used.
 */

static const double EVERY_S = 10, GAP_S = 100;

struct cw_fractions availability_now(const struct client *c)
{
	return c->state->fractions_at > 0 ? c->state->fractions :
	                                    (struct cw_fractions){ 1, 1, 1 };
}

/* Time during which this process ran counts as on, even if an exchange took that long;
 * it is measured by a clock that stands still while the machine sleeps. Short gaps
 * count as on, too. */
void availability_measure(struct client *c)
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

/* --- how much of the disk the projects' files may use --- */

static const double GB = 1e9;

double disk_used_bytes(const struct cproject *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].status == FS_PRESENT)
			sum += p->files[i].output ? p->files[i].size :
			                            p->files[i].info.nbytes;
	return sum;
}

double disk_limit_bytes(
    const struct host_prefs *h, double total, double free, double used)
{
	double most = free + used - fmax(h->disk_min_free_gb, 0) * GB;

	if (h->disk_max_used_gb > 0)
		most = fmin(most, h->disk_max_used_gb * GB);
	if (h->disk_max_used_pct > 0)
		most = fmin(most, h->disk_max_used_pct / 100 * total);
	return fmax(most, 0);
}

struct disk disk_now(const struct client *c)
{
	struct disk d = { 0 };
	struct statvfs v;

	for (size_t i = 0; i < c->state->nprojects; i++)
		d.used += disk_used_bytes(&c->state->projects[i]);
	if (c->dir == NULL || statvfs(c->dir, &v) != 0) {
		d.allowed = INFINITY;
		return d;
	}
	d.total = (double)v.f_blocks * (double)v.f_frsize;
	d.free = (double)v.f_bavail * (double)v.f_frsize;
	d.allowed = disk_limit_bytes(&c->host_prefs, d.total, d.free, d.used);
	return d;
}

/* --- for how much of the time the processors may be used (cpu_usage_limit): programs
 * are stopped by signals for the rest of each period --- */

enum { PERIOD_MS = 4000 };

bool throttle_rests(double percent, int64_t ms)
{
	return percent > 0 && percent < 100 &&
	       (double)(ms % PERIOD_MS) >= PERIOD_MS * percent / 100;
}

static void signal_running(struct client *c, int signal)
{
	for (size_t i = 0; i < c->state->nprojects; i++) {
		const struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++) {
			const struct ctask *t = &p->tasks[k];

			if (t->pid != 0 && !t->paused &&
			    version_resource(c, task_version(p, t)) == CW_CPU &&
			    !task_app(p, t)->non_cpu_intensive)
				kill(-(pid_t)t->pid, signal);
		}
	}
}

void throttle_tasks(struct client *c)
{
	bool rests = throttle_rests(c->host_prefs.cpu_usage_limit, clock_mono_ms());

	if (rests || c->resting)
		signal_running(c, rests ? SIGSTOP : SIGCONT);
	c->resting = rests;
}
