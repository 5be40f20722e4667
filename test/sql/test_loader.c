/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loader reads for a request from a real server, whose socket is $DB_SOCKET.
 */
#include "test/sql/world.h"

#include "db/entity.h"
#include "db/stmts.h"
#include "db/supply_rows.h"
#include "lib/names.h"
#include "model/rows.h"
#include "test/sql/candidates.h"
#include "trigger/store.h"
#include "lib/banned.h"

static const struct triggers dirs = { .store = &trigger_store_dirs, .conf = &cf };

static struct request request_with(struct rq_file *files, size_t n)
{
	return (struct request){ .files = files, .nfiles = n };
}

START_TEST(the_loader_picks_from_the_working_set)
{
	struct snapshot s = { 0 };
	struct request rq = request_with(NULL, 0);
	struct rng rng = rng_seed(7);
	const char *const odd[] = { "pick_paused", "pick_draining", "not_registered" };
	int64_t paused = make_fileset(odd[0], 1);
	int64_t draining = make_fileset(odd[1], 1);

	for (int i = 0; i < 4; i++) {
		char *name = arena_printf(&a, "pick_%d", i);
		make_fileset(name, 10);
		ck_ok(trigger_raise(&dirs, TRIGGER_WORKING_SET, name, &f));
	}
	ck_ok(fileset_set_paused(db, paused, FILESET_PAUSED, "", &f));
	ck_ok(fileset_set_paused(db, draining, FILESET_DRAINING, "", &f));
	for (size_t i = 0; i < N(odd); i++)
		ck_ok(trigger_raise(&dirs, TRIGGER_WORKING_SET, odd[i], &f));
	ck_ok(read_working_set(db, &a, &cf, &rq, &rng, 2, &s, &f));
	ck_assert_uint_eq(s.nfiles, 2);
	ck_ok(read_working_set(db, &a, &cf, &rq, &rng, 9, &s, &f));
	ck_assert_uint_eq(s.nfiles, 4);
	for (size_t i = 0; i < s.nfiles; i++) {
		ck_assert(s.files[i].from_working_set && !s.files[i].held);
		ck_assert_int_eq(s.files[i].bytes_missing, 10);
	}
}
END_TEST

START_TEST(the_loader_searches_once_around)
{
	struct request rq = request_with(NULL, 0);
	struct workunit wu;
	int64_t last = 0;

	for (int i = 0; i < 3; i++)
		last = make_fileset(arena_printf(&a, "search_%d", i), 1);
	make_unsent_results("search_a", 1, last, 1, 1, &wu);
	make_unsent_results("search_b", 1, last - 2, 2, 1, &wu);
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct snapshot s = { 0 };
		struct rng rng = rng_seed(seed);
		bool hit[2] = { false };

		ck_ok(read_searched(db, &a, &cf, &rq, &rng, 1000, &s, &f));
		for (size_t i = 0; i < s.nfiles; i++) {
			ck_assert(s.files[i].searched);
			ck_assert_int_ne(s.files[i].fileset_id, last - 1);
			hit[0] = hit[0] || s.files[i].fileset_id == last;
			hit[1] = hit[1] || s.files[i].fileset_id == last - 2;
			for (size_t k = 0; k < i; k++)
				ck_assert_int_ne(
				    s.files[i].fileset_id, s.files[k].fileset_id);
		}
		ck_assert_msg(hit[0] && hit[1], "seed %d", (int)seed);
	}
}
END_TEST

/*
 * Nearly all starts lie before the first of these sets; still each is found about
 * equally often.
 */
START_TEST(a_gap_does_not_lead_all_searches_to_one_set)
{
	enum { EMPTY = 80, READY = 12, SEEDS = 240, FAIR = SEEDS / READY };
	struct request rq = request_with(NULL, 0);
	int64_t ids[READY];
	int found[READY] = { 0 };

	sql_by_hand("UPDATE result SET ready = NULL WHERE ready > 0");
	for (int i = 0; i < EMPTY; i++)
		make_fileset(arena_printf(&a, "gap_%d", i), 1);
	for (int i = 0; i < READY; i++) {
		char *name = arena_printf(&a, "behind_gap_%d", i);
		struct workunit wu;

		ids[i] = make_fileset(name, 1);
		make_unsent_results(name, 1, ids[i], 1, 1, &wu);
	}
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct snapshot s = { 0 };
		struct rng rng = rng_seed(seed);

		ck_ok(read_searched(db, &a, &cf, &rq, &rng, 1, &s, &f));
		ck_assert_uint_eq(s.nfiles, 1);
		for (int i = 0; i < READY; i++)
			found[i] += s.files[0].fileset_id == ids[i];
	}
	for (int i = 0; i < READY; i++)
		ck_assert_msg(found[i] > 0 && found[i] < 4 * FAIR, "set %d: %d times",
		    i, found[i]);
}
END_TEST

START_TEST(files_past_the_need_are_not_loaded)
{
	struct workunit wu;
	int64_t full = make_fileset("past_full", 1),
		none = make_fileset("past_none", 1);
	struct snap_file files[] = { { .fileset_id = none },
		{ .fileset_id = full, .has_unsent = true }, { .fileset_id = none },
		{ .fileset_id = full, .has_unsent = true } };
	struct snapshot s = { .user = { .id = 303 }, .files = files, .nfiles = 4 };
	int64_t newest[2];

	make_unsent_results("past_wu", 1, full, 6, 1, &wu);
	ck_ok(read_jobs(db, &a, &cf, 0, 1, 10, &s, &f));
	ck_assert(!files[0].has_unsent && !files[0].unread);
	ck_assert_uint_eq(files[1].njobs, 4);
	ck_assert(!files[2].has_unsent && !files[2].unread);
	ck_assert(files[3].has_unsent && files[3].unread);
	ck_assert_uint_eq(files[3].njobs, 0);
	ck_ok(filesets_newest(db, &a, (int64_t[]){ none, full }, 2, newest, &f));
	ck_assert_int_eq(newest[0], 0);
	ck_assert_int_eq(newest[1], files[1].jobs[3].id + 2); /* it has six */
}
END_TEST

/*
 * Reads the jobs of one file in slices. Without resources in the goal, the first slice
 * is enough.
 */
static void in_slices(
    struct snapshot *s, size_t need, const struct supply_goal *goal, uint64_t seed)
{
	struct candidates c;

	candidates_begin(&c, db, &a, &cf, s, &f);
	c.p.until_enough = true;
	c.p.in.now = 10;
	c.p.in.seed = seed;
	c.p.in.in_cluster = true;
	for (int i = 0; i < 8 && seed != 0; i++)
		contention_lost(&c.p.contention, s->files[0].fileset_id, 10);
	if (goal != NULL)
		c.p.goal = *goal;
	supply_files_begin(&c.p, 0, CANDIDATES_PER_JOB * need);
	ck_ok(candidates_read(&c, supply_files_next, supply_files_take));
}

/* Returns a seed that skips this many jobs of a contended file. */
static uint64_t seed_that_skips(int64_t n)
{
	struct contention hot = { 0 };

	for (int i = 0; i < 8; i++)
		contention_lost(&hot, 909, 10);
	for (uint64_t seed = 1;; seed++) {
		struct rng rng = rng_seed(seed ^ 7);

		if (contention_skip(&hot, 909, 10, &rng) == n)
			return seed;
	}
}

/*
 * Reads slices of a file until there are enough jobs; skips the first jobs of a
 * contended file.
 */
START_TEST(jobs_come_in_slices)
{
	struct workunit wu;
	int64_t id = make_unsent_results("slices", 1, 909, 60, 1, &wu);
	struct app app = { .id = 1 };
	struct catalog cat = { .apps = &app, .napps = 1 };
	struct snap_file file = { .fileset_id = 909, .has_unsent = true };
	struct snapshot s = {
		.user = { .id = 304 }, .files = &file, .nfiles = 1, .cat = &cat
	};
	struct work_left left = { 1e18, 0 };
	const struct supply_goal never = {
		.apps = { .cat = &cat, .nresources = 1, .v = (bool[]){ true } },
		.work = { .new_style = true, .left = &left, .n = 1 },
		.need = SIZE_MAX
	};

	in_slices(&s, 100, NULL, 0);
	ck_assert_uint_eq(file.njobs, 4);
	ck_assert_int_eq(file.jobs[0].id, id);
	ck_assert(s.search.left);
	s.search.left = false;
	in_slices(&s, 100, &never, 0);
	ck_assert_uint_eq(file.njobs, 60);
	for (int i = 0; i < 60; i++)
		ck_assert_int_eq(file.jobs[i].id, id + i);
	ck_assert(!s.search.left);
	in_slices(&s, 5, &never, 0);
	ck_assert_uint_eq(file.njobs, 20);
	ck_assert(s.search.left);
	in_slices(&s, 100, NULL, seed_that_skips(3));
	ck_assert_uint_eq(file.njobs, 4);
	ck_assert_int_eq(file.jobs[0].id, id + 3);
	in_slices(&s, 100, NULL, seed_that_skips(61)); /* more than the file has */
	ck_assert_int_eq(file.jobs[0].id, id);
}
END_TEST

static int unlocked;

/* Returns the first id of the candidates of file set 911 for an account; 0 = none. */
static int64_t first_of_911(struct db *from, int64_t userid, size_t *n)
{
	struct snap_file file = { .fileset_id = 911, .has_unsent = true };
	struct snapshot s = { .user = { .id = userid }, .files = &file, .nfiles = 1 };
	struct candidates c;

	candidates_begin(&c, from, &a, &cf, &s, &f);
	c.p.until_enough = c.p.in.may_lock = c.p.locked = true;
	c.p.in.now = 10;
	contention_lost(&c.p.contention, 911, 10);
	supply_files_begin(&c.p, 0, 400);
	ck_ok(candidates_read(&c, supply_files_next, supply_files_take));
	unlocked += c.unlocked;
	ck_assert(file.has_unsent);
	*n = file.njobs;
	return file.njobs > 0 ? file.jobs[0].id : 0;
}

/*
 * Under contention, jobs that others have locked are skipped. They still exist: if all
 * are locked, they are read without locks, so that no file seems to be finished.
 */
START_TEST(locked_jobs_are_passed_over)
{
	struct workunit wu;
	struct db *others;
	int64_t first = 0;
	size_t n;

	for (int i = 0; i < 8; i++) {
		int64_t id = make_unsent_results(
		    arena_printf(&a, "hot_%d", i), 1, 911, 1, 1, &wu);

		first = first == 0 ? id : first;
	}
	ck_ok(db_open(&cf, DB_WORK, &others, &f));
	ck_ok(db_begin(others, &f));
	ck_assert_int_eq(first_of_911(others, 306, &n), first);
	ck_assert_uint_eq(n, 4);
	ck_ok(db_begin(db, &f));
	ck_assert_int_eq(first_of_911(db, 307, &n), first + 4);
	ck_assert_uint_eq(n, 4);
	db_rollback(db);
	ck_assert_int_eq(first_of_911(others, 306, &n),
	    first); /* results locked by ourselves are not skipped */
	ck_ok(workunits_hold(others, &a, &wu.id, 1, &f));
	ck_ok(db_begin(db, &f));
	ck_assert_int_eq(first_of_911(db, 307, &n), first + 4);
	ck_assert_uint_eq(n, 3); /* the workunit of the last result is locked */
	db_rollback(db);
	for (int i = 4; i < 7; i++)
		ck_ok(db_exec(
		    others, &f, NULL, RESULT_SET_READY, .ready = 911, .id = first + i));
	ck_ok(db_begin(db, &f));
	ck_assert_int_eq(unlocked, 0);
	ck_assert_int_eq(first_of_911(db, 307, &n), first);
	ck_assert_int_eq(unlocked, 1);
	ck_assert_uint_eq(n, 4);
	db_rollback(db);
	db_rollback(others);
	db_close(others);
}
END_TEST

START_TEST(plain_jobs_come_from_shards)
{
	struct app app = { .name = arena_strdup(&a, "shards"),
		.user_friendly_name = arena_strdup(&a, "") };
	struct rng rng = rng_seed(3);
	struct snapshot s = { 0 };
	int64_t other = -1; /* not the id of an app */
	bool unread = true;
	struct workunit wu;

	ck_ok(app_insert(db, &app, &f));
	for (int i = 0; i < 70; i++)
		make_unsent_results(
		    arena_printf(&a, "shards_%d", i), app.id, 0, 1, 1, &wu);
	s.cat = &(struct catalog){ .apps = &app, .napps = 1 };
	ck_ok(read_plain(db, &a, &cf, &rng, 100, &unread, &s, &f));
	ck_assert_uint_eq(s.nplain, 70);
	ck_assert(!unread);
	ck_ok(read_plain(db, &a, &cf, &rng, 100, &unread, &s, &f));
	ck_assert_uint_eq(s.nplain, 70);
	s.nplain = 0;
	unread = true;
	s.project_prefs = (struct project_prefs){ .apps = &other, .napps = 1 };
	ck_ok(read_plain(db, &a, &cf, &rng, 100, &unread, &s, &f));
	ck_assert_uint_eq(s.nplain, 0);
	ck_assert(unread);
	ck_ok(read_unwanted(db, &a, &cf, &rng, 100, &unread, &s, &f));
	ck_assert_uint_eq(s.nplain, 70);
	s.nplain = 0;
	unread = true;
	s.project_prefs.allow_non_preferred_apps = true;
	ck_ok(read_plain(db, &a, &cf, &rng, 3, &unread, &s, &f));
	ck_assert_uint_eq(s.nplain, 12);
	unread = true; /* a second read keeps the candidates of the first */
	ck_ok(read_plain(db, &a, &cf, &rng, 2, &unread, &s, &f));
	ck_assert_uint_eq(s.nplain, 20);
	/* The account already has one of the two results of a workunit. */
	ck_ok(claim(
	    make_unsent_results("shards_two", app.id, 0, 2, 1, &wu), 11, 304, 304));
	cf.one_result_per_user_per_wu = true;
	s.user.id = 304;
	s.nplain = 0;
	unread = true;
	ck_ok(read_plain(db, &a, &cf, &rng, 100, &unread, &s, &f));
	ck_assert_uint_eq(s.nplain, 71);
	ck_ok(read_user_wus(db, &a, &cf, &s, &f));
	ck_assert_uint_eq(s.nuser_wus, 1);
	ck_assert_int_eq(s.user_wus[0], wu.id);
	for (size_t i = 0; i < s.nplain; i++)
		s.plain[i].taken = -1; /* marks a value that was not read */
	ck_ok(read_user_wus(db, &a, &cf, &s, &f));
	ck_assert_uint_eq(s.nuser_wus, 1);
	ck_assert_int_eq(s.user_wus[0], wu.id);
	cf.one_result_per_user_per_wu = false;
}
END_TEST

START_TEST(reports_and_lost_results)
{
	struct workunit wu;
	int64_t id = make_unsent_results("lost", 1, 907, 5, 1, &wu);
	struct rq_report reports[] = { { .name = arena_strdup(&a, "lost_0") },
		{ .name = arena_strdup(&a, "nobody's") },
		{ .name = arena_strdup(&a, "lost_4") } };
	struct rq_other others[] = { { .name = arena_strdup(&a, "lost_3") },
		{ .name = arena_strdup(&a, "lost_4") },
		{ .name = arena_strdup(&a, "lost_1") } };
	struct request rq = { .reports = reports,
		.nreports = N(reports),
		.has_other_results = true,
		.other_results = others,
		.nother_results = N(others) };
	struct snapshot s = { .host = { .id = 601 }, .user = { .id = 305 } }, *one = &s;

	for (int i = 0; i < 3; i++)
		ck_ok(claim(id + i, 601, 305, 0));
	ck_ok(claim(id + 4, 602, 305, 0));
	ck_ok(snapshots_in_progress(db, &a, &one, 1, &f));
	ck_ok(snapshot_reported(db, &a, &rq, &s, &f));
	ck_assert_uint_eq(s.nin_progress, 3);
	ck_assert(s.reports[0].found && !s.reports[1].found && s.reports[2].found);
	ck_assert_int_eq(s.reports[0].result.server_state, RESULT_IN_PROGRESS);
	ck_assert(s.reports[2].same_user_host && !s.reports[0].same_user_host);
	ck_assert_str_eq(s.in_progress[1].xml_doc_in, "");
	ck_assert_str_eq(
	    s.in_progress[2].xml_doc_in, "<result/>"); /* the lost result */
	ck_ok(snapshot_others(db, &a, &rq, &s, &f));
	ck_assert(!s.others[0].found && s.others[1].found && s.others[2].found);
	ck_assert_int_eq(s.others[1].owner, 602);
	ck_assert_int_eq(s.others[1].owner_seen, 0);
	ck_assert_int_eq(s.others[1].result_id, id + 4);
	ck_assert_int_eq(s.others[1].appid, wu.appid);
	ck_assert_int_eq(s.others[1].fileset_id, 907);
	ck_assert_int_eq(s.others[2].owner, 0);
	ck_assert_int_eq(s.others[2].server_state, RESULT_IN_PROGRESS);
}
END_TEST

static int64_t insert_host(int64_t userid)
{
	char *text = arena_strdup(&a, "ahead");
	struct host host = { .userid = userid, .domain_name = text, .misc = text };

	ck_ok(host_insert(db, &host, &f));
	return host.id;
}

static void same_jobs(const struct snapshot *all, const struct snapshot *alone)
{
	ck_assert_uint_eq(all->nin_progress, alone->nin_progress);
	ck_assert_uint_eq(all->ninherited, alone->ninherited);
	for (size_t i = 0; i < alone->nin_progress; i++)
		ck_assert_int_eq(all->in_progress[i].id, alone->in_progress[i].id);
}

/* What is read for several requests is what each of them would have read. */
START_TEST(hosts_are_read_together_as_alone)
{
	char *text = arena_strdup(&a, "ahead");
	struct user user = { .email_addr = text,
		.name = text,
		.authenticator = text,
		.global_prefs = text,
		.project_prefs = text };
	struct row_host_account *all, *alone;
	struct workunit wu;
	int64_t id = make_unsent_results("ahead", 1, 908, 4, 1, &wu);
	size_t n, nalone;

	ck_ok(user_insert(db, &user, &f));
	int64_t ids[] = { insert_host(user.id), 1 << 30, insert_host(0) };
	struct snapshot s[] = { { .host = { .id = ids[0] } }, { .host_new = true },
		{ .host = { .id = ids[2] }, .predecessor = ids[0] } };
	struct snapshot *v[] = { &s[0], &s[1], &s[2] };

	ck_ok(claim(id + 1, ids[0], 305, 0));
	ck_ok(claim(id, ids[0], 306, 0));
	ck_ok(claim(id + 2, ids[2], 305, 0));
	ck_ok(hosts_and_accounts(db, &a, ids, N(ids), false, &all, &n, &f));
	ck_assert_uint_eq(n, 2);
	for (size_t i = 0; i < n; i++) {
		ck_ok(hosts_and_accounts(
		    db, &a, &all[i].host.id, 1, false, &alone, &nalone, &f));
		ck_assert_uint_eq(nalone, 1);
		ck_assert_int_eq(all[i].user.id, alone->user.id);
		ck_assert(all[i].glance.there && all[i].glance.has_jobs);
	}
	ck_ok(snapshots_in_progress(db, &a, v, N(v), &f));
	for (size_t i = 0; i < N(v); i++) {
		struct snapshot one = { .host = s[i].host,
			.predecessor = s[i].predecessor },
				*of = &one;

		ck_ok(snapshots_in_progress(db, &a, &of, 1, &f));
		same_jobs(&s[i], &one);
	}
	ck_assert_uint_eq(s[0].nin_progress, 2);
	ck_assert_int_eq(s[0].in_progress[0].id, id);
	ck_assert_uint_eq(s[1].nin_progress, 0);
	ck_assert_uint_eq(s[2].nin_progress, 3); /* its own one first */
	ck_assert_uint_eq(s[2].ninherited, 2);
	ck_assert_int_eq(s[2].in_progress[0].id, id + 2);
	sql_by_hand("UPDATE result SET ready = NULL WHERE ready = 908");
}
END_TEST

/* A request's files, `n` of which are registered. */
static struct held_sets held_of(const char *word, int n, int others)
{
	struct rq_file *files = NEWN(&a, struct rq_file, (size_t)(n + others));
	struct request rq = { .files = files, .nfiles = (size_t)(n + others) };

	for (int i = 0; i < n + others; i++) {
		files[i] = (struct rq_file){
			.name = arena_printf(&a, "%s_%03d", word, i), .status = 1
		};
		if (i < n)
			make_fileset(files[i].name, 1);
	}
	return (struct held_sets){ .held = request_held(&a, &rq) };
}

/* Requests share statements, which their names fill; one without files needs none. */
START_TEST(held_sets_are_read_together_as_alone)
{
	struct held_sets v[12];
	struct set_rows rows = { 0 };
	uint64_t before;

	for (size_t i = 0; i < N(v); i++)
		v[i] = held_of(arena_printf(&a, "held_%zu", i), 3, 57);
	v[1] = held_of("held_many", 5, 100);
	v[2] = held_of("held_none", 0, 0);
	v[3] = v[0]; /* two hosts with the same files */
	before = db_statements(db);
	ck_ok(held_sets_read(db, &a, v, N(v), &rows, &f));
	ck_assert_uint_eq(db_statements(db) - before, 2);
	for (size_t i = 0; i < N(v); i++) {
		struct held_sets one = { .held = v[i].held, .afresh = true };

		ck_ok(held_sets_read(db, &a, &one, 1, &(struct set_rows){ 0 }, &f));
		ck_assert(!v[i].sets_cut && !v[i].remembered);
		ck_assert_uint_eq(v[i].nfiles, one.nfiles);
		ck_assert_uint_eq(v[i].nsets, one.nsets);
		ck_assert_uint_eq(v[i].nsets, i == 1 ? 5 : i == 2 ? 0 : 3);
		for (size_t k = 0; k < one.nfiles; k++)
			ck_assert(names_has(v[i].held, v[i].files[k].name));
	}
}
END_TEST

/* Each request gets the jobs behind its account's last one, and leaves nth to others.
 */
START_TEST(first_candidates_of_several_requests)
{
	struct workunit wu;
	int64_t id = make_unsent_results("heads", 1, 93001, 9, 1, &wu);
	struct supply_query q[] = {
		{ .kind = SUPPLY_AFTER_LAST, .ready = 93001, .userid = 311, .most = 3 },
		{ .kind = SUPPLY_AFTER_LAST,
		    .ready = 93001,
		    .userid = 312,
		    .most = 3,
		    .nth = 2 },
		{ .kind = SUPPLY_AFTER_LAST,
		    .ready = 93001,
		    .userid = 312,
		    .most = 3,
		    .after = id + 6 },
		{ .kind = SUPPLY_AFTER_LAST, .ready = 93002, .userid = 311, .most = 3 },
		{ .kind = SUPPLY_AFTER_LAST,
		    .ready = 93001,
		    .userid = 311,
		    .most = 3,
		    .nth = 20 },
	};
	const size_t want_n[] = { 3, 3, 2, 0, 0 };
	const int64_t want_first[] = { id + 2, id + 2, id + 7 };
	struct supply_rows rows[N(q)];

	ck_ok(claim(id + 1, 601, 311, 0)); /* the last one of account 311 */
	ck_ok(claim(id, 602, 313, 0));
	ck_ok(supply_run_cohort(db, &a, q, N(q), rows, &f));
	for (size_t i = 0; i < N(q); i++)
		ck_assert_uint_eq(rows[i].n, want_n[i]);
	for (size_t i = 0; i < N(want_first); i++)
		for (size_t k = 0; k < rows[i].n; k++)
			ck_assert_int_eq(rows[i].jobs[k].id,
			    want_first[i] + (int64_t)k + (i == 1 ? 2 : 0));
	sql_by_hand("UPDATE result SET ready = NULL WHERE ready = 93001");
}
END_TEST

UNIT_MAIN("loader", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(the_loader_picks_from_the_working_set);
	ADD(the_loader_searches_once_around);
	ADD(a_gap_does_not_lead_all_searches_to_one_set);
	ADD(files_past_the_need_are_not_loaded);
	ADD(jobs_come_in_slices);
	ADD(locked_jobs_are_passed_over);
	ADD(plain_jobs_come_from_shards);
	ADD(reports_and_lost_results);
	ADD(hosts_are_read_together_as_alone);
	ADD(held_sets_are_read_together_as_alone);
	ADD(first_candidates_of_several_requests);
})
