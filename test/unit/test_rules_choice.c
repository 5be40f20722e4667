/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs are considered, and in what order (scheduling.md 2.13, 2.14). */
#include "test/unit/unit.h"

#include "model/rows.h"
#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define ON   "<locality_scheduling/>"
#define USER "<one_result_per_user_per_wu/>"

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

/* Three hours are wanted, and a lost job is resent first. */
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

/* The once key of a plain job: the account or host that gets no second job of the
 * workunit. */
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

/* Plain jobs that were tried first are not tried again after the others. */
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

/* App 2 uses almost no CPU: plain jobs 41 and 42 belong to it, job 31 to app 1. */
static const struct {
	const char *name, *options;
	double secs;
	const char *in_progress; /* of app 2 */
	int64_t second;          /* app of job 42, like 2 */
	const char *decision;
} ncis[] = {
	{ "one_of_the_app", "", 0, "", 2, "sent 41p | NONE" },
	{ "one_of_each_app", "", 0, "", 3, "sent 41p 42p | NONE" },
	{ "beside_what_is_wanted", "", HOUR, "", 2, "sent 41p 31p | NONE" },
	{ "not_while_it_has_one", "", 0, "5/5", 2, "NONE" },
	{ "its_own_does_not_count", "<max_wus_in_progress>1</max_wus_in_progress>",
	    HOUR, "5/5", 2, "sent 31p | NONE" },
	{ "nor_does_the_new_one", "<max_wus_in_progress>1</max_wus_in_progress>",
	    2 * HOUR, "", 2, "sent 41p 31p | NONE" },
	{ "not_to_be_sent", "<dont_send_jobs>1</dont_send_jobs>", 0, "", 2,
	    "DONT_SEND" },
};

START_TEST(non_cpu_intensive_apps)
{
	struct world *w = world_new(ncis[_i].options, ncis[_i].secs);
	struct catalog cat = *w->snap.cat;
	struct app apps[3] = { cat.apps[0] };
	struct app_version versions[3] = { cat.versions[0] };

	for (int i = 1; i < 3; i++) {
		apps[i] = apps[0];
		versions[i] = versions[0];
		apps[i].id = versions[i].appid = i + 1;
		versions[i].id = i + 3;
		apps[i].name = arena_printf(&w->a, "sensor%d", i);
		apps[i].non_cpu_intensive = 1;
	}
	cat.apps = apps;
	cat.versions = versions;
	cat.napps = cat.nversions = 3;
	w->snap.cat = &cat;
	world_plain(w, "41/4 42/6");
	w->snap.nci = w->snap.plain;
	w->snap.nnci = 2;
	w->snap.nci[0].appid = 2;
	w->snap.nci[1].appid = ncis[_i].second;
	w->snap.nci[0].delay_bound = 1; /* no deadline check */
	if (ncis[_i].in_progress[0] != '\0') {
		world_in_progress(w, ncis[_i].in_progress);
		w->snap.in_progress[0].appid = 2;
		world_others(w, "j5");
		w->snap.nnci = 0; /* not even loaded */
	}
	world_plain(w, "43/8 31/3");
	w->snap.plain[0].appid = 2; /* skipped if it is there */
	for (int listed = 1; listed >= 0;
	     listed--) { /* by the client, or as the row says */
		w->req.has_other_results = w->req.has_other_results && listed;
		w->req.nother_results *= (size_t)listed;
		ck_assert_msg(
		    strcmp(world_text(w, world_decide(w)), ncis[_i].decision) == 0,
		    "%s: %s, not %s", ncis[_i].name, world_text(w, world_decide(w)),
		    ncis[_i].decision);
	}
	world_free(w);
}
END_TEST

/* jobs in progress here and whether their app is 2, reports of the same request; is a
 * task there? */
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

/* All refusals are counted; only the first ones are kept with their jobs. */
START_TEST(many_are_left_out)
{
	struct world *w = world_new("", HOUR);
	struct decision *d;

	w->snap.nplain = 70;
	w->snap.plain = NEWN(&w->a, struct job, w->snap.nplain);
	for (size_t i = 0; i < w->snap.nplain; i++) {
		w->snap.plain[i] = world_job((int64_t)i + 1, (int64_t)i + 1);
		w->snap.plain[i].rsc_memory_bound = i == 0 ? 6e9 : 5e9;
	}
	d = world_decide(w);
	ck_assert_uint_eq(d->counts[WHY_MEM], 70);
	ck_assert_uint_eq(d->nskips, 64);
	ck_assert_int_eq(d->skips[0].job->id, 1);
	ck_assert_int_eq(d->skips[63].job->id, 64);
	world_free(w);
}
END_TEST

/* A targeted job that does not fit says nothing about other work. */
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
	ADD_LOOP(targeted_jobs, N(targeted));
	ADD(plain_jobs_by_priority);
	ADD_LOOP(once_of_a_plain_job, N(onces));
	ADD(plain_jobs_go_once);
	ADD_LOOP(non_cpu_intensive_apps, N(ncis));
	ADD(many_are_left_out);
	ADD_LOOP(app_on_host, N(on_host));
	ADD(a_targeted_job_that_does_not_fit);
})
