/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers in directories, and the cache of them. Triggers in rows:
 * test/sql/test_trigger.c.
 */
#include "test/unit/unit.h"

#include "test/unit/trigger_cases.h"
#include "trigger/cache.h"
#include "trigger/store.h"
#include "lib/banned.h"

static struct arena a;
static struct fail f;

#define ck_ok(call)                                                                    \
	ck_assert_msg((call) == OK, "%s: %s: %s", err_name(f.code), f.where, f.detail)

static struct triggers triggers_in(const struct conf *cf, struct trigger_cache *cache)
{
	return (struct triggers){
		.store = &trigger_store_dirs, .conf = cf, .cache = cache
	};
}

START_TEST(triggers_in_directories)
{
	char dir[PATH_MAX], **names;
	struct conf cf = { .project_dir = unit_dir(dir) };
	const struct triggers t = triggers_in(&cf, NULL),
			      other = triggers_in(&cf, NULL);
	size_t n = 1;

	ck_ok(trigger_list(&t, &a, TRIGGER_NEED_WORK, &names, &n, &f));
	ck_assert_uint_eq(n, 0); /* there is no directory yet */
	ck_ok(trigger_dirs_make(&cf, &f));
	trigger_cases[_i].run(&t, &other);
	ck_ok(fs_rmtree(dir, &f));
	arena_free(&a);
}
END_TEST

/*
 * Sets the directory's modification time back, as if it had not changed. It must have
 * as many names as before: where files lie in memory, their number is part of its size.
 */
static void stand_still(const char *project, enum trigger of)
{
	unit_written(
	    arena_printf(&a, "%s/locality_scheduling/%s", project, trigger_name(of)),
	    1000);
}

START_TEST(no_work_is_remembered_while_its_directory_stands_still)
{
	char dir[PATH_MAX];
	struct conf cf = { .project_dir = unit_dir(dir) };
	struct trigger_cache cache = { 0 };
	const struct triggers t = triggers_in(&cf, &cache);
	const int64_t ids[] = { 1, 2, NO_WORK_SETS };
	char *names[] = { arena_strdup(&a, "F"), arena_strdup(&a, "G"),
		arena_strdup(&a, "H") };
	bool there[N(ids)];

#define ASK ck_ok(no_work_there(&t, &a, ids, names, N(ids), there, &f))
	ck_ok(trigger_dirs_make(&cf, &f));
	ck_ok(trigger_raise(&t, TRIGGER_NO_WORK_AVAILABLE, "F", &f));
	ck_ok(trigger_raise(&t, TRIGGER_NO_WORK_AVAILABLE, "H", &f));
	stand_still(dir, TRIGGER_NO_WORK_AVAILABLE);
	ASK;
	ck_assert(there[0] && !there[1] && there[2]);
	ck_ok(trigger_clear(&t, TRIGGER_NO_WORK_AVAILABLE, "F", &f));
	ck_ok(trigger_clear(&t, TRIGGER_NO_WORK_AVAILABLE, "H", &f));
	ck_ok(trigger_raise(&t, TRIGGER_NO_WORK_AVAILABLE, "G", &f));
	ck_ok(trigger_raise(&t, TRIGGER_NO_WORK_AVAILABLE, "K", &f));
	stand_still(dir, TRIGGER_NO_WORK_AVAILABLE);
	ASK; /* F is cached; the last id is too large to cache; missing triggers are
	        looked up again */
	ck_assert(there[0] && there[1] && !there[2]);
	ck_ok(trigger_clear(&t, TRIGGER_NO_WORK_AVAILABLE, "G", &f));
	ASK; /* now it has changed */
	ck_assert(!there[0] && !there[1] && !there[2]);
	ck_ok(trigger_raise(&t, TRIGGER_NO_WORK_AVAILABLE, "F", &f));
	ASK; /* what changed in this very second is not remembered */
	ck_assert(
	    there[0] && (!cache.no_work.dir.fresh || cache.no_work.there[0] == 0));
#undef ASK
	ck_ok(fs_rmtree(dir, &f));
	arena_free(&a);
}
END_TEST

/* Of 40 sets all but these two are given up, and remembered. */
START_TEST(no_work_next_passes_over_what_is_remembered)
{
	enum { SETS = 40, LOW = 7, HIGH = 25 };
	static const struct {
		int64_t after, last, want;
	} cases[] = {
		{ 0, SETS, LOW },
		{ LOW - 1, SETS, LOW },
		{ LOW, SETS, HIGH },
		{ HIGH - 1, SETS, HIGH },
		{ HIGH, SETS, LOW }, /* wraps around */
		{ SETS, SETS, LOW },
		{ HIGH, SETS + 1, SETS + 1 }, /* a new set */
		{ HIGH, HIGH - 1, LOW },
		{ LOW, HIGH - 1, LOW },
		{ 0, LOW - 1, 0 },
		{ LOW, LOW - 1, 0 },
		{ 0, 0, 0 },
	};
	char dir[PATH_MAX], *names[SETS];
	struct conf cf = { .project_dir = unit_dir(dir) };
	struct trigger_cache cache = { 0 };
	const struct triggers t = triggers_in(&cf, &cache);
	int64_t ids[SETS];
	bool there[SETS];

	ck_ok(trigger_dirs_make(&cf, &f));
	for (int i = 0; i < SETS; i++) {
		ids[i] = i + 1;
		names[i] = arena_printf(&a, "F%d", i + 1);
		if (ids[i] != LOW && ids[i] != HIGH)
			ck_ok(
			    trigger_raise(&t, TRIGGER_NO_WORK_AVAILABLE, names[i], &f));
	}
	stand_still(dir, TRIGGER_NO_WORK_AVAILABLE);
	ck_assert_int_eq(no_work_next(&t, 3, SETS), 4); /* nothing is cached yet */
	ck_ok(no_work_there(&t, &a, ids, names, SETS, there, &f));
	for (size_t i = 0; i < N(cases); i++)
		ck_assert_msg(
		    no_work_next(&t, cases[i].after, cases[i].last) == cases[i].want,
		    "case %zu", i);
	no_work_gap(&cache, LOW - 1, LOW + 1); /* this set does not exist */
	ck_assert_int_eq(no_work_next(&t, 0, SETS), HIGH);
	ck_ok(no_work_there(&t, &a, ids, names, SETS, there, &f));
	ck_assert(!there[LOW - 1]); /* if it exists after all, it is not given up */
	no_work_gap(&cache, HIGH, HIGH + 1); /* no set lies between these two */
	ck_assert_int_eq(no_work_next(&t, 0, SETS), HIGH);
	no_work_forget_gaps(&cache);
	ck_assert_int_eq(no_work_next(&t, 0, SETS), LOW);
	no_work_gap(&cache, 0, NO_WORK_SETS + 9); /* the cache is full */
	ck_assert_int_eq(no_work_next(&t, 0, NO_WORK_SETS + 9), NO_WORK_SETS);
	no_work_forget_gaps(&cache);
	ck_ok(trigger_clear(&t, TRIGGER_NO_WORK_AVAILABLE, "F1", &f));
	ck_assert_int_eq(no_work_next(&t, 0, SETS), 1);
	ck_ok(fs_rmtree(dir, &f));
	arena_free(&a);
}
END_TEST

START_TEST(working_set_is_kept_while_its_directory_stands_still)
{
	char dir[PATH_MAX], **names;
	struct conf cf = { .project_dir = unit_dir(dir) };
	struct trigger_cache cache = { 0 };
	const struct triggers t = triggers_in(&cf, &cache);
	size_t n;

#define ASK(want)                                                                      \
	ck_ok(working_set_names(&t, &a, &names, &n, &f));                              \
	ck_assert_uint_eq(n, want)
	ASK(0); /* there is no directory yet */
	ck_ok(trigger_dirs_make(&cf, &f));
	ck_ok(trigger_raise(&t, TRIGGER_WORKING_SET, "F", &f));
	ck_ok(trigger_raise(&t, TRIGGER_WORKING_SET, "G", &f));
	stand_still(dir, TRIGGER_WORKING_SET);
	ASK(2);
	names[0] = names[1]; /* the caller owns its list */
	ck_ok(trigger_clear(&t, TRIGGER_WORKING_SET, "F", &f));
	ck_ok(trigger_raise(&t, TRIGGER_WORKING_SET, "K", &f));
	stand_still(dir, TRIGGER_WORKING_SET);
	ASK(2); /* from the cache: nothing shows that K took the place of F */
	ck_assert_str_eq(names[0], "F");
	ck_assert_str_eq(names[1], "G");
	ck_ok(trigger_clear(&t, TRIGGER_WORKING_SET, "G", &f));
	ck_ok(trigger_clear(&t, TRIGGER_WORKING_SET, "K", &f));
	ASK(0); /* now it has changed */
	ck_ok(trigger_raise(&t, TRIGGER_WORKING_SET, "H", &f));
	ASK(1); /* what changed in this very second is not kept */
	ck_assert(cache.working_set.kept == !cache.working_set.dir.fresh);
	ck_ok(fs_rmtree(dir, &f));
	ASK(0);
#undef ASK
	trigger_cache_free(&cache);
	arena_free(&a);
}
END_TEST

/*
 * The directory names of LocalityScheduling, and the names before 2010 for programs
 * that use those.
 */
START_TEST(D1_names_of_directories)
{
	char dir[PATH_MAX], path[PATH_MAX + 64];
	struct conf cf = { .project_dir = unit_dir(dir), .locality_old_names = _i };
	const struct triggers t = triggers_in(&cf, NULL);
	static const char *const names[2][TRIGGER__MAX] = {
		{ "need_work", "no_work_available", "file_working_set",
		    "files_no_work" },
		{ "need_work", "no_work_available", "work_available",
		    "working_set_removal" },
	};

	ck_ok(trigger_dirs_make(&cf, &f));
	for (enum trigger k = 0; k < TRIGGER__MAX; k++) {
		ck_ok(trigger_raise(&t, k, "F", &f));
		snprintf(path, sizeof(path), "%s/locality_scheduling/%s/F", dir,
		    names[_i][k]);
		ck_assert_msg(fs_exists(path), "%s", path);
	}
	ck_ok(fs_rmtree(dir, &f));
	arena_free(&a);
}
END_TEST

UNIT_MAIN("trigger", {
	ADD(no_work_is_remembered_while_its_directory_stands_still);
	ADD(no_work_next_passes_over_what_is_remembered);
	ADD(working_set_is_kept_while_its_directory_stands_still);
	ADD_LOOP(triggers_in_directories, trigger_ncases);
	ADD_LOOP(D1_names_of_directories, 2);
})
