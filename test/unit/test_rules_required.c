/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locality where Locus differs from upstream, and its races (locality.md 1.5, 1.9), as
 * far as rules decide them; test/requirements.def lists all of them.
 */
#include "test/unit/unit.h"

#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define ON "<locality_scheduling/>"

/* D9: every order of the held files occurs, not only rotations of the list. */
START_TEST(D9_a_shuffle_is_no_rotation)
{
	struct world *w = world_new(ON, 0);
	int seen[3][3] = { { 0 } }; /* by first and second file */

	world_files(w, "A h-; B h-; C h-");
	for (uint64_t seed = 1; seed <= 600; seed++) {
		struct snap_file copy[3];
		struct rng rng = rng_seed(seed);

		memcpy(copy, w->snap.files, sizeof(copy));
		locality_order(&w->a, w->conf, &rng, copy, 3);
		seen[copy[0].name[0] - 'A'][copy[1].name[0] - 'A']++;
	}
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++) /* 100 expected of each of the six */
			ck_assert_msg(i == k || (seen[i][k] > 70 && seen[i][k] < 130),
			    "%c%c came %d times", 'A' + i, 'A' + k, seen[i][k]);
	world_free(w);
}
END_TEST

/*
 * D13: only the lack of a version ends the search (see L17). The first job belongs to a
 * second app that the account did not select.
 */
START_TEST(race_15_a_deselected_app_ends_nothing)
{
	static char moons[] = "moons";
	struct world *w = world_new(ON, 3 * HOUR);
	struct catalog cat = *w->snap.cat;
	struct app apps[2] = { cat.apps[0], cat.apps[0] };
	struct app_version versions[2] = { cat.versions[0], cat.versions[0] };
	int64_t selected[] = { 1 };
	struct decision *d;

	apps[1].id = versions[1].appid = 2;
	apps[1].name = apps[1].user_friendly_name = moons;
	versions[1].id = 4;
	cat.apps = apps;
	cat.versions = versions;
	cat.napps = cat.nversions = 2;
	w->snap.cat = &cat;
	w->snap.project_prefs.apps = selected;
	w->snap.project_prefs.napps = 1;
	world_files(w, "A hu 11/1 12/2; B hu 21/3");
	w->snap.files[0].jobs[0].appid = 2;
	d = world_decide(w);
	ck_assert_str_eq(world_text(w, d), "sent 12h 21h | NONE");
	ck_assert_uint_eq(d->counts[WHY_NO_APP_VERSION], 0);
	world_free(w);
}
END_TEST

/*
 * If the first job needs too much of something, the search continues with its file and
 * the others.
 */
START_TEST(race_16_lack_of_resources_ends_nothing)
{
	struct world *w = world_new(ON, 3 * HOUR);
	struct job *j;

	world_files(w, "A hu 11/1 12/2; B hu 21/3");
	j = &w->snap.files[0].jobs[0];
	if (_i == 0)
		j->rsc_memory_bound = 1e13;
	else if (_i == 1)
		j->rsc_disk_bound = 1e15;
	else
		j->delay_bound = 60;
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 12h 21h | NONE");
	world_free(w);
}
END_TEST

/* The number of jobs is not limited per file or per request. */
START_TEST(race_14_no_limit_per_file)
{
	enum { JOBS = 150 };
	struct world *w = world_new(
	    ON "<max_wus_to_send>0</max_wus_to_send>", JOBS * 100);
	char *spec = arena_strdup(&w->a, "A hu");

	for (int i = 1; i <= JOBS; i++)
		spec = arena_printf(&w->a, "%s %d/%d", spec, i, i);
	world_files(w, spec);
	for (size_t i = 0; i < JOBS; i++)
		w->snap.files[0].jobs[i].rsc_fpops_est = 100 * 1e9;
	w->req.host.d_free = w->req.host.d_total = 1e15;
	ck_assert_uint_eq(world_decide(w)->nsends, JOBS);
	world_free(w);
}
END_TEST

/*
 * A client deletes a file only when no task of its own needs it, and lists the file
 * until then. It gets the delete order again, and gets work for the file if there is
 * new work.
 */
START_TEST(race_08_a_reported_file_again_and_again)
{
	struct world *w = world_new(ON, HOUR);
	struct job more = world_job(12, 9);

	world_files(w, "A hoa");
	world_in_progress(w, "5/1");
	world_others(w, "j5");
	w->snap.in_progress[0].fileset_id = 1;
	ck_assert_str_eq(world_text(w, world_decide(w)), "del A | mark A | NO_WORK");
	w->snap.nin_progress = w->req.nother_results = 0;
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(
		    world_text(w, world_decide(w)), "del A | mark A | NO_WORK");
	more.fileset_id = 1;
	w->snap.files[0].jobs = &more;
	w->snap.files[0].njobs = 1;
	w->snap.files[0].has_unsent = true;
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 12h | NONE");
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_required", {
	ADD(D9_a_shuffle_is_no_rotation);
	ADD(race_15_a_deselected_app_ends_nothing);
	ADD_LOOP(race_16_lack_of_resources_ends_nothing, 3);
	ADD(race_14_no_limit_per_file);
	ADD(race_08_a_reported_file_again_and_again);
})
