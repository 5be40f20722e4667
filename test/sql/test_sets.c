/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the loader reads file sets of several files from a real server, whose socket is
 * $DB_SOCKET.
 */
#include "test/unit/unit.h"

#include <limits.h>
#include <unistd.h>
#include "db/entity.h"
#include "db/trigger_rows.h"
#include "lib/fs.h"
#include "model/rows.h"
#include "test/sql/candidates.h"
#include "lib/banned.h"

enum { NOW = 1000000000, DAY = 86400, FILES_MAX = 320 };

static struct arena a;
static struct fail f;
static struct conf cf;
static struct db *db;
static char dir[PATH_MAX];
static struct snapshot snap;
static struct rq_file held[FILES_MAX];
static struct request req;
static int made;

#define ck_ok(e) ck_assert_msg((e) == OK, "%s", f.detail)

/* Returns a name that no other test uses. */
static char *set_name_of(const char *name)
{
	return arena_printf(&a, "%s_%d", name, (int)getpid());
}

static int64_t make_set_file(const char *name, double size)
{
	struct file file = {
		.name = set_name_of(name), .md5sum = set_name_of(""), .size = size
	};

	ck_ok(file_insert(db, &file, &f));
	return file.id;
}

static int64_t make_set(const int64_t *files, size_t n)
{
	struct fileset set = { .name = set_name_of(arena_printf(&a, "set%d", made++)),
		.appid = 1 };

	ck_ok(fileset_insert(db, &set, files, n, &f));
	return set.id;
}

/* Makes an open workunit of the set, with or without an unsent result. */
static void make_work(int64_t set, bool unsent)
{
	struct workunit wu = { .name = set_name_of(arena_printf(&a, "setwu%d", made++)),
		.appid = 1,
		.fileset_id = set,
		.transition_time = TRANSITION_NEVER };
	struct result r = { .name = wu.name, .create_time = 1 };

	ck_ok(workunit_insert(db, &wu, "<workunit/>", &f));
	if (unsent)
		ck_ok(result_insert(db, &wu, &r, "<result/>", 1, &f));
}

static void set_holds(const char *name)
{
	held[req.nfiles++] = (struct rq_file){ .name = set_name_of(name), .status = 1 };
}

static const struct snap_file *set_in(int64_t id)
{
	const struct snap_file *file = snapshot_file(&snap, id);

	ck_assert_msg(file != NULL, "set %lld is not there", (long long)id);
	return file;
}

static const struct snap_member *member_in(int64_t set, int64_t file)
{
	for (size_t i = 0; i < snap.nmembers; i++)
		if (snap.members[i].fileset_id == set &&
		    snap.members[i].file_id == file)
			return &snap.members[i];
	ck_abort_msg("file %lld is not in set %lld", (long long)file, (long long)set);
}

static void sets_load(void)
{
	struct held_sets sets = { 0 };

	snap = (struct snapshot){ .host = snap.host, .user = { .id = 7000 } };
	ck_ok(read_held(db, &a, &cf, &req, NOW, &sets, &snap, &f));
}

static void setup(void)
{
	cf.db_socket = getenv("DB_SOCKET");
	cf.db_name = arena_strdup(&a, "fresh");
	cf.db_user = arena_strdup(&a, "root");
	cf.db_host = cf.db_passwd = arena_strdup(&a, "");
	cf.project_dir = unit_dir(dir);
	cf.locality_active_host_days = 7;
	req = (struct request){ .files = held };
	ck_ok(trigger_dirs_make(&cf, &f));
	ck_ok(db_open(&cf, DB_WORK, &db, &f));
}

static void teardown(void)
{
	db_close(db);
	ck_ok(fs_rmtree(dir, &f));
	arena_free(&a);
}

START_TEST(members_and_what_is_missing)
{
	int64_t file[] = { make_set_file("a", 1000), make_set_file("b", 50),
		make_set_file("c", 7) };
	int64_t ab = make_set(file, 2), bc = make_set(file + 1, 2),
		c = make_set(file + 2, 1);

	set_holds("a");
	set_holds("b");
	sets_load();
	ck_assert_uint_eq(snap.nfiles, 2);
	ck_assert_uint_eq(snap.nmembers, 4);
	ck_assert_int_eq(
	    snap.files[0].fileset_id, ab); /* the host holds most of its bytes */
	ck_assert(set_in(ab)->held && !set_in(bc)->held);
	ck_assert_int_eq(set_in(ab)->bytes, 1050);
	ck_assert_int_eq(set_in(ab)->bytes_missing, 0);
	ck_assert_int_eq(set_in(bc)->bytes, 57);
	ck_assert_int_eq(set_in(bc)->bytes_missing, 7);
	ck_assert(member_in(bc, file[1])->held && !member_in(bc, file[2])->held);
	ck_assert_int_eq(member_in(bc, file[2])->bytes, 7);
	ck_assert_str_eq(member_in(ab, file[0])->name, set_name_of("a"));
	ck_ok(read_sets(db, &a, &cf, &req, &c, 1, &snap, &f));
	ck_assert_uint_eq(snap.nmembers, 5);
	ck_assert(!set_in(c)->held && !member_in(c, file[2])->has_others);
	ck_assert(!snap.search.left);
}
END_TEST

/* Only files registered by exactly this name count, and none whose transfer failed. */
START_TEST(the_loader_takes_held_files)
{
	int64_t one = make_set_file("held_one", 1000),
		two = make_set_file("held_two", 50);
	int64_t both[] = { one, two }, set = make_set(&one, 1);
	int64_t pair = make_set(both, 2);

	set_holds("held_one");
	set_holds("held_two");
	held[1].status = -200;
	set_holds("held_by_nobody");
	set_holds("held_one' OR 1=1 \xff");
	sets_load();
	ck_assert_uint_eq(snap.nheld_files, 1);
	ck_assert_uint_eq(snap.nfiles, 2);
	ck_assert(set_in(set)->held && !set_in(pair)->held);
	ck_assert_int_eq(set_in(pair)->bytes, 1050);
	ck_assert_int_eq(set_in(pair)->bytes_missing, 50);
	held[1].status = 0; /* its download is in progress */
	sets_load();
	ck_assert(set_in(pair)->held);
}
END_TEST

/*
 * The facts from which states are derived are loaded for all sets, whether work is
 * wanted or not.
 */
START_TEST(facts_of_sets)
{
	int64_t file = make_set_file("facts", 1), file2 = make_set_file("facts2", 1);
	int64_t none = make_set(&file, 1), open = make_set(&file, 1),
		unsent = make_set(&file, 1), both = make_set(&file2, 1);
	uint64_t before;

	make_work(open, false);
	make_work(unsent, true);
	make_work(both, true);
	set_holds("facts");
	before = db_statements(db);
	sets_load();
	/*
	 * The cost does not grow with the number of files with sets, nor of workunits
	 * without results.
	 */
	ck_assert_uint_eq(db_statements(db) - before, 2);
	ck_assert(!set_in(none)->has_any_wu && !set_in(none)->has_open_wu);
	ck_assert(set_in(open)->has_any_wu && set_in(open)->has_open_wu);
	ck_assert(!set_in(none)->has_unsent && !set_in(open)->has_unsent);
	ck_assert(set_in(unsent)->has_unsent);
	/* Only this set has candidates to read. */
	before = db_statements(db);
	ck_ok(read_jobs(db, &a, &cf, 0, 1, NOW, &snap, &f));
	ck_assert_uint_eq(db_statements(db) - before, 1);
	ck_assert_uint_eq(set_in(unsent)->njobs, 1);
}
END_TEST

/* no_work_available counts as news for a minute, for sets without unsent results. */
START_TEST(news_of_no_work)
{
	const struct triggers t = triggers_of(&cf, db, NULL);
	int64_t file = make_set_file("news", 1), set = make_set(&file, 1),
		busy = make_set(&file, 1);

	make_work(busy, true);
	set_holds("news");
	sets_load();
	ck_assert(!set_in(set)->no_work_is_news);
	ck_ok(trigger_raise(&t, TRIGGER_NO_WORK_AVAILABLE, set_in(set)->name, &f));
	ck_ok(trigger_raise(&t, TRIGGER_NO_WORK_AVAILABLE, set_in(busy)->name, &f));
	sets_load();
	ck_assert(set_in(set)->no_work_available && set_in(busy)->no_work_available);
	ck_assert(set_in(set)->no_work_is_news); /* NOW is in the past */
	ck_assert(!set_in(busy)->no_work_is_news);
}
END_TEST

/*
 * Number of sets with the shared file, number of sets read, and whether sets are left
 * out. The host also has a file that is in one set and a file that is in 16 sets.
 */
static const struct {
	int sets;
	size_t there;
	bool others;
} shares[] = {
	{ 239, 256, false }, /* 256 in total: the maximum for one read */
	{ 240, 33, true },
	{ 300, 33, true },
};

START_TEST(a_file_in_many_sets)
{
	int64_t shared = make_set_file("shared", 1), one = make_set_file("one", 1),
		some = make_set_file("some", 1), last = 0, of_one, of_some = 0;

	for (int i = 0; i < shares[_i].sets; i++)
		last = make_set(&shared, 1);
	of_one = make_set(&one, 1);
	for (int i = 0; i < 16; i++)
		of_some = make_set(&some, 1);
	set_holds("shared");
	set_holds("one");
	set_holds("some");
	sets_load();
	ck_assert_uint_eq(snap.nfiles, shares[_i].there);
	ck_assert(snap.search.left == shares[_i].others);
	ck_assert(member_in(last, shared)->has_others == shares[_i].others);
	ck_assert(!member_in(of_one, one)->has_others);
	ck_assert(!member_in(of_some, some)->has_others);
	make_set(&some, 1); /* the file's 17th set */
	sets_load();
	ck_assert(member_in(of_some, some)->has_others);
}
END_TEST

/* A host whose file is in too many sets leaves the rows of the others whole. */
START_TEST(hosts_with_one_file_in_many_sets)
{
	int64_t hub = make_set_file("hub", 1), leaf = make_set_file("leaf", 1);
	struct rq_file hubs = { .name = set_name_of("hub"), .status = 1 },
		       leaves = { .name = set_name_of("leaf"), .status = 1 };
	struct request rq[] = { { .files = &hubs, .nfiles = 1 },
		{ .files = &leaves, .nfiles = 1 } };
	struct held_sets v[] = { { .held = request_held(&a, &rq[0]) },
		{ .held = request_held(&a, &rq[1]) } };
	struct set_rows rows = { 0 };

	for (int i = 0; i < 257; i++)
		make_set(&hub, 1);
	make_set(&leaf, 1);
	ck_ok(held_sets_read(db, &a, v, N(v), &rows, &f));
	ck_assert(v[0].sets_cut && v[0].others[0]);
	ck_assert(!v[1].sets_cut && !v[1].others[0]);
	ck_assert_uint_eq(v[1].nsets, 1);
}
END_TEST

/*
 * With more than 256 sets, those of which the host holds less are left out, and
 * has_others marks their members.
 */
START_TEST(a_host_with_many_files)
{
	int64_t file[FILES_MAX], pair;

	for (int i = 0; i < 258; i++) {
		file[i] = make_set_file(arena_printf(&a, "many%d", i), 1);
		if (i < 256)
			make_set(&file[i], 1);
		set_holds(arena_printf(&a, "many%d", i));
	}
	sets_load();
	ck_assert_uint_eq(snap.nfiles, 256);
	ck_assert(!snap.search.left);
	pair = make_set(file + 256, 2);
	sets_load();
	ck_assert_uint_eq(snap.nfiles, 256);
	ck_assert(snap.search.left);
	ck_assert_int_eq(snap.files[0].fileset_id, pair);
	ck_assert(!member_in(pair, file[256])->has_others);
	make_set(file + 256, 1); /* the newest set, so it is left out */
	sets_load();
	ck_assert(member_in(pair, file[256])->has_others);
	ck_assert(!member_in(pair, file[257])->has_others);
}
END_TEST

static int64_t make_host(int64_t rpc_time)
{
	struct host h = { .userid = 1,
		.rpc_time = rpc_time,
		.host_cpid = set_name_of(arena_printf(&a, "sethost%d", made++)) };

	for (size_t i = 0; i < shape_host.ncols; i++) {
		char **text = (char **)(void *)((char *)&h + shape_host.cols[i].off);

		if (shape_host.cols[i].type == FIELD_TEXT && *text == NULL)
			*text = arena_strdup(&a, "");
	}
	ck_ok(host_insert(db, &h, &f));
	return h.id;
}

/* s since the other holder's last request; the option; whether the holder counts */
static const struct {
	int64_t ago;
	bool option, elsewhere;
} holders[] = {
	{ 7 * DAY - 1, true, true },
	{ 7 * DAY, true, false },
	{ 0, false, false },
};

START_TEST(other_holders)
{
	int64_t file = make_set_file("kept", 1), set = make_set(&file, 1);
	int64_t mine = make_host(NOW), other = make_host(NOW - holders[_i].ago);
	int64_t live = make_set(&file, 1), dead = make_set(&file, 1);

	cf.locality_keep_last_holder = holders[_i].option;
	make_work(set, false);
	make_work(live, true);
	ck_ok(host_files_save(db, &a, mine, &file, 1, 1, &f));
	snap.host.id = mine;
	set_holds("kept");
	sets_load();
	ck_assert(!member_in(set, file)->elsewhere);
	ck_ok(host_files_save(db, &a, other, &file, 1, 1, &f));
	sets_load();
	ck_assert(member_in(set, file)->elsewhere == holders[_i].elsewhere);
	/* It only matters where a delete order might come too early. */
	ck_assert(!member_in(live, file)->elsewhere);
	ck_assert(!member_in(dead, file)->elsewhere);
}
END_TEST

UNIT_MAIN("db_sets", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(the_loader_takes_held_files);
	ADD(members_and_what_is_missing);
	ADD(facts_of_sets);
	ADD(news_of_no_work);
	ADD_LOOP(a_file_in_many_sets, N(shares));
	ADD(hosts_with_one_file_in_many_sets);
	ADD(a_host_with_many_files);
	ADD_LOOP(other_holders, N(holders));
})
