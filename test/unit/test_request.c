/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing requests: traps by table, sizes, storms. */
#include "lib/clock.h"
#include "lib/rng.h"
#include "proto/request.h"
#include "test/dump_request.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

static const struct {
	const char *what, *inside, *want, *want2, *never;
} cases[] = {
#define CASE(what, inside, want, want2, never) { what, inside, want, want2, never },
#include "test/unit/request_cases.def"
#undef CASE
};

static const char *request_dumped(struct arena *a, const struct request *q)
{
	struct buf b = buf_new(a);

	dump_request(&b, q);
	return b.p;
}

static struct request *request_parsed(struct arena *a, const char *text, size_t n)
{
	struct request *q;
	struct fail f;
	enum err e = request_parse(a, text, n, &q, &f);

	ck_assert_msg(e == OK, "%s", e == OK ? "" : f.detail);
	return q;
}

START_TEST(traps)
{
	struct arena a = { 0 };
	const char *what = cases[_i].what;
	struct buf b = buf_new(&a);
	const char *got;

	buf_printf(
	    &b, "<scheduler_request>\n%s\n</scheduler_request>\n", cases[_i].inside);
	got = request_dumped(&a, request_parsed(&a, b.p, b.n));
	ck_assert_msg(strstr(got, cases[_i].want) != NULL, "%s: no %s in\n%s", what,
	    cases[_i].want, got);
	if (cases[_i].want2 != NULL)
		ck_assert_msg(strstr(got, cases[_i].want2) != NULL, "%s: no %s in\n%s",
		    what, cases[_i].want2, got);
	if (cases[_i].never != NULL)
		ck_assert_msg(strstr(got, cases[_i].never) == NULL, "%s: %s in\n%s",
		    what, cases[_i].never, got);
	arena_free(&a);
}
END_TEST

/* --- texts that are not requests --- */

static const struct {
	const char *text, *why;
} refused[] = {
	{ "", "no <scheduler_request> start tag" },
	{ "<html><body>hello</body></html>", "no <scheduler_request> start tag" },
	{ "</scheduler_request>", "no <scheduler_request> start tag" },
	{ "<scheduler_request>", "no </scheduler_request> end tag" },
	{ "<scheduler_request>\n<hostid>3</hostid>\n<res",
	    "no </scheduler_request> end tag" },
	{ "<scheduler_request><result><stderr_out></scheduler_request>", NULL },
	{ "\xef\xbb\xbf \n<?xml "
	  "version=\"1.0\"?>\n<scheduler_request></scheduler_request>",
	    NULL },
	{ "<scheduler_request/>", NULL },
	{ "<!DOCTYPE r [<!ENTITY a \"b\">]>\n<scheduler_request></scheduler_request>",
	    "a DOCTYPE is not allowed" },
	{ "<scheduler_request><!DOCTYPE x></scheduler_request>", NULL },
	{ "\n \t\r\n<!-- x --><scheduler_request></scheduler_request>\nx", NULL },
};

START_TEST(shapes)
{
	struct arena a = { 0 };
	struct request *q;
	struct fail f = { 0 };
	enum err e = request_parse(
	    &a, refused[_i].text, strlen(refused[_i].text), &q, &f);

	if (refused[_i].why == NULL) {
		ck_assert_msg(e == OK, "%s: %s", refused[_i].text, f.detail);
	} else {
		ck_assert_int_eq(e, E_BADREQ);
		ck_assert_msg(
		    strstr(f.detail, refused[_i].why) != NULL, "%s", f.detail);
	}
	arena_free(&a);
}
END_TEST

START_TEST(nul_bytes)
{
	static const char text[] =
	    "<scheduler_request>\0<hostid>3\0</hostid><client_brand>a\0b</client_brand>"
	    "<result><name>r</name><stderr_out>x\0y</stderr_out></result></"
	    "scheduler_request>";
	struct arena a = { 0 };
	struct request *q = request_parsed(&a, text, sizeof(text) - 1);

	ck_assert_int_eq(q->hostid, 3);
	ck_assert_str_eq(q->client_brand, "ab");
	ck_assert_str_eq(q->reports[0].stderr_out, "x y");
	arena_free(&a);
}
END_TEST

/* --- size --- */

START_TEST(five_thousand_results)
{
	enum { COUNT = 5000, STDERR = 70000 };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct request *q;
	char *big = arena_alloc(&a, STDERR + 1);

	memset(big, 'x', STDERR);
	buf_puts(&b, "<scheduler_request>\n");
	for (int i = 0; i < COUNT; i++)
		buf_printf(&b,
		    "<result>\n    <name>wu_%d_0</name>\n    "
		    "<exit_status>0</exit_status>\n"
		    "    "
		    "<state>5</state>\n<stderr_out>\n<![CDATA[\n%s\n]]>\n</"
		    "stderr_out>\n"
		    "<file_info>\n    "
		    "<name>wu_%d_0_r1_0</name>\n</file_info>\n</result>\n",
		    i, i == 7 ? big : "done", i);
	buf_puts(&b, "</scheduler_request>\n");
	q = request_parsed(&a, b.p, b.n);
	ck_assert_uint_eq(q->nreports, COUNT);
	ck_assert_str_eq(q->reports[COUNT - 1].name, "wu_4999_0");
	ck_assert_int_eq(q->reports[COUNT - 1].exit_status, 0);
	ck_assert_uint_eq(strlen(q->reports[7].stderr_out), 65535);
	ck_assert_str_eq(q->reports[8].stderr_out, "\n<![CDATA[\ndone\n]]>\n");
	ck_assert_str_eq(q->reports[9].files[0].name, "wu_9_0_r1_0");
	arena_free(&a);
}
END_TEST

/* A task that a list has no room for is not lost. */
START_TEST(lists_cut_short_say_nothing_of_other_tasks)
{
	enum { MOST_REPORTS = 20000, MOST_OTHERS = 100000 };
	static const struct {
		int reports, others;
		bool known;
	} lists[] = { { MOST_REPORTS, 0, true }, { MOST_REPORTS + 1, 0, false },
		{ 0, MOST_OTHERS, true }, { 0, MOST_OTHERS + 1, false } };

	for (size_t i = 0; i < N(lists); i++) {
		struct arena a = { 0 };
		struct buf b = buf_new(&a);
		struct request *q;

		buf_puts(&b, "<scheduler_request>\n");
		for (int k = 0; k < lists[i].reports; k++)
			buf_printf(&b, "<result>\n<name>r%d</name>\n</result>\n", k);
		buf_puts(&b, "<other_results>\n");
		for (int k = 0; k < lists[i].others; k++)
			buf_printf(&b,
			    "<other_result>\n<name>o%d</name>\n</other_result>\n", k);
		buf_puts(&b, "</other_results>\n</scheduler_request>\n");
		q = request_parsed(&a, b.p, b.n);
		ck_assert_int_le(q->nreports, MOST_REPORTS);
		ck_assert_int_eq(q->has_other_results, lists[i].known);
		arena_free(&a);
	}
}
END_TEST

/* The client drops all of its trickles after one ack, so the parser takes either all or
 * none. */
START_TEST(trickles_are_taken_all_or_none)
{
	enum { MOST = 20000 };

	for (int over = 0; over < 2; over++) {
		struct arena a = { 0 };
		struct buf b = buf_new(&a);
		struct request *q;

		buf_puts(&b, "<scheduler_request>\n");
		for (int i = 0; i < MOST + over; i++)
			buf_puts(&b, "<msg_from_host>\nx\n</msg_from_host>\n");
		buf_puts(&b, "</scheduler_request>\n");
		q = request_parsed(&a, b.p, b.n);
		ck_assert_uint_eq(q->ntrickles, over ? 0 : MOST);
		ck_assert_int_eq(q->trickles_cut, over);
		arena_free(&a);
	}
}
END_TEST

/* Inputs that would take a careless scanner more than linear time. */
static const char *const storms[] = { "<", "<a>", "<a", "</a>", "&", "<!--",
	"<![CDATA[", "<?", "<stderr_out>", "<result><stderr_out>", "<a>x<b></b>",
	"<result>", "<name>x<", "<msg_from_host>", "&#", "\n", "<x/>", "x" };

START_TEST(storm)
{
	enum { SIZE = 1 << 20 };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct request *q;
	struct fail f;

	buf_puts(&b, "<scheduler_request><hostid>3</hostid>");
	while (b.n < SIZE)
		buf_puts(&b, storms[_i]);
	ck_assert_int_eq(request_parse(&a, b.p, b.n, &q, &f), E_BADREQ);
	buf_puts(&b, "</scheduler_request>");
	q = request_parsed(&a, b.p, b.n);
	ck_assert_int_eq(q->hostid, 3);
	arena_free(&a);
}
END_TEST

/* Escaping does not multiply the memory that the parser uses. */
START_TEST(escapes_are_bounded)
{
	enum { SIZE = 4 << 20 };
	struct arena a = { 0 }, of_parser = { 0 };
	struct buf b = buf_new(&a);
	struct request *q;

	buf_puts(&b, "<scheduler_request><hostid>3</hostid>");
	while (b.n < SIZE)
		buf_puts(&b, _i == 0 ? "<" : "&");
	buf_puts(&b, "<rpc_seqno>7</rpc_seqno></scheduler_request>");
	q = request_parsed(&of_parser, b.p, b.n);
	ck_assert_int_eq(q->rpc_seqno, 7);
	ck_assert_uint_lt(of_parser.used, 5 * (size_t)SIZE);
	arena_free(&of_parser);
	arena_free(&a);
}
END_TEST

/* Unknown names are skipped up to a limit that no client reaches. */
START_TEST(names_are_bounded)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct request *q;
	struct fail f;
	size_t most = _i == 0 ? 3000 : 300000;

	buf_puts(&b, "<scheduler_request><hostid>3</hostid>");
	for (size_t i = 0; i < most; i++)
		buf_printf(&b, "<a%zu/>", i);
	buf_puts(&b, "</scheduler_request>");
	if (_i == 0) {
		ck_assert_int_eq(request_parsed(&a, b.p, b.n)->hostid, 3);
	} else {
		ck_assert_int_eq(request_parse(&a, b.p, b.n, &q, &f), E_BADREQ);
		ck_assert_ptr_nonnull(
		    strstr(f.detail, "too many different element names"));
	}
	arena_free(&a);
}
END_TEST

START_TEST(garbage)
{
	enum { SIZE = 5 << 20 };
	static const char alphabet[] = "<>/&;#ab1 \n!-[]";
	uint64_t seed = (uint64_t)_i * 7919 + 1;
	struct rng rng = rng_seed(seed);
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	char *noise = arena_alloc(&a, SIZE);
	struct request *q;
	struct fail f;

	for (size_t i = 0; i < SIZE; i++)
		noise[i] = _i == 0 ? (char)rng_next(&rng) :
		                     alphabet[rng_below(&rng, 15)];
	ck_assert_msg(request_parse(&a, noise, SIZE, &q, &f) == E_BADREQ, "seed %llu",
	    (unsigned long long)seed);
	buf_puts(&b, "<scheduler_request><rpc_seqno>7</rpc_seqno>");
	buf_put(&b, noise, SIZE);
	buf_puts(&b, "</scheduler_request>");
	q = request_parsed(&a, b.p, b.n);
	ck_assert_msg(q->rpc_seqno == 7, "seed %llu", (unsigned long long)seed);
	arena_free(&a);
}
END_TEST

/* The name, and 1 if it is present, of what the host has or is about to have. */
START_TEST(held_files)
{
	static const struct {
		const char *name, *status;
	} files[] = { { "b", "<status>0</status>" }, { "c", "<status>-147</status>" },
		{ "a", "" }, { "b", "<status>1</status>" },
		{ "d", "<status>2</status>" }, { "a", "<status>0</status>" },
		{ "e", "<status>0</status>" } };
	struct arena a = { 0 };
	struct buf b = buf_new(&a), got = buf_new(&a);
	const struct names *held;

	buf_puts(&b, "<scheduler_request>");
	for (size_t i = 0; i < N(files); i++)
		buf_printf(&b, "<file_info><name>%s</name>%s</file_info>",
		    files[i].name, files[i].status);
	buf_puts(&b, "</scheduler_request>");
	held = request_held(&a, request_parsed(&a, b.p, b.n));
	for (size_t i = 0; i < held->n; i++)
		buf_printf(&got, "%s%zu ", held->v[i], held->value[i]);
	buf_put(&got, "", 1);
	ck_assert_str_eq(got.p, "a1 b1 d0 e0 ");
	arena_free(&a);
}
END_TEST

/*
 * Runs of plain elements are not parsed as XML. What they say must be the same: an
 * attribute, which means nothing, keeps an element from being plain.
 */
/* # stands for a digit. */
static const char *const parts[] = { "<name>a#</name>", "<name> b#</name>",
	"<name>c#&amp;&#65;</name>", "<name>\xe9<x>d#</x></name>",
	"<name>e# & f</name>", "<name><![CDATA[g#]]></name>", "<name></name>",
	"<name/>", "<nbytes>#.500000</nbytes>", "<nbytes>1e#</nbytes>",
	"<nbytes>inf</nbytes>", "<nbytes>0x#</nbytes>",
	"<nbytes>123456789012345.#</nbytes>", "<max_nbytes>#</max_nbytes>",
	"<status>#</status>", "<status>-#</status>", "<status>0x#</status>",
	"<status># x</status>", "<sticky/>", "<md5_cksum># \t</md5_cksum>",
	"<error_msg>#<name>q</name></error_msg>", "<unknown><name>h#</name></unknown>",
	"<unknown>#</unknown>", "<!-- # -->", "text", "<name a=\"1\">j#</name>", "\r\n",
	"</file_info >" };
static const char *const indents[] = { "", "\n    ", " ", "\n", "\t\r\n" };

static void put_some_file(struct buf *b, struct rng *rng, bool usual)
{
	const char *indent = indents[rng_below(rng, N(indents))];
	char digit = (char)('0' + rng_below(rng, 9));

	buf_puts(b, "<file_info>");
	if (usual) {
		buf_printf(b,
		    "%s<name>n%c</name>%s<nbytes>%c000.000000</nbytes>%s<status>1</status>",
		    indent, digit, indent, digit, indent);
	} else {
		for (size_t i = rng_below(rng, 5); i-- > 0;) {
			buf_puts(b, indent);
			for (const char *p = parts[rng_below(rng, N(parts))];
			     *p != '\0'; p++)
				buf_put(b, *p == '#' ? &digit : p, 1);
		}
	}
	buf_printf(b, "%s</file_info>%s", indent, indents[rng_below(rng, N(indents))]);
}

START_TEST(runs_say_the_same)
{
	enum { TIMES = 2000 };
	uint64_t seed = (uint64_t)clock_now();
	struct rng rng = rng_seed(seed);
	struct arena a = { 0 };

	for (int i = 0; i < TIMES; i++, arena_reset(&a)) {
		static const char tag[] = "<file_info";
		struct buf b = buf_new(&a), other = buf_new(&a);
		const char *from, *to, *want, *got;

		buf_puts(&b, "<scheduler_request>");
		for (size_t k = rng_below(&rng, 12); k-- > 0;)
			put_some_file(&b, &rng, rng_below(&rng, 3) > 0);
		buf_puts(&b, "<hostid>7</hostid></scheduler_request>");
		for (from = b.p; (to = strstr(from, tag)) != NULL;
		     from = to + strlen(tag)) {
			buf_put(&other, from, (size_t)(to - from));
			buf_printf(&other, "%s a=\"1\"", tag);
		}
		buf_puts(&other, from);
		want = request_dumped(&a, request_parsed(&a, other.p, other.n));
		got = request_dumped(&a, request_parsed(&a, b.p, b.n));
		while (*got != '\0' && *got == *want)
			got++, want++;
		ck_assert_msg(*got == *want,
		    "seed %llu, number %d: %.900s\nsays \"%.200s\" instead of \"%.200s\"",
		    (unsigned long long)seed, i, b.p, got, want);
	}
	arena_free(&a);
}
END_TEST

/* A client that names runs itself neither loses nor repeats one. */
START_TEST(runs_that_a_client_names)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	struct request *q;

	buf_puts(&b, "<scheduler_request>"
		     "<file_info a=\"1\"><name>x</name><raw>3</raw></file_info>"
		     "<file_info a=\"1\"><raw>3</raw></file_info>");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "<file_info><name>n%d</name></file_info>%s", i,
		    i % 100 == 0 ? "<file_info a=\"1\"><raw>1</raw></file_info>" : "");
	buf_puts(&b, "</scheduler_request>");
	q = request_parsed(&a, b.p, b.n);
	ck_assert_uint_eq(q->nfiles, 1001);
	ck_assert_uint_eq(request_held(&a, q)->n, 1001);
	arena_free(&a);
}
END_TEST

START_TEST(memory_of_runs_is_bounded)
{
	enum { MANY = 2000000 };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	size_t before;

	buf_puts(&b, "<scheduler_request><file_info>");
	for (int i = 0; i < MANY; i++)
		buf_puts(&b, _i == 0    ? "<a></a>" :
			     i % 2 == 0 ? "</file_info>" :
					  "<file_info>");
	buf_puts(&b, "</file_info></scheduler_request>");
	before = a.used;
	ck_assert_uint_le(request_parsed(&a, b.p, b.n)->nfiles, 100000);
	ck_assert_uint_lt(a.used - before, 6 * b.n);
	arena_free(&a);
}
END_TEST

START_TEST(files_of_runs_are_bounded)
{
	enum { MOST = 100000 };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	buf_puts(&b, "<scheduler_request>");
	for (int i = 0; i < MOST + 10; i++) {
		buf_printf(&b, "<file_info><name>n%d</name></file_info>", i);
		if (i % 1000 == 0)
			buf_puts(&b, "<file_info a=\"1\"><name>x</name></file_info>");
	}
	buf_puts(&b, "</scheduler_request>");
	ck_assert_uint_eq(request_parsed(&a, b.p, b.n)->nfiles, MOST);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("request", {
	ADD(held_files);
	ADD(runs_say_the_same);
	ADD(runs_that_a_client_names);
	ADD(files_of_runs_are_bounded);
	ADD_LOOP(memory_of_runs_is_bounded, 2);
	ADD_LOOP(traps, sizeof(cases) / sizeof(cases[0]));
	ADD_LOOP(shapes, sizeof(refused) / sizeof(refused[0]));
	ADD(nul_bytes);
	ADD(five_thousand_results);
	ADD(lists_cut_short_say_nothing_of_other_tasks);
	ADD(trickles_are_taken_all_or_none);
	ADD_LOOP(storm, sizeof(storms) / sizeof(storms[0]));
	ADD_LOOP(escapes_are_bounded, 2);
	ADD_LOOP(names_are_bounded, 2);
	ADD_LOOP(garbage, 2);
})
