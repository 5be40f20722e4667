/* SPDX-License-Identifier: Apache-2.0 */
/* What a host is and how much it may have: the small rules that the others rest on,
 * each by a table (scheduling.md 2.4, 2.8 to 2.10). */
#include "test/unit/unit.h"

#include "model/catalog.h"
#include "rules/sched/decide.h"
#include "rules/sched/version.h"
#include "rules/sched/host.h"
#include "rules/sched/limits.h"
#include "rules/sched/supply.h"
#include "rules/sched/fit.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

/* --- processors --- */

/* processors; percentage and number that the account allows; the project's maximum;
 * usable */
static const struct {
	int32_t has;
	double pct;
	int32_t allowed;
	int64_t most;
	int32_t usable;
} cpus[] = {
	{ 8, 0, 0, 64, 8 },
	{ 8, 50, 0, 64, 4 },
	{ 7, 50, 0, 64, 3 },
	{ 8, 100, 0, 64, 8 },
	{ 8, 150, 0, 64, 8 }, /* never more than the host has */
	{ 8, 0, 0, 6, 6 },
	{ 8, 0, 3, 64, 3 },
	{ 2, 0, 3, 64, 2 },
	{ 8, 25, 3, 64, 2 },
	{ 8, 1, 0, 64, 1 }, /* at least one */
	{ 0, 0, 0, 64, 1 },
};

START_TEST(usable_processors)
{
	struct world *w = world_new("", 0);

	w->req.host.p_ncpus = cpus[_i].has;
	w->req.prefs.max_ncpus_pct = cpus[_i].pct;
	w->snap.project_prefs.max_cpus = cpus[_i].allowed;
	w->conf->max_ncpus = cpus[_i].most;
	ck_assert_int_eq(machine_of(w->conf, &w->req, &w->snap).ncpus, cpus[_i].usable);
	world_free(w);
}
END_TEST

/* processors, max_wus_to_send; candidates worth loading: four per job, at most 256 */
static const struct {
	int32_t ncpus;
	int64_t each;
	size_t need;
} needs[] = { { 1, 1, 4 }, { 2, 3, 24 }, { 8, 8, 256 }, { 64, 8, 256 }, { 1, 0, 256 } };

START_TEST(candidates_needed)
{
	struct world *w = world_new("", HOUR);

	w->req.host.p_ncpus = needs[_i].ncpus;
	w->conf->max_wus_to_send = needs[_i].each;
	ck_assert_uint_eq(supply_need(w->conf, &w->req, &w->snap), needs[_i].need);
	world_free(w);
}
END_TEST

/* seconds wanted; seconds since the last request, -1 = this is the first; interval;
 * reason */
static const struct {
	double secs;
	int64_t ago, interval;
	enum reason why;
} gates[] = {
	{ HOUR, -1, 60, WHY_NO_WORK }, { HOUR, 59, 60, WHY_RPC_TOO_SOON },
	{ HOUR, 60, 60, WHY_NO_WORK }, { HOUR, 59, 0, WHY_NO_WORK },
	{ 0, 59, 60, WHY_NONE }, /* a report is never too soon */
};

START_TEST(too_soon_for_work)
{
	struct world *w = world_new("", gates[_i].secs);

	w->conf->min_sendwork_interval = gates[_i].interval;
	w->snap.last_rpc_time = gates[_i].ago < 0 ? 0 : WORLD_NOW - gates[_i].ago;
	ck_assert_int_eq(world_decide(w)->why, gates[_i].why);
	world_free(w);
}
END_TEST

/* whether the account's other hosts have the most jobs allowed; seconds wanted; jobs
 * sent, reason for no job */
static const struct {
	bool full;
	double secs;
	size_t sends;
	enum reason why;
} fulls[] = {
	{ false, HOUR, 1, WHY_NONE }, { true, HOUR, 0, WHY_ACCOUNT_LIMIT },
	{ true, 0, 0, WHY_NONE }, /* a report is always accepted */
};

START_TEST(account_with_work_enough)
{
	struct world *w = world_new("", fulls[_i].secs);
	struct decision *d;

	world_plain(w, "1/1");
	w->conf->max_hosts_with_work_per_account = 7;
	w->snap.account_full = fulls[_i].full;
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, fulls[_i].sends);
	ck_assert_int_eq(d->why, fulls[_i].why);
	if (fulls[_i].why != WHY_NONE) {
		ck_assert(d->messages[0].notice);
		ck_assert_str_eq(d->messages[0].text,
		    "No tasks sent: the account has reached its limit of computers "
		    "with tasks in progress; it is 7");
	}
	world_free(w);
}
END_TEST

/* --- classes --- */

/* the app's type, the project's type */
static const struct {
	int32_t app;
	int64_t project;
	enum hr_type type;
} types[] = {
	{ 0, 0, HR_NONE },
	{ 1, 0, HR_FINE },
	{ 2, 0, HR_COARSE },
	{ 0, 1, HR_FINE },
	{ 0, 2, HR_COARSE },
	{ 1, 2, HR_FINE },
	{ 2, 1, HR_COARSE },
	{ 3, 1, HR_NONE }, /* the app's type, even an unknown one, takes precedence */
	{ 0, 7, HR_NONE },
};

START_TEST(type_of_redundancy)
{
	struct conf cf = { .homogeneous_redundancy = types[_i].project };
	struct app app = { .homogeneous_redundancy = types[_i].app };

	ck_assert_int_eq(hr_type_of(&cf, &app), types[_i].type);
}
END_TEST

static const struct {
	const char *os, *vendor;
	bool usual;
} systems[] = {
	{ "Microsoft Windows 11", "AuthenticAMD", true },
	{ "Linux Debian", "ARM", true },
	{ "Darwin", "GenuineIntel", true },
	{ "Darwin", "Apple", false },
	{ "Darwin", NULL, false },
	{ "FreeBSD", "GenuineIntel", false },
	{ "Android", "ARM", false },
	{ NULL, "GenuineIntel", false },
};

START_TEST(usual_hosts)
{
	ck_assert(hr_usual(systems[_i].os, systems[_i].vendor) == systems[_i].usual);
}
END_TEST

/* --- daily quota --- */

/* option; is there a row, its quota, jobs of today; processors; room;
 * new_host_daily_quota */
static const struct {
	int64_t quota;
	bool row;
	int32_t most, today;
	double processors;
	int32_t room;
	int64_t new_host;
} rooms[] = {
	{ 0, true, 5, 9, 1, INT32_MAX, 0 },
	{ 8, false, 0, 0, 1, 8, 0 },
	{ 8, false, 0, 0, 4, 32, 0 },
	{ 8, true, 8, 3, 1, 5, 0 },
	{ 8, true, 8, 3, 2, 13, 0 },
	{ 8, true, 0, 3, 1, 5, 0 },  /* a row from before the quota existed */
	{ 8, true, 12, 3, 1, 9, 0 }, /* earned beyond the option */
	{ 8, true, 1, 0, 16, 1, 0 }, /* a quota of 1 is for the whole host */
	{ 8, true, 2, 0, 16, 32, 0 },
	{ 8, true, 8, 8, 1, 0, 0 },
	{ 8, true, 8, 9, 1, 0, 0 },
	{ 8, true, 8, 0, 0.01, 1, 0 }, /* at least one */
	{ 8, true, 3, 0, 1.5, 4, 0 },
	{ 8, true, INT32_MAX, 0, 4, INT32_MAX, 0 },
	{ 8, false, 0, 0, 4, 12, 3 }, /* a new host begins below the quota */
	{ 8, false, 0, 0, 4, 32, 9 }, /* never above it */
	{ 8, false, 0, 0, 16, 1, 1 },
	{ 8, true, 0, 3, 1, 5, 3 }, /* a host that was reset is not new */
	{ 0, false, 0, 0, 1, INT32_MAX, 3 },
};

START_TEST(room_of_the_day)
{
	struct conf cf = { .daily_result_quota = rooms[_i].quota,
		.new_host_daily_quota = rooms[_i].new_host };
	struct host_app_version v = { .max_jobs_per_day = rooms[_i].most,
		.n_jobs_today = rooms[_i].today };

	ck_assert_int_eq(
	    quota_room(&cf, rooms[_i].row ? &v : NULL, rooms[_i].processors),
	    rooms[_i].room);
}
END_TEST

/* consecutive valid results; quota out of 8; samples and mean of the turnaround in s;
 * the maximum allowed in s; a usual host; reliable */
static const struct {
	int32_t valid, quota;
	double n, mean;
	int64_t most;
	bool usual, reliable;
} hosts[] = {
	{ 10, 8, 0, 0, 0, true, true },
	{ 9, 8, 0, 0, 0, true, false },
	{ 10, 7, 0, 0, 0, true, false },
	{ 10, 9, 0, 0, 0, true, true },
	{ 10, 0, 0, 0, 0, true, true }, /* reset: the whole quota */
	{ 10, 8, 11, 100, 100, true, true },
	{ 10, 8, 11, 101, 100, true, false },
	{ 10, 8, 10, 101, 100, true, true }, /* too few samples */
	{ 10, 8, 11, 101, 0, true, true },   /* no limit */
	{ 10, 8, 11, 180, 100, false, true },
	{ 10, 8, 11, 181, 100, false, false },
};

START_TEST(reliable_hosts)
{
	struct conf cf = { .daily_result_quota = 8,
		.reliable_max_avg_turnaround = hosts[_i].most };
	struct host_app_version v = { .consecutive_valid = hosts[_i].valid,
		.max_jobs_per_day = hosts[_i].quota,
		.turnaround_n = hosts[_i].n,
		.turnaround_avg = hosts[_i].mean };

	ck_assert(quota_reliable(&cf, &v, hosts[_i].usual) == hosts[_i].reliable);
	ck_assert(!quota_reliable(&cf, NULL, hosts[_i].usual));
}
END_TEST

/* --- results of a job whose host is not trusted --- */

static const struct {
	int32_t of_app, most_of_job, results;
} copies[] = { { 2, 5, 2 }, { 3, 2, 2 }, { 2, 2, 2 }, { 0, 3, 0 } };

START_TEST(results_without_trust)
{
	struct app app = { .target_nresults = copies[_i].of_app };
	struct job j = { .max_success_results = copies[_i].most_of_job };

	ck_assert_int_eq(trust_results(&app, &j), copies[_i].results);
}
END_TEST

/* --- the description stored in the host's row --- */

static const struct {
	const char *type, *name, *opencl;
	int32_t driver;
	double ram;
	const char *text;
} devices[] = {
	{ "NVIDIA", "RTX", "OpenCL 3.0 CUDA", 53554, 10737418240.0,
	    "{\"type\":\"nvidia\",\"model\":\"RTX\",\"count\":1,\"ram_mb\":10240,"
	    "\"driver_version\":\"535.54\",\"opencl_version\":\"300\"}" },
	{ "ATI", "HD", "", 10041607, 0,
	    "{\"type\":\"amd\",\"model\":\"HD\",\"count\":1,"
	    "\"driver_version\":\"1.4.1607\"}" },
	{ "intel_gpu", "Arc", "OpenCL 1.2", 0, 0,
	    "{\"type\":\"intel\",\"model\":\"Arc\",\"count\":1,"
	    "\"opencl_version\":\"102\"}" },
	{ "apple_gpu", "M2", "none", 0, 0,
	    "{\"type\":\"apple\",\"model\":\"M2\",\"count\":1}" },
	{ "SPE", "", "", -1, 0, "{\"type\":\"SPE\",\"model\":\"SPE\",\"count\":1}" },
};

START_TEST(devices_described)
{
	struct world *w = world_new("", 0);
	struct rq_resource r[2] = { w->req.resources[0],
		{ .type = arena_strdup(&w->a, devices[_i].type),
		    .name = arena_strdup(&w->a, devices[_i].name),
		    .opencl_version = arena_strdup(&w->a, devices[_i].opencl),
		    .driver_version = devices[_i].driver,
		    .total_ram = devices[_i].ram,
		    .count = 1 } };

	w->req.resources = r;
	w->req.nresources = 2;
	ck_assert_str_eq(host_misc(&w->a, &w->req),
	    arena_printf(&w->a, "{\"client_version\":\"0.0.0\",\"gpus\":[%s]}",
		devices[_i].text));
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_host", {
	ADD_LOOP(usable_processors, N(cpus));
	ADD_LOOP(candidates_needed, N(needs));
	ADD_LOOP(too_soon_for_work, N(gates));
	ADD_LOOP(account_with_work_enough, N(fulls));
	ADD_LOOP(type_of_redundancy, N(types));
	ADD_LOOP(usual_hosts, N(systems));
	ADD_LOOP(room_of_the_day, N(rooms));
	ADD_LOOP(reliable_hosts, N(hosts));
	ADD_LOOP(results_without_trust, N(copies));
	ADD_LOOP(devices_described, N(devices));
})
