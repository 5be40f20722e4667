/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates beyond the first ones, read in slices of a walk around the index, on a
 * real server, whose socket is in $DB_SOCKET.
 */
#include "test/unit/unit.h"

#include <unistd.h>
#include "db/entity.h"
#include "model/rows.h"
#include "db/stmts.h"
#include "test/sql/candidates.h"
#include "lib/banned.h"

enum { JOBS = 700, USER = 401 };

static struct arena a;
static struct fail f;
static struct conf cf;
static struct db *db;
static struct app app;
static struct snap_file file;
static struct snapshot snap;
static struct catalog cat;
static struct request req;

/*
 * Makes JOBS results of one file set, or plain ones, each with a workunit of its own.
 */
static void make_walk_jobs(const char *name, int64_t appid, int64_t fileset_id)
{
	ck_assert_int_eq(db_begin(db, &f), OK);
	for (int i = 0; i < JOBS; i++) {
		struct workunit wu = { .name = arena_printf(&a, "%s_%d", name, i),
			.appid = appid,
			.fileset_id = fileset_id,
			.transition_time = TRANSITION_NEVER };
		struct result r = { .name = wu.name, .create_time = 1000 };

		ck_assert_int_eq(workunit_insert(db, &wu, "<workunit/>", &f), OK);
		ck_assert_int_eq(result_insert(db, &wu, &r, "<result/>", 1, &f), OK);
	}
	ck_assert_int_eq(db_commit(db, &f), OK);
}

static void setup(void)
{
	int n = (int)getpid(); /* every test runs in its own process */
	struct fileset set = { .name = arena_printf(&a, "more_%d", n), .appid = 1 };
	struct file one = { .name = set.name, .md5sum = set.name, .size = 1 };

	cf.db_socket = getenv("DB_SOCKET");
	cf.db_name = arena_strdup(&a, "fresh");
	cf.db_user = arena_strdup(&a, "root");
	cf.db_host = cf.db_passwd = arena_strdup(&a, "");
	cf.locality_scheduling = true;
	cf.locality_skip_release = 300;
	ck_assert_int_eq(db_open(&cf, DB_WORK, &db, &f), OK);
	app = (struct app){ .name = set.name, .user_friendly_name = set.name };
	ck_assert_int_eq(app_insert(db, &app, &f), OK);
	ck_assert_int_eq(file_insert(db, &one, &f), OK);
	ck_assert_int_eq(fileset_insert(db, &set, &one.id, 1, &f), OK);
	make_walk_jobs(arena_printf(&a, "morefile_%d", n), app.id, set.id);
	make_walk_jobs(arena_printf(&a, "moreplain_%d", n), app.id, 0);
	cat = (struct catalog){ .apps = &app, .napps = 1 };
	file = (struct snap_file){
		.fileset_id = set.id, .held = true, .has_unsent = true
	};
	snap = (struct snapshot){
		.user = { .id = USER }, .files = &file, .nfiles = 1, .cat = &cat
	};
	ck_assert_int_eq(read_jobs(db, &a, &cf, 0, 2, 1100, &snap, &f), OK);
	ck_assert_uint_eq(file.njobs, 8);
	ck_assert(snap.search.left);
}

static void teardown(void)
{
	db_close(db);
	arena_free(&a);
}

/* The walk over files and plain jobs, or over jobs of apps that use almost no CPU. */
static void slice_of(bool plain, bool nci, int64_t once)
{
	const struct slice_of what = {
		.conf = &cf, .req = &req, .nci = nci, .apps = &plain, .once = once
	};
	struct snap_search *q = nci ? &snap.nci_search : &snap.search;
	size_t before = q->rows;
	uint64_t statements = db_statements(db);

	ck_assert_int_eq(read_slice(db, &a, &what, &snap, &f), OK);
	ck_assert_uint_le(q->rows - before, 256);
	/* Statements for the rows, four per 64 file sets, and one per 64 workunits. */
	ck_assert_uint_le(db_statements(db) - statements, 2 + 4 * 4 + 4 + 3);
}

static void slice(void)
{
	slice_of(true, false, 0);
}

/* Asserts that ids increase strictly. */
static void in_order(const struct job *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		ck_assert_int_lt(v[i - 1].id, v[i].id);
}

START_TEST(slices_reach_every_job)
{
	int slices = 0;

	for (; snap.search.left; slices++)
		slice();
	ck_assert_int_le(slices, 2 * JOBS / 250 + 1);
	ck_assert_uint_eq(file.njobs, JOBS);
	in_order(file.jobs, file.njobs);
	ck_assert_uint_eq(snap.nplain, JOBS);
	for (size_t i = 0; i < snap.nplain; i++)
		for (size_t k = 0; k < i; k++)
			ck_assert_int_ne(snap.plain[i].id, snap.plain[k].id);
}
END_TEST

/* A later request resumes where the last one ended, and stops there after one round. */
START_TEST(the_cursor_goes_on)
{
	struct place at;

	for (int i = 0; i < 4; i++)
		slice();
	at = snap.search.at;
	ck_assert_int_lt(at.ready, 0);
	ck_assert_uint_lt(snap.nplain, JOBS);
	file.njobs = 0;
	snap = (struct snapshot){ .user = { .id = USER },
		.host = { .search_ready = at.ready, .search_id = at.id },
		.files = &file,
		.nfiles = 1,
		.cat = &cat,
		.search.left = true };
	slice();
	ck_assert_uint_gt(snap.nplain, 200);
	ck_assert_uint_eq(file.njobs, 0);
	while (snap.search.left)
		slice();
	ck_assert_uint_eq(file.njobs, JOBS);
	in_order(file.jobs, file.njobs);
	ck_assert_uint_ge(snap.nplain, JOBS);
}
END_TEST

/*
 * If the host no longer holds the cursor's set, the walk continues with the next set.
 */
START_TEST(a_cursor_that_is_no_longer_held)
{
	snap.host.search_ready = file.fileset_id - 1;
	snap.host.search_id = 99;
	slice();
	ck_assert_uint_gt(file.njobs, 200);
	snap.search = (struct snap_search){ .left = true };
	snap.nfiles = 0;
	snap.host.search_ready = 9000000;
	for (int i = 0; i < 9 && snap.search.left; i++)
		slice();
	ck_assert(!snap.search.left);
	ck_assert_uint_eq(snap.nplain, JOBS);
}
END_TEST

static enum err claim_for(const struct dec_send *s, int64_t hostid, int64_t userid)
{
	struct db_batch *b = db_batch(&a, SQL_RESULT_CLAIM);

	result_claim_put(b, s, hostid, userid, 1000, 2000);
	return db_batch_all(db, b, &f);
}

/* The once rule is checked for the new candidates, too; a paused set is skipped. */
START_TEST(once_rule_and_pause)
{
	struct job job = { .id = file.jobs[0].id + 100 };
	struct dec_send d = { .job = &job, .once = USER };

	ck_assert_int_eq(claim_for(&d, 11, USER), OK);
	slice_of(false, false, USER);
	ck_assert_uint_eq(snap.nuser_wus, 0); /* no longer unsent */
	file.paused = true;
	snap.search = (struct snap_search){ .left = true };
	slice_of(false, false, USER);
	ck_assert(!snap.search.left);
	ck_assert_uint_eq(snap.search.rows, 0);
}
END_TEST

/*
 * Returns the number of the set's jobs in the snapshot; 0 also if the set has no entry.
 */
static size_t walk_jobs_of(int64_t id)
{
	const struct snap_file *v = snapshot_file(&snap, id);

	return v == NULL ? 0 : v->njobs;
}

/* The walk also reaches a set of which the host has nothing, wherever a slice ended. */
START_TEST(sets_that_nobody_holds)
{
	int64_t id = file.fileset_id, last = file.jobs[0].id;
	struct snapshot fresh = { .user = { .id = USER }, .cat = &cat };
	struct dec_send d = { .job = &file.jobs[3], .once = USER };
	int slices = 0;

	ck_assert_int_eq(claim_for(&d, 11, USER), OK);
	last = file.jobs[3].id;
	cf.locality_search_files = 8;
	fresh.search.left = true;
	snap = fresh;
	for (; snap.search.left && walk_jobs_of(id) < JOBS - 1; slices++)
		slice_of(false, false, 0);
	ck_assert_uint_eq(walk_jobs_of(id), JOBS - 1);
	ck_assert_int_le(
	    slices, 40); /* slices of 255 rows, which include sets of other tests */
	ck_assert(snapshot_file(&snap, id)->searched);
	ck_assert(snapshot_file(&snap, id)->has_unsent);
	ck_assert(!snapshot_file(&snap, id)->unread);
	ck_assert_int_eq(snapshot_file(&snap, id)->last_id, last);
	in_order(snapshot_file(&snap, id)->jobs, JOBS - 1);

	fresh.host.search_ready = id; /* the cursor is inside the set: the walk reads
	                                 the rest and goes once around */
	fresh.host.search_id = last + 300;
	snap = fresh;
	slice_of(false, false, 0);
	ck_assert_uint_gt(walk_jobs_of(id), 200);
	ck_assert_int_gt(snapshot_file(&snap, id)->jobs[0].id, last + 300);
	while (snap.search.left)
		slice_of(false, false, 0);
	ck_assert_uint_eq(walk_jobs_of(id), JOBS - 1);
}
END_TEST

/*
 * A file's first jobs lie beyond the last one that the account got; the walk also finds
 * the jobs before that id, which is known by then.
 */
START_TEST(what_the_account_got_is_known_with_all_jobs)
{
	int64_t last = file.jobs[3].id;
	struct dec_send d = { .job = &file.jobs[3], .once = USER };

	ck_assert_int_eq(claim_for(&d, 11, USER), OK);
	file = (struct snap_file){
		.fileset_id = file.fileset_id, .held = true, .has_unsent = true
	};
	ck_assert_int_eq(read_jobs(db, &a, &cf, 0, 2, 1100, &snap, &f), OK);
	ck_assert_uint_eq(file.njobs, 8);
	ck_assert_int_gt(file.jobs[0].id, last);
	while (snap.search.left)
		slice_of(false, false, 0);
	ck_assert_uint_eq(file.njobs, JOBS - 1);
	ck_assert_int_lt(file.jobs[0].id, last);
	ck_assert_int_eq(file.last_id, last);
}
END_TEST

/* Held files come first, then plain jobs, then the ranges between and beyond. */
START_TEST(the_order_of_the_walk)
{
	struct snap_file *files = NEWN(&a, struct snap_file, 2);

	cf.locality_search_files = 8;
	files[0] = (struct snap_file){ .fileset_id = file.fileset_id - 1,
		.bytes = 5,
		.bytes_missing = 3,
		.paused = true };
	files[1] = file;
	snap.files = files;
	snap.nfiles = 2;
	slice();
	ck_assert(snap.search.held_left);
	ck_assert_uint_gt(walk_jobs_of(file.fileset_id), 200);
	while (walk_jobs_of(file.fileset_id) < JOBS)
		slice();
	ck_assert_uint_eq(snap.nfiles, 2);
	while (snap.nplain < JOBS)
		slice();
	ck_assert(!snap.search.held_left);
	while (snap.search.left)
		slice();
	ck_assert_uint_eq(walk_jobs_of(file.fileset_id - 1), 0);
	ck_assert_uint_eq(walk_jobs_of(file.fileset_id), JOBS);
}
END_TEST

/* A set that is paused costs one slice, not all of its rows. */
START_TEST(a_paused_set_is_passed_over)
{
	struct fileset set = { .name = arena_printf(&a, "behind_%d", (int)getpid()),
		.appid = 1 };
	struct file one = { .name = set.name, .md5sum = set.name, .size = 1 };
	int64_t id = file.fileset_id;

	ck_assert_int_eq(file_insert(db, &one, &f), OK);
	ck_assert_int_eq(fileset_insert(db, &set, &one.id, 1, &f), OK);
	make_walk_jobs(set.name, app.id, set.id);
	ck_assert_int_eq(fileset_set_paused(db, id, FILESET_DRAINING, "", &f), OK);
	cf.locality_search_files = 8;
	snap = (struct snapshot){ .user = { .id = USER },
		.host = { .search_ready = id },
		.cat = &cat,
		.search.left = true };
	slice_of(false, false, 0);
	ck_assert_uint_gt(walk_jobs_of(id), 200);
	slice_of(false, false, 0);
	ck_assert_uint_lt(walk_jobs_of(id), 256);
	ck_assert_uint_gt(walk_jobs_of(set.id), 200);
}
END_TEST

/* Jobs of such apps have a walk of their own, with its own cursor. */
START_TEST(apps_that_use_no_cpu)
{
	int64_t at;

	snap.nci_search.left = true;
	for (int i = 0; i < 2; i++)
		slice_of(true, true, 0);
	ck_assert_uint_gt(snap.nnci, 400);
	ck_assert_uint_eq(snap.nplain, 0);
	ck_assert_uint_eq(file.njobs, 8);
	ck_assert_uint_eq(snap.search.rows, 0);
	at = snap.nci[snap.nnci - 1].id;
	snap.host.nci_ready = snap.nci_search.at.ready;
	snap.host.nci_id = snap.nci_search.at.id;
	ck_assert_int_eq(snap.host.nci_id, at);
	snap.nci_search = (struct snap_search){ .left = true };
	snap.nnci = 0;
	while (snap.nci_search.left)
		slice_of(true, true, 0);
	ck_assert_uint_ge(snap.nnci, JOBS);
}
END_TEST

/* One urgent job after JOBS others is read with the first query, most urgent first. */
START_TEST(urgent_jobs_come_first)
{
	struct rng rng = rng_seed(1);
	const int32_t priorities[] = { 3, 2000000, 5 };
	bool unread = true;

	for (size_t i = 0; i < N(priorities); i++) {
		struct workunit wu = { .name = arena_printf(
					   &a, "urgent_%d_%zu", (int)getpid(), i),
			.appid = app.id,
			.transition_time = TRANSITION_NEVER };
		struct result r = { .name = wu.name, .priority = priorities[i] };

		ck_assert_int_eq(workunit_insert(db, &wu, "<workunit/>", &f), OK);
		ck_assert_int_eq(result_insert(db, &wu, &r, "<result/>", 1, &f), OK);
	}
	ck_assert_int_eq(read_plain(db, &a, &cf, &rng, 2, &unread, &snap, &f), OK);
	ck_assert_uint_eq(snap.nplain, 8);
	ck_assert_int_eq(snap.plain[0].priority, 2000000);
	ck_assert_int_eq(snap.plain[1].priority, 5);
	ck_assert_int_eq(snap.plain[2].priority, 3);
	ck_assert_int_eq(snap.plain[3].priority, 0);
	while (snap.search.left)
		slice();
	ck_assert_uint_eq(snap.nplain, JOBS + 3);
}
END_TEST

UNIT_MAIN("more", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(slices_reach_every_job);
	ADD(the_cursor_goes_on);
	ADD(a_cursor_that_is_no_longer_held);
	ADD(once_rule_and_pause);
	ADD(urgent_jobs_come_first);
	ADD(sets_that_nobody_holds);
	ADD(what_the_account_got_is_known_with_all_jobs);
	ADD(the_order_of_the_walk);
	ADD(a_paused_set_is_passed_over);
	ADD(apps_that_use_no_cpu);
})
