/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the daemons that need no database, by tables of cases. */
#include "test/unit/unit.h"

#include "daemons/loop.h"
#include "daemons/outputs.h"
#include "daemons/work.h"
#include "daemons/items.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/archive.h"
#include "proto/blob.h"
#include "lib/banned.h"

static const struct {
	const char *text, *want;
} expand_cases[] = {
#define EXPAND_CASES
#include "test/unit/daemons.def"
#undef EXPAND_CASES
};

START_TEST(expand_by_table)
{
	/* Longer words come first: the first match wins. */
	const struct word words[] = { { "%AB%", "22" }, { "%A%", "1" },
		{ "{x}", "%A%" } };
	struct arena a = { 0 };

	ck_assert_str_eq(words_fill(&a, expand_cases[_i].text, words, N(words)),
	    expand_cases[_i].want);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *what, *text;
	enum err e;
	size_t n;
	const char *suffix, *arguments;
	bool exhausted;
} plan_cases[] = {
#define PLAN_CASES
#include "test/unit/daemons.def"
#undef PLAN_CASES
};

START_TEST(plan_by_table)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct planned *p;
	size_t n;
	bool exhausted;
	enum err e = plan_parse(&a, plan_cases[_i].text, &p, &n, &exhausted, &f);

	ck_assert_msg(e == plan_cases[_i].e, "%s: %s", plan_cases[_i].what, f.detail);
	ck_assert_msg(n == plan_cases[_i].n, "%s: %zu", plan_cases[_i].what, n);
	ck_assert_msg(exhausted == plan_cases[_i].exhausted, "%s", plan_cases[_i].what);
	if (n > 0) {
		ck_assert_str_eq(p[n - 1].suffix, plan_cases[_i].suffix);
		ck_assert_str_eq(p[n - 1].arguments, plan_cases[_i].arguments);
	}
	arena_free(&a);
}
END_TEST

static const struct {
	const char *wu, *file;
	bool good;
} name_cases[] = {
#define NAME_CASES
#include "test/unit/daemons.def"
#undef NAME_CASES
};

START_TEST(L2_name_by_table)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	enum err e = wu_name_check(&a, name_cases[_i].wu, name_cases[_i].file, &f);

	ck_assert_msg(
	    (e == OK) == name_cases[_i].good, "%s: %s", name_cases[_i].wu, f.detail);
	arena_free(&a);
}
END_TEST

START_TEST(name_too_long)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	char name[256];

	memset(name, 'x', sizeof(name));
	name[180] = '\0';
	ck_assert_int_eq(wu_name_check(&a, name, NULL, &f), OK);
	name[180] = 'x';
	name[181] = '\0';
	ck_assert_int_eq(wu_name_check(&a, name, NULL, &f), E_BADREQ);
	arena_free(&a);
}
END_TEST

struct own {
	char *text, *app;
	int64_t number;
	bool flag;
};

#define OF(member) FIELD_OF(struct own, member)
static const struct field options[] = {
	{ "text", OF(text), "T", "a text", .required = true },
	{ "app", OF(app), "A", "an app" },
	{ "number", OF(number), "N", "a number", .min = 1, .max = 9, .def = "3" },
	{ "a_flag", OF(flag), NULL, "a flag" },
	{ 0 },
};

static enum err not_bad(const void *own, struct fail *f)
{
	const struct own *o = own;

	return strcmp(o->text, "bad") == 0 ? FAIL(f, E_BADREQ, "bad") : OK;
}

static const struct {
	const char *argv[8];
	int status;
	const char *text;
	int64_t number, n, i;
	const char *name;
} option_cases[] = {
#define OPTION_CASES
#include "test/unit/daemons.def"
#undef OPTION_CASES
};

START_TEST(options_by_table)
{
	static const struct daemon d = { .name = "d",
		.purpose = "p",
		.can_dry_run = true,
		.options = options,
		.check = not_bad };
	struct arena a = { 0 };
	struct daemon_common c = { 0 };
	struct own own = { 0 };
	char *argv[10] = { arena_strdup(&a, "d") };
	int argc = 1;
	int status;

	for (; option_cases[_i].argv[argc - 1] != NULL; argc++)
		argv[argc] = arena_strdup(&a, option_cases[_i].argv[argc - 1]);
	status = options_read(&a, &d, &c, &own, argc, argv);
	ck_assert_msg(status == option_cases[_i].status, "%s %s: %d", argv[1],
	    argc > 2 ? argv[2] : "", status);
	if (status < 0) {
		ck_assert_str_eq(own.text, option_cases[_i].text);
		ck_assert_int_eq(own.number, option_cases[_i].number);
		ck_assert_int_eq(c.mod[0], option_cases[_i].n);
		ck_assert_int_eq(c.mod[1], option_cases[_i].i);
		ck_assert_str_eq(c.name, option_cases[_i].name);
	}
	arena_free(&a);
}
END_TEST

START_TEST(options_without_dry_run)
{
	static const struct daemon d = { .name = "d", .purpose = "p" };
	struct arena a = { 0 };
	struct daemon_common c = { 0 };
	char *argv[] = { arena_strdup(&a, "d"), arena_strdup(&a, "--dry_run"), NULL };

	ck_assert_int_eq(options_read(&a, &d, &c, NULL, 2, argv), 2);
	arena_free(&a);
}
END_TEST

START_TEST(backoff_pauses)
{
	struct arena a = { 0 };
	struct item_backoff t = { .a = &a, .first_s = 10, .most_s = 35 };

	ck_assert(!item_backoff_must_wait(&t, 7, 100));
	ck_assert_int_eq(item_backoff_failed(&t, 7, 100), 1);
	ck_assert(item_backoff_must_wait(&t, 7, 109));
	ck_assert(!item_backoff_must_wait(&t, 7, 110));
	ck_assert_int_eq(item_backoff_failed(&t, 7, 200), 2);
	ck_assert(item_backoff_must_wait(&t, 7, 219));
	ck_assert(!item_backoff_must_wait(&t, 7, 220));
	ck_assert_int_eq(item_backoff_failed(&t, 7, 300), 3);
	ck_assert(item_backoff_must_wait(&t, 7, 334)); /* 40 s, capped at 35 */
	ck_assert(!item_backoff_must_wait(&t, 7, 335));
	item_backoff_wait(&t, 7, 400);
	ck_assert(item_backoff_must_wait(&t, 7, 409));
	ck_assert(!item_backoff_must_wait(&t, 8, 300));
	ck_assert_int_eq(item_backoff_failed(&t, 7, 500), 4);
	item_backoff_forget(&t, 7);
	ck_assert(!item_backoff_must_wait(&t, 7, 500));
	ck_assert_int_eq(item_backoff_failed(&t, 7, 500), 1); /* starts anew */
	arena_free(&a);
}
END_TEST

/* Any number of items fail, in any order, and none of them is forgotten. */
START_TEST(backoff_many)
{
	enum { MANY = 20011 }; /* a prime */
	struct arena a = { 0 };
	struct item_backoff t = { .a = &a, .first_s = 10, .most_s = 100 };

	for (int64_t i = 1; i < MANY; i++)
		ck_assert_int_eq(item_backoff_failed(&t, i * 7919 % MANY, i), 1);
	ck_assert_uint_eq(t.used, MANY - 1);
	for (int64_t i = 1; i < MANY; i++) {
		ck_assert(item_backoff_must_wait(&t, i * 7919 % MANY, i + 9));
		ck_assert(!item_backoff_must_wait(&t, i * 7919 % MANY, i + 10));
	}
	for (int64_t key = 1; key < MANY; key += 2)
		item_backoff_forget(&t, key);
	item_backoff_forget(&t, 1); /* twice */
	ck_assert_uint_eq(t.used, (MANY - 1) / 2);
	ck_assert(!item_backoff_must_wait(&t, 3, 0));
	ck_assert(item_backoff_must_wait(&t, 4, 0));
	arena_free(&a);
}
END_TEST

static const struct {
	const char *what, *bytes;
	const char *md5;
	double nbytes;
	bool optional;
	enum outputs_state want;
} output_cases[] = {
#define OUTPUT_CASES
#include "test/unit/daemons.def"
#undef OUTPUT_CASES
};

START_TEST(output_by_table)
{
	char dir[PATH_MAX];
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct output o = { .name = arena_strdup(&a, "o"),
		.path = arena_printf(&a, "%s/o", unit_dir(dir)),
		.root = dir,
		.md5 = arena_strdup(&a, output_cases[_i].md5),
		.nbytes = output_cases[_i].nbytes,
		.optional = output_cases[_i].optional };
	enum outputs_state state;
	const char *bytes = output_cases[_i].bytes;

	if (bytes != NULL)
		ck_assert_int_eq(fs_write(o.path, bytes, strlen(bytes), 0644, &f), OK);
	ck_assert_int_eq(output_check(&o, &state, &f), OK);
	ck_assert_msg(
	    state == output_cases[_i].want, "%s: %s", output_cases[_i].what, f.detail);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}
END_TEST

/* Lengths around the size of the chunks that are compared. */
START_TEST(output_compared)
{
	static char bytes[3 * (64 << 10) + 1];
	char dir[PATH_MAX];
	struct arena a = { 0 };
	struct fail f = { 0 };
	const char *x = arena_printf(&a, "%s/x", unit_dir(dir)),
		   *y = arena_printf(&a, "%s/y", dir);
	bool same = false;

	memset(bytes, 'b', sizeof(bytes));
	ck_assert_int_eq(fs_write(x, bytes, sizeof(bytes), 0644, &f), OK);
	ck_assert_int_eq(fs_write(y, bytes, sizeof(bytes), 0644, &f), OK);
	ck_assert_int_eq(output_same(x, y, &same, &f), OK);
	ck_assert(same);
	bytes[sizeof(bytes) - 1] = 'c';
	ck_assert_int_eq(fs_write(y, bytes, sizeof(bytes), 0644, &f), OK);
	ck_assert_int_eq(output_same(x, y, &same, &f), OK);
	ck_assert(!same);
	ck_assert_int_eq(fs_write(y, bytes, sizeof(bytes) - 1, 0644, &f), OK);
	ck_assert_int_eq(output_same(x, y, &same, &f), OK);
	ck_assert(!same);
	ck_assert_int_eq(fs_unlink(y, &f), OK);
	ck_assert_int_eq(output_same(x, y, &same, &f), E_SYS);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *name;
	int64_t mtime, now;
	bool over;
} archive_files[] = {
	/* 1700000000 is 2023-11-14T22:13:20Z */
	{ "purged-2023-11-14.xml", 1699990000, 1700000000, false }, /* today's */
	{ "purged-2023-11-13.xml", 1699990000, 1700000000, true },
	{ "purged-2023-11-13.xml", 1699997000, 1700000000,
	    false }, /* just written to */
	{ "purged-2023-11-15.xml", 1699990000, 1700000000, false },
	{ "purged-2023-11-13.xml.gz", 1699990000, 1700000000, false },
	{ "purged-2023-11-13.xml.gz.part", 1699990000, 1700000000, false },
	{ "notes.xml", 1699990000, 1700000000, false },
};

START_TEST(archives_are_compressed_when_over)
{
	ck_assert_int_eq(archive_is_over(archive_files[_i].name,
			     archive_files[_i].mtime, archive_files[_i].now),
	    archive_files[_i].over);
}
END_TEST

START_TEST(archive_has_all_columns)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct workunit wu = { .id = 5, .rsc_fpops_est = 1.5 };
	struct result r = { .id = 6 }, gone = { .id = 7 };
	struct purged_result results[] = { { .row = &gone },
		{ &r, "<in/>", "", "x & y" } };

	wu.name = arena_strdup(&a, "a<b");
	wu.result_template_file = arena_strdup(&a, "");
	r.name = arena_strdup(&a, "r");
	archive_put(&b, &(struct purged){ .wu = &wu,
			    .xml_doc = "<workunit/>",
			    .results = results,
			    .nresults = N(results) });
	for (size_t i = 0; i < shape_workunit.ncols; i++)
		ck_assert_ptr_nonnull(
		    strstr(b.p, arena_printf(&a, "<%s>", shape_workunit.cols[i].name)));
	ck_assert_ptr_nonnull(strstr(b.p, "<id>5</id>\n"));
	ck_assert_ptr_null(strstr(b.p, "<id>7</id>"));
	ck_assert_ptr_nonnull(strstr(b.p, "<name>a&lt;b</name>\n"));
	ck_assert_ptr_nonnull(strstr(b.p, "<rsc_fpops_est>1.5</rsc_fpops_est>\n"));
	ck_assert_ptr_nonnull(strstr(b.p, "<xml_doc>&lt;workunit/>"));
	ck_assert_ptr_nonnull(strstr(b.p, "<stderr_out>x &amp; y</stderr_out>\n"));
	ck_assert_ptr_nonnull(strstr(b.p, "</result_archive>\n</workunit_archive>\n"));
	arena_free(&a);
}
END_TEST

UNIT_MAIN("daemons", {
	ADD_LOOP(expand_by_table, N(expand_cases));
	ADD_LOOP(plan_by_table, N(plan_cases));
	ADD_LOOP(L2_name_by_table, N(name_cases));
	ADD(name_too_long);
	ADD_LOOP(options_by_table, N(option_cases));
	ADD(options_without_dry_run);
	ADD(backoff_pauses);
	ADD(backoff_many);
	ADD_LOOP(output_by_table, N(output_cases));
	ADD(output_compared);
	ADD(archive_has_all_columns);
	ADD_LOOP(archives_are_compressed_when_over, N(archive_files));
})
