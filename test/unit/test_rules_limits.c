/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of hosts, and limits: per request, per day, in progress (scheduling.md 2.8
 * to 2.10). */
#include "test/unit/unit.h"

#include "proto/template_check.h"
#include "rules/sched/decide.h"
#include "rules/sched/version.h"
#include "rules/sched/host.h"
#include "rules/sched/limits.h"
#include "rules/sched/supply.h"
#include "rules/sched/fit.h"
#include "model/rows.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

/* --- classes of hosts --- */

static const struct {
	enum hr_type type;
	const char *os, *vendor, *model;
	int32_t class;
} classes[] = {
	{ HR_FINE, "Linux Debian", "GenuineIntel",
	    "Intel(R) Xeon(R) Processor [Family 6 Model 143 Stepping 8]", 256 + 11 },
	{ HR_FINE, "Microsoft Windows 11", "GenuineIntel",
	    "Intel(R) Core(TM) i7-8700 CPU [Family 6 Model 158 Stepping 10]",
	    128 + 13 },
	{ HR_FINE, "Microsoft Windows XP", "GenuineIntel", "Intel(R) Core(TM)2 Duo CPU",
	    128 + 12 },
	{ HR_FINE, "Linux", "AuthenticAMD", "AMD Ryzen 9 5950X", 256 + 30 },
	{ HR_FINE, "Darwin", "Apple", "Apple M1", 384 + 50 },
	{ HR_FINE, "Android", "ARM", "ARMv8 Cortex-A76", 512 + 51 },
	{ HR_COARSE, "linux", "authenticamd", "whatever", 256 + 1 },
	{ HR_COARSE, "Linux", "GenuineIntel", NULL, 256 + 1 },
	{ HR_COARSE, "SunOS", "PowerPC", "", 768 + 3 },
	{ HR_FINE, "Linux", "GenuineIntel", "", 0 },
	{ HR_COARSE, "", "GenuineIntel", "", 0 },
	{ HR_COARSE, NULL, NULL, NULL, 0 },
	/* databases contain these numbers: each name once */
	{ HR_COARSE, "FreeBSD", "IBM", "", 640 + 3 },
	{ HR_COARSE, "Linux", "Apple", "", 256 + 2 },
	{ HR_FINE, "Linux", "GenuineIntel", "Xeon Phi", 256 + 10 },
	{ HR_FINE, "Linux", "GenuineIntel", "Atom", 256 + 14 },
	{ HR_FINE, "Linux", "GenuineIntel", "Celeron", 256 + 15 },
	{ HR_FINE, "Linux", "GenuineIntel", "Pentium(R) 4", 256 + 16 },
	{ HR_FINE, "Linux", "GenuineIntel", "Pentium(R) M", 256 + 17 },
	{ HR_FINE, "Linux", "GenuineIntel", "Pentium III", 256 + 18 },
	{ HR_FINE, "Linux", "AuthenticAMD", "EPYC", 256 + 31 },
	{ HR_FINE, "Linux", "AuthenticAMD", "Opteron", 256 + 32 },
	{ HR_FINE, "Linux", "AuthenticAMD", "Phenom", 256 + 33 },
	{ HR_FINE, "Linux", "AuthenticAMD", "AMD FX", 256 + 34 },
	{ HR_FINE, "Linux", "AuthenticAMD", "Athlon(tm) 64", 256 + 35 },
	{ HR_FINE, "Linux", "AuthenticAMD", "Athlon", 256 + 36 },
	{ HR_FINE, "Linux", "AuthenticAMD", "Sempron", 256 + 37 },
	{ HR_FINE, "Linux", "AuthenticAMD", "Turion", 256 + 38 },
	{ HR_FINE, "Linux", "ARM", "", 256 + 52 },
	{ HR_FINE, "Linux", "PowerPC", "G5", 256 + 60 },
	{ HR_FINE, "Linux", "IBM", "POWER9", 256 + 61 },
};

START_TEST(class_of_host)
{
	ck_assert_int_eq(hr_class_of(classes[_i].type, classes[_i].os,
			     classes[_i].vendor, classes[_i].model),
	    classes[_i].class);
}
END_TEST

/* A new job binds its workunit; a second job of the workunit in the same reply gets the
 * same binding. */
START_TEST(what_a_job_binds)
{
	struct world *w = world_new("", HOUR * 2);
	struct app app = w->snap.cat->apps[0];
	struct catalog cat = *w->snap.cat;
	struct decision *d;

	cat.apps = &app;
	w->snap.cat = &cat;
	w->req.host.os_name = arena_strdup(&w->a, "Linux");
	w->req.host.p_vendor = arena_strdup(&w->a, "ARM");
	world_plain(w, "1/1 2/1");
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 2);
	ck_assert_int_eq(d->sends[0].bind_hr_class, 0);
	ck_assert_int_eq(d->sends[0].bind_version_id, 0);
	app.homogeneous_redundancy = HR_COARSE;
	app.homogeneous_app_version = 1;
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(d->sends[i].bind_hr_class, 256 + 2);
		ck_assert_int_eq(d->sends[i].bind_version_id, 3);
	}
	world_in_progress(w, "9/9");
	world_others(w, "");
	d = world_decide(w);
	ck_assert_int_eq(d->sends[0].how, SEND_LOST);
	ck_assert_int_eq(
	    d->sends[0].bind_hr_class, 0); /* bound when it was first sent */
	world_free(w);
}
END_TEST

/* --- limits --- */

/* CPUs, GPUs, gpu_multiplier, max_wus_to_send; jobs of one request */
static const struct {
	int32_t cpus;
	double gpus;
	const char *options;
	size_t jobs;
} per_rpc[] = {
	{ 1, 0, "<max_wus_to_send>3</max_wus_to_send>", 3 },
	{ 2, 0, "<max_wus_to_send>3</max_wus_to_send>", 6 },
	{ 1, 2, "<max_wus_to_send>3</max_wus_to_send>", 3 },
	{ 1, 2,
	    "<max_wus_to_send>3</max_wus_to_send><gpu_multiplier>2</gpu_multiplier>",
	    15 },
	{ 1, 0, "<max_wus_to_send>0</max_wus_to_send>", 20 },
	{ 4, 2,
	    "<max_wus_to_send>3</max_wus_to_send><gpu_multiplier>2</gpu_multiplier>"
	    "<non_cpu_intensive>1</non_cpu_intensive>",
	    3 },
	{ 1, 1000,
	    "<max_wus_to_send>1</max_wus_to_send><gpu_multiplier>0.125</"
	    "gpu_multiplier>",
	    9 }, /* 64 of them count */
};

START_TEST(jobs_per_request)
{
	struct world *w = world_new(per_rpc[_i].options, 1e9);
	struct rq_resource r[2] = { w->req.resources[0],
		{ .type = (char[]){ "NVIDIA" }, .count = per_rpc[_i].gpus } };
	struct decision *d;

	w->req.resources = r;
	w->req.nresources = 2;
	w->req.host.p_ncpus = per_rpc[_i].cpus;
	world_plain(w,
	    "1/1 2/2 3/3 4/4 5/5 6/6 7/7 8/8 9/9 10/10 11/11 12/12 13/13 14/14 15/15 "
	    "16/16 17/17 18/18 19/19 20/20");
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, per_rpc[_i].jobs);
	ck_assert_uint_eq(supply_need(w->conf, &w->req, &w->snap),
	    per_rpc[_i].jobs == 20 ? 256 : 4 * per_rpc[_i].jobs);
	world_free(w);
}
END_TEST

/* The reason why the remaining jobs were not tried; there are two jobs of an hour. */
static const struct {
	const char *options;
	double secs;
	int32_t max_jobs; /* the account's limit */
	enum reason rest;
} rests[] = {
	{ "", HOUR, 0, WHY_NOT_WANTED },
	{ "", 2 * HOUR, 0, WHY_NOT_WANTED },
	{ "", 3 * HOUR, 0, WHY_NONE },
	{ "", 0, 0, WHY_NONE },
	{ "", HOUR, 1, WHY_NOT_WANTED },
	{ "", 2 * HOUR, 1, WHY_MAX_JOBS },
	{ "<max_wus_to_send>1</max_wus_to_send>", 3 * HOUR, 0, WHY_RPC_LIMIT },
	{ "<max_wus_in_progress>1</max_wus_in_progress>", 3 * HOUR, 0,
	    WHY_IN_PROGRESS_LIMIT },
};

START_TEST(what_ends_a_reply)
{
	struct world *w = world_new(rests[_i].options, rests[_i].secs);
	struct decision *d;

	w->snap.project_prefs.max_jobs = rests[_i].max_jobs;
	world_plain(w, "1/1 2/2");
	d = world_decide(w);
	ck_assert_msg(
	    d->rest == rests[_i].rest, "row %d: %s", _i, reason_code(d->rest));
	world_free(w);
}
END_TEST

/* The locality search ended for lack of a version; a job without files was sent. */
START_TEST(rest_without_a_version)
{
	for (int wanted = 1; wanted <= 2; wanted++) {
		struct world *w = world_new("<locality_scheduling/>", wanted * HOUR);

		world_files(w, "A hu 11/1 12/2");
		w->snap.files[0].jobs[0].appid = 99;
		world_plain(w, "31/3");
		ck_assert_int_eq(world_decide(w)->rest,
		    wanted == 1 ? WHY_NOT_WANTED : WHY_NO_APP_VERSION);
		world_free(w);
	}
}
END_TEST

START_TEST(daily_quota_counts_this_reply)
{
	struct world *w = world_new(
	    "<daily_result_quota>2</daily_result_quota>", 9 * HOUR);
	struct decision *d;

	world_plain(w, "1/1 2/2 3/3 4/4");
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 2);
	ck_assert_uint_eq(d->counts[WHY_DAILY_QUOTA], 2);
	world_free(w);
}
END_TEST

START_TEST(in_progress_counts_this_reply)
{
	struct world *w = world_new(
	    "<max_wus_in_progress>3</max_wus_in_progress>", 9 * HOUR);

	world_others(w, "a");
	world_plain(w, "1/1 2/2 3/3 4/4");
	ck_assert_uint_eq(world_decide(w)->nsends, 2);
	world_free(w);
}
END_TEST

/* Each job sent delays the next job (scheduling.md 2.5 (7)). */
START_TEST(queue_grows_with_each_job)
{
	struct world *w = world_new("", 9 * HOUR);

	world_plain(w, "1/1 2/2 3/3 4/4");
	for (size_t i = 0; i < 4; i++)
		w->snap.plain[i].delay_bound = 3 * HOUR;
	ck_assert_uint_eq(world_decide(w)->nsends, 3);
	world_free(w);
}
END_TEST

static const struct {
	const char *name;
	int32_t quota, before;
	enum quota_event event;
	int32_t after;
} quotas[] = {
#define QUOTA(name, quota, before, event, after)                                       \
	{ #name, quota, before, QUOTA_##event, after },
#include "test/unit/rules_quota.def"
#undef QUOTA
};

START_TEST(quota_moves)
{
	struct conf cf = { .daily_result_quota = quotas[_i].quota };
	int32_t n = quota_after(&cf, quotas[_i].before, quotas[_i].event);

	ck_assert_msg(n == quotas[_i].after, "%s: %d", quotas[_i].name, n);
}
END_TEST

/* --- adaptive replication --- */

static const struct {
	const char *name;
	int32_t app, wu, max_success, flags, row;
	enum replication how;
	int32_t to;
} trusts[] = {
#define TRUST(name, app, wu, max_success, flags, row, how, to)                         \
	{ #name, app, wu, max_success, flags, row, REPLICATION_##how, to },
#include "test/unit/rules_trust.def"
#undef TRUST
};

START_TEST(trust_decides_replication)
{
	struct world *w = world_new("", HOUR);
	struct app app = w->snap.cat->apps[0];
	struct catalog cat = *w->snap.cat;
	struct host_app_version hav = { .host_id = WORLD_HOST,
		.app_version_id = 3,
		.consecutive_valid = trusts[_i].row };
	struct dec_send *s;
	struct rng r;

	do { /* skips a seed whose first draw is a spot check */
		r = w->rng = rng_seed(rng_next(&w->rng));
	} while (rng_unit(&r) <= 0.1);
	app.target_nresults = trusts[_i].app;
	cat.apps = &app;
	w->snap.cat = &cat;
	w->snap.havs = &hav;
	w->snap.nhavs = trusts[_i].row >= 0;
	app.locality_scheduling = 1; /* the version is chosen without a draw */
	world_plain(w, "1/1");
	w->snap.plain[0].target_nresults = trusts[_i].wu;
	w->snap.plain[0].max_success_results = trusts[_i].max_success;
	w->snap.plain[0].transitioner_flags = trusts[_i].flags;
	s = world_decide(w)->sends;
	ck_assert_ptr_nonnull(s);
	ck_assert_msg(s->replication == trusts[_i].how, "%s: %d", trusts[_i].name,
	    (int)s->replication);
	ck_assert_msg(
	    s->raise_to == trusts[_i].to, "%s: to %d", trusts[_i].name, s->raise_to);
	if (s->replication == REPLICATION_FIXED || trusts[_i].row < 0)
		hav.consecutive_valid = 0; /* not recorded */
	ck_assert_int_eq(s->consecutive_valid, hav.consecutive_valid);
	world_free(w);
}
END_TEST

/* One job in consecutive_valid is checked; only a trusted host consumes a random
 * number. */
START_TEST(trusted_ones_are_checked_by_chance)
{
	struct app app = { .target_nresults = 2 };
	struct job j = { .target_nresults = 1, .max_success_results = 3 };
	struct host_app_version hav = { .consecutive_valid = 10 };
	struct rng r = rng_seed(7), same;
	int checked[2] = { 0, 0 };

	for (int k = 0; k < 2; k++, hav.consecutive_valid = 100)
		for (int i = 0; i < 20000; i++)
			checked[k] += trust_replication(&app, &j, &hav, &r) ==
			              REPLICATION_SPOT_CHECK;
	ck_assert_int_gt(checked[0], 1800);
	ck_assert_int_lt(checked[0], 2200);
	ck_assert_int_gt(checked[1], 140);
	ck_assert_int_lt(checked[1], 260);
	same = r;
	hav.consecutive_valid = 9;
	trust_replication(&app, &j, &hav, &r);
	ck_assert_double_eq(rng_unit(&r), rng_unit(&same));
}
END_TEST

/* Replication of a resent job was decided when it was first sent. */
START_TEST(resends_raise_nothing)
{
	struct world *w = world_new("", HOUR);
	struct app app = w->snap.cat->apps[0];
	struct catalog cat = *w->snap.cat;
	struct decision *d;

	app.target_nresults = 2;
	cat.apps = &app;
	w->snap.cat = &cat;
	world_in_progress(w, "9/9");
	world_others(w, "");
	w->snap.in_progress[0].target_nresults = 1;
	w->snap.in_progress[0].max_success_results = 3;
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 1);
	ck_assert_int_eq(d->sends[0].how, SEND_LOST);
	ck_assert_int_eq(d->sends[0].replication, REPLICATION_FIXED);
	world_free(w);
}
END_TEST

START_TEST(quota_days_differ_by_host)
{
	int64_t t = 1000 * 86400;
	int64_t first;
	int changes = 0;

	for (int64_t host = 1; host <= 1000; host++) {
		ck_assert(!quota_new_day(host, t, t));
		ck_assert(quota_new_day(host, t, t + 86400));
		changes += quota_new_day(host, t, t + 43200);
	}
	ck_assert_int_gt(changes, 400);
	ck_assert_int_lt(changes, 600);
	for (first = t + 1; !quota_new_day(7, first - 1, first);)
		first++;
	for (int64_t day = first; day < first + 1000 * 86400; day += 86400)
		ck_assert(
		    quota_new_day(7, day - 1, day)); /* each day has the same length */
	ck_assert_int_eq(quota_next_day(7, first - 1), first);
	ck_assert_int_eq(quota_next_day(7, first), first + 86400);
}
END_TEST

START_TEST(interval_sets_the_delay)
{
	struct world *w = world_new(
	    "<min_sendwork_interval>60</min_sendwork_interval>", HOUR);
	struct decision *d;

	world_plain(w, "1/1");
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 1);
	ck_assert_double_ge(d->request_delay, 61);
	w->snap.last_rpc_time = WORLD_NOW - 5;
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 0);
	/* clients do not count such a reply against the project (protocol.md 2.1) */
	ck_assert_str_eq(d->messages[0].text, "No tasks sent: the last request was too "
					      "recent: 5 s ago, not 60");
	world_free(w);
}
END_TEST

/* The interval and the reply's delay, which is longer by 1 % or a second, and bounded.
 */
static const struct {
	int64_t interval;
	double delay;
} delays[] = { { 0, 0 }, { 1, 2 }, { 60, 61 }, { 1000, 1010 }, { 86400, 87264 },
	{ 1000000, 172800 } };

START_TEST(delay_by_the_interval)
{
	struct world *w = world_new("", HOUR);

	w->conf->min_sendwork_interval = delays[_i].interval;
	ck_assert_double_eq_tol(world_decide(w)->request_delay, delays[_i].delay, 1e-6);
	world_free(w);
}
END_TEST

/* --- in progress --- */

static const struct {
	const char *name, *limits;
	int32_t cpus;
	int ours, others;
	size_t sent;
	enum reason why;
} in_progress[] = {
#define LIMIT(name, limits, cpus, ours, others, sent, why)                             \
	{ #name, limits, cpus, ours, others, sent, WHY_##why },
#include "test/unit/rules_in_progress.def"
#undef LIMIT
};

static enum err limits_parsed(
    struct world *w, const char *inside, struct limits_read *l, struct fail *f)
{
	char *text = arena_printf(&w->a,
	    "<config><x/><max_jobs_in_progress>%s</max_jobs_in_progress></config>",
	    inside);

	return job_limits_parse(&w->a, "aux", text, strlen(text), l, f);
}

START_TEST(limits_of_jobs_in_progress)
{
	struct world *w = world_new("", 100 * HOUR);
	struct rq_app_version v[2] = { { .app_name = (char[]){ "stars" } },
		{ .app_name = (char[]){ "moons" } } };
	struct catalog cat = *w->snap.cat;
	struct limits_read l;
	struct decision *d;
	struct fail f;
	char *names = arena_strdup(&w->a, "");

	ck_assert_int_eq(limits_parsed(w, in_progress[_i].limits, &l, &f), OK);
	cat.limits = l.limits;
	w->snap.cat = &cat;
	w->req.host.p_ncpus = in_progress[_i].cpus;
	w->req.app_versions = v;
	w->req.napp_versions = 2;
	for (int i = 0; i < in_progress[_i].ours + in_progress[_i].others; i++)
		names = arena_printf(&w->a, "%s t%d", names, i);
	world_others(w, names);
	for (size_t i = 0; i < w->req.nother_results; i++)
		w->req.other_results[i].app_version = (int)i >= in_progress[_i].ours;
	world_plain(w, "1/1 2/2 3/3 4/4");
	d = world_decide(w);
	ck_assert_msg(d->nsends == in_progress[_i].sent, "%s: %zu sent",
	    in_progress[_i].name, d->nsends);
	if (in_progress[_i].why == WHY_APP_LIMIT)
		ck_assert_uint_gt(d->counts[WHY_APP_LIMIT], 0);
	if (d->nsends == 0)
		ck_assert_int_eq(d->why, in_progress[_i].why);
	world_free(w);
}
END_TEST

/* Tasks whose version the client does not list are identified by their rows. */
START_TEST(tasks_known_by_their_rows)
{
	struct world *w = world_new("", HOUR);
	struct catalog cat = *w->snap.cat;
	struct limits_read l;
	struct fail f;

	ck_assert_int_eq(
	    limits_parsed(w,
		"<app><app_name>stars</app_name><total_limit><jobs>1</jobs>"
		"</total_limit></app>",
		&l, &f),
	    OK);
	cat.limits = l.limits;
	w->snap.cat = &cat;
	world_plain(w, "1/1");
	world_in_progress(w, "7/7");
	ck_assert_int_eq(world_decide(w)->why, WHY_APP_LIMIT);
	world_others(w, "j7");
	ck_assert_int_eq(world_decide(w)->why, WHY_APP_LIMIT);
	w->req.other_results[0].name = arena_strdup(&w->a, "j8");
	w->snap.nin_progress = 0;
	ck_assert_uint_eq(world_decide(w)->nsends, 1);
	world_free(w);
}
END_TEST

/* A mistake costs the limit that it is in: the total of the project stays. */
static const struct {
	const char *limits, *says;
	double cpu; /* what became of the project's CPU limit, -1 = none */
} mistakes[] = {
	{ "<gpu_limit/></project>", "1: <gpu_limit> has no <jobs>: it is left out",
	    -1 },
	{ "<cpu_limit><jobs>x</jobs></cpu_limit></project>",
	    "1: <jobs>: \"x\" is not a number from 0 to 1000000: <cpu_limit> is left out",
	    -1 },
	{ "<cpu_limit><jobs>-1</jobs></cpu_limit></project>",
	    "1: <jobs>: \"-1\" is not a number from 0 to 1000000: <cpu_limit> is left out",
	    -1 },
	{ "<cpu_limit><jobs>nan</jobs></cpu_limit></project>",
	    "1: <jobs>: \"nan\" is not a number from 0 to 1000000: <cpu_limit> is left out",
	    -1 },
	{ "</project><app><cpu_limit><jobs>1</jobs></cpu_limit></app>",
	    "1: <app> has no <app_name>: it is left out", -1 },
	{ "<app_name>x</app_name></project>",
	    "1: <app_name> is not an element of <project>: it is left out", -1 },
	{ "</project><projekt/>",
	    "1: <projekt> is not an element of <max_jobs_in_progress>: it is left out",
	    -1 },
	{ "<cpu_limit>\n<job>1</job><jobs>3</jobs></cpu_limit></project>",
	    "2: <job> is not an element of <cpu_limit>: it is left out", 3 },
	{ "<cpu_limit><jobs>1<jobs></cpu_limit></project>",
	    "1: <jobs> has no end tag; its number 1 counts", 1 },
	{ "<cpu_limit>\n<jobs>2</jobs></project>",
	    "1: <cpu_limit> has no end tag: it ends with what holds it", 2 },
	{ "<cpu_limit><jobs>2</jobs></cpu_limit>",
	    "1: <project> has no end tag: it ends with what holds it", 2 },
	{ "<cpu_limit><jobs>2</jobs></gpu_limit></cpu_limit></project>",
	    "1: </gpu_limit> ends nothing", 2 },
};

START_TEST(limits_with_mistakes)
{
	struct world *w = world_new("", 0);
	struct limits_read l;
	struct fail f = { 0 };
	const struct job_limits_of *p;

	ck_assert_int_eq(limits_parsed(w,
			     arena_printf(&w->a,
				 "<project><total_limit><jobs>9</jobs></total_limit>%s",
				 mistakes[_i].limits),
			     &l, &f),
	    OK);
	ck_assert_str_eq(l.n == 0 ? "" :
				    arena_printf(&w->a, "%d: %s", l.remarks[0].line,
					l.remarks[0].text),
	    mistakes[_i].says);
	p = &l.limits->project;
	ck_assert(p->total.set && p->total.jobs == 9);
	ck_assert(p->cpu.set ? p->cpu.jobs == mistakes[_i].cpu : mistakes[_i].cpu < 0);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_limits", {
	ADD_LOOP(class_of_host, N(classes));
	ADD(what_a_job_binds);
	ADD_LOOP(jobs_per_request, N(per_rpc));
	ADD_LOOP(what_ends_a_reply, N(rests));
	ADD(rest_without_a_version);
	ADD(daily_quota_counts_this_reply);
	ADD(in_progress_counts_this_reply);
	ADD(queue_grows_with_each_job);
	ADD_LOOP(quota_moves, N(quotas));
	ADD_LOOP(trust_decides_replication, N(trusts));
	ADD(trusted_ones_are_checked_by_chance);
	ADD(resends_raise_nothing);
	ADD(quota_days_differ_by_host);
	ADD(interval_sets_the_delay);
	ADD_LOOP(delay_by_the_interval, N(delays));
	ADD_LOOP(limits_of_jobs_in_progress, N(in_progress));
	ADD(tasks_known_by_their_rows);
	ADD_LOOP(limits_with_mistakes, N(mistakes));
})
