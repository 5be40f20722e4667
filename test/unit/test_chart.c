/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of locus plot: round marks, what is drawn of gaps and of nothing. */
#include "test/unit/unit.h"

#include <math.h>
#include "lib/chart.h"
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

static void draw(struct buf *b, enum chart_form form, double *values, size_t n)
{
	const struct chart_panel panel = { .unit = CHART_SPAN,
		.form = form,
		.height = CHART_HEIGHT,
		.nseries = 1,
		.values = &values };

	b->n = 0;
	chart_svg(b, &(const struct chart){ .title = "a <b>",
			 .note = "x & y",
			 .from = 1700006400,
			 .to = 1700006400 + 86400 * (int64_t)n,
			 .ncolumns = n,
			 .nnames = 1,
			 .names = (const char *const[]){ "s" },
			 .panels = &panel,
			 .npanels = 1 });
}

static size_t times_in(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)) != NULL; text++)
		n++;
	return n;
}

START_TEST(gaps_and_dots)
{
	double values[] = { 1, 2, NAN, 4, NAN, 6 };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	draw(&b, CHART_LINES, values, N(values));
	ck_assert_ptr_nonnull(strstr(b.p, "<title>a &lt;b>"));
	ck_assert_ptr_nonnull(strstr(b.p, "x &amp; y"));
	ck_assert_uint_eq(times_in(b.p, "<circle"), 2);
	ck_assert_ptr_null(strstr(b.p, "nan"));
	ck_assert_ptr_nonnull(strstr(b.p, ">15 Nov<"));
	draw(&b, CHART_BARS, values, N(values));
	ck_assert_uint_eq(times_in(b.p, "<rect class=\"f0\""), 4 + 1);
	ck_assert_ptr_null(strstr(b.p, "nan"));
	arena_free(&a);
}
END_TEST

START_TEST(nothing_to_show)
{
	double values[] = { NAN, NAN };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	draw(&b, CHART_LINES, values, N(values));
	ck_assert_ptr_nonnull(strstr(b.p, "there is nothing to show yet"));
	values[0] = 0;
	draw(&b, CHART_LINES, values, N(values));
	ck_assert_ptr_null(strstr(b.p, "there is nothing to show yet"));
	ck_assert_ptr_null(strstr(b.p, "nan"));
	ck_assert_ptr_null(strstr(b.p, "inf"));
	arena_free(&a);
}
END_TEST

/* Values below 0 have marks, too, and 0 is one of them. */
START_TEST(below_zero)
{
	static const char *const marks[] = { ">-3 s<", ">-2 s<", ">-1 s<", ">0 s<",
		">1 s<", ">2 s<" };
	double values[] = { -2.5, 1.5 };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	draw(&b, CHART_LINES, values, N(values));
	for (size_t i = 0; i < N(marks); i++)
		ck_assert_uint_eq(times_in(b.p, marks[i]), 1);
	ck_assert_uint_eq(times_in(b.p, " s<"), N(marks));
	arena_free(&a);
}
END_TEST

/* The names of many series take several lines, and the picture grows by them. */
START_TEST(many_names)
{
	enum { MANY = 40 };
	const char *names[MANY];
	double value = 7, *values[] = { &value };
	const struct chart_panel panel = { .form = CHART_ROWS,
		.height = CHART_ROW,
		.nseries = 1,
		.values = values,
		.rows = (const char *const[]){ "a row" } };
	const struct chart c = { .title = "",
		.note = "",
		.to = 86400,
		.days = true,
		.ncolumns = 1,
		.nnames = MANY,
		.names = names,
		.panels = &panel,
		.npanels = 1 };
	struct arena a = { 0 };
	struct buf b = buf_new(&a);

	for (size_t i = 0; i < MANY; i++)
		names[i] = "0123456789";
	chart_svg(&b, &c);
	ck_assert_uint_eq(times_in(b.p, ">0123456789<"), MANY);
	/* Seven of 110 pixels in a line, so there are five more lines of 18. */
	ck_assert_ptr_nonnull(strstr(b.p, "height=\"238\" role"));
	ck_assert_uint_eq(times_in(b.p, "<rect class=\"f7\""), 2);
	ck_assert_uint_eq(times_in(b.p, "<rect class=\"f6\""), 1);
	ck_assert_uint_eq(times_in(b.p, ">a row<"), 1);
	ck_assert_uint_eq(times_in(b.p, "hsl("), 2 * (MANY - 8));
	arena_free(&a);
}
END_TEST

UNIT_MAIN("chart", {
	ADD(below_zero);
	ADD(many_names);
	ADD_LOOP(step_by_table, N(steps));
	ADD(gaps_and_dots);
	ADD(nothing_to_show);
})
