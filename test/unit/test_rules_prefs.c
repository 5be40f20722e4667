/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which preferences are used, stored and sent, and how project preferences restrict
 * work (protocol.md 1.4, 3.4).
 */
#include "rules/sched/ctx.h"
#include "test/unit/rules_world.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

START_TEST(selected_apps_go_first)
{
	struct world *w = world_new("", HOUR + 1);
	struct app apps[2] = { w->snap.cat->apps[0],
		{ .id = 2, .name = (char[]){ "moons" } } };
	struct app_version versions[2] = { w->snap.cat->versions[0],
		w->snap.cat->versions[0] };
	struct catalog cat = *w->snap.cat;
	struct decision *d;
	int64_t moons = 2;

	versions[1].id = 4;
	versions[1].appid = 2;
	cat.apps = apps;
	cat.versions = versions;
	cat.napps = cat.nversions = 2;
	w->snap.cat = &cat;
	world_plain(w, "31/1 32/2 33/3");
	w->snap.plain[1].appid = 2;
	w->snap.project_prefs = (struct project_prefs){ .apps = &moons, .napps = 1 };
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 32p | NONE");
	w->snap.project_prefs.allow_non_preferred_apps = true;
	d = world_decide(w);
	ck_assert_uint_eq(d->nsends, 2);
	ck_assert_int_eq(d->sends[0].job->id, 32);
	ck_assert_int_eq(d->sends[1].job->id, 31);
	world_free(w);
}
END_TEST

START_TEST(max_jobs_counts_this_reply)
{
	struct world *w = world_new("", 100 * HOUR);

	world_plain(w, "31/1 32/2 33/3");
	w->snap.project_prefs.max_jobs = 2;
	ck_assert_uint_eq(world_decide(w)->nsends, 2);
	world_free(w);
}
END_TEST

/*
 * Working copy sent and its disk; the master copy's time and disk; the account's time
 * and disk; the disk used.
 */
static const struct {
	bool working;
	double w_disk, m_time, m_disk, a_time, a_disk, disk;
} in_force[] = {
	{ true, 1, 5, 2, 6, 3, 1 },
	{ true, 0, 5, 2, 6, 3, 0 },
	{ false, 0, 5, 2, 6, 3, 3 },
	{ false, 0, 6, 2, 5, 3, 2 },
	{ false, 0, 6, 2, 6, 3, 3 },
	{ false, 0, 0, 0, 0, 0, 0 },
};

START_TEST(preferences_in_force)
{
	struct request q = { .has_working_prefs = in_force[_i].working,
		.prefs = { .disk_max_used_gb = in_force[_i].w_disk } };
	struct snapshot s = { .master_prefs = { .mod_time = in_force[_i].m_time,
				  .disk_max_used_gb = in_force[_i].m_disk },
		.account_prefs = { .mod_time = in_force[_i].a_time,
		    .disk_max_used_gb = in_force[_i].a_disk } };

	ck_assert_double_eq(
	    prefs_in_force(&q, &s)->disk_max_used_gb, in_force[_i].disk);
}
END_TEST

/*
 * protocol.md 3.4. Modification times of the account's preferences (0: none), of the
 * client's master copy (-1: not sent) and of its working copy (-1: not sent); whether
 * these belong to this account; weak key; stored, sent.
 */
static const struct {
	double ours, master, working;
	bool own, weak, stored, sent;
} prefs[] = {
	{ 0, 5, -1, true, false, true, false },
	{ 4, 5, -1, true, false, true, false },
	{ 5, 5, -1, true, false, false, false },
	{ 6, 5, -1, true, false, false, true },
	{ 6, 5, 7, true, false, false, false },
	{ 6, -1, -1, true, false, false, true },
	{ 6, -1, 6, true, false, false, false },
	{ 4, 5, -1, false, false, false, false },
	{ 4, 5, -1, true, true, false, false },
	{ 0, -1, -1, true, false, false, false },
	/* from a clock that is ahead: treated as changed just now */
	{ 2e9, 1e9 - 1, -1, true, false, false, true },
	{ 2e9, 3e9, -1, true, false, false, false },
	{ 1e9 - 1, 3e9, -1, true, false, true, false },
};

START_TEST(newer_preferences)
{
	struct world *w = world_new("", 0);
	struct decision *d;

	w->snap.email_hash = arena_strdup(&w->a, "0123");
	w->snap.weak_auth = prefs[_i].weak;
	if (prefs[_i].ours > 0)
		w->snap.user.global_prefs = arena_printf(&w->a,
		    "<global_preferences>\n<mod_time>%f</mod_time>\n</"
		    "global_preferences>",
		    prefs[_i].ours);
	if (prefs[_i].master >= 0)
		w->req.global_prefs = arena_strdup(&w->a, "x");
	w->req.global_prefs_mod_time = prefs[_i].master;
	w->req.global_prefs_source_email_hash = arena_strdup(
	    &w->a, prefs[_i].own ? "0123" : "4567");
	w->req.has_working_prefs = prefs[_i].working >= 0;
	w->req.prefs.mod_time = prefs[_i].working;
	d = world_decide(w);
	ck_assert_int_eq(d->store_global_prefs, prefs[_i].stored);
	ck_assert_int_eq(d->send_global_prefs, prefs[_i].sent);
	world_free(w);
}
END_TEST

/* Without the account's address the owner of the preferences is unknown. */
START_TEST(preferences_of_nobody)
{
	struct world *w = world_new("", 0);

	w->req.global_prefs = arena_strdup(&w->a, "x");
	w->req.global_prefs_mod_time = 5;
	w->snap.email_hash = w->req.global_prefs_source_email_hash;
	ck_assert(world_decide(w)->store_global_prefs);
	w->snap.email_hash = NULL;
	ck_assert(!world_decide(w)->store_global_prefs);
	world_free(w);
}
END_TEST

START_TEST(mod_time_of_odd_texts)
{
	ck_assert_double_eq(prefs_mod_time(NULL), 0);
	ck_assert_double_eq(prefs_mod_time(""), 0);
	ck_assert_double_eq(prefs_mod_time("<mod_time>"), 0);
	ck_assert_double_eq(prefs_mod_time("<mod_time>-5</mod_time>"), 0);
	ck_assert_double_eq(prefs_mod_time("<mod_time>nan</mod_time>"), 0);
	ck_assert_double_eq(prefs_mod_time("a<mod_time> 12.5 </mod_time>"), 12.5);
}
END_TEST

/*
 * The log is requested until it is stored or comes with this request; protocol.md 1.1,
 * 2.1.
 */
START_TEST(logs_are_asked_for)
{
	struct world *w = world_new("<request_time_stats_log/>", 0);
	struct decision *d = world_decide(w);

	ck_assert_int_eq(d->send_time_stats_log, 1);
	ck_assert_int_eq(d->send_job_log, 0);
	w->req.host.present = false; /* a replicated trickle */
	ck_assert_int_eq(world_decide(w)->send_time_stats_log, 0);
	w->req.host.present = true;
	w->req.time_stats_log = arena_strdup(&w->a, "");
	ck_assert_int_eq(world_decide(w)->send_time_stats_log, 0);
	w->req.time_stats_log = NULL;
	w->snap.has_time_stats_log = true;
	ck_assert_int_eq(world_decide(w)->send_time_stats_log, 0);
	w->conf->request_job_log = true;
	ck_assert_int_eq(world_decide(w)->send_job_log, 1);
	w->req.job_log = arena_strdup(&w->a, "");
	ck_assert_int_eq(world_decide(w)->send_job_log, 0);
	w->req.job_log = NULL;
	w->snap.has_job_log = true;
	ck_assert_int_eq(world_decide(w)->send_job_log, 0);
	w->snap.has_job_log = false;
	w->conf->request_job_log = w->conf->request_time_stats_log = false;
	ck_assert_int_eq(world_decide(w)->send_job_log, 0);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_prefs", {
	ADD(selected_apps_go_first);
	ADD(logs_are_asked_for);
	ADD(max_jobs_counts_this_reply);
	ADD_LOOP(preferences_in_force, N(in_force));
	ADD_LOOP(newer_preferences, N(prefs));
	ADD(preferences_of_nobody);
	ADD(mod_time_of_odd_texts);
})
