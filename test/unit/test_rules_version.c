/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the app version of a job (scheduling.md 2.11). */
#include "test/unit/unit.h"

#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

/*
 * For an app with locality scheduling, the choice of versions must be repeatable,
 * whatever the project's other apps do.
 */
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

/*
 * Random noise in the choice between two versions, the second of which is faster by the
 * factor: bounds for how many of 1000 hosts choose the slower version. Few samples
 * count as one; many samples remove the noise.
 */
static const struct {
	double samples, faster, factor;
	size_t least, most;
} noises[] = {
	{ 0, 1.0001, 1, 430, 570 }, { 0, 2, 1, 230, 330 }, { 0.01, 2, 1, 230, 330 },
	{ 2, 2, 1, 90, 190 }, { 0, 2, 0, 0, 0 }, { 1e9, 1.0001, 1, 0, 0 },
	{ 0, 30, 3, 80, 130 }, /* noise never lowers a speed below a tenth of it */
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

/*
 * Samples, quota and consecutive valid results of the faster version; number of 300
 * jobs that it gets. While it only fails it gets nearly none, but not none for ever.
 */
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

/* Two platforms; the faster version is for the second. */
START_TEST(primary_platform_first)
{
	for (int preferred = 0; preferred < 2; preferred++) {
		struct world *w = world_new(
		    preferred ? "<prefer_primary_platform/>" : "", HOUR);
		struct catalog cat = *w->snap.cat;
		struct platform p[] = { cat.platforms[0], cat.platforms[0] };
		struct app_version v[] = { cat.versions[0], cat.versions[0] };
		char *names[] = { w->req.platforms[0], (char[]){ "other" } };

		p[1].id = v[1].platformid = 2;
		p[1].name = names[1];
		v[1].id = 4;
		v[1].pfc_n = 101; /* three times as fast as the other */
		v[1].pfc_avg = 0.3;
		w->conf->version_select_random_factor = 0;
		cat.platforms = p;
		cat.nplatforms = 2;
		cat.versions = v;
		cat.nversions = 2;
		w->snap.cat = &cat;
		w->req.platforms = names;
		w->req.nplatforms = 2;
		world_plain(w, "31/3");
		ck_assert_int_eq(world_decide(w)->sends[0].version->id,
		    preferred ? cat.versions[0].id : 4);
		v[0].deprecated =
		    1; /* no version left for the first platform: the second is used */
		ck_assert_int_eq(world_decide(w)->sends[0].version->id, 4);
		world_free(w);
	}
}
END_TEST

UNIT_MAIN("rules_version", {
	ADD_LOOP(noise_of_choices, N(noises));
	ADD(no_noise_for_a_locality_app);
	ADD_LOOP(version_that_only_fails, N(failures));
	ADD(primary_platform_first);
})
