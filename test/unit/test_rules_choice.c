/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs are looked at, and in what order (server.md 2.13, 2.14; hot-path.md). */
#include "test/unit/unit.h"

#include "model/states.h"
#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define ON   "<locality_scheduling/>"
#define N10  ON "<locality_scheduling_wait_period>10</locality_scheduling_wait_period>"
#define USER "<one_result_per_user_per_wu/>"
#define FEW  "<search_rows>10</search_rows>"
#define OFF  "<search_rows>0</search_rows>"

static const struct {
	const char *name, *options;
	bool left, began;
	size_t rows;
	const char *files, *plain, *decision;
	bool more;
	const char *cursor;
} searches[] = {
#define CASE(name, options, left, began, rows, files, plain, decision, more, cursor)   \
	{ #name, options, left, began, rows, files, plain, decision, more, cursor },
#include "test/unit/rules_search.def"
#undef CASE
};

/* Two jobs of one hour are wanted. */
START_TEST(search)
{
	static int64_t had[] = { 1000 };
	struct world *w = world_new(searches[_i].options, 2 * HOUR);
	struct snap_search *s = &w->snap.search;
	struct decision *d;
	char *cursor;

	w->snap.user_wus = had;
	w->snap.nuser_wus = 1;
	w->snap.wait_possible = true;
	w->snap.host.search_ready = 5;
	w->snap.host.search_id = 50;
	*s = (struct snap_search){ .left = searches[_i].left,
		.began = searches[_i].began,
		.before = { 6, 60 },
		.at = { 7, 70 },
		.rows = searches[_i].rows };
	world_files(w, searches[_i].files);
	world_plain(w, searches[_i].plain);
	d = world_decide(w);
	cursor = arena_printf(
	    &w->a, "%lld.%lld", (long long)d->cursor.ready, (long long)d->cursor.id);
	ck_assert_msg(strcmp(world_text(w, d), searches[_i].decision) == 0,
	    "%s: %s, not %s", searches[_i].name, world_text(w, d),
	    searches[_i].decision);
	ck_assert_msg(d->more == searches[_i].more, "%s: more", searches[_i].name);
	ck_assert_msg(strcmp(cursor, searches[_i].cursor) == 0, "%s: cursor %s",
	    searches[_i].name, cursor);
	world_free(w);
}
END_TEST

START_TEST(the_cut_is_told_with_its_numbers)
{
	struct world *w = world_new("", HOUR);
	struct decision *d;

	world_plain(w, "31/1 32/2");
	for (size_t i = 0; i < 2; i++)
		w->snap.plain[i].rsc_memory_bound = 5e9;
	w->snap.search = (struct snap_search){ .left = true, .rows = 2000 };
	d = world_decide(w);
	ck_assert_uint_eq(d->counts[WHY_SEARCH_LIMIT], 1);
	ck_assert_uint_eq(d->counts[WHY_MEM], 2);
	ck_assert_str_eq(d->messages[0].text,
	    "No tasks sent: not all tasks could be looked at; the search goes on at "
	    "the next request. Of 2 looked at none fits: not enough memory; needs "
	    "1000.0 MB more");
	world_free(w);
}
END_TEST

static const struct {
	const char *name, *options;
	int32_t flags;
	const char *targeted, *files, *plain, *decision;
	int64_t once;
} targeted[] = {
#define CASE(name, options, flags, targeted, files, plain, decision, once)             \
	{ #name, options, flags, targeted, files, plain, decision, once },
#include "test/unit/rules_targeted.def"
#undef CASE
};

/* Three hours are wanted, and a lost job is to be sent again first. */
START_TEST(targeted_jobs)
{
	struct world *w = world_new(targeted[_i].options, 3 * HOUR);
	struct decision *d;

	world_plain(w, targeted[_i].targeted);
	w->snap.targeted = w->snap.plain;
	w->snap.ntargeted = w->snap.nplain;
	for (size_t i = 0; i < w->snap.ntargeted; i++)
		w->snap.targeted[i].transitioner_flags = targeted[_i].flags;
	world_files(w, targeted[_i].files);
	world_plain(w, targeted[_i].plain);
	world_others(w, "");
	world_in_progress(w, "5/5");
	d = world_decide(w);
	ck_assert_msg(strcmp(world_text(w, d), targeted[_i].decision) == 0,
	    "%s: %s, not %s", targeted[_i].name, world_text(w, d),
	    targeted[_i].decision);
	if (d->nsends > 1)
		ck_assert_msg(d->sends[1].once == targeted[_i].once, "%s: once %lld",
		    targeted[_i].name, (long long)d->sends[1].once);
	world_free(w);
}
END_TEST

/* Choices of versions of an app that goes by locality are to be repeatable, whatever
 * the project's other apps do. */
START_TEST(no_noise_for_a_locality_app)
{
	for (int with = 0; with < 2; with++) {
		struct world *w = world_new("", HOUR);
		struct catalog cat = *w->snap.cat;
		struct app app = cat.apps[0];
		struct app_version v[] = { cat.versions[0], cat.versions[0] };
		size_t second = 0;

		v[1].id = 4;
		app.locality_scheduling = with;
		cat.apps = &app;
		cat.versions = v;
		cat.nversions = 2;
		w->snap.cat = &cat;
		world_plain(w, "31/3");
		for (int i = 0; i < 50; i++)
			second += world_decide(w)->sends[0].version->id == 4;
		ck_assert(
		    with ? second == 0 || second == 50 : second > 0 && second < 50);
		world_free(w);
	}
}
END_TEST

/* samples, quota, valid results in a row of the faster version; jobs of 300 that it
 * gets: nearly none while it only fails, but not none for ever */
static const struct {
	double pfc_n;
	int32_t quota, valid;
	bool locality;
	size_t least, most;
} failures[] = {
	{ 0, 1, 0, false, 1, 20 },
	{ 0, 1, 0, true, 0, 0 },
	{ 0, 2, 0, false, 300, 300 },
	{ 1, 1, 0, false, 300, 300 },
	{ 0, 1, 1, false, 300, 300 },
};

START_TEST(version_that_only_fails)
{
	struct world *w = world_new("<version_select_random_factor>0"
				    "</version_select_random_factor>",
	    HOUR);
	struct catalog cat = *w->snap.cat;
	struct app app = cat.apps[0];
	struct app_version v[] = { cat.versions[0], cat.versions[0] };
	struct host_app_version hav = { .app_version_id = 4,
		.pfc_n = failures[_i].pfc_n,
		.max_jobs_per_day = failures[_i].quota,
		.consecutive_valid = failures[_i].valid };
	size_t got = 0;

	v[1].id = 4;
	v[1].pfc_n = 101; /* twice as fast as the other */
	v[1].pfc_avg = 0.5;
	app.locality_scheduling = failures[_i].locality;
	cat.apps = &app;
	cat.versions = v;
	cat.nversions = 2;
	w->snap.cat = &cat;
	w->snap.havs = &hav;
	w->snap.nhavs = 1;
	world_plain(w, "31/3");
	for (int i = 0; i < 300; i++)
		got += world_decide(w)->sends[0].version->id == 4;
	ck_assert_uint_ge(got, failures[_i].least);
	ck_assert_uint_le(got, failures[_i].most);
	world_free(w);
}
END_TEST

START_TEST(plain_jobs_by_priority)
{
	const int32_t priorities[] = { 1, -5, 7, 1, 7, 100 };
	struct world *w = world_new("", 6 * HOUR);

	world_plain(w, "11/1 12/2 13/3 14/4 15/5 16/6");
	for (size_t i = 0; i < N(priorities); i++)
		w->snap.plain[i].priority = priorities[i];
	ck_assert_str_eq(
	    world_text(w, world_decide(w)), "sent 16p 13p 15p 11p 14p 12p | NONE");
	world_free(w);
}
END_TEST

/* What a plain job of an account or a host is bound to, so that no other gets one. */
static const struct {
	const char *options;
	int64_t once;
} onces[] = { { "", 0 }, { USER, WORLD_USER },
	{ "<one_result_per_host_per_wu/>", -WORLD_HOST },
	{ USER "<one_result_per_host_per_wu/>", WORLD_USER } };

START_TEST(once_of_a_plain_job)
{
	struct world *w = world_new(onces[_i].options, HOUR);

	world_plain(w, "31/1");
	ck_assert_int_eq(world_decide(w)->sends[0].once, onces[_i].once);
	world_free(w);
}
END_TEST

/* Plain jobs that went first are not tried again behind the others. */
START_TEST(plain_jobs_go_once)
{
	struct world *w = world_new(ON
	    "<locality_scheduler_fraction>0.000001</locality_scheduler_fraction>",
	    4 * HOUR);

	world_files(w, "A hu 11/1");
	world_plain(w, "31/3");
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 31p 11h | NONE");
	world_free(w);
}
END_TEST

/*
 * The noise of a choice between two versions, the second so much faster: of 1000 hosts
 * so many take the slower one.  Few samples count as one, many take the noise away.
 */
static const struct {
	double samples, faster, factor;
	size_t least, most;
} noises[] = {
	{ 0, 1.0001, 1, 430, 570 },
	{ 0, 2, 1, 230, 330 },
	{ 0.5, 2, 1, 230, 330 },
	{ 2, 2, 1, 90, 190 },
	{ 0, 2, 0, 0, 0 },
	{ 1e9, 1.0001, 1, 0, 0 },
};

START_TEST(noise_of_choices)
{
	struct world *w = world_new("", HOUR);
	struct catalog cat = *w->snap.cat;
	struct app_version v[] = { cat.versions[0], cat.versions[0] };
	struct host_app_version hav[] = { { .app_version_id = 3,
					      .pfc_n = noises[_i].samples },
		{ .app_version_id = 4, .pfc_n = noises[_i].samples } };
	size_t slower = 0;

	v[1].id = 4;
	v[1].pfc_n = 101;
	v[1].pfc_avg = 1 / noises[_i].faster;
	cat.versions = v;
	cat.nversions = 2;
	w->snap.cat = &cat;
	w->snap.havs = hav;
	w->snap.nhavs = noises[_i].samples > 0 ? 2 : 0;
	w->conf->version_select_random_factor = noises[_i].factor;
	world_plain(w, "31/3");
	for (int i = 0; i < 1000; i++)
		slower += world_decide(w)->sends[0].version->id == 3;
	ck_assert_msg(
	    slower >= noises[_i].least && slower <= noises[_i].most, "%zu", slower);
	world_free(w);
}
END_TEST

/* App 2 uses almost no CPU: plain jobs 41 and 42 are its, 31 is app 1's. */
static const struct {
	const char *name, *options;
	double secs;
	const char *in_progress; /* of app 2 */
	const char *decision;
} ncis[] = {
	{ "one_of_the_app", "", 0, "", "sent 41p | NONE" },
	{ "beside_what_is_wanted", "", HOUR, "", "sent 41p 31p | NONE" },
	{ "not_while_it_has_one", "", 0, "5/5", "NONE" },
	{ "its_own_does_not_count", "<max_wus_in_progress>1</max_wus_in_progress>",
	    HOUR, "5/5", "sent 31p | NONE" },
	{ "nor_does_the_new_one", "<max_wus_in_progress>1</max_wus_in_progress>",
	    2 * HOUR, "", "sent 41p 31p | NONE" },
	{ "not_to_be_sent", "<dont_send_jobs>1</dont_send_jobs>", 0, "", "DONT_SEND" },
};

START_TEST(non_cpu_intensive_apps)
{
	struct world *w = world_new(ncis[_i].options, ncis[_i].secs);
	struct catalog cat = *w->snap.cat;
	struct app apps[] = { cat.apps[0], cat.apps[0] };
	struct app_version versions[] = { cat.versions[0], cat.versions[0] };

	apps[1].id = versions[1].appid = 2;
	versions[1].id = 4;
	apps[1].name = arena_strdup(&w->a, "sensor");
	apps[1].non_cpu_intensive = 1;
	cat.apps = apps;
	cat.versions = versions;
	cat.napps = cat.nversions = 2;
	w->snap.cat = &cat;
	world_plain(w, "41/4 42/6");
	w->snap.nci = w->snap.plain;
	w->snap.nnci = 2;
	w->snap.nci[0].appid = w->snap.nci[1].appid = 2;
	w->snap.nci[0].delay_bound = 1; /* no deadline check */
	if (ncis[_i].in_progress[0] != '\0') {
		world_in_progress(w, ncis[_i].in_progress);
		w->snap.in_progress[0].appid = 2;
		world_others(w, "j5");
		w->snap.nnci = 0; /* not even loaded */
	}
	world_plain(w, "43/8 31/3");
	w->snap.plain[0].appid = 2; /* passed over, should it be there */
	ck_assert_msg(strcmp(world_text(w, world_decide(w)), ncis[_i].decision) == 0,
	    "%s: %s, not %s", ncis[_i].name, world_text(w, world_decide(w)),
	    ncis[_i].decision);
	world_free(w);
}
END_TEST

/* jobs here and their app 2 or another, reports of the same request; is one there? */
static const struct {
	const char *in_progress;
	int64_t app;
	const char *reports;
	bool there;
} on_host[] = {
	{ "", 2, "", false },
	{ "5/5", 2, "", true },
	{ "5/5", 1, "", false },
	{ "5/5", 2, "j5", false }, /* it has just ended */
	{ "5/5", 2, "j6", true },
	{ "5/5 6/6", 2, "j4 j5", true },
	{ "5/5 6/6", 2, "j6 j5", false },
};

START_TEST(app_on_host)
{
	struct world *w = world_new("", 0);

	world_in_progress(w, on_host[_i].in_progress);
	for (size_t i = 0; i < w->snap.nin_progress; i++)
		w->snap.in_progress[i].appid = on_host[_i].app;
	world_others(w, on_host[_i].reports);
	w->req.nreports = w->req.nother_results;
	w->req.reports = NEWN(&w->a, struct rq_report, w->req.nreports + 1);
	for (size_t i = 0; i < w->req.nreports; i++)
		w->req.reports[i].name = w->req.other_results[i].name;
	ck_assert(decide_app_on_host(&w->req, &w->snap, 2) == on_host[_i].there);
	world_free(w);
}
END_TEST

/* What is for this host only says nothing of other work. */
START_TEST(a_targeted_job_that_does_not_fit)
{
	struct world *w = world_new("", HOUR);
	struct decision *d;

	world_plain(w, "31/1");
	w->snap.targeted = w->snap.plain;
	w->snap.ntargeted = 1;
	w->snap.nplain = 0;
	w->snap.targeted[0].transitioner_flags = WU_TARGETED;
	w->snap.targeted[0].rsc_memory_bound = 1e13;
	w->snap.search.left = true;
	d = world_decide(w);
	ck_assert_str_eq(world_text(w, d), "MEM");
	ck_assert(!d->more);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_choice", {
	ADD_LOOP(search, N(searches));
	ADD_LOOP(targeted_jobs, N(targeted));
	ADD(no_noise_for_a_locality_app);
	ADD_LOOP(version_that_only_fails, N(failures));
	ADD(plain_jobs_by_priority);
	ADD_LOOP(once_of_a_plain_job, N(onces));
	ADD(plain_jobs_go_once);
	ADD_LOOP(noise_of_choices, N(noises));
	ADD_LOOP(non_cpu_intensive_apps, N(ncis));
	ADD_LOOP(app_on_host, N(on_host));
	ADD(a_targeted_job_that_does_not_fit);
	ADD(the_cut_is_told_with_its_numbers);
})
