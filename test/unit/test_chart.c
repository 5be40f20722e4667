/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of locus plot: round marks, what is drawn of gaps and of nothing. */
#include "test/unit/unit.h"

#include <math.h>
#include "tools/chart.h"
#include "lib/banned.h"

static const struct {
	enum chart_unit unit;
	double top;
	int most;
	double step;
} steps[] = {
	{ CHART_COUNT, 1, 6, 1 },
	{ CHART_COUNT, 24, 6, 5 },
	{ CHART_COUNT, 1000, 6, 200 },
	{ CHART_BYTES, 20e9, 6, 5e9 },
	{ CHART_BYTES, 1, 6, 0.2 },
	{ CHART_PERCENT, 1, 6, 0.25 },
	{ CHART_SPAN, 5, 6, 1 },
	{ CHART_SPAN, 200, 6, 60 },
	{ CHART_SPAN, 40000, 6, 7200 },
	{ CHART_SPAN, 3.4 * 86400, 6, 86400 },
	{ CHART_SPAN, 40 * 86400, 6, 10 * 86400 },
};

START_TEST(step_by_table)
{
	double got = chart_step(steps[_i].unit, steps[_i].top, steps[_i].most);

	ck_assert_msg(fabs(got - steps[_i].step) < 1e-9 * steps[_i].step, "%g", got);
}
END_TEST

static struct chart
chart_of(double *values, size_t n)
{
	return (struct chart){ .title = "a <b>",
		.note = "x & y",
		.unit = CHART_SPAN,
		.from = 1700006400,
		.to = 1700006400 + 86400 * (int64_t)n,
		.ncolumns = n,
		.nseries = 1,
		.names = { "s" },
		.values = { values } };
}

static size_t
times_in(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)) != NULL; text++)
		n++;
	return n;
}

START_TEST(gaps_and_dots)
{
	double values[] = { 1, 2, NAN, 4, NAN, 6 };
	struct chart c = chart_of(values, N(values));
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	chart_svg(&b, &c);
	ck_assert_ptr_nonnull(strstr(b.p, "<title>a &lt;b>"));
	ck_assert_ptr_nonnull(strstr(b.p, "x &amp; y"));
	ck_assert_uint_eq(times_in(b.p, "<circle"), 2);
	ck_assert_ptr_null(strstr(b.p, "nan"));
	ck_assert_ptr_nonnull(strstr(b.p, ">15 Nov<"));
	c.form = CHART_BARS;
	b = buf_new(&a);
	chart_svg(&b, &c);
	ck_assert_uint_eq(times_in(b.p, "<rect class=\"f0\""), 4 + 1);
	ck_assert_ptr_null(strstr(b.p, "nan"));
	arena_free(&a);
}
END_TEST

START_TEST(nothing_to_show)
{
	double values[] = { NAN, NAN };
	struct chart c = chart_of(values, N(values));
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	chart_svg(&b, &c);
	ck_assert_ptr_nonnull(strstr(b.p, "there is nothing to show yet"));
	values[0] = 0;
	b = buf_new(&a);
	chart_svg(&b, &c);
	ck_assert_ptr_null(strstr(b.p, "there is nothing to show yet"));
	ck_assert_ptr_null(strstr(b.p, "nan"));
	ck_assert_ptr_null(strstr(b.p, "inf"));
	arena_free(&a);
}
END_TEST

UNIT_MAIN("chart", {
	ADD_LOOP(step_by_table, N(steps));
	ADD(gaps_and_dots);
	ADD(nothing_to_show);
})
