/* SPDX-License-Identifier: Apache-2.0 */
/* Checks in the demo's report: outputs, the truth of a seed, the plot. */
#include <check.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"
#include "samples/pulsar/sky.h"
#include "lib/banned.h"

#define HEAD(file, range, best, snr, bins)                                             \
	"pulsar_search 1\nfile " file                                                  \
	"\nsamples 1000000\nrate_hz 20000\nharmonics 4\n"                              \
	"range " range "\nbest " best " 15.0 " snr "\nbins " bins "\n"

static const struct {
	const char *what, *text, *why;
} bad[] = {
#define BAD(what, text, why) { what, text, why },
#include "test/unit/pulsar_outputs.def"
#undef BAD
};

static struct stretch stretches[2];
static struct sky sky;

static void setup(void)
{
	memset(stretches, 0, sizeof(stretches));
	sky = (struct sky){ .nfiles = 2, .file = stretches };
}

START_TEST(test_bad_output)
{
	struct stretch none[2];
	struct fail f = { 0 };

	memset(none, 0, sizeof(none));
	ck_assert_msg(sky_add(&sky, bad[_i].text, &f) == E_BADREQ, "%s", bad[_i].what);
	ck_assert_msg(
	    strstr(f.detail, bad[_i].why) != NULL, "%s: %s", bad[_i].what, f.detail);
	ck_assert_int_eq(sky.outputs, 0);
	ck_assert_msg(memcmp(none, stretches, sizeof(none)) == 0, "%s", bad[_i].what);
}
END_TEST

START_TEST(test_best_of_several)
{
	static const char *const texts[] = {
		HEAD("0", "0 10", "3 20.015", "5.5", "2") "0 5 5.5\n5 10 -0.5\n",
		HEAD("1", "1990 2000", "1999 29.995", "6.25", "1") "1990 2000 6.25\n",
		HEAD("0", "10 20", "12 20.06", "-1", "1") "10 20 -1\n",
	};
	struct fail f = { 0 };

	for (size_t i = 0; i < N(texts); i++)
		ck_assert_msg(
		    sky_add(&sky, texts[i], &f) == OK, "%zu: %s", i, f.detail);
	ck_assert_int_eq(sky.outputs, 3);
	ck_assert_uint_eq(sky.best.file, 1);
	ck_assert_int_eq(sky.best.trial, 1999);
	ck_assert_double_eq(sky.best.snr, 6.25);
	ck_assert_int_eq(stretches[0].seen[19], 1);
	ck_assert_int_eq(stretches[0].seen[20], 0);
	ck_assert_double_eq(stretches[0].snr[9], -0.5);
	ck_assert_int_eq(stretches[1].seen[1989], 0);
}
END_TEST

START_TEST(test_is_hidden)
{
	const struct pulsar_truth t = { .file = 1, .hz = 25.0021 };
	struct candidate c = { .file = 1, .hz = 25.0, .resolution_hz = 0.02 };

	ck_assert(candidate_is(&c, &t));
	c.hz = 25.015;
	ck_assert(!candidate_is(&c, &t));
	c.hz = 25.0;
	c.file = 0;
	ck_assert(!candidate_is(&c, &t));
}
END_TEST

/* The true frequency lies in the band, its trial is the nearest one, and every file
 * comes up. */
START_TEST(test_truth)
{
	int turns[8] = { 0 };

	for (uint64_t seed = 0; seed < 400; seed++) {
		struct pulsar_truth t = pulsar_truth(seed, 8);
		double off = t.hz - pulsar_hz(t.trial);

		ck_assert_uint_lt(t.file, 8);
		turns[t.file]++;
		ck_assert(t.hz > pulsar_hz(0) && t.hz < pulsar_hz(PULSAR_TRIALS - 1));
		ck_assert(
		    off <= 0.5001 / PULSAR_PER_HZ && off >= -0.5001 / PULSAR_PER_HZ);
	}
	for (size_t i = 0; i < N(turns); i++)
		ck_assert_int_gt(turns[i], 20);
}
END_TEST

/* The plot is well-formed wherever the peak is, with a title and one panel per file. */
START_TEST(test_plot)
{
	static const char *const texts[] = {
		HEAD("0", "0 1", "0 20.0", "-2", "1") "0 1 -2\n",
		HEAD("1", "1999 2000", "1999 29.995", "123456.5",
		    "1") "1999 2000 123456.5\n",
	};
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct buf b = buf_new(&a);
	xmlDoc *doc;

	ck_assert_int_eq(sky_add(&sky, texts[_i], &f), OK);
	sky_plot(&b, &sky, UINT64_MAX, false);
	doc = xmlReadMemory(b.p, (int)b.n, NULL, NULL, XML_PARSE_NONET);
	ck_assert_ptr_nonnull(doc);
	xmlFreeDoc(doc);
	ck_assert_ptr_nonnull(strstr(b.p, "<title id=\"t\">"));
	ck_assert_ptr_nonnull(strstr(b.p, ">h1_0000.dat<"));
	ck_assert_ptr_nonnull(strstr(b.p, ">h1_0001.dat<"));
	ck_assert_ptr_null(strstr(b.p, "nan"));
	ck_assert_ptr_null(strstr(b.p, "inf"));
	arena_free(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pulsar");
	TCase *t = tcase_create("report");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, test_bad_output, 0, (int)N(bad));
	tcase_add_test(t, test_best_of_several);
	tcase_add_test(t, test_is_hidden);
	tcase_add_test(t, test_truth);
	tcase_add_loop_test(t, test_plot, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
