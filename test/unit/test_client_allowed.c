/* SPDX-License-Identifier: Apache-2.0 */
/* What the user's preferences allow: hours, disk, a part of the time. */
#include "test/unit/client_host.h"

#include <math.h>
#include <sys/stat.h>
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

static void prefer(struct client *c, const char *inside)
{
	const char *text = arena_printf(
	    &c->scratch, "<global_preferences>%s</global_preferences>", inside);

	ck_assert_int_eq(
	    fs_write(preferences_override_path(c), text, strlen(text), 0644, &c->fail),
	    OK);
	preferences_read(c);
	allowed_update(c);
}

static const char *hours_but_now(struct client *c, const char *prefix)
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

/* --- what else goes on in the machine --- */

static void put(struct client *c, const char *path, const char *text)
{
	char *whole = arena_printf(&c->scratch, "%s/%s", c->root, path);
	char *dir = arena_strdup(&c->scratch, whole);

	*strrchr(dir, '/') = '\0';
	ck_assert_int_eq(fs_mkdirs(dir, 0755, &c->fail), OK);
	ck_assert_int_eq(fs_write(whole, text, strlen(text), 0644, &c->fail), OK);
}

static enum hindrance look_after(struct client *c, int64_t s)
{
	c->now += s;
	allowed_update(c);
	return c->hindered.run;
}

static const struct {
	const char *what, *type[2], *says[2], *scope[2];
	bool batteries;
} supplies[] = {
	{ "no battery", { "Mains", "USB" }, { "1", "0" }, { NULL, NULL }, false },
	{ "battery", { "Mains", "Battery" }, { "0", "Discharging" }, { NULL, NULL },
	    true },
	{ "full", { "Mains", "Battery" }, { "1", "Full" }, { NULL, NULL }, false },
	{ "weak adapter", { "Mains", "Battery" }, { "1", "Discharging" },
	    { NULL, NULL }, false },
	{ "by USB", { "Battery", "USB" }, { "Discharging", "1" }, { NULL, NULL },
	    false },
	{ "a mouse", { "Mains", "Battery" }, { "0", "Discharging" }, { NULL, "Device" },
	    false },
	{ "two", { "Battery", "Battery" }, { "Full", "Discharging" }, { NULL, NULL },
	    true },
};

START_TEST(batteries_by_table)
{
	struct client *c = unit_host();

	for (int i = 0; i < 2; i++) {
		bool battery = strcmp(supplies[_i].type[i], "Battery") == 0;
		const char *dir = arena_printf(
		    &c->scratch, "sys/class/power_supply/S%d", i);

		put(c, arena_printf(&c->scratch, "%s/type", dir),
		    arena_printf(&c->scratch, "%s\n", supplies[_i].type[i]));
		put(c,
		    arena_printf(
			&c->scratch, "%s/%s", dir, battery ? "status" : "online"),
		    arena_printf(&c->scratch, "%s\n", supplies[_i].says[i]));
		if (supplies[_i].scope[i] != NULL)
			put(c, arena_printf(&c->scratch, "%s/scope", dir),
			    supplies[_i].scope[i]);
	}
	prefer(c, "");
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	prefer(c, "<run_on_batteries>0</run_on_batteries>");
	ck_assert_msg(c->hindered.run ==
			  (supplies[_i].batteries ? HINDER_BATTERIES : HINDER_NOTHING),
	    "%s", supplies[_i].what);
	ck_assert_int_eq(c->hindered.gpu, c->hindered.run);
	mode_set(c, &c->state->run_mode, MODE_ALWAYS, 0);
	ck_assert_int_eq(look_after(c, 0), HINDER_NOTHING);
	unit_host_end(c);
}
END_TEST

static void typed(struct client *c, const char *terminal, int64_t ago)
{
	struct timespec t[2] = { { .tv_sec = c->now - ago },
		{ .tv_nsec = UTIME_OMIT } };

	put(c, terminal, "");
	ck_assert_int_eq(
	    utimensat(
		AT_FDCWD, arena_printf(&c->scratch, "%s/%s", c->root, terminal), t, 0),
	    0);
}

/* Whether somebody works with the machine decides on tasks, tasks for coprocessors, and
 * the memory. */
START_TEST(users)
{
	struct client *c = unit_host();
	const char *not_beside = "<run_if_user_active>0</run_if_user_active>"
				 "<idle_time_to_run>5</idle_time_to_run>";

	c->ram_bytes = 100;
	c->options.ram_part = .7;
	typed(c, "dev/pts/3", 301);
	typed(c, "dev/pts/ptmx", 0);
	typed(c, "dev/tty2", 400);
	typed(c, "dev/tty", 0);
	typed(c, "dev/ttyprintk", 0);
	prefer(c, not_beside);
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	typed(c, "dev/tty2", 250);
	ck_assert_int_eq(look_after(c, 9), HINDER_NOTHING); /* not looked at yet */
	ck_assert_int_eq(look_after(c, 1), HINDER_ACTIVE);
	ck_assert_int_eq(c->hindered.gpu, HINDER_ACTIVE);
	typed(c, "dev/pts/3", 0);
	ck_assert_int_eq(look_after(c, 290), HINDER_ACTIVE);
	ck_assert_int_eq(look_after(c, 10), HINDER_NOTHING);
	typed(c, "dev/pts/3", 0);
	prefer(c, "<run_gpu_if_user_active>0</run_gpu_if_user_active>"
		  "<ram_max_used_busy_pct>20</ram_max_used_busy_pct>"
		  "<ram_max_used_idle_pct>60</ram_max_used_idle_pct>");
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	ck_assert_int_eq(c->hindered.gpu, HINDER_ACTIVE);
	ck_assert_double_eq(preferences_now(c).ram_bytes, 20);
	look_after(c, 180);
	ck_assert_int_eq(c->hindered.gpu, HINDER_NOTHING);
	ck_assert_double_eq(preferences_now(c).ram_bytes, 60);
	prefer(c, "");
	ck_assert_double_eq(preferences_now(c).ram_bytes, 70);
	unit_host_end(c);
}
END_TEST

/* Seconds that the processors worked, and that processes of two groups did. */
static void load(
    struct client *c, double worked, double task, double child, double other)
{
	double hz = (double)sysconf(_SC_CLK_TCK);
	const double used[] = { task, child, other };
	const int pid[] = { 501, 502, 600 }, group[] = { 501, 501, 600 };

	put(c, "proc/stat",
	    arena_printf(
		&c->scratch, "cpu  %.0f 0 0 777777 555555 0 0 0 0 0\n", worked * hz));
	for (int i = 0; i < 3; i++)
		put(c, arena_printf(&c->scratch, "proc/%d/stat", pid[i]),
		    arena_printf(&c->scratch,
			"%d (a (b) c) R 1 %d 1 0 -1 0 0 0 0 0 %.0f 0 0 0 20 0 1 0 5 100 1 0\n",
			pid[i], group[i], used[i] * hz));
}

/* The tasks' own time does not count, nor that of their children; a single look does
 * not either. */
START_TEST(other_programs)
{
	struct client *c = unit_host();
	double n = (double)sysconf(_SC_NPROCESSORS_ONLN), s = 10 * n; /* all of 10 s */
	struct cproject *p = c->state->projects;

	p->tasks = NEWN(&c->keep, struct ctask, 1);
	p->ntasks = 1;
	p->tasks[0].pid = 501;
	p->tasks[0].ready = true;
	prefer(c, "<suspend_cpu_usage>30</suspend_cpu_usage>");
	load(c, 0, 0, 0, 0);
	ck_assert_int_eq(look_after(c, 10), HINDER_NOTHING);
	load(c, s, .3 * s, .5 * s, .2 * s);
	ck_assert_int_eq(look_after(c, 10), HINDER_NOTHING);
	load(c, 2 * s, .6 * s, s, .4 * s);
	ck_assert_int_eq(look_after(c, 10), HINDER_NOTHING);
	ck_assert_double_eq_tol(c->machine.busy_pct, 20, .5);
	load(c, 3 * s, .9 * s, 1.2 * s, .9 * s);
	ck_assert_int_eq(look_after(c, 10), HINDER_NOTHING);
	load(c, 4 * s, 1.2 * s, 1.4 * s, 1.4 * s);
	ck_assert_int_eq(look_after(c, 10), HINDER_BUSY);
	ck_assert_double_eq_tol(c->machine.busy_pct, 50, .5);
	load(c, 5 * s, 1.2 * s, 1.4 * s, 2.4 * s);
	ck_assert_int_eq(look_after(c, 10), HINDER_BUSY);
	load(c, 5.1 * s, 1.2 * s, 1.4 * s, 2.5 * s);
	ck_assert_int_eq(look_after(c, 10), HINDER_NOTHING);
	load(c, 7 * s, 1.2 * s, 1.4 * s, 4 * s);
	ck_assert_int_eq(look_after(c, 3600), HINDER_NOTHING); /* the machine slept */
	p->ntasks = 0;
	unit_host_end(c);
}
END_TEST

/* Two days, 3 MB. */
START_TEST(traffic)
{
	struct client *c = unit_host();
	const char *limits = "<daily_xfer_limit_mb>3</daily_xfer_limit_mb>"
			     "<daily_xfer_period_days>2</daily_xfer_period_days>";

	c->state->traffic_bytes = 5e6; /* of a time before the limit was set */
	prefer(c, limits);
	ck_assert_int_eq(c->hindered.network, HINDER_NOTHING);
	c->state->traffic_bytes = 3e6 - 1;
	look_after(c, 86400);
	ck_assert_int_eq(c->hindered.network, HINDER_NOTHING);
	c->state->traffic_bytes = 3e6;
	look_after(c, 86399);
	ck_assert_int_eq(c->hindered.network, HINDER_TRAFFIC);
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	mode_set(c, &c->state->network_mode, MODE_ALWAYS, 0);
	look_after(c, 0);
	ck_assert_int_eq(c->hindered.network, HINDER_NOTHING);
	mode_set(c, &c->state->network_mode, MODE_AUTO, 0);
	look_after(c, 1);
	ck_assert_int_eq(c->hindered.network, HINDER_NOTHING);
	ck_assert_double_eq(c->state->traffic_bytes, 0);
	prefer(c, "<daily_xfer_limit_mb>3</daily_xfer_limit_mb>"
		  "<daily_xfer_period_days>100000</daily_xfer_period_days>");
	c->state->traffic_bytes = 3e6;
	look_after(c, 86400 * 1000);
	ck_assert_int_eq(c->hindered.network, HINDER_TRAFFIC);
	c->state->traffic_bytes = 9e9;
	prefer(c, "<daily_xfer_limit_mb>3</daily_xfer_limit_mb>");
	ck_assert_int_eq(c->hindered.network, HINDER_NOTHING);
	unit_host_end(c);
}
END_TEST

static const struct {
	double ncpus, percent;
	bool own;
	double want;
} processors[] = {
	{ 8, 0, false, 8 },
	{ 8, 100, false, 8 },
	{ 8, 200, false, 8 },
	{ 8, 50, false, 4 },
	{ 8, 99, false, 7 },
	{ 8, 12.5, false, 1 },
	{ 8, 1, false, 1 },
	{ 8, -5, false, 8 },
	{ 8, 50, true, 8 },
	{ .5, 50, false, .5 },
	{ 10, 70, false, 7 },
};

START_TEST(processors_by_table)
{
	struct client *c = unit_host();
	struct view v;

	c->options.ncpus = processors[_i].ncpus;
	c->options.own_ncpus = processors[_i].own;
	prefer(c, arena_printf(&c->scratch, "<max_ncpus_pct>%g</max_ncpus_pct>",
		      processors[_i].percent));
	ck_assert_double_eq(preferences_ncpus(c), processors[_i].want);
	view_load(c, &v);
	ck_assert_double_eq(v.world.rsc[CW_CPU].ninst, processors[_i].want);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client_allowed", {
	log_open("test_client_allowed", NULL, LOG_ERR);
	ADD_LOOP(hours_by_table, N(hours));
	ADD_LOOP(disk_by_table, N(disks));
	ADD(rests);
	ADD(hindrances);
	ADD_LOOP(batteries_by_table, N(supplies));
	ADD(users);
	ADD(other_programs);
	ADD(traffic);
	ADD_LOOP(processors_by_table, N(processors));
})
