/* SPDX-License-Identifier: Apache-2.0 */
/* URLs, query strings and UTF-8. */
#include "test/unit/unit.h"

#include <stdint.h>
#include "lib/http.h"
#include "lib/text.h"
#include "lib/banned.h"

static const struct {
	const char *in, *out;
} canonical[] = {
	{ "http://Example.ORG/Proj", "http://example.org/Proj/" },
	{ "HTTPS://h//a///b/", "https://h/a/b/" },
	{ "  http://h:81/p/ \n", "http://h:81/p/" },
	{ "http://h", "http://h/" },
	{ "http:////h/x", "http://h/x/" },
	{ "http://", NULL },
	{ "ftp://h/", NULL },
	{ "h/p", NULL },
	{ "http://h/a b/", NULL },
	{ "http://h/a\x01/", NULL },
	{ "", NULL },
};

START_TEST(url_canonical_forms)
{
	struct arena a = { 0 };
	char *got = url_canonical(&a, canonical[_i].in);

	if (canonical[_i].out == NULL)
		ck_assert_ptr_null(got);
	else
		ck_assert_pstr_eq(got, canonical[_i].out);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *u, *v;
	bool same;
} places[] = {
	{ "http://h/p/", "http://h/p/", true },
	{ "http://h/p/", "https://h/p", true },
	{ "http://H/p/", "http://h:80/p/", true },
	{ "https://h:443/p/", "http://h/P/", true },
	{ "http://h:443/p/", "http://h/p/", false },
	{ "https://h:80/p/", "http://h/p/", false },
	{ "http://h:8080/p/", "http://h/p/", false },
	{ "http://h/p/", "http://h/q/", false },
	{ "http://h.org/p/", "http://www.h.org/p/", false },
	{ "http://:80/", "http://:80/", true },
	{ "", "http://h/", false },
	{ "h", "h", false },
};

START_TEST(urls_of_one_place)
{
	struct arena a = { 0 };

	ck_assert_int_eq(url_same(&a, places[_i].u, places[_i].v), places[_i].same);
	ck_assert_int_eq(url_same(&a, places[_i].v, places[_i].u), places[_i].same);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *in, *out;
} dirs[] = {
	{ "http://h:1/p/", "h_1_p" },
	{ "http://127.0.0.1:9101/fakeone/", "127.0.0.1_9101_fakeone" },
	{ "https://a-b.org/c_d/e?f", "a-b.org_c_d_e_f" },
	{ "http://../x/", "_._x" },
	{ "no url", "no_url" },
};

START_TEST(url_directories)
{
	struct arena a = { 0 };

	ck_assert_str_eq(url_to_dir(&a, dirs[_i].in), dirs[_i].out);
	arena_free(&a);
}
END_TEST

START_TEST(url_coding)
{
	struct arena a = { 0 };
	const char *raw = "a b+c/d\xc3\xa9&=%", *coded = "a%20b%2Bc%2Fd%C3%A9%26%3D%25";

	ck_assert_str_eq(url_decode(&a, coded, strlen(coded)), raw);
	ck_assert_str_eq(url_decode(&a, "a+b%2", 5), "a b%2");
	ck_assert_str_eq(url_decode(&a, "%zz%4", 5), "%zz%4");
	ck_assert_str_eq(url_decode(&a, "x%00%0ay%7F", 11), "xy");
	ck_assert_str_eq(url_decode(&a, "abc%41", 3), "abc");
	ck_assert_str_eq(url_encode(&a, raw), coded);
	ck_assert_str_eq(url_encode(&a, ""), "");
	ck_assert_str_eq(url_encode(&a, "A-_.~z\n"), "A-_.~z%0A");
	arena_free(&a);
}
END_TEST

static const struct {
	const char *query, *name, *value;
} queries[] = {
	{ "a=1&bc=x%20y&d", "bc", "x y" },
	{ "a=1&bc=2", "b", NULL },
	{ "a=1&a=2", "a", "1" },
	{ "%61=1&a=2", "a", "2" }, /* names are not decoded */
	{ "a=%", "a", "%" },
	{ "a=%00", "a", "" },
	{ "a=%2", "a", "%2" },
	{ "a=%G1%31", "a", "%G11" },
	{ "a=1%26b=2", "b", NULL },
	{ "a=1;b=2", "b", NULL },
	{ "a", "a", "" },
	{ "a=&b=2", "a", "" },
	{ "&&b=2", "b", "2" },
	{ "a==", "a", "=" },
	{ "", "a", NULL },
	{ NULL, "a", NULL },
};

START_TEST(query_values)
{
	struct arena a = { 0 };

	ck_assert_pstr_eq(
	    query_get(&a, queries[_i].query, queries[_i].name), queries[_i].value);
	arena_free(&a);
}
END_TEST

/* Parsing a query of 1 MB takes linear time, wherever the parameter is. */
START_TEST(long_query)
{
	struct arena a = { 0 };
	enum { BYTES = 1 << 20 };
	char *q = arena_alloc(&a, BYTES + 1);

	for (size_t i = 0; i < BYTES; i++)
		q[i] = "a%26"[i % 4];
	memcpy(q + BYTES - 6, "&end=1", 6);
	ck_assert_str_eq(query_get(&a, q, "end"), "1");
	memset(q, '&', BYTES);
	ck_assert_ptr_null(query_get(&a, q, "end"));
	arena_free(&a);
}
END_TEST

static const struct {
	const char *s;
	size_t n;
} chars[] = {
	{ "", 1 }, { "a", 1 }, { "\xc3\xa9", 2 }, { "\xe2\x82\xac", 3 },
	{ "\xf0\x9f\x9a\x80", 4 }, { "\xc3", 0 }, { "\xc3x", 0 }, { "\xa9", 0 },
	{ "\xff", 0 }, { "\xc0\x80", 0 }, /* overlong */
	{ "\xe0\x80\x80", 0 },            /* overlong */
	{ "\xed\xa0\x80", 0 },            /* half of a surrogate pair */
	{ "\xf4\x90\x80\x80", 0 },        /* beyond the last code point */
};

START_TEST(utf8_chars)
{
	ck_assert_uint_eq(text_utf8(chars[_i].s), chars[_i].n);
}
END_TEST

UNIT_MAIN("lib_http", {
	ADD_LOOP(url_canonical_forms, N(canonical));
	ADD_LOOP(urls_of_one_place, N(places));
	ADD_LOOP(url_directories, N(dirs));
	ADD(url_coding);
	ADD_LOOP(query_values, N(queries));
	ADD(long_query);
	ADD_LOOP(utf8_chars, N(chars));
})
