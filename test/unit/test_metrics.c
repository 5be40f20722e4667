/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: one bad name must not cost a scrape, as Prometheus then drops all of it. */
#include "test/unit/unit.h"

#include "lib/text.h"
#include "model/metrics.h"
#include "lib/banned.h"

static struct arena a;

#define E10                                                                            \
	"\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251"
static const struct {
	const char *app, *want; /* NULL: a part of app */
} names[] = {
	{ "sums", "locus_results{app=\"sums\",state=\"unsent\"}" },
	{ "a\"b\\c\nd", "locus_results{app=\"a\\\"b\\\\c\\nd\",state=\"unsent\"}" },
	{ "a\377b\303", "locus_results{app=\"a?b?\",state=\"unsent\"}" },
	{ E10 E10 E10 E10 E10, NULL },
	{ "x" E10 E10 E10 E10 E10, NULL },
	{ "x\342\202\254\342\202\254\342\202\254" E10 E10 E10 E10, NULL },
};

START_TEST(metrics_names)
{
	const char *values[] = { names[_i].app, "unsent" };
	char *s = metric_series(&a, METRIC_RESULTS, values);

	if (names[_i].want != NULL)
		ck_assert_str_eq(s, names[_i].want);
	ck_assert(text_ends_with(s, "\"}"));
	for (size_t n; *s != '\0'; s += n) {
		n = text_utf8(s);
		ck_assert_uint_gt(n, 0);
		ck_assert_int_ne(*s, '\n');
	}
}
END_TEST

UNIT_MAIN("metrics", { ADD_LOOP(metrics_names, N(names)); })
