/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loader gives the rules of locality what they need (locality.md 1.1, 1.5, 1.9), on
 * a real server, as in test_db.c.
 */
#include "test/sql/world.h"

#include "db/stmts.h"
#include "model/rows.h"
#include "test/sql/candidates.h"
#include "lib/banned.h"

enum { SIZE = 10, ALL = 100000 /* more sets than there are */ };

/* Raises a trigger in the project's directories. */
static enum err raised(enum trigger of, const char *name)
{
	const struct triggers t = triggers_of(&cf, db, NULL);

	return trigger_raise(&t, of, name, &f);
}

static enum err cleared(enum trigger of, const char *name)
{
	const struct triggers t = triggers_of(&cf, db, NULL);

	return trigger_clear(&t, of, name, &f);
}

static int64_t results(const char *name, int64_t fileset_id, int n, int64_t create_time)
{
	struct workunit wu;

	return make_unsent_results(name, 1, fileset_id, n, create_time, &wu);
}

static int64_t account = 305; /* the account of the snapshots */

/* Loads the sets of the files that the host lists, of which only names count. */
static struct snapshot locality_held(const char *const *names, size_t n)
{
	struct rq_file *files = NEWN(&a, struct rq_file, n);
	struct request rq = { .files = files, .nfiles = n };
	struct snapshot s = { .user = { .id = account } };

	for (size_t i = 0; i < n; i++)
		files[i] = (struct rq_file){ .name = arena_strdup(&a, names[i]),
			.status = 1 };
	struct held_sets held = { 0 };

	ck_ok(read_held(db, &a, &cf, &rq, 2000, &held, &s, &f));
	return s;
}

static struct snapshot picked(uint64_t seed, size_t k)
{
	struct request rq = { 0 };
	struct rng rng = rng_seed(seed);
	struct snapshot s = { .user = { .id = account } };

	ck_ok(read_working_set(db, &a, &cf, &rq, &rng, k, &s, &f));
	return s;
}

static struct snapshot searched(uint64_t seed, size_t k)
{
	struct request rq = { 0 };
	struct rng rng = rng_seed(seed);
	struct snapshot s = { .user = { .id = account } };

	ck_ok(read_searched(db, &a, &cf, &rq, &rng, k, &s, &f));
	return s;
}

/* --- L13, D11: picks of the working set, and the search without it --- */

/* The seed is fixed, so the test passes always or never. */
START_TEST(L13_picks_are_uniform)
{
	enum { FILES = 8, PICKS = 1600 };
	int64_t ids[FILES];
	int counts[FILES] = { 0 };
	double chi2 = 0, expected = (double)PICKS / FILES;

	for (int i = 0; i < FILES; i++) {
		char *name = arena_printf(&a, "uniform_%d", i);

		ids[i] = make_fileset(name, SIZE);
		ck_ok(raised(TRIGGER_WORKING_SET, name));
	}
	for (uint64_t seed = 1; seed <= PICKS; seed++) {
		struct snapshot s = picked(seed, 1);

		ck_assert_uint_eq(s.nfiles, 1);
		for (int i = 0; i < FILES; i++)
			counts[i] += s.files[0].fileset_id == ids[i];
	}
	for (int i = 0; i < FILES; i++)
		chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
	/*
	 * With seven degrees of freedom, chi-square is below 1.24 or above 20.3 with a
	 * probability of 1/200 each.
	 */
	ck_assert_msg(chi2 > 1.24 && chi2 < 20.3, "chi-square %.1f", chi2);
}
END_TEST

/*
 * The start of a search follows from the request's seed; nothing is drawn from the
 * working set.
 */
START_TEST(L13_search_is_deterministic)
{
	int64_t ids[3];

	for (int i = 0; i < 3; i++) {
		char *name = arena_printf(&a, "sure_%d", i);

		ids[i] = make_fileset(name, SIZE);
		results(name, ids[i], 1, 1);
	}
	ck_ok(raised(TRIGGER_WORKING_SET, "sure_0"));
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct snapshot s = searched(seed, 1000), again = searched(seed, 1000);
		size_t at = 0;

		ck_assert_uint_eq(s.nfiles, again.nfiles);
		for (size_t i = 0; i < s.nfiles; i++) {
			ck_assert_int_eq(
			    s.files[i].fileset_id, again.files[i].fileset_id);
			at += !s.files[i].from_working_set;
		}
		ck_assert_uint_eq(at, s.nfiles);
		/* The search goes on by increasing id, once around. */
		for (size_t i = 0, turns = 0; i + 1 < s.nfiles; i++) {
			turns += s.files[i].fileset_id > s.files[i + 1].fileset_id;
			ck_assert_uint_le(turns, 1);
		}
	}
}
END_TEST

/* L4: without the switch, neither the working set nor makeable sets are read. */
START_TEST(L4_off_takes_no_new_files)
{
	struct app app = { .id = 1 };
	struct catalog cat = { .apps = &app, .napps = 1 };
	struct snapshot s = { .cat = &cat };
	struct request rq = { 0 };
	struct rng rng = rng_seed(1);
	size_t ready;

	make_fileset("switched_off", SIZE);
	ck_ok(raised(TRIGGER_WORKING_SET, "switched_off"));
	ready = searched(1, 1000).nfiles;
	cf.locality_scheduling = false;
	cf.locality_scheduling_wait_period = 10;
	ck_ok(read_working_set(db, &a, &cf, &rq, &rng, 9, &s, &f));
	ck_assert_uint_eq(s.nfiles, 0);
	ck_ok(read_searched(db, &a, &cf, &rq, &rng, 1000, &s, &f));
	ck_assert_uint_eq(s.nfiles, ready);
	app.locality_scheduling = true; /* one app with locality scheduling is enough */
	s = (struct snapshot){ .cat = &cat };
	ck_ok(read_working_set(db, &a, &cf, &rq, &rng, 9, &s, &f));
	ck_assert_uint_eq(s.nfiles, 1);
	ck_ok(read_searched(db, &a, &cf, &rq, &rng, 1000, &s, &f));
	ck_assert_uint_gt(s.nfiles, ready);
}
END_TEST

/* Runs a search over all sets; returns the number of statements, and of sets found. */
static uint64_t search_costs(const struct catalog *cat, size_t *found)
{
	struct snapshot s = { .cat = cat };
	struct request rq = { 0 };
	struct rng rng = rng_seed(3);
	uint64_t before = db_statements(db);

	ck_ok(read_searched(db, &a, &cf, &rq, &rng, ALL, &s, &f));
	*found = s.nfiles;
	return db_statements(db) - before;
}

/* Sets that were given up are not read again, and hide no others. */
START_TEST(search_passes_over_what_is_given_up)
{
	struct app app = { .id = 1, .locality_scheduling = true };
	struct catalog cat = { .apps = &app, .napps = 1 };
	size_t n, found, some;
	uint64_t first;
	struct row_set_named *rows;

	cf.locality_scheduling_wait_period = 10;
	make_fileset("given_up", SIZE);
	ck_ok(db_query(db, &a, &f, &rows, &n, FILESETS_AFTER, .after = 0, .max = ALL));
	for (size_t i = 0; i < n; i++)
		ck_ok(raised(TRIGGER_NO_WORK_AVAILABLE, rows[i].name));
	unit_written(arena_printf(&a, "%s/locality_scheduling/no_work_available",
			 cf.project_dir),
	    1000);
	first = search_costs(&cat, &some);
	ck_assert_uint_eq(search_costs(&cat, &found) + 2, first); /* two more rounds */
	ck_assert_uint_eq(found, some);
	make_fileset("not_given_up", SIZE);
	search_costs(&cat, &found);
	ck_assert_uint_eq(found, some + 1);
	ck_ok(cleared(TRIGGER_NO_WORK_AVAILABLE, "given_up"));
	search_costs(&cat, &found);
	ck_assert_uint_eq(found, some + 2);
}
END_TEST

/* --- L16: increasing id for one account and file --- */

START_TEST(L16_skipped_ids_are_released)
{
	int64_t set = make_fileset("order", SIZE);
	int64_t id = results("order_wu", set, 3, 1);
	struct snap_file file = { .fileset_id = set, .has_unsent = true };
	struct snapshot s = { .user = { .id = 301 }, .files = &file, .nfiles = 1 };

	ck_ok(read_jobs(db, &a, &cf, 0, 1, 1100, &s, &f));
	ck_assert_uint_eq(file.njobs, 3);
	ck_assert_int_eq(file.jobs[0].id, id);
	ck_assert_str_eq(file.jobs[0].wu_xml_doc, "<workunit/>");
	ck_assert_str_eq(file.jobs[0].xml_doc_in, "<result/>");

	ck_ok(claim(id + 2, 11, 301, 0)); /* the last one: two are skipped */
	file = (struct snap_file){ .fileset_id = set, .has_unsent = true };
	ck_ok(read_jobs(db, &a, &cf, 0, 1, 1299, &s, &f));
	ck_assert_int_eq(file.last_id, id + 2);
	ck_assert_uint_eq(file.njobs, 0);
	ck_assert(file.has_unsent);
	file = (struct snap_file){ .fileset_id = set, .has_unsent = true };
	ck_ok(read_jobs(db, &a, &cf, 0, 1, 1300, &s, &f));
	ck_assert_uint_eq(file.njobs, 2);

	s.user.id = 302; /* another account gets the skipped results */
	file = (struct snap_file){ .fileset_id = set, .has_unsent = true };
	ck_ok(read_jobs(db, &a, &cf, 0, 1, 1100, &s, &f));
	ck_assert_uint_eq(file.njobs, 2);
}
END_TEST

/* Two hosts of one account load at the same time, then both claim. */
START_TEST(L16_two_hosts_of_one_account)
{
	int64_t set = make_fileset("two_hosts", SIZE);
	int64_t id = results("two_hosts", set, 4, 1);
	struct snap_file one = { .fileset_id = set, .has_unsent = true }, two = one;
	struct snapshot s = { .user = { .id = 303 }, .files = &one, .nfiles = 1 };
	struct snapshot t = { .user = { .id = 303 }, .files = &two, .nfiles = 1 };

	ck_ok(read_jobs(db, &a, &cf, 0, 1, 1100, &s, &f));
	ck_ok(read_jobs(db, &a, &cf, 0, 1, 1100, &t, &f));
	ck_assert_uint_eq(one.njobs, 4);
	ck_assert_uint_eq(two.njobs, 4);
	/*
	 * The other host loses the jobs that one host got, and goes on to higher ids.
	 */
	ck_ok(claim(one.jobs[0].id, 11, 303, 0));
	ck_err(claim(two.jobs[0].id, 12, 303, 0), E_RACE);
	ck_ok(claim(two.jobs[1].id, 12, 303, 0));
	ck_err(claim(one.jobs[1].id, 11, 303, 0), E_RACE);
	ck_ok(claim(one.jobs[2].id, 11, 303, 0));
	two = (struct snap_file){ .fileset_id = set, .has_unsent = true };
	ck_ok(read_jobs(db, &a, &cf, 0, 1, 1100, &t, &f));
	ck_assert_uint_eq(two.njobs, 1);
	ck_assert_int_eq(two.jobs[0].id, id + 3);
}
END_TEST

/* --- the holders of a set --- */

START_TEST(L14_holders_of_a_set_hold_all_of_it)
{
	struct app app = { .name = arena_strdup(&a, "holders"),
		.user_friendly_name = arena_strdup(&a, ""),
		.locality_scheduling = true };
	struct fileset pair = { .name = arena_strdup(&a, "holders_pair") };
	struct row_fileset_state *states;
	struct file *one, *two;
	size_t n, seen = 0;

	ck_ok(app_insert(db, &app, &f));
	make_fileset_of("holders_1", SIZE, app.id);
	make_fileset_of("holders_2", SIZE, app.id);
	ck_ok(file_by_name(db, &a, "holders_1", &one, &f));
	ck_ok(file_by_name(db, &a, "holders_2", &two, &f));
	pair.appid = app.id;
	ck_ok(fileset_insert(db, &pair, (int64_t[]){ one->id, two->id }, 2, &f));
	for (int64_t host = 701; host <= 703; host++)
		ck_ok(host_files_save(db, &a, host, &one->id, 1, 1, &f));
	ck_ok(host_files_save(db, &a, 704, (int64_t[]){ one->id, two->id }, 2, 1, &f));
	ck_ok(fileset_states(db, &a, 0, 1000, &states, &n, &f));
	for (size_t i = 0; i < n; i++) {
		if (strcmp(states[i].name, "holders_1") == 0)
			ck_assert_int_eq(states[i].holders, 4);
		else if (strcmp(states[i].name, "holders_2") == 0 ||
			 states[i].id == pair.id)
			ck_assert_int_eq(states[i].holders, 1);
		else
			continue;
		seen++;
	}
	ck_assert_uint_eq(seen, 3);
}
END_TEST

/* --- D4: the project touches no files that it does not know --- */

START_TEST(D4_strangers_are_not_looked_at)
{
	const char *const names[] = { "nobody_knows", "nobody_knows_1", "" };
	struct snapshot s = locality_held(names, N(names));

	ck_assert_uint_eq(s.nheld_files, 0);
	ck_assert_uint_eq(s.nfiles, 0);
}
END_TEST

/* --- races of locality.md 1.5 --- */

/*
 * A file left the working set and no more work is made of it: its holders find its
 * results at once, other hosts by the search.
 */
START_TEST(race_05_retries_are_found)
{
	static const char *const name[] = { "retried" };
	int64_t set = make_fileset("retried", SIZE);
	struct snapshot s;
	bool found = false;

	ck_ok(raised(TRIGGER_NO_WORK_AVAILABLE, "retried"));
	results("retried", set, 1, 1);
	s = locality_held(name, 1);
	ck_assert_uint_eq(s.nfiles, 1);
	ck_ok(read_jobs(db, &a, &cf, 0, 1, 2000, &s, &f));
	ck_assert_uint_eq(s.files[0].njobs, 1);
	s = searched(3, 1000);
	for (size_t i = 0; i < s.nfiles; i++)
		found = found || s.files[i].fileset_id == set;
	ck_assert(found);
}
END_TEST

/*
 * Several requests of one process: each reads the working set anew and uses nothing up.
 */
START_TEST(race_06_the_working_set_is_read_each_time)
{
	int64_t one = make_fileset("anew_1", SIZE), two = make_fileset("anew_2", SIZE);

	ck_ok(raised(TRIGGER_WORKING_SET, "anew_1"));
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct snapshot s = picked(seed, 3);

		ck_assert_uint_eq(s.nfiles, 1);
		ck_assert_int_eq(s.files[0].fileset_id, one);
	}
	ck_ok(raised(TRIGGER_WORKING_SET, "anew_2"));
	ck_assert_uint_eq(picked(6, 3).nfiles, 2);
	ck_ok(cleared(TRIGGER_WORKING_SET, "anew_1"));
	ck_assert_uint_eq(picked(7, 3).nfiles, 1);
	ck_assert_int_eq(picked(7, 3).files[0].fileset_id, two);
}
END_TEST

/* No character of a name has a special meaning in a statement. */
static const char *const odd[] = { "odd~", "odd%", "odd_", "odd'", "odd\\", "odd\"",
	"ODD~", "odd~.dat", "odd x", "od\xc3\xa9", "odd__" };

START_TEST(race_11_names_are_only_names)
{
	int64_t ids[N(odd)];

	for (size_t i = 0; i < N(odd); i++) {
		ids[i] = make_fileset(odd[i], SIZE);
		results(arena_printf(&a, "%s__1", odd[i]), ids[i], 1, 1);
	}
	for (size_t i = 0; i < N(odd); i++) {
		struct snapshot s = locality_held(odd + i, 1);

		ck_assert_msg(s.nfiles == 1, "%s: %zu sets", odd[i], s.nfiles);
		ck_assert_int_eq(s.files[0].fileset_id, ids[i]);
		ck_ok(read_jobs(db, &a, &cf, 0, 1, 2000, &s, &f));
		ck_assert_msg(
		    s.files[0].njobs == 1, "%s: %zu jobs", odd[i], s.files[0].njobs);
		ck_assert_int_eq(s.files[0].jobs[0].fileset_id, ids[i]);
		ck_ok(raised(TRIGGER_WORKING_SET, odd[i]));
		s = picked(1, 9);
		ck_assert_uint_eq(s.nfiles, 1);
		ck_assert_int_eq(s.files[0].fileset_id, ids[i]);
		ck_ok(cleared(TRIGGER_WORKING_SET, odd[i]));
	}
	ck_assert_uint_eq(locality_held((const char *[]){ "oddx" }, 1).nfiles, 0);
}
END_TEST

/* D12: the file of a job comes from its row, not from names. */
START_TEST(race_12_the_file_is_not_read_from_names)
{
	static const char *const names[] = { "row_a", "row_b" };
	int64_t set_a = make_fileset("row_a", SIZE),
		set_b = make_fileset("row_b", SIZE);
	int64_t of_a = results("row_b__1__2_3", set_a, 2, 1);
	int64_t of_b = results("row_a_1", set_b, 1, 1);
	struct snapshot s = locality_held(names, 2);

	ck_ok(read_jobs(db, &a, &cf, 0, 9, 2000, &s, &f));
	ck_assert_int_eq(snapshot_file(&s, set_a)->jobs[0].id, of_a);
	ck_assert_int_eq(snapshot_file(&s, set_b)->jobs[0].id, of_b);
	ck_ok(claim(of_a + 1, 11, 304, 0)); /* one is skipped */
	account = 304;
	s = locality_held(names, 2);
	ck_ok(read_jobs(db, &a, &cf, 0, 9, 1100, &s, &f));
	ck_assert_uint_eq(snapshot_file(&s, set_a)->njobs, 0);
	ck_assert_int_eq(snapshot_file(&s, set_a)->last_id, of_a + 1);
	ck_assert_uint_eq(snapshot_file(&s, set_b)->njobs, 1);
}
END_TEST

/* A search finds no unsent results. */
static void take_all(void)
{
	size_t taken;

	account = 306;
	do {
		struct snapshot s = searched(1, 1000);

		taken = 0;
		ck_ok(read_jobs(db, &a, &cf, 0, 1000, 2000, &s, &f));
		for (size_t i = 0; i < s.nfiles; i++)
			for (size_t k = 0; k < s.files[i].njobs; k++, taken++)
				ck_ok(claim(s.files[i].jobs[k].id, 11, 306, 0));
	} while (taken > 0);
}

/*
 * Finds sets whose first result is old: oldest first, at most four for one request,
 * without paused sets. A search that starts elsewhere finds others.
 */
START_TEST(D14_old_work_is_found)
{
	enum { FILES = 40, OLD = 6, PAUSED = 3, LIMIT = 5000, SEEDS = 9999 };
	static const int by_age[OLD] = { 1, 0, 3, 2, 5, 4 };
	int64_t ids[FILES];
	bool most = false, last = false;

	take_all();
	for (int i = 0; i < FILES; i++) {
		const char *name = arena_printf(&a, "old_%d", i);
		int64_t made = i < OLD ? LIMIT - OLD + by_age[i] : LIMIT + i - OLD;

		ids[i] = make_fileset(name, SIZE);
		results(name, ids[i], 1, made);
		results(arena_printf(&a, "%s_new", name), ids[i], 1, 1);
	}
	ck_ok(fileset_set_paused(db, ids[PAUSED], FILESET_PAUSED, "", &f));
	for (uint64_t seed = 1; seed <= SEEDS && !(most && last); seed++) {
		struct request rq = { 0 };
		struct rng rng = rng_seed(seed);
		struct snapshot s = { 0 };
		int before = -1;

		ck_ok(read_old(db, &a, &cf, &rq, &rng, LIMIT, &s, &f));
		ck_assert_uint_le(s.nfiles, 4);
		most = most || s.nfiles == 4;
		for (size_t i = 0; i < s.nfiles; i++) {
			int64_t k = s.files[i].fileset_id - ids[0];

			ck_assert(k >= 0 && k < OLD && k != PAUSED);
			ck_assert_int_gt(by_age[k], before);
			before = by_age[k];
			ck_assert(s.files[i].searched && s.files[i].has_unsent);
			last = last || before == OLD - 1;
		}
	}
	ck_assert(most && last);
}
END_TEST

UNIT_MAIN("locality", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(L13_picks_are_uniform);
	ADD(L13_search_is_deterministic);
	ADD(L4_off_takes_no_new_files);
	ADD(search_passes_over_what_is_given_up);
	ADD(L16_skipped_ids_are_released);
	ADD(L16_two_hosts_of_one_account);
	ADD(L14_holders_of_a_set_hold_all_of_it);
	ADD(D4_strangers_are_not_looked_at);
	ADD(race_05_retries_are_found);
	ADD(race_06_the_working_set_is_read_each_time);
	ADD(race_11_names_are_only_names);
	ADD(race_12_the_file_is_not_read_from_names);
	ADD(D14_old_work_is_found);
})
