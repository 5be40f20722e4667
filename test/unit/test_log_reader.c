/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of logs (log_reader.def), and files that grow, rotate and are cut. */
#include "test/unit/unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/gzip.h"
#include "lib/log_reader.h"
#include "lib/banned.h"

static const struct {
	const char *line;
	int64_t time;
	const char *program;
	enum log_level level;
	const char *message;
} lines[] = {
#define LOG_LINE(line, time, program, level, message)                                  \
	{ line, time, program, level, message },
#include "test/unit/log_reader.def"
#undef LOG_LINE
};

START_TEST(line_forms)
{
	struct log_entry e = { 0 };

	setenv("TZ", "UTC", 1);
	tzset();
	log_entry_parse(lines[_i].line, &e);
	ck_assert_int_eq(e.time, lines[_i].time);
	ck_assert_str_eq(e.program, lines[_i].program);
	ck_assert_int_eq(e.level, lines[_i].level);
	ck_assert_str_eq(e.message, lines[_i].message);
}
END_TEST

START_TEST(level_words)
{
	enum log_level l;

	ck_assert(log_level_named("warning", &l) && l == LOG_WARN);
	ck_assert(!log_level_named("loud", &l));
	ck_assert_str_eq(log_level_name(LOG_DEBUG), "debug");
}
END_TEST

static void append(const char *path, const char *text)
{
	FILE *f = fopen(path, "a");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void next_is(struct log_reader *r, const char *line)
{
	const struct log_entry *e = log_reader_next(r);

	if (line == NULL) {
		ck_assert_ptr_null(e);
		return;
	}
	ck_assert_ptr_nonnull(e);
	ck_assert_str_eq(e->line, line);
}

START_TEST(growing_files)
{
	char path[] = "/tmp/test_log_reader.XXXXXX", old[64];
	struct arena a = { 0 };
	struct log_reader *r;

	close(mkstemp(path));
	snprintf(old, sizeof(old), "%s.1", path);
	append(path, "one\ntwo\nthr");
	r = log_reader_open(&a, path, 0);
	next_is(r, "one");
	next_is(r, "two");
	next_is(r, NULL);
	append(path, "ee\n");
	log_reader_follow(r);
	next_is(r, "three");
	/* rotated: what the old file still gets comes first */
	append(path, "last of old");
	ck_assert_int_eq(rename(path, old), 0);
	append(path, "first of new\n");
	next_is(r, NULL);
	log_reader_follow(r);
	next_is(r, "last of old");
	next_is(r, NULL);
	log_reader_follow(r);
	append(old, "\nof another process\n");
	log_reader_follow(r);
	next_is(r, "");
	next_is(r, "of another process");
	for (int i = 0; i < 5; i++) {
		next_is(r, NULL);
		log_reader_follow(r);
	}
	next_is(r, "first of new");
	/* copied and truncated */
	ck_assert_int_eq(truncate(path, 0), 0);
	log_reader_follow(r);
	append(path, "again\n");
	log_reader_follow(r);
	next_is(r, "again");
	next_is(r, NULL);
	log_reader_close(r);
	ck_assert_ptr_null(log_reader_open(&a, "/nowhere/x", 0));
	arena_free(&a);
	unlink(path);
	unlink(old);
}
END_TEST

/* A file of 20,000 lines, one each second: reading begins near the time. */
START_TEST(begins_at_a_time)
{
	char path[] = "/tmp/test_log_reader.XXXXXX", at[21];
	FILE *f = fdopen(mkstemp(path), "w");
	const struct log_entry *e;
	struct arena a = { 0 };
	struct log_reader *r;
	int skipped = 0;

	for (int i = 0; i < 20000; i++)
		fprintf(f, "%s x[1] info line %d\n%s", clock_text(1700000000 + i, at),
		    i, i % 3 == 0 ? "  a line without time\n" : "");
	fclose(f);
	r = log_reader_open(&a, path, 1700012345);
	while ((e = log_reader_next(r)) != NULL && e->time < 1700012345)
		skipped++;
	ck_assert_ptr_nonnull(e);
	ck_assert_int_eq(e->time, 1700012345);
	ck_assert_int_lt(skipped, 2000);
	log_reader_close(r);
	arena_free(&a);
	unlink(path);
}
END_TEST

/* Compressed after its rotation, also if cut short: libarchive 3.8 gives nothing of the
 * last 256 KB before the end. */
enum { CUT_LINES = 100000 };
START_TEST(compressed_files)
{
	char dir[PATH_MAX], line[80];
	struct arena a = { 0 };
	char *path = arena_printf(&a, "%s/x.log.2.gz", unit_dir(dir));
	struct log_reader *r;
	struct gzip *g;
	int n = 0;

	ck_assert_int_eq(gzip_create(path, &g, NULL), OK);
	for (int i = 0; i < CUT_LINES; i++) {
		snprintf(line, sizeof(line), "line %d of %d%s", i, i * 7919 % 100003,
		    i < CUT_LINES - 1 ? "\n" : "");
		ck_assert_int_eq(gzip_put(g, line, strlen(line), NULL), OK);
	}
	ck_assert_int_eq(gzip_end(g, NULL), OK);
	gzip_free(g);
	r = log_reader_open(&a, path, 1700000000);
	for (const struct log_entry *e; (e = log_reader_next(r)) != NULL; n++) {
		snprintf(line, sizeof(line), "line %d of %d", n, n * 7919 % 100003);
		ck_assert_str_eq(e->line, line);
	}
	ck_assert_int_eq(n, CUT_LINES);
	log_reader_follow(r);
	next_is(r, NULL);
	ck_assert_ptr_null(log_reader_damage(r));
	log_reader_close(r);
	ck_assert_int_eq(truncate(path, (off_t)fs_size(path) / 2), 0);
	r = log_reader_open(&a, path, 0);
	for (n = 0; log_reader_next(r) != NULL;)
		n++;
	ck_assert_int_lt(n, CUT_LINES);
	ck_assert_int_gt(n, 1000);
	ck_assert_ptr_nonnull(log_reader_damage(r));
	log_reader_close(r);
	fs_rmtree(dir, NULL);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("log_reader", {
	ADD_LOOP(line_forms, N(lines));
	ADD(level_words);
	ADD(growing_files);
	ADD(begins_at_a_time);
	ADD(compressed_files);
})
