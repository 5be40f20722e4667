/* SPDX-License-Identifier: Apache-2.0 */
/* The three forms of lists and records, colour, questions and spans. */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "tools/cmd.h"
#include "tools/color.h"
#include "tools/confirm.h"
#include "tools/human.h"
#include "tools/listing.h"
#include "tools/progress.h"
#include "lib/banned.h"

static const struct listing_column columns[] = {
	{ "name", "NAME", LIST_TEXT, NULL },
	{ "jobs", "JOBS", LIST_NUMBER, NULL },
	{ "size", "SIZE", LIST_BYTES, NULL },
	{ "rate", NULL, LIST_PERCENT, NULL },
	{ "seen", "SEEN", LIST_TIME, NULL },
	{ "good", "GOOD", LIST_FLAG, NULL },
	{ 0 },
};

static void
put_first_row(struct listing *l)
{
	listing_text(l, "a\tb\n");
	listing_number(l, 12);
	listing_number(l, 4200000);
	listing_real(l, 0.5);
	listing_number(l, 0);
	listing_flag(l, true);
}

static void
put_second_row(struct listing *l)
{
	listing_text(l, "\xff\033[2J");
	listing_number(l, -1);
	listing_real(l, 1e12);
	listing_null(l);
	listing_number(l, 1700000000);
	listing_flag(l, false);
}

/* Tests run in processes of their own, so standard output is this one's. */
static char *
printed(struct arena *a, enum format format, bool record, int rows)
{
	char path[] = "/tmp/locus-listing.XXXXXX", *text;
	int fd = mkstemp(path), was = dup(STDOUT_FILENO);
	struct cmd_ctx x = { .a = a, .format = format };
	struct fail f = { 0 };
	struct listing *l;

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	l = record ? listing_record(&x, columns) : listing_begin(&x, columns);
	if (rows > 0)
		put_first_row(l);
	if (rows > 1)
		put_second_row(l);
	ck_assert_uint_eq(listing_end(l), (unsigned)rows);
	fflush(stdout);
	dup2(was, STDOUT_FILENO);
	ck_assert_int_eq(fs_read(a, path, 1 << 20, &text, NULL, &f), OK);
	unlink(path);
	close(fd);
	close(was);
	return text;
}

START_TEST(tsv_is_exact)
{
	struct arena a = { 0 };

	ck_assert_str_eq(printed(&a, FORMAT_TSV, false, 2),
	    "name\tjobs\tsize\trate\tseen\tgood\n"
	    "a\\tb\\n\t12\t4200000\t0.5\t\ttrue\n"
	    "??[2J\t-1\t1000000000000\t\t2023-11-14T22:13:20Z\tfalse\n");
	ck_assert_str_eq(
	    printed(&a, FORMAT_TSV, false, 0), "name\tjobs\tsize\trate\tseen\tgood\n");
	arena_free(&a);
}
END_TEST

START_TEST(json_is_an_array_or_a_record)
{
	struct arena a = { 0 };

	ck_assert_str_eq(printed(&a, FORMAT_JSON, false, 0), "[]\n");
	ck_assert_str_eq(printed(&a, FORMAT_JSON, false, 1),
	    "[\n{\"name\":\"a?b?\",\"jobs\":12,\"size\":4200000,\"rate\":0.5,\"seen\":null,\"good\":true}\n]\n");
	ck_assert_ptr_nonnull(
	    strstr(printed(&a, FORMAT_JSON, true, 1), "\n \"size\": 4200000,"));
	arena_free(&a);
}
END_TEST

START_TEST(table_is_for_people)
{
	struct arena a = { 0 };

	ck_assert_str_eq(printed(&a, FORMAT_TABLE, false, 1),
	    "NAME  JOBS    SIZE  SEEN   GOOD\n"
	    "a b     12  4.2 MB  never  yes\n");
	ck_assert_str_eq(printed(&a, FORMAT_TABLE, true, 1),
	    "NAME  a b\nJOBS  12\nSIZE  4.2 MB\nSEEN  never\nGOOD  yes\n");
	ck_assert_ptr_null(strchr(printed(&a, FORMAT_TABLE, false, 2), '\033'));
	ck_assert_str_eq(printed(&a, FORMAT_TABLE, false, 0), "");
	arena_free(&a);
}
END_TEST

static const struct {
	enum color_when when;
	bool used;
} colors[] = { { COLOR_AUTO, false }, { COLOR_ALWAYS, true }, { COLOR_NEVER, false } };

START_TEST(color_by_table)
{
	struct arena a = { 0 };
	int null = open("/dev/null", O_WRONLY);

	dup2(null, STDOUT_FILENO); /* no terminal */
	setenv("TERM", "xterm", 1);
	color_choose(colors[_i].when);
	ck_assert(color_used() == colors[_i].used);
	ck_assert_str_eq(
	    color_text(&a, COLOR_BAD, "x"), colors[_i].used ? "\033[31mx\033[0m" : "x");
	arena_free(&a);
}
END_TEST

START_TEST(no_question_without_a_terminal)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct cmd_ctx x = { .a = &a, .f = &f };
	int null = open("/dev/null", O_RDONLY);
	struct progress p;

	dup2(null, STDIN_FILENO);
	ck_assert_int_eq(confirm(&x, false, "remove %d files", 3), E_BADREQ);
	ck_assert_int_eq(x.status, EXIT_USAGE);
	ck_assert_ptr_nonnull(strstr(f.detail, "this would remove 3 files; add --yes"));
	ck_assert_int_eq(confirm(&x, true, "remove %d files", 3), OK);
	dup2(null, STDERR_FILENO);
	p = progress_begin("working", 10);
	progress_set(&p, 5);
	ck_assert_int_eq(p.width, 0);
	progress_end(&p);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *text;
	int64_t s; /* 0 = refused */
} spans[] = { { "90", 90 }, { "90s", 90 }, { "30m", 1800 }, { "1h", 3600 },
	{ "2d", 172800 }, { "1w", 604800 }, { "", 0 }, { "h", 0 }, { "0", 0 },
	{ "-1h", 0 }, { "1.5h", 0 }, { "1y", 0 }, { "1hh", 0 },
	{ "99999999999999999999999999d", 0 } };

START_TEST(span_by_table)
{
	int64_t s = 0;

	ck_assert(human_span_parse(spans[_i].text, &s) == (spans[_i].s != 0));
	if (spans[_i].s != 0)
		ck_assert_int_eq(s, spans[_i].s);
}
END_TEST

UNIT_MAIN("listing", {
	ADD(tsv_is_exact);
	ADD(json_is_an_array_or_a_record);
	ADD(table_is_for_people);
	ADD_LOOP(color_by_table, N(colors));
	ADD(no_question_without_a_terminal);
	ADD_LOOP(span_by_table, N(spans));
})
