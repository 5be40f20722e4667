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
#include "tools/print/print.h"
#include "tools/terminal.h"
#include "lib/human.h"
#include "lib/banned.h"

static const struct print_column columns[] = {
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "jobs", "JOBS", PRINT_NUMBER, NULL },
	{ "size", "SIZE", PRINT_BYTES, NULL },
	{ "rate", NULL, PRINT_PERCENT, NULL },
	{ "seen", "SEEN", PRINT_TIME, NULL },
	{ "good", "GOOD", PRINT_FLAG, NULL },
	{ 0 },
};

static void put_first_row(struct print *l)
{
	print_cells(l, "a\tb\n", 12, 4200000, 0.5, 0, true);
}

static void put_second_row(struct print *l)
{
	print_cells(l, "\xff\033[2J", -1, 1e12, NULL, 1700000000, false);
}

/* Tests run in processes of their own, so standard output is this one's. */
struct capture {
	char path[32];
	int fd, was;
};

static struct capture capture_begin(void)
{
	struct capture c = { .path = "/tmp/locus-print.XXXXXX" };

	fflush(stdout);
	c.fd = mkstemp(c.path);
	c.was = dup(STDOUT_FILENO);
	dup2(c.fd, STDOUT_FILENO);
	return c;
}

static char *capture_end(struct arena *a, const struct capture *c)
{
	struct fail f = { 0 };
	char *text;

	fflush(stdout);
	dup2(c->was, STDOUT_FILENO);
	ck_assert_int_eq(fs_read(a, c->path, 1 << 20, &text, NULL, &f), OK);
	unlink(c->path);
	close(c->fd);
	close(c->was);
	return text;
}

static char *printed(struct arena *a, enum format format, bool record, int rows)
{
	struct cmd_ctx x = { .a = a, .format = format };
	struct capture c = capture_begin();
	struct print *l = record ? print_record_begin(&x, columns) :
	                           print_list(&x, columns);

	if (rows > 0)
		put_first_row(l);
	if (rows > 1)
		put_second_row(l);
	ck_assert_uint_eq(print_end(l), (unsigned)rows);
	return capture_end(a, &c);
}

/* An output that has all that a tree and its lines can have. */
static void say_tree(struct print *p)
{
	print_label(p, 6);
	print_put(p, "n", 7, "late", NULL, "half", 0.5, "yes", print_of_flag(true),
	    "never", print_time(0), "time", print_time(1700000000), "bytes", "\xff\033",
	    "lines", print_lines("a\tb\nc"));
	print_line(p, NULL, "%s is here", "all");
	print_open(p, "list", PRINT_ARRAY);
	print_put(p, NULL, "x", NULL, print_unless(true, 3));
	print_object(p, NULL, "flag", print_of_flag(false));
	print_close(p);
	print_aligned(p, "lr", "a", 10);
	print_aligned(p, "lr", "bbb", print_own("\033[31m9\033[0m"));
	print_alert(p, COLOR_BAD, "late", "it %s", "comes");
	print_line(p, "", "on");
	print_aligned(p, "ll", "c", "");
	print_open(p, "late", PRINT_OBJECT);
	print_put(p, "first", 1);
	print_close(p);
	print_open(p, "late", PRINT_OBJECT);
	print_put(p, "second", 2);
	print_close(p);
}

static char *said_in(struct arena *a, enum format format, bool dropped)
{
	struct cmd_ctx x = { .a = a, .format = format };
	struct capture c = capture_begin();
	struct print *p = print_tree(&x, PRINT_OBJECT);

	say_tree(p);
	if (dropped)
		print_drop(p);
	else
		print_end(p);
	return capture_end(a, &c);
}

START_TEST(said_once_for_all_three)
{
	struct arena a = { 0 };

	color_choose(COLOR_ALWAYS);
	ck_assert_str_eq(said_in(&a, FORMAT_TABLE, false),
	    "all is here\n"
	    "a    10\n"
	    "bbb   \033[31m9\033[0m\n"
	    "\033[31mlate  \033[0m it comes\n"
	    "       on\n"
	    "c\n");
	ck_assert_str_eq(said_in(&a, FORMAT_TSV, false),
	    "path\tvalue\nn\t7\nlate.first\t1\nlate.second\t2\nhalf\t0.5\nyes\ttrue\n"
	    "never\t\ntime\t2023-11-14T22:13:20Z\nbytes\t??\nlines\ta\\tb\\nc\n"
	    "list.0\tx\nlist.1\t\nlist.2.flag\tfalse\n");
	ck_assert_str_eq(said_in(&a, FORMAT_JSON, false),
	    "{\n \"n\": 7,\n \"late\": {\n  \"first\": 1,\n  \"second\": 2\n },\n"
	    " \"half\": 0.5,\n \"yes\": true,\n \"never\": null,\n"
	    " \"time\": \"2023-11-14T22:13:20Z\",\n \"bytes\": \"??\",\n"
	    " \"lines\": \"a\\tb\\nc\",\n"
	    " \"list\": [\n  \"x\",\n  null,\n  {\n   \"flag\": false\n  }\n ]\n}\n");
	ck_assert_str_eq(said_in(&a, FORMAT_JSON, true), "");
	ck_assert_str_eq(said_in(&a, FORMAT_TSV, true), "");
	arena_free(&a);
}
END_TEST

START_TEST(a_stream_has_an_object_a_line)
{
	struct arena a = { 0 };
	struct cmd_ctx x = { .a = &a, .format = FORMAT_JSON };
	struct capture c = capture_begin();
	struct print *l = print_stream(&x, columns);

	put_first_row(l);
	put_first_row(l);
	ck_assert_uint_eq(print_end(l), 2);
	ck_assert_str_eq(capture_end(&a, &c),
	    "{\"name\":\"a?b?\",\"jobs\":12,\"size\":4200000,\"rate\":0.5,\"seen\":null,\"good\":true}\n"
	    "{\"name\":\"a?b?\",\"jobs\":12,\"size\":4200000,\"rate\":0.5,\"seen\":null,\"good\":true}\n");
	arena_free(&a);
}
END_TEST

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

UNIT_MAIN("print", {
	ADD(tsv_is_exact);
	ADD(json_is_an_array_or_a_record);
	ADD(table_is_for_people);
	ADD(said_once_for_all_three);
	ADD(a_stream_has_an_object_a_line);
	ADD_LOOP(color_by_table, N(colors));
	ADD(no_question_without_a_terminal);
	ADD_LOOP(span_by_table, N(spans));
})
