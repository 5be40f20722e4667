/* SPDX-License-Identifier: Apache-2.0 */
/* Download mirrors: what config.xml may say, and the order for a host. */
#include "model/mirror.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

enum { HOUR_S = 3600, HOSTS = 10000 };

static const struct {
	const char *text;
	enum err e;
	const char *url;
	bool zoned;
	int64_t offset_s;
	double weight;
} forms[] = {
	{ "https://a.org/download/", OK, "https://a.org/download", false, 0, 1 },
	{ " http://a.org/d  +1 ", OK, "http://a.org/d", true, HOUR_S, 1 },
	{ "http://a.org/d -5.5 2.5", OK, "http://a.org/d", true, -19800, 2.5 },
	{ "", E_BADREQ, NULL, false, 0, 0 },
	{ "ftp://a.org/d", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/<d>", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d east", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d 15", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d 1 0", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d 1 1 1", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d 14 1000", OK, "http://a.org/d", true, 14 * HOUR_S, 1000 },
	{ "http://a.org/d -14 0.001", OK, "http://a.org/d", true, -14 * HOUR_S, 0.001 },
	{ "http://a.org/d 0", OK, "http://a.org/d", true, 0, 1 },
	{ "http://a.org/d 14.1", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d -14.1", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d 1 1000.1", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d 1 0.0009", E_BADREQ, NULL, false, 0, 0 },
	{ "http://a.org/d 1 1x", E_BADREQ, NULL, false, 0, 0 },
	{ "http:a", E_BADREQ, NULL, false, 0, 0 },
	{ "https:/a", E_BADREQ, NULL, false, 0, 0 },
};

START_TEST(a_form)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct mirror m;

	ck_assert_int_eq(mirror_parse(&a, forms[_i].text, &m, &f), forms[_i].e);
	if (forms[_i].e == OK) {
		ck_assert_str_eq(m.url, forms[_i].url);
		ck_assert_int_eq(m.zoned, forms[_i].zoned);
		ck_assert_int_eq(m.offset_s, forms[_i].offset_s);
		ck_assert_double_eq_tol(m.weight, forms[_i].weight, 1e-9);
	}
	arena_free(&a);
}
END_TEST

static struct mirror mirror_at(const char *url, bool zoned, double hours, double weight)
{
	struct mirror m = {
		.zoned = zoned, .offset_s = (int64_t)(hours * HOUR_S), .weight = weight
	};

	m.url = (char *)(uintptr_t)url;
	return m;
}

static const struct {
	double host_h;
	const char *order;
} orders[] = {
	{ 1, "eunx" }, { -5, "uenx" }, { 13, "nuex" }, /* across the date line */
	{ -11, "nuex" }, { 5, "enux" }, { 0, "eunx" }, { 12, "nuex" },
	{ -12, "nuex" }, /* the same time of day */
};

START_TEST(nearest_first)
{
	struct mirror v[] = { mirror_at("x", false, 0, 9), mirror_at("n", true, 12, 1),
		mirror_at("u", true, -6, 1), mirror_at("e", true, 1, 1) };
	char got[5] = "";

	mirrors_sort(v, 4, (int64_t)(orders[_i].host_h * HOUR_S), 7);
	for (int i = 0; i < 4; i++)
		got[i] = v[i].url[0];
	ck_assert_str_eq(got, orders[_i].order);
}
END_TEST

/* Three quarters of the hosts get the mirror of weight 3 first, and always the same. */
START_TEST(weights_share_hosts)
{
	int first = 0;

	for (int64_t host = 1; host <= HOSTS; host++) {
		struct mirror v[] = { mirror_at("http://one.org/d", true, 1, 1),
			mirror_at("http://three.org/d", true, 1, 3) };
		struct mirror w[] = { v[1], v[0] };

		mirrors_sort(v, 2, 0, host);
		mirrors_sort(w, 2, 0, host);
		ck_assert_str_eq(v[0].url, w[0].url);
		first += v[0].weight > 2;
	}
	ck_assert_int_gt(first, HOSTS * 73 / 100);
	ck_assert_int_lt(first, HOSTS * 77 / 100);
}
END_TEST

/* A host keeps its mirror through upgrades: it holds files from there. */
START_TEST(a_host_keeps_its_mirror)
{
	char got[33] = "";

	for (int host = 0; host < 32; host++) {
		struct mirror v[] = { mirror_at("http://a.org", true, 1, 1),
			mirror_at("http://b.org", true, 1, 1),
			mirror_at("http://c.org", true, 1, 2) };

		mirrors_sort(v, 3, 0, host);
		got[host] = v[0].url[7];
	}
	ck_assert_str_eq(got, "ccccbacccbcacacacababcacbccacbbb");
}
END_TEST

UNIT_MAIN("mirror", {
	ADD_LOOP(a_form, N(forms));
	ADD_LOOP(nearest_first, N(orders));
	ADD(weights_share_hosts);
	ADD(a_host_keeps_its_mirror);
})
