/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the small building blocks: arena, buf, err, clock, rng, log, text,
 * http. */
#include "test/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/fs.h"
#include "lib/hash.h"
#include "lib/journal.h"
#include "lib/log.h"
#include "lib/log_repeat.h"
#include "lib/names.h"
#include "lib/rng.h"
#include "lib/terminal.h"
#include "lib/text.h"
#include "lib/banned.h"

/* --- names, ids --- */

START_TEST(names_keep_order_and_first_number)
{
	struct arena a = { 0 };
	struct names s = { 0 };
	size_t value = 7;

	ck_assert(!names_has(&s, "") && !names_find(&s, "k1", &value));
	for (size_t i = 0; i < 10000; i++)
		ck_assert(names_put(&a, &s, arena_printf(&a, "k%zu", i * 7919), i));
	ck_assert(!names_put(&a, &s, "k7919", 5) && !names_put(&a, &s, NULL, 5));
	ck_assert_uint_eq(s.n, 10000);
	for (size_t i = 0; i < s.n; i++) {
		ck_assert_uint_eq(s.value[i], i);
		ck_assert(names_find(&s, arena_strdup(&a, s.v[i]), &value));
		ck_assert_uint_eq(value, i);
	}
	ck_assert(!names_has(&s, "k1") && !names_has(&s, NULL));
	ck_assert(names_put(&a, &s, "", 3) && names_has(&s, ""));
	arena_free(&a);
}
END_TEST

START_TEST(ids_are_sorted_once_each)
{
	static const int64_t v[] = { 5, INT64_MAX, -2, 5, 0, INT64_MIN, 5 };
	struct arena a = { 0 };
	struct ids none = ids_unique(&a, NULL, 0), s = ids_unique(&a, v, N(v));

	ck_assert(none.n == 0 && !ids_has(&none, 0));
	ck_assert_uint_eq(s.n, 5);
	for (size_t i = 1; i < s.n; i++)
		ck_assert_int_lt(s.v[i - 1], s.v[i]);
	for (size_t i = 0; i < N(v); i++)
		ck_assert(ids_has(&s, v[i]));
	ck_assert(!ids_has(&s, 1) && !ids_has(&s, INT64_MAX - 1));
	arena_free(&a);
}
END_TEST

/* What is in files, rows and replies rests on these values. */
START_TEST(hashes_are_fnv_1a)
{
	ck_assert(hash_text(HASH_SEED, "") == HASH_SEED);
	ck_assert(hash_text(HASH_SEED, "foobar") == 0x85944171f73967e8u);
	ck_assert(
	    hash_bytes(hash_text(HASH_SEED, "foo"), "bar", 3) == 0x85944171f73967e8u);
}
END_TEST

/* --- arena --- */

START_TEST(arena_gives_zeroed_aligned_memory)
{
	struct arena a = { 0 };
	size_t sizes[] = { 1, 7, 16, 17, 4000, 5000, 20000, 3 << 20 };

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 50 * N(sizes); i++) {
			size_t n = sizes[i % N(sizes)];
			unsigned char *p = arena_alloc(&a, n);
			ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
			for (size_t j = 0; j < n; j += n / 8 + 1)
				ck_assert_uint_eq(p[j], 0);
			memset(p, 0xff, n);
		}
		ck_assert_uint_gt(a.used, 50 * (3 << 20));
		arena_reset(&a);
		ck_assert_uint_eq(a.used, 0);
	}
	arena_free(&a);
	ck_assert_ptr_null(a.head);
}
END_TEST

START_TEST(arena_keeps_what_it_gave)
{
	struct arena a = { 0 };
	char *s[2000];

	for (size_t i = 0; i < N(s); i++)
		s[i] = arena_printf(&a, "%zu %0*zu", i, (int)(i % 300), i);
	for (size_t i = 0; i < N(s); i++) {
		char want[400];
		snprintf(want, sizeof(want), "%zu %0*zu", i, (int)(i % 300), i);
		ck_assert_str_eq(s[i], want);
	}
	arena_free(&a);
}
END_TEST

START_TEST(arena_reset_keeps_one_block)
{
	struct arena a = { 0 };
	void *first;

	/* The second round fits in the kept block: no new block is made, and the
	 * addresses are the same. */
	for (int i = 0; i < 1000; i++)
		arena_alloc(&a, 100);
	arena_reset(&a);
	first = arena_alloc(&a, 100);
	for (int round = 0; round < 10; round++) {
		arena_reset(&a);
		ck_assert_ptr_eq(arena_alloc(&a, 100), first);
	}
	arena_free(&a);
}
END_TEST

START_TEST(arena_strings)
{
	struct arena a = { 0 };

	ck_assert_str_eq(arena_strdup(&a, NULL), "");
	ck_assert_str_eq(arena_strdup(&a, "abc"), "abc");
	ck_assert_str_eq(arena_memdup(&a, "abcdef", 3), "abc");
	ck_assert_str_eq(arena_memdup(&a, NULL, 0), "");
	arena_free(&a);
}
END_TEST

START_TEST(arena_arrays_grow)
{
	struct arena a = { 0 };
	int *p = NULL;
	size_t n = 0, cap = 0;

	for (int i = 0; i < 10000; i++)
		PUSH(&a, p, n, cap) = i;
	ck_assert_uint_eq(n, 10000);
	for (int i = 0; i < 10000; i++)
		ck_assert_int_eq(p[i], i);
	arena_free(&a);
}
END_TEST

START_TEST(arena_refuses_an_overflow)
{
	mul_or_die(SIZE_MAX / 2, 3);
}
END_TEST

/* --- buf --- */

static const struct {
	const char *in, *out;
} escapes[] = {
	{ "", "" }, { "plain > text \"'", "plain > text \"'" },
	{ "a<b&c", "a&lt;b&amp;c" },
	{ "Ren\xc3\xa9", "Ren&#195;&#169;" }, /* protocol.md 12 */
	{ "\t\n\r", "&#9;&#10;&#13;" },
	{ "a\x01\x1b"
	  "b\x7f",
	    "ab\x7f" },
	{ "\x80\xff", "&#128;&#255;" }, { "&#38;", "&amp;#38;" },
	{ "a]]>b ]> ]]]>", "a]]&gt;b ]> ]]]&gt;" }, /* not allowed in text */
};

START_TEST(buf_escapes_as_clients_do)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	buf_xml(&b, escapes[_i].in);
	ck_assert_str_eq(b.p, escapes[_i].out);
	ck_assert_uint_eq(b.n, strlen(escapes[_i].out));
	arena_free(&a);
}
END_TEST

static const struct {
	const char *in, *out;
} shown[] = {
	{ "", "" },
	{ "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80",
	    "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80" },
	{ "a\nb\rc\td\x1b[31m\x7f", "a?b?c?d?[31m?" },
	{ "\xc2\x9b"
	  "31m\xc2\x80\xc2\xa0",
	    "?31m?\xc2\xa0" }, /* C1 */
	{ "a\xe2\x80\xae"
	  "b\xe2\x81\xa6\xe2\x80\x8f",
	    "a?b??" }, /* direction */
	{ "a\xe2\x80\xa8"
	  "b\xe2\x80\xa9",
	    "a?b?" },                                    /* lines */
	{ "a\xe2\x80\x8b\xef\xbb\xbf\xd8\x9c", "a???" }, /* no width */
	{ "Ren\xe9 \xc3", "Ren? ?" },                    /* no UTF-8 */
	{ "\xed\xa0\x80", "???" },                       /* a surrogate */
};

START_TEST(what_must_not_be_shown)
{
	struct arena a = { 0 };
	char *text = arena_strdup(&a, shown[_i].in);

	text_make_printable(text);
	ck_assert_str_eq(text, shown[_i].out);
	arena_free(&a);
}
END_TEST

/* The same, wherever a write ends; lines, tabs and our colours stay. */
static const struct {
	const char *in, *out;
} on_terminal[] = {
	{ "one\ttwo\nthree\n", "one\ttwo\nthree\n" },
	{ "\033[31mbad\033[0m \033[1mbold\033[0m",
	    "\033[31mbad\033[0m \033[1mbold\033[0m" },
	{ "\033]0;title\a \033[2J \033[8mhidden \033[312m",
	    "?]0;title? ?[2J ?[8mhidden ?[312m" },
	{ "\033[31", "?[31" }, /* no more has come */
	{ "Ren\xc3\xa9 \xc2\x9b 31m \r\b", "Ren\xc3\xa9 ? 31m ??" },
	{ "\xe2\x80\xa8 \xf0\x9f\x9a\x80 \xed\xa0\x80 \xe9.",
	    "? \xf0\x9f\x9a\x80 ??? ?." },
};

START_TEST(what_a_terminal_gets)
{
	const char *in = on_terminal[_i].in;
	size_t n = strlen(in);

	for (size_t cut = 0; cut <= n; cut++) {
		char text[80], got[80] = "";
		size_t have = 0, rest, end, done = 0;

		for (int half = 0; half < 2; half++) {
			size_t from = half == 0 ? 0 : cut, to = half == 0 ? cut : n;

			memcpy(text + have, in + from, to - from);
			end = terminal_clean(text, have + to - from, &rest);
			memcpy(got + done, text, end - rest);
			done += end - rest;
			memmove(text, text + end - rest, rest);
			have = rest;
		}
		memcpy(got + done, text, terminal_clean(text, have, NULL));
		ck_assert_str_eq(got, on_terminal[_i].out);
	}
}
END_TEST

/* Both ways of writing numbers give the same text as printf(). */
START_TEST(buf_numbers)
{
	static const double v[] = { 0, -0.0, 1, -1, 0.1, -0.5, 1e9, 123456789012345,
		-123456789012345, 999999999999999, 1e15, -1e15, 1e15 + 1, 1e16, 1e300,
		0.0000001, 3.5e12, 0.123456789, 4294967296.5, INFINITY, -INFINITY };
	static const int64_t whole[] = { 0, 7, -7, 10, 1234567890123, INT64_MAX,
		INT64_MIN };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	for (size_t i = 0; i < N(v); i++) {
		b.n = 0;
		buf_fixed(&b, v[i]);
		ck_assert_str_eq(b.p, arena_printf(&a, "%f", v[i]));
		b.n = 0;
		if (buf_whole(&b, v[i]))
			ck_assert_str_eq(b.p, arena_printf(&a, "%.15g", v[i]));
	}
	for (size_t i = 0; i < N(whole); i++) {
		b.n = 0;
		buf_i64(&b, whole[i]);
		ck_assert_str_eq(b.p, arena_printf(&a, "%" PRId64, whole[i]));
	}
	b.n = 0;
	buf_tag_i64(&b, "n", -3);
	buf_tag_fixed(&b, "x", 2.5);
	ck_assert_str_eq(b.p, "<n>-3</n>\n<x>2.500000</x>\n");
	ck_assert_uint_eq(strlen(arena_printf(&a, "%*d", 255, 1)), 255);
	ck_assert_uint_eq(strlen(arena_printf(&a, "%*d", 256, 1)), 256);
	arena_free(&a);
}
END_TEST

START_TEST(buf_builds)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	ck_assert_str_eq(b.p, "");
	buf_tag(&b, "name", "x<y");
	ck_assert_str_eq(b.p, "<name>x&lt;y</name>\n");
	b.n = 0;
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%03d,", i);
	ck_assert_uint_eq(b.n, 4000);
	ck_assert_uint_eq(strlen(b.p), 4000);
	ck_assert_str_eq(b.p + 3996, "999,");
	buf_printf(&b, "%5000d", 7);
	ck_assert_uint_eq(b.n, 9000);
	buf_put(&b, "a\0b", 3);
	ck_assert_int_eq(memcmp(b.p + 9000, "a\0b\0", 4), 0);
	arena_free(&a);
}
END_TEST

/* --- err --- */

START_TEST(fail_records)
{
	struct fail f = { 0 };
	char longer[1000];

	ck_assert_int_eq(FAIL(&f, E_BADREQ, "host %d: %s", 7, "bad"), E_BADREQ);
	ck_assert_int_eq(f.code, E_BADREQ);
	ck_assert_str_eq(f.where, "fail_records_fn");
	ck_assert_str_eq(f.detail, "host 7: bad");
	ck_assert_int_eq(FAIL(&f, E_CONFIG, "file x: %s", f.detail), E_CONFIG);
	ck_assert_str_eq(f.detail, "file x: host 7: bad");
	errno = ENOENT;
	ck_assert_int_eq(FAIL_ERRNO(&f, "opening %s", "y"), E_SYS);
	ck_assert_str_eq(f.detail, "opening y: No such file or directory");
	errno = ENOSPC;
	ck_assert_int_eq(FAIL_ERRNO(&f, "writing y"), E_DISK_FULL);
	ck_assert_int_eq(f.code, E_DISK_FULL);
	errno = EDQUOT;
	ck_assert_int_eq(FAIL_ERRNO(NULL, "writing y"), E_DISK_FULL);
	errno = EACCES;
	ck_assert_int_eq(FAIL_ERRNO(&f, "opening y"), E_DENIED);
	ck_assert_str_eq(f.detail, "opening y: Permission denied");
	errno = EPERM;
	ck_assert_int_eq(FAIL_ERRNO(&f, "opening y"), E_DENIED);
	errno = ENOENT;
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	FAIL_ERRNO(&f, "%s", longer);
	ck_assert_uint_eq(strlen(f.detail), sizeof(f.detail) - 1);
	ck_assert_int_eq(FAIL(NULL, E_RACE, "nobody asks"), E_RACE);
}
END_TEST

static const struct {
	enum err e;
	const char *name;
	int exit;
} errs[] = {
	{ OK, "OK", 0 },
	{ E_BADREQ, "BADREQ", 1 },
	{ E_NOTFOUND, "NOTFOUND", 1 },
	{ E_RACE, "RACE", 1 },
	{ E_RETRY, "RETRY", 75 },
	{ E_DB, "DB", 69 },
	{ E_SYS, "SYS", 1 },
	{ E_DISK_FULL, "DISK_FULL", 1 },
	{ E_DENIED, "DENIED", 77 },
	{ E_CONFIG, "CONFIG", 78 },
};

START_TEST(err_names_and_exits)
{
	ck_assert_uint_eq(N(errs), E__MAX);
	ck_assert_str_eq(err_name(errs[_i].e), errs[_i].name);
	ck_assert_int_eq(err_exit(errs[_i].e), errs[_i].exit);
}
END_TEST

/* --- clock --- */

static const struct {
	int64_t t;
	const char *text;
} times[] = {
	{ 0, "1970-01-01T00:00:00Z" },
	{ 1795218057, "2026-11-20T23:40:57Z" },
	{ 951782399, "2000-02-28T23:59:59Z" },
	{ 4102444800, "2100-01-01T00:00:00Z" },
	{ INT64_MAX, "-" },
	{ 1000000000000, "-" },
};

START_TEST(clock_writes_utc)
{
	char buf[21];

	ck_assert_str_eq(clock_text(times[_i].t, buf), times[_i].text);
}
END_TEST

START_TEST(clocks_run)
{
	int64_t t = clock_now(), m = clock_mono_ms();

	ck_assert_int_gt(t, 1700000000);
	ck_assert_double_ge(clock_now_f(), (double)t);
	clock_nap_ms(20);
	ck_assert_int_ge(clock_mono_ms() - m, 20);
	clock_nap_ms(0);
	clock_nap_ms(-5);
}
END_TEST

/* --- rng --- */

START_TEST(rng_is_the_published_generator)
{
	/* splitmix64(0) is on its authors' page; xoshiro's first value follows from it.
	 */
	struct rng r = rng_seed(0), again = rng_seed(0), other = rng_seed(1);

	ck_assert_uint_eq(r.s[0], 0xe220a8397b1dcdafu);
	ck_assert_uint_eq(r.s[1], 0x6e789e6aa1b965f4u);
	ck_assert_uint_eq(rng_next(&r), 0x99ec5f36cb75f2b4u);
	rng_next(&again);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(rng_next(&r), rng_next(&again));
	ck_assert_uint_ne(rng_next(&r), rng_next(&other));
}
END_TEST

START_TEST(rng_ranges)
{
	struct rng r = rng_seed(42);
	double sum = 0, sq = 0;
	int seen[7] = { 0 };

	for (int i = 0; i < 70000; i++)
		seen[rng_below(&r, 7)]++;
	for (size_t i = 0; i < N(seen); i++)
		ck_assert_int_lt(abs(seen[i] - 10000), 500);
	ck_assert_uint_eq(rng_below(&r, 1), 0);
	for (int i = 0; i < 20000; i++) {
		double u = rng_unit(&r), g = rng_gauss(&r);
		ck_assert(u >= 0 && u < 1);
		sum += g;
		sq += g * g;
	}
	ck_assert_double_lt(sum / 20000 < 0 ? -sum / 20000 : sum / 20000, 0.03);
	ck_assert_double_eq_tol(sq / 20000, 1, 0.05);
}
END_TEST

START_TEST(rng_shuffles)
{
	struct wide {
		int id;
		char pad[97];
	} w[50] = { 0 };
	struct rng r = rng_seed(3);
	int moved = 0, sum = 0;

	for (int i = 0; i < 50; i++) {
		w[i].id = i;
		memset(w[i].pad, i, sizeof(w[i].pad));
	}
	rng_shuffle(&r, w, N(w), sizeof(w[0]));
	for (int i = 0; i < 50; i++) {
		moved += w[i].id != i;
		sum += w[i].id;
		ck_assert_int_eq(w[i].pad[96], w[i].id);
	}
	ck_assert_int_gt(moved, 40);
	ck_assert_int_eq(sum, 49 * 50 / 2);
	rng_shuffle(&r, w, 0, sizeof(w[0]));
}
END_TEST

/* --- log --- */

static char *log_of(struct arena *a, const char *path)
{
	char *text;

	ck_assert_int_eq(fs_read(a, path, 1 << 20, &text, NULL, NULL), OK);
	return text;
}

START_TEST(log_lines_are_single_and_cannot_be_forged)
{
	char dir[PATH_MAX];
	struct arena a = { 0 };
	char *path = arena_printf(&a, "%s/log", unit_dir(dir)), *text, huge[9000];
	struct fail f = { .code = E_DB, .where = "db_run", .detail = "gone" };

	log_open("scheduler", path, LOG_INFO);
	log_prefix("[HOST#%d]", 7);
	log_info("name=%s", "x\n2026-11-20T23:40:57Z scheduler[1] info forged\x1b[2J");
	log_debug("not wanted");
	log_fail("commit", &f);
	log_prefix("%s", "");
	memset(huge, 'h', sizeof(huge));
	huge[sizeof(huge) - 1] = '\0';
	log_warn("%s", huge);
	log_open("x", NULL, LOG_ERR);
	text = log_of(&a, path);
	ck_assert_ptr_nonnull(strstr(text, " info [HOST#7] name=x\\x0a2026-"));
	ck_assert_ptr_nonnull(strstr(text, "forged\\x1b[2J\n"));
	ck_assert_ptr_nonnull(
	    strstr(text, " error [HOST#7] commit: DB in db_run: gone\n"));
	ck_assert_ptr_nonnull(strstr(text, " warning hhhh"));
	ck_assert_ptr_null(strstr(text, "not wanted"));
	ck_assert_str_eq(text + strlen(text) - 7, "hh ...\n");
	ck_assert_uint_eq(strlen(strstr(strstr(text, "gone\n"), "\n") + 1), 4096);
	fs_rmtree(dir, NULL);
	arena_free(&a);
}
END_TEST

/* A limit on the size of files simulates a full disk. */
START_TEST(log_counts_what_it_cannot_write)
{
	char dir[PATH_MAX];
	struct arena a = { 0 };
	char *path = arena_printf(&a, "%s/log", unit_dir(dir)), *text;
	struct rlimit was, small;

	signal(SIGXFSZ, SIG_IGN);
	log_open("d", path, LOG_INFO);
	log_info("one");
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = was;
	small.rlim_cur = (rlim_t)fs_size(path) + 5;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	log_info("two");
	log_info("three");
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
	log_info("four");
	log_info("five");
	log_open("d", NULL, LOG_ERR);
	text = log_of(&a, path);
	ck_assert_ptr_nonnull(strstr(text, " one\n"));
	ck_assert_ptr_null(strstr(text, "two"));
	ck_assert_ptr_null(strstr(text, "three"));
	/* The part of "two" that was written is a line of its own. */
	ck_assert_msg(strstr(text, " one\n2") != NULL, "%s", text);
	ck_assert_ptr_nonnull(strstr(text, " warning 2 lines of this log were lost: "));
	ck_assert_ptr_nonnull(strstr(text, " info four\n"));
	ck_assert_ptr_nonnull(strstr(text, " info five\n"));
	ck_assert_ptr_null(strstr(strstr(text, "lost"), "lost:\n"));
	fs_rmtree(dir, NULL);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *message, *fields;
} journal_cases[] = {
	{ "[rpc=81f3aa02] served [HOST#7] user=3", "LOCUS_RPC=81f3aa02 LOCUS_HOST=7 " },
	{ "[HOST#7 rpc=81f3] no work", "LOCUS_HOST=7 LOCUS_RPC=81f3 " },
	{ "[WU#12] name: cannot be judged [HOST#9]", "LOCUS_WORKUNIT=12 " },
	{ "[RESULT#5] x bad", "LOCUS_RESULT=5 " },
	{ "upload name [HOST#9]", "" },
	{ "[HOST#] [HOST#x y] [other] said", "" },
	{ "[HOST#7", "LOCUS_HOST=7 " },
	{ "", "" },
};

/* A line of the format "cannot VERB %s" is of its kind whatever it names. */
static bool admit(
    struct log_repeats *t, int level, const char *format, const char *text, int64_t now)
{
	return log_repeat_admit(t, level, log_kind(format, text), text, now);
}

START_TEST(log_counts_repetitions)
{
	struct log_repeats t = { 0 };
	struct log_repeat due;
	char text[64];
	int written = 0;

	for (int i = 0; i < 25; i++) {
		snprintf(text, sizeof(text), "cannot read %c%d", 'a' + i, i * 37);
		written += admit(&t, LOG_ERR, "cannot read %s", text, 1000 + i);
	}
	ck_assert_int_eq(written, LOG_REPEAT_MOST);
	/* Others are not touched: another format, another level. */
	ck_assert(admit(&t, LOG_ERR, "cannot write %s", "cannot write file1", 1025));
	ck_assert(admit(&t, LOG_WARN, "cannot read %s", "cannot read x", 1025));
	ck_assert(!log_repeat_due(&t, 1059, &due));
	ck_assert(log_repeat_due(&t, 1060, &due));
	ck_assert_int_eq((int)due.held, 15);
	ck_assert_int_eq(due.level, LOG_ERR);
	ck_assert_str_eq(due.last, "cannot read y888");
	ck_assert(!log_repeat_due(&t, 1060, &due));
	/* A new minute. */
	ck_assert(admit(&t, LOG_ERR, "cannot read %s", "cannot read file2", 1060));
	/* A flood of kinds loses no count that is not the oldest. */
	for (int i = 0; i < 11; i++)
		admit(&t, LOG_ERR, "again", "again", 2000);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%c%c%c", 'a' + i % 26, 'a' + i / 26 % 26,
		    'a' + i / 676);
		ck_assert(admit(&t, LOG_ERR, text, text, 2001));
	}
	ck_assert(log_repeat_due(&t, 2060, &due));
	ck_assert_str_eq(due.last, "again");
}
END_TEST

START_TEST(log_kinds_are_those_of_formats)
{
	struct fail f = { 0 }, g = { 0 };

	ck_assert(
	    log_kind("no file %s", "no file a") == log_kind("no file %s", "no file b"));
	ck_assert(log_kind("no file %s", "x") != log_kind("no disk %s", "x"));
	/* A format without words: the text counts, but not its numbers. */
	ck_assert(log_kind("%s: %-5.3lld%%", "a1") == log_kind("%s %s", "a22"));
	ck_assert(log_kind("%s", "a") != log_kind("%s", "b"));
	ck_assert(log_kind("100%", "a") != log_kind("100%", "b"));
	for (int i = 0; i < 2; i++)
		FAIL(i == 0 ? &f : &g, E_SYS, "no file %s", i == 0 ? "a" : "b");
	ck_assert_uint_eq(f.kind, g.kind);
	FAIL(&g, E_DB, "no file %s", "b");
	ck_assert_uint_ne(f.kind, g.kind);
	FAIL(&g, E_SYS, "no disk %s", "b");
	ck_assert_uint_ne(f.kind, g.kind);
}
END_TEST

/* In the file, with the line that counts the others once their minute is over. */
START_TEST(log_writes_ten_of_a_kind)
{
	struct arena a = { 0 };
	char dir[PATH_MAX];
	char *path = arena_printf(&a, "%s/log", unit_dir(dir)), *text;
	int lines = 0;

	log_open("d", path, LOG_INFO);
	for (int i = 0; i < 100; i++) {
		log_prefix("[HOST#%d]", i);
		log_warn("repeated test warning %c%d", 'a' + i % 26, i);
		log_info("information %d", i);
	}
	log_prefix("%s", "");
	log_open("d", NULL, LOG_ERR);
	text = log_of(&a, path);
	for (const char *p = text; (p = strstr(p, "repeated test warning")) != NULL;
	     p++)
		lines++;
	ck_assert_int_eq(lines, 10);
	lines = 0;
	for (const char *p = text; (p = strstr(p, " information ")) != NULL; p++)
		lines++;
	ck_assert_int_eq(lines, 100);
	arena_free(&a);
}
END_TEST

/* What a client wrote cannot pass for an object of the log line. */
START_TEST(journal_takes_fields)
{
	struct journal_fields f = journal_fields_of(journal_cases[_i].message);
	char all[400] = "";

	for (size_t i = 0; i < f.n; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ", f.v[i]);
	ck_assert_str_eq(all, journal_cases[_i].fields);
}
END_TEST

START_TEST(log_follows_rotation)
{
	char dir[PATH_MAX];
	struct arena a = { 0 };
	char *path = arena_printf(&a, "%s/log", unit_dir(dir));
	char *old = arena_printf(&a, "%s/log.1", dir);

	log_open("d", path, LOG_INFO);
	log_info("one");
	ck_assert_int_eq(fs_rename(path, old, NULL), OK);
	for (int i = 0; i < 100 && !fs_exists(path); i++) {
		clock_nap_ms(100); /* looked at once a second */
		log_info("two");
	}
	log_open("d", NULL, LOG_ERR);
	ck_assert_ptr_nonnull(strstr(log_of(&a, old), " one\n"));
	ck_assert_ptr_nonnull(strstr(log_of(&a, path), " two\n"));
	fs_rmtree(dir, NULL);
	arena_free(&a);
}
END_TEST

/*
 * A service reads its configuration again and opens its log just when the log has been
 * rotated: what children write follows.
 */
START_TEST(streams_follow_a_log_that_is_opened_again)
{
	char dir[PATH_MAX];
	struct arena a = { 0 };
	char *path = arena_printf(&a, "%s/log", unit_dir(dir));
	int fd, out = dup(STDOUT_FILENO);
	bool follows;

	log_open("d", path, LOG_INFO);
	fd = open(path, O_WRONLY | O_APPEND);
	ck_assert_int_eq(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	ck_assert_int_eq(fs_rename(path, arena_printf(&a, "%s.1", path), NULL), OK);
	log_open("d", path, LOG_INFO);
	follows = fs_is_file(path, STDOUT_FILENO);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(fd);
	log_open("d", NULL, LOG_ERR);
	ck_assert(follows);
	fs_rmtree(dir, NULL);
	arena_free(&a);
}
END_TEST

/* --- text --- */

static const struct {
	const char *s;
	bool ok;
	int64_t v;
} integers[] = {
	{ "0", true, 0 },
	{ "007", true, 7 }, /* base 10, never octal */
	{ " -12", true, -12 },
	{ "+5", true, 5 },
	{ "100", true, 100 },
	{ "101", false, 0 },
	{ "0x10", false, 0 },
	{ "1.0", false, 0 },
	{ "5 ", false, 0 },
	{ "", false, 0 },
	{ " ", false, 0 },
	{ "-", false, 0 },
	{ "99999999999999999999", false, 0 },
};

START_TEST(text_integers)
{
	int64_t v = -77;

	ck_assert_int_eq(text_i64(integers[_i].s, -100, 100, &v), integers[_i].ok);
	ck_assert_int_eq(v, integers[_i].ok ? integers[_i].v : -77);
}
END_TEST

static const struct {
	const char *s;
	bool ok;
	double v;
} doubles[] = {
	{ "1.5e3", true, 1500 },
	{ "-0.25", true, -0.25 },
	{ "nan", true, 0 },
	{ "-nan", true, 0 },
	{ "inf", true, 0 },
	{ "1e999", true, 0 },
	{ "1.#INF00", true, 0 },
	{ "-1.#IND00", true, 0 },
	{ "1.#QNAN0", true, 0 },
	{ "1#x", false, 0 },
	{ "0x10", false, 0 },
	{ "1.0abc", false, 0 },
	{ "", false, 0 },
	{ "abc", false, 0 },
};

START_TEST(text_keeps_the_end)
{
	static const struct {
		const char *more, *end;
	} steps[] = { { "", "" }, { "abc", "abc" }, { "de", "abcde" }, { "f", "bcdef" },
		{ "", "bcdef" }, { "0123456789", "56789" }, { "xyzzy", "xyzzy" } };
	char end[6] = "";
	size_t used = 0;

	for (size_t i = 0; i < N(steps); i++) {
		text_keep_end(
		    end, sizeof(end), &used, steps[i].more, strlen(steps[i].more));
		ck_assert_str_eq(end, steps[i].end);
		ck_assert_uint_eq(used, strlen(end));
	}
}
END_TEST

START_TEST(text_is_trimmed_at_both_ends)
{
	char s[] = " \t\r\n a b \v\f\n", blank[] = " \n ", none[] = "";

	ck_assert_str_eq(text_trim(s), "a b");
	ck_assert_str_eq(text_trim(blank), "");
	ck_assert_str_eq(text_trim(none), "");
}
END_TEST

START_TEST(words_of_a_shell)
{
	struct arena a = { 0 };

	ck_assert_str_eq(text_shell_word(&a, "/a/b_1.dat"), "/a/b_1.dat");
	ck_assert_str_eq(text_shell_word(&a, ""), "''");
	ck_assert_str_eq(text_shell_word(&a, "a b"), "'a b'");
	ck_assert_str_eq(text_shell_word(&a, "it's $(x)"), "'it'\\''s $(x)'");
	ck_assert_str_eq(text_shell_word(&a, "a\n'b"), "$'a\\012\\047b'");
	arena_free(&a);
}
END_TEST

START_TEST(what_is_below_a_directory)
{
	ck_assert_str_eq(text_below("/srv/a", "/srv/a/b"), "/b");
	ck_assert_str_eq(text_below("/srv/a", "/srv/a"), "");
	ck_assert_ptr_null(text_below("/srv/a", "/srv/ab"));
	ck_assert_ptr_null(text_below("/srv/a/b", "/srv/a"));
}
END_TEST

START_TEST(text_doubles)
{
	double v = -77;

	ck_assert_int_eq(text_f64(doubles[_i].s, &v), doubles[_i].ok);
	ck_assert_double_eq(v, doubles[_i].ok ? doubles[_i].v : -77);
}
END_TEST

/* Short numbers are read without strtod(): the result must be the same to the bit. */
START_TEST(text_short_decimals)
{
	struct rng rng = rng_seed(1);

	for (int i = 0; i < 100000; i++) {
		char s[24] = "";
		size_t n = 1 + rng_below(&rng, 18), point = rng_below(&rng, 2 * n);
		double v = -77;

		for (size_t k = 0; k < n; k++)
			s[k] = k == point && k > 0 ? '.' :
			                             (char)('0' + rng_below(&rng, 10));
		ck_assert_msg(text_f64(s, &v), "%s", s);
		ck_assert_msg(v == strtod(s, NULL), "%s: %.17g", s, v);
	}
}
END_TEST

UNIT_MAIN("lib", {
	ADD(text_short_decimals);
	ADD(arena_gives_zeroed_aligned_memory);
	ADD(names_keep_order_and_first_number);
	ADD(ids_are_sorted_once_each);
	ADD(hashes_are_fnv_1a);
	ADD(arena_keeps_what_it_gave);
	ADD(arena_reset_keeps_one_block);
	ADD(arena_strings);
	ADD(arena_arrays_grow);
	ADD_ABORTS(arena_refuses_an_overflow);
	ADD_LOOP(what_must_not_be_shown, N(shown));
	ADD_LOOP(what_a_terminal_gets, N(on_terminal));
	ADD_LOOP(buf_escapes_as_clients_do, N(escapes));
	ADD(buf_numbers);
	ADD(buf_builds);
	ADD(fail_records);
	ADD_LOOP(err_names_and_exits, N(errs));
	ADD_LOOP(clock_writes_utc, N(times));
	ADD(clocks_run);
	ADD(rng_is_the_published_generator);
	ADD(rng_ranges);
	ADD(rng_shuffles);
	ADD(log_lines_are_single_and_cannot_be_forged);
	ADD(log_follows_rotation);
	ADD(streams_follow_a_log_that_is_opened_again);
	ADD(log_counts_repetitions);
	ADD(log_kinds_are_those_of_formats);
	ADD(log_writes_ten_of_a_kind);
	ADD_LOOP(journal_takes_fields, N(journal_cases));
	ADD(log_counts_what_it_cannot_write);
	ADD_LOOP(text_integers, N(integers));
	ADD(text_keeps_the_end);
	ADD(text_is_trimmed_at_both_ends);
	ADD(words_of_a_shell);
	ADD(what_is_below_a_directory);
	ADD_LOOP(text_doubles, N(doubles));
})
