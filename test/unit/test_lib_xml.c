/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of typed fields from XML, with the traps of protocol.md 10. */
#include "test/unit/unit.h"

#include <stddef.h>
#include <stdio.h>
#include "lib/buf.h"
#include "lib/xml.h"
#include "lib/banned.h"

static struct arena a;
static struct fail f;

struct file {
	char *name;
	int64_t nbytes;
};

struct result {
	bool has_state;
	char *name;
	int32_t state;
	struct xml_list files;
};

struct net {
	double up, down;
};

struct doc {
	char *name;
	bool anonymous, saw_net, flag;
	int32_t i32;
	int64_t i64;
	double f64;
	struct net net;
	struct xml_list results, few;
	int nresults_done, nnets_done;
};

static void result_done(void *row, void *ctx)
{
	const struct result *r = row;
	struct doc *d = ctx;

	ck_assert_ptr_nonnull(r->name);
	d->nresults_done++;
}

static void net_done(void *row, void *ctx)
{
	struct doc *d = ctx;

	ck_assert_ptr_eq(row, &d->net);
	d->nnets_done++;
}

#define OFF(T, m) .off = offsetof(struct T, m)

static const struct field file_fields[] = {
	{ .name = "name", .type = FIELD_TEXT, OFF(file, name), .max = 20 },
	{ .name = "nbytes", .type = FIELD_I64, OFF(file, nbytes) },
	{ 0 },
};
static const struct field result_fields[] = {
	{ .name = "name", .type = FIELD_TEXT, OFF(result, name), .max = 20 },
	{ .name = "state", .type = FIELD_I32, OFF(result, state) },
	{ .name = "file_info",
	    .type = FIELD_ROWS,
	    OFF(result, files),
	    .size = sizeof(struct file),
	    .child = file_fields },
	{ 0 },
};
static const struct field net_fields[] = {
	{ .name = "up", .type = FIELD_F64, OFF(net, up) },
	{ .name = "down", .type = FIELD_F64, OFF(net, down) },
	{ 0 },
};
static const struct field more_fields[] = {
	{ .name = "i64", .type = FIELD_I64, OFF(doc, i64) },
	{ 0 },
};
static const struct field doc_fields[] = {
	{ .name = "name", .type = FIELD_TEXT, OFF(doc, name), .max = 10 },
	{ .name = "anonymous", .type = FIELD_FLAG, OFF(doc, anonymous) },
	{ .name = "i32", .type = FIELD_I32, OFF(doc, i32) },
	{ .name = "f64", .type = FIELD_F64, OFF(doc, f64) },
	{ .name = "net",
	    .type = FIELD_ROW,
	    OFF(doc, net),
	    .child = net_fields,
	    .done = net_done,
	    .seen_off = offsetof(struct doc, saw_net) },
	{ .name = "more", .type = FIELD_ROW, .child = more_fields },
	{ .name = "result",
	    .type = FIELD_ROWS,
	    OFF(doc, results),
	    .size = sizeof(struct result),
	    .child = result_fields,
	    .done = result_done },
	{ .name = "few",
	    .type = FIELD_ROWS,
	    OFF(doc, few),
	    .max = 3,
	    .size = sizeof(struct file),
	    .child = file_fields },
	{ 0 },
};

static enum err parse_into(struct doc *d, const char *body)
{
	char *text = arena_printf(&a, "<doc>%s</doc>", body);

	return xml_parse(&a, text, strlen(text), "doc", doc_fields, d, d, &f);
}

static struct doc xml_parse_one(const char *body)
{
	struct doc d = { .i32 = -7, .f64 = -7, .i64 = -7 };

	ck_assert_msg(parse_into(&d, body) == OK, "%s: %s", body, f.detail);
	return d;
}

/* --- scalars --- */

static const struct {
	const char *body, *name; /* NULL = left alone */
} strings[] = {
	{ "<name>abc</name>", "abc" },
	{ "<name>\n  abc d \t</name>", "abc d" },
	{ "<name></name>", "" },
	{ "<name/>", "" },
	{ "<name >abc</name >", "abc" },
	{ "<name x='1'>abc</name>", "abc" },
	{ "<name>&lt;&amp;&gt;&quot;&apos;</name>", "<&>\"'" },
	{ "<name>&#195;&#169;</name>",
	    "\xc3\xa9" }, /* UTF-8 as one reference per byte */
	{ "<name>&#174;&#255;&#128;</name>", "\xae\xff\x80" },
	{ "<name>\xae\xe9</name>", "\xae\xe9" }, /* raw Latin-1 */
	{ "<name>\xc3\xa9</name>", "\xc3\xa9" }, /* raw UTF-8 */
	{ "<name>\x80\x9f\xa0\xff</name>", "\x80\x9f\xa0\xff" },
	{ "<name>&#8482;</name>", "\xe2\x84\xa2" }, /* beyond a byte: as UTF-8 */
	{ "<name>1234567890</name>", "1234567890" },
	{ "<name>   1234567890   </name>", "1234567890" },
	{ "<name>12345678901</name>", NULL }, /* longer than the field: ignored */
	{ "<name>\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9</name>",
	    "\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9\xe9" }, /* the length counts bytes */
	{ "<name>ok</name><name>12345678901</name>", "ok" },
	{ "<name>first</name><name>last</name>", "last" },
	{ "<name><![CDATA[<a>&b]]></name>", "<a>&b" },
	{ "<name>a<!-- no -->b</name>", "ab" },
	{ "<name>ab<b>c</b></name>", NULL }, /* a string holds no elements */
	{ "<Name>abc</Name>", NULL },
	{ "<x:name xmlns:x='u'>abc</x:name>", NULL },
	{ "<net><name>deep</name></net>", NULL },
	{ "<unknown><name>deep</name></unknown>", NULL },
	{ "<unknown><doc><name>x</name></doc></unknown><name>y</name>", "y" },
};

START_TEST(xml_strings)
{
	struct doc d = xml_parse_one(strings[_i].body);

	ck_assert_pstr_eq(d.name, strings[_i].name);
}
END_TEST

static const struct {
	const char *text;
	int32_t want; /* -7 = left alone */
} numbers[] = {
	{ "5", 5 },
	{ " 5\n", 5 },
	{ "010", 8 }, /* as clients read it (protocol.md 0.3) */
	{ "09", -7 },
	{ "-10", -10 },
	{ "100", 100 },
	{ "2147483647", INT32_MAX },
	{ "2147483648", -7 },
	{ "-2147483649", -7 },
	{ "0x5", 5 },
	{ "0x", -7 },
	{ "5x", -7 },
	{ "5.0", -7 },
	{ "", -7 },
	{ "nan", -7 },
	{ "4294967297", -7 },
	{ "99999999999999999999999", -7 },
};

START_TEST(xml_integers)
{
	struct doc d = xml_parse_one(
	    arena_printf(&a, "<i32>%s</i32>", numbers[_i].text));

	ck_assert_int_eq(d.i32, numbers[_i].want);
}
END_TEST

static const struct {
	const char *text;
	double want;
} doubles[] = {
	{ "1.5", 1.5 },
	{ "-2.5e3", -2500 },
	{ "nan", 0 },
	{ "-nan", 0 },
	{ "inf", 0 },
	{ "-inf", 0 },
	{ "1e400", 0 },
	{ "1.#INF00", 0 },
	{ "-1.#IND00", 0 },
	{ "1e301", 1e301 },
	{ "1.5 GB", -7 },
	{ "", -7 },
	{ "0x1p4", -7 },
};

START_TEST(xml_doubles)
{
	struct doc d = xml_parse_one(
	    arena_printf(&a, "<f64>%s</f64>", doubles[_i].text));

	ck_assert_double_eq(d.f64, doubles[_i].want);
}
END_TEST

static const struct {
	const char *body;
	bool want;
} bools[] = {
	{ "<anonymous/>", true },
	{ "<anonymous />", true },
	{ "<anonymous>1</anonymous>", true },
	{ "<anonymous>-3</anonymous>", true },
	{ "<anonymous>0</anonymous>", false },
	{ "<anonymous/><anonymous>0</anonymous>", false },
	{ "<anonymous/><anonymous>what</anonymous>", true },
	{ "", false },
};

START_TEST(xml_bools)
{
	ck_assert_int_eq(xml_parse_one(bools[_i].body).anonymous, bools[_i].want);
}
END_TEST

START_TEST(xml_wide_integers)
{
	ck_assert_int_eq(
	    xml_parse_one("<more><i64>9223372036854775807</i64></more>").i64,
	    INT64_MAX);
	ck_assert_int_eq(
	    xml_parse_one("<more><i64>-9223372036854775808</i64></more>").i64,
	    INT64_MIN);
	ck_assert_int_eq(
	    xml_parse_one("<more><i64>9223372036854775808</i64></more>").i64, -7);
	ck_assert_int_eq(
	    xml_parse_one("<i64>5</i64>").i64, -7); /* known one level deeper only */
}
END_TEST

/* --- containers --- */

START_TEST(xml_lists_and_groups)
{
	struct doc d = xml_parse_one(
	    "<name>top</name>"
	    "<result><name>r1</name><state>5</state>"
	    "  <file_info><name>f1</name><nbytes>10</nbytes></file_info>"
	    "  <junk><file_info><name>no</name></file_info></junk>"
	    "  <file_info><name>f2</name><result>x</result></file_info>"
	    "</result>\n"
	    "<net><up>1</up><down>2.5</down></net>"
	    "<file_info><name>top level</name></file_info>"
	    "<result><name>r2</name></result>");
	const struct result *r = d.results.rows;
	const struct file *files = r[0].files.rows;

	ck_assert_str_eq(d.name, "top");
	ck_assert_uint_eq(d.results.n, 2);
	ck_assert_int_eq(d.nresults_done, 2);
	ck_assert_str_eq(r[0].name, "r1");
	ck_assert_int_eq(r[0].state, 5);
	ck_assert(!r[0].has_state);
	ck_assert_uint_eq(r[0].files.n, 2);
	ck_assert_str_eq(files[0].name, "f1");
	ck_assert_int_eq(files[0].nbytes, 10);
	ck_assert_str_eq(files[1].name, "f2");
	ck_assert_str_eq(r[1].name, "r2");
	ck_assert_uint_eq(r[1].files.n, 0);
	ck_assert_double_eq(d.net.down, 2.5);
	ck_assert(d.saw_net);
	ck_assert_int_eq(d.nnets_done, 1);
	ck_assert(!xml_parse_one("<more/>").saw_net);
	ck_assert(xml_parse_one("<net/>").saw_net);
}
END_TEST

START_TEST(xml_lists_grow_and_end)
{
	struct buf b = buf_new(&a);
	struct doc d;

	for (int i = 0; i < 5000; i++)
		buf_printf(&b,
		    "<result><name>r%d</name><file_info><name>f%d</name></file_info></"
		    "result>"
		    "<few><name>%d</name></few>",
		    i, i, i);
	d = xml_parse_one(b.p);
	ck_assert_uint_eq(d.results.n, 5000);
	ck_assert_uint_eq(d.few.n, 3);
	ck_assert_str_eq(((struct file *)d.few.rows)[2].name, "2");
	for (int i = 0; i < 5000; i++) {
		const struct result *r = (struct result *)d.results.rows + i;
		ck_assert_uint_eq(r->files.n, 1);
		ck_assert_str_eq(r->name + 1, ((struct file *)r->files.rows)->name + 1);
	}
}
END_TEST

START_TEST(xml_long_text)
{
	struct buf b = buf_new(&a);
	char *text;

	buf_puts(&b, "<name>x</name><junk>");
	for (int i = 0; i < 100000; i++)
		buf_puts(&b, "0123456789&amp;\n");
	buf_puts(&b, "</junk><name>");
	for (int i = 0; i < 1000; i++)
		buf_puts(&b, "0123456789\xe9&#233;");
	buf_puts(&b, "</name><i32>4</i32>");
	text = b.p;
	ck_assert_str_eq(xml_parse_one(text).name, "x");
	ck_assert_int_eq(xml_parse_one(text).i32, 4);
}
END_TEST

/* --- documents --- */

static const struct {
	const char *text;
	const char *why; /* part of the message; NULL = accepted with name "n" */
} documents[] = {
	{ "<doc><name>n</name></doc>", NULL },
	{ "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<doc><name>n</name></doc>\n",
	    NULL },
	{ "<?xml version='1.0' "
	  "encoding='UTF-16'?><doc><junk>\xe9</junk><name>n</name></doc>",
	    NULL },
	{ "<?xml version='1.0' encoding='no-such'?><doc><name>n</name></doc>", NULL },
	{ "<!-- x --><doc><name>n</name></doc><!-- y -->", NULL },
	{ "<doc><name>n</name><x:y/></doc>", NULL },
	{ "<other><name>n</name></other>", "root element is <other>, not <doc>" },
	{ "<!DOCTYPE doc><doc><name>n</name></doc>", "DOCTYPE" },
	{ "<!DOCTYPE doc [<!ENTITY x \"y\">]><doc><name>&x;</name></doc>", "DOCTYPE" },
	{ "<!DOCTYPE doc SYSTEM \"file:///etc/passwd\"><doc><name>n</name></doc>",
	    "DOCTYPE" },
	{ "<doc>\n\n<name>&unknown;</name></doc>", "line 3" },
	{ "<doc><name>n</name>", "line 1" },
	{ "<doc><name>n</nam></doc>", "name" },
	{ "<doc><name>n</name></doc><doc/>", "line 1" },
	{ "<doc><name>a & b</name></doc>", "line 1" },
	{ "<doc><name>&#1;</name></doc>", "line 1" },
	{ "<doc><name>\x01</name></doc>", "line 1" },
	{ "", "" },
	{ "   ", "" },
	{ "no xml at all", "" },
	{ "\xff\xfe<\0d\0", "" },
};

START_TEST(xml_documents)
{
	struct doc d = { 0 };
	enum err e = xml_parse(&a, documents[_i].text, strlen(documents[_i].text),
	    "doc", doc_fields, &d, &d, &f);

	if (documents[_i].why == NULL) {
		ck_assert_msg(e == OK, "%s", f.detail);
		ck_assert_str_eq(d.name, "n");
		return;
	}
	ck_assert_int_eq(e, E_BADREQ);
	ck_assert_msg(strstr(f.detail, documents[_i].why) != NULL, "%s", f.detail);
}
END_TEST

START_TEST(xml_keeps_what_came_before_an_error)
{
	struct doc d = { 0 };

	ck_assert_int_eq(parse_into(&d, "<name>n</name><result><name>r</name>"
					"<state>4</state></result><result><name>x</"),
	    E_BADREQ);
	ck_assert_str_eq(d.name, "n");
	ck_assert_uint_ge(d.results.n, 1);
	ck_assert_int_eq(((struct result *)d.results.rows)->state, 4);
}
END_TEST

static char *nested(int depth)
{
	struct buf b = buf_new(&a);

	for (int i = 0; i < depth; i++)
		buf_puts(&b, "<d>");
	for (int i = 0; i < depth; i++)
		buf_puts(&b, "</d>");
	return b.p;
}

START_TEST(xml_depth_is_capped)
{
	struct doc d = { 0 };

	ck_assert_int_eq(parse_into(&d, nested(31)), OK);
	ck_assert_int_eq(parse_into(&d, nested(32)), E_BADREQ);
	ck_assert_ptr_nonnull(strstr(f.detail, "deeper than 32"));
	ck_assert_int_eq(parse_into(&d, nested(500000)), E_BADREQ);
}
END_TEST

START_TEST(xml_nul_bytes_are_refused)
{
	const char text[] = "<doc><name>n\0</name></doc>";
	struct doc d = { 0 };

	ck_assert_int_eq(
	    xml_parse(&a, text, sizeof(text) - 1, "doc", doc_fields, &d, &d, &f),
	    E_BADREQ);
}
END_TEST

START_TEST(xml_truncation_never_hurts)
{
	/* Every prefix of a document is either parsed or refused. */
	const char *whole =
	    "<doc><name>&#195;&#169;\xe9</name><result><name>r</name><file_info>"
	    "<name><![CDATA[x]]></name></file_info></result><net><up>1</up></net>"
	    "<!-- c --><junk a='1'/></doc>";

	for (size_t n = 0; n < strlen(whole); n++) {
		struct doc d = { 0 };
		ck_assert_int_eq(
		    xml_parse(&a, whole, n, "doc", doc_fields, &d, &d, &f), E_BADREQ);
	}
}
END_TEST

static const struct {
	const char *text, *tag, *want;
} betweens[] = {
	{ "a<x> b </x>c<x>d</x>", "x", " b " },
	{ "<x></x>", "x", "" },
	{ "<x>", "x", NULL },
	{ "</x><x>1</x>", "x", "1" },
	{ "<xy>1</xy>", "x", NULL },
	{ "", "x", NULL },
};

START_TEST(xml_text_between)
{
	ck_assert_pstr_eq(
	    xml_between(&a, betweens[_i].text, betweens[_i].tag), betweens[_i].want);
}
END_TEST

UNIT_MAIN("lib_xml", {
	ADD_LOOP(xml_strings, N(strings));
	ADD_LOOP(xml_integers, N(numbers));
	ADD_LOOP(xml_doubles, N(doubles));
	ADD_LOOP(xml_bools, N(bools));
	ADD(xml_wide_integers);
	ADD(xml_lists_and_groups);
	ADD(xml_lists_grow_and_end);
	ADD(xml_long_text);
	ADD_LOOP(xml_documents, N(documents));
	ADD(xml_keeps_what_came_before_an_error);
	ADD(xml_depth_is_capped);
	ADD(xml_nul_bytes_are_refused);
	ADD(xml_truncation_never_hurts);
	ADD_LOOP(xml_text_between, N(betweens));
})
