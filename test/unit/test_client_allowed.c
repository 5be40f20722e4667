/* SPDX-License-Identifier: Apache-2.0 */
/* What the user's preferences allow: hours, disk, a part of the time. */
#include "test/unit/client_host.h"

#include <math.h>
#include <time.h>
#include "lib/log.h"
#include "lib/banned.h"

static const struct {
	double start, end, hour;
	bool allowed;
} hours[] = {
	{ 0, 0, 5, true },
	{ 7, 7, 5, true },
	{ 8, 17, 8, true },
	{ 8, 17, 16.99, true },
	{ 8, 17, 17, false },
	{ 8, 17, 7.99, false },
	{ 22, 6, 23, true },
	{ 22, 6, 5.5, true },
	{ 22, 6, 6, false },
	{ 22, 6, 21.9, false },
	{ 0, 24, 23.99, true },
	{ 8.5, 9, 8.4, false },
	{ 8.5, 9, 8.6, true },
};

START_TEST(hours_by_table)
{
	struct hours h = { hours[_i].start, hours[_i].end, true };

	ck_assert(hours_allow(&h, hours[_i].hour) == hours[_i].allowed);
}
END_TEST

static const struct {
	double used_gb, used_pct, min_free_gb, want; /* of 100 GB, 40 free, 10 used */
} disks[] = {
	{ 0, 0, 0, 50e9 },
	{ 0, 0, 1, 49e9 },
	{ 5, 0, 1, 5e9 },
	{ 200, 0, 1, 49e9 },
	{ 0, 20, 0, 20e9 },
	{ 30, 20, 0, 20e9 },
	{ 0, 0, 60, 0 },
	{ 0, 0, -5, 50e9 },
};

START_TEST(disk_by_table)
{
	struct host_prefs h = { .disk_max_used_gb = disks[_i].used_gb,
		.disk_max_used_pct = disks[_i].used_pct,
		.disk_min_free_gb = disks[_i].min_free_gb };

	ck_assert_double_eq(disk_limit_bytes(&h, 100e9, 40e9, 10e9), disks[_i].want);
}
END_TEST

/* Over any period of four seconds programs rest for the rest of the percentage. */
START_TEST(rests)
{
	static const double percents[] = { 1, 25, 40, 99.9 };

	for (size_t i = 0; i < N(percents); i++) {
		int64_t n = 0;

		for (int64_t ms = 777; ms < 4777; ms++)
			n += throttle_rests(percents[i], ms);
		ck_assert_double_eq_tol((double)n, 40 * (100 - percents[i]), 1);
	}
	for (int64_t ms = 0; ms < 4000; ms++)
		ck_assert(!throttle_rests(100, ms) && !throttle_rests(0, ms) &&
			  !throttle_rests(-1, ms) && !throttle_rests(NAN, ms));
}
END_TEST

static void
prefer(struct client *c, const char *inside)
{
	const char *text = arena_printf(
	    &c->scratch, "<global_preferences>%s</global_preferences>", inside);

	ck_assert_int_eq(
	    fs_write(preferences_override_path(c), text, strlen(text), 0644, &c->fail),
	    OK);
	preferences_read(c);
	allowed_update(c);
}

static const char *
hours_but_now(struct client *c, const char *prefix)
{
	time_t t = (time_t)c->now;
	struct tm tm;

	localtime_r(&t, &tm);
	return arena_printf(&c->scratch,
	    "<%sstart_hour>%d</%sstart_hour><%send_hour>%d</%send_hour>", prefix,
	    (tm.tm_hour + 2) % 24, prefix, prefix, (tm.tm_hour + 3) % 24, prefix);
}

/* The host's own file replaces the account's values one by one; modes override hours,
 * but not the disk. */
START_TEST(hindrances)
{
	struct client *c = unit_host();

	c->state->preferences = arena_strdup(&c->keep,
	    "<cpu_usage_limit>30</cpu_usage_limit><disk_interval>20</disk_interval>");
	prefer(
	    c, "<disk_interval>10</disk_interval><cpu_usage_limit>x</cpu_usage_limit>");
	ck_assert_double_eq(c->host_prefs.disk_interval, 10);
	ck_assert_uint_eq(c->prefs_changes, 1);
	preferences_read(c); /* nothing new */
	ck_assert_uint_eq(c->prefs_changes, 1);
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	prefer(c, hours_but_now(c, ""));
	ck_assert_double_eq(c->host_prefs.disk_interval, 20);
	ck_assert_double_eq(c->host_prefs.cpu_usage_limit, 30);
	ck_assert_int_eq(c->hindered.run, HINDER_HOURS);
	ck_assert_int_eq(c->hindered.gpu, HINDER_HOURS);
	ck_assert_int_eq(c->hindered.network, HINDER_NOTHING);
	mode_set(c, &c->state->run_mode, MODE_ALWAYS, 0);
	allowed_update(c);
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	prefer(c, hours_but_now(c, "net_"));
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	ck_assert_int_eq(c->hindered.network, HINDER_HOURS);
	prefer(c, "<disk_max_used_gb>1e-9</disk_max_used_gb>");
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING); /* nothing is used yet */
	c->state->projects->files = NEWN(&c->keep, struct cfile, 1);
	c->state->projects->nfiles = 1;
	c->state->projects->files[0].status = FS_PRESENT;
	c->state->projects->files[0].info.nbytes = 1000;
	c->now += 11;
	allowed_update(c);
	ck_assert_int_eq(c->hindered.run, HINDER_DISK);
	ck_assert_int_eq(unlink(preferences_override_path(c)), 0);
	preferences_read(c);
	allowed_update(c);
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	ck_assert_int_eq(c->hindered.network, HINDER_NOTHING);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client_allowed", {
	log_open("test_client_allowed", NULL, LOG_ERR);
	ADD_LOOP(hours_by_table, N(hours));
	ADD_LOOP(disk_by_table, N(disks));
	ADD(rests);
	ADD(hindrances);
})
