/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/chart.h"

#include <math.h>
#include <time.h>
#include "tools/human.h"
#include "lib/banned.h"

enum {
	WIDTH = 960,
	HEIGHT = 440,
	LEFT = 84,
	RIGHT = 24,
	TOP = 92,
	BOTTOM = 40,
	MARKS_Y = 6,
	MARKS_X = 9,
	LEGEND_ITEM = 26, /* pixels besides the text */
	CHAR = 7,         /* pixels of a character, about */
};

struct canvas {
	struct buf *b;
	const struct chart *c;
	double top; /* value at the upper edge */
	double w, h;
};

static const char style[] =
    "<style>\n"
    "text { font: 13px system-ui, sans-serif; fill: #1b1f24; }\n"
    ".title { font-size: 20px; font-weight: 600; }\n"
    ".note, .mark { fill: #57606a; }\n"
    ".back { fill: #ffffff; }\n"
    ".grid { stroke: #dfe4ea; }\n"
    ".axis { stroke: #8a94a0; }\n"
    ".f0 { fill: #2f6fd0; } .l0 { stroke: #2f6fd0; }\n"
    ".f1 { fill: #e08a2c; } .l1 { stroke: #e08a2c; }\n"
    ".f2 { fill: #2f9e61; } .l2 { stroke: #2f9e61; }\n"
    ".line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }\n"
    ".band { opacity: .16; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6e9ed; } .note, .mark { fill: #a7b0ba; }\n"
    ".back { fill: #14181d; } .grid { stroke: #2a323b; }\n"
    "}\n"
    "</style>\n";

/* --- scales --- */

static double
round_step(double least)
{
	static const double steps[] = { 1, 2, 5, 10 };
	double power = pow(10, floor(log10(least)));

	for (size_t i = 0; i < N(steps); i++)
		if (steps[i] * power >= least * 0.999)
			return steps[i] * power;
	return 10 * power;
}

static double
span_step(double least)
{
	static const double steps[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
		1800, 3600, 7200, 10800, 21600, 43200, 86400 };

	for (size_t i = 0; i < N(steps); i++)
		if (steps[i] >= least * 0.999)
			return steps[i];
	return 86400 * round_step(least / 86400);
}

double
chart_step(enum chart_unit unit, double top, int most)
{
	double least = top / most;

	if (unit == CHART_PERCENT)
		return 0.25;
	if (unit == CHART_SPAN)
		return span_step(least);
	return unit == CHART_COUNT ? fmax(1, round_step(least)) : round_step(least);
}

static bool
stacks(const struct chart *c)
{
	return c->form == CHART_AREAS || c->form == CHART_BARS;
}

/* The value of a series in a column, on top of those below it. */
static double
upper(const struct chart *c, size_t series, size_t column)
{
	double sum = 0;

	if (!stacks(c))
		return c->values[series][column];
	for (size_t i = 0; i <= series; i++)
		if (!isnan(c->values[i][column]))
			sum += c->values[i][column];
	return sum;
}

/* False if there is no value at all. */
static bool
find_top(const struct chart *c, double *top)
{
	bool any = false;

	*top = 0;
	for (size_t s = 0; s < c->nseries; s++)
		for (size_t i = 0; i < c->ncolumns; i++) {
			any = any || !isnan(c->values[s][i]);
			if (upper(c, s, i) > *top)
				*top = upper(c, s, i);
		}
	if (c->unit == CHART_PERCENT || *top <= 0)
		*top = 1;
	*top = ceil(*top / chart_step(c->unit, *top, MARKS_Y)) *
	       chart_step(c->unit, *top, MARKS_Y);
	return any;
}

static double
chart_x(const struct canvas *v, double column)
{
	return LEFT + v->w * column / (double)v->c->ncolumns;
}

/* Values are drawn in the middle of their columns. */
static double
middle(const struct canvas *v, size_t column)
{
	return chart_x(v, (double)column + 0.5);
}

static double
chart_y(const struct canvas *v, double value)
{
	return TOP + v->h * (1 - value / v->top);
}

/* --- axes --- */

static char *
mark_text(struct arena *a, const struct chart *c, double value)
{
	switch (c->unit) {
	case CHART_BYTES:
		return human_bytes(a, value);
	case CHART_PERCENT:
		return arena_printf(a, "%.0f %%", value * 100);
	case CHART_SPAN:
		if (value >= 86400 && fmod(value, 86400) == 0)
			return arena_printf(a, "%.0f d", value / 86400);
		if (value >= 3600)
			return arena_printf(a, "%.3g h", value / 3600);
		return value >= 60 ? arena_printf(a, "%.3g min", value / 60) :
		                     arena_printf(a, "%.3g s", value);
	case CHART_COUNT:
		break;
	}
	return arena_printf(a, "%.0f", value);
}

static void
put_y_axis(const struct canvas *v)
{
	double step = chart_step(v->c->unit, v->top, MARKS_Y);

	for (double value = 0; value <= v->top * 1.0001; value += step) {
		double y = chart_y(v, value);

		buf_printf(v->b,
		    "<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n",
		    value == 0 ? "axis" : "grid", LEFT, y, WIDTH - RIGHT, y);
		buf_printf(v->b,
		    "<text class=\"mark\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		    LEFT - 10, y + 4, mark_text(v->b->a, v->c, value));
	}
}

/* by_day: each column is a day, which has one mark at most. */
static int64_t
time_step(int64_t span, bool by_day)
{
	static const int64_t steps[] = { 60, 300, 900, 1800, 3600, 7200, 10800, 21600,
		43200, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400, 91 * 86400,
		365 * 86400 };

	for (size_t i = 0; i < N(steps); i++)
		if (span / steps[i] <= MARKS_X && (!by_day || steps[i] >= 86400))
			return steps[i];
	return steps[N(steps) - 1];
}

static void
put_x_axis(const struct canvas *v)
{
	const struct chart *c = v->c;
	bool by_day = c->to - c->from == (int64_t)c->ncolumns * 86400;
	int64_t step = time_step(c->to - c->from, by_day);
	double half = by_day ? 43200 : 0;
	char text[32];
	struct tm tm;

	for (int64_t t = (c->from + step - 1) / step * step; t < c->to; t += step) {
		time_t at = t;
		double x = LEFT + v->w * ((double)(t - c->from) + half) /
		                      (double)(c->to - c->from);

		gmtime_r(&at, &tm);
		strftime(text, sizeof(text), step < 86400 ? "%H:%M" : "%d %b", &tm);
		buf_printf(v->b,
		    "<line class=\"axis\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n",
		    x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 5);
		buf_printf(v->b,
		    "<text class=\"mark\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		    x, HEIGHT - BOTTOM + 20, text);
	}
}

static void
put_legend(const struct canvas *v)
{
	int x = LEFT;

	for (size_t s = 0; s < v->c->nseries; s++) {
		const char *name = v->c->names[s];
		int n = 0;

		while (name[n] != '\0')
			n++;
		buf_printf(v->b,
		    "<rect class=\"f%zu\" x=\"%d\" y=\"66\" width=\"12\" height=\"12\" rx=\"2\"/>",
		    s, x);
		buf_printf(v->b, "<text x=\"%d\" y=\"77\">", x + 18);
		buf_xml(v->b, name);
		buf_puts(v->b, "</text>\n");
		x += LEGEND_ITEM + 14 + n * CHAR;
	}
}

/* --- series --- */

static void
put_point(const struct canvas *v, const char *command, size_t column, double value)
{
	buf_printf(v->b, "%s%.1f %.1f", command, middle(v, column), chart_y(v, value));
}

/* A value without neighbours is a dot, as a line of one point is invisible. */
static void
put_polyline(const struct canvas *v, size_t s)
{
	const double *values = v->c->values[s];
	bool open = false;

	buf_printf(v->b, "<path class=\"line l%zu\" d=\"", s);
	for (size_t i = 0; i < v->c->ncolumns; i++) {
		if (!isnan(values[i]))
			put_point(v, open ? "L" : "M", i, values[i]);
		open = !isnan(values[i]);
	}
	buf_puts(v->b, "\"/>\n");
	for (size_t i = 0; i < v->c->ncolumns; i++)
		if (!isnan(values[i]) && (i == 0 || isnan(values[i - 1])) &&
		    (i + 1 == v->c->ncolumns || isnan(values[i + 1])))
			buf_printf(v->b,
			    "<circle class=\"f%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
			    s, middle(v, i), chart_y(v, values[i]));
}

static void
put_band(const struct canvas *v)
{
	const double *low = v->c->values[0], *high = v->c->values[v->c->nseries - 1];
	size_t n = v->c->ncolumns;

	for (size_t from = 0, to; from < n; from = to) {
		bool first = true;

		for (to = from; to < n && !isnan(low[to]); to++)
			;
		if (to == from) {
			to++;
			continue;
		}
		buf_puts(v->b, "<path class=\"band f1\" d=\"");
		for (size_t i = from; i < to; i++, first = false)
			put_point(v, first ? "M" : "L", i, low[i]);
		for (size_t i = to; i-- > from;)
			put_point(v, "L", i, high[i]);
		buf_puts(v->b, "Z\"/>\n");
	}
}

static void
put_area(const struct canvas *v, size_t s)
{
	size_t n = v->c->ncolumns;

	buf_printf(v->b, "<path class=\"f%zu\" d=\"", s);
	for (size_t i = 0; i < n; i++)
		put_point(v, i == 0 ? "M" : "L", i, upper(v->c, s, i));
	for (size_t i = n; i-- > 0;)
		put_point(v, "L", i, s == 0 ? 0 : upper(v->c, s - 1, i));
	buf_puts(v->b, "Z\"/>\n");
}

static void
put_bars(const struct canvas *v, size_t s)
{
	double gap = fmin(6, v->w / (double)v->c->ncolumns * 0.2);

	for (size_t i = 0; i < v->c->ncolumns; i++) {
		double y = chart_y(v, upper(v->c, s, i));
		double below = chart_y(v, s == 0 ? 0 : upper(v->c, s - 1, i));

		if (below - y > 0)
			buf_printf(v->b,
			    "<rect class=\"f%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
			    s, chart_x(v, (double)i) + gap / 2, y,
			    v->w / (double)v->c->ncolumns - gap, below - y);
	}
}

static void
put_series(const struct canvas *v)
{
	if (v->c->form == CHART_BAND && v->c->nseries > 1)
		put_band(v);
	for (size_t s = 0; s < v->c->nseries; s++)
		if (v->c->form == CHART_AREAS)
			put_area(v, s);
		else if (v->c->form == CHART_BARS)
			put_bars(v, s);
		else
			put_polyline(v, s);
}

static void
put_caption(struct buf *b, const struct chart *c)
{
	buf_printf(b,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
	    WIDTH, HEIGHT, WIDTH, HEIGHT);
	buf_tag(b, "title", c->title);
	buf_tag(b, "desc", c->note);
	buf_puts(b, style);
	buf_printf(
	    b, "<rect class=\"back\" width=\"%d\" height=\"%d\"/>\n", WIDTH, HEIGHT);
	buf_printf(b, "<text class=\"title\" x=\"%d\" y=\"32\">", LEFT);
	buf_xml(b, c->title);
	buf_printf(b, "</text>\n<text class=\"note\" x=\"%d\" y=\"53\">", LEFT);
	buf_xml(b, c->note);
	buf_puts(b, "</text>\n");
}

void
chart_svg(struct buf *b, const struct chart *c)
{
	struct canvas v = {
		.b = b, .c = c, .w = WIDTH - LEFT - RIGHT, .h = HEIGHT - TOP - BOTTOM
	};

	put_caption(b, c);
	if (find_top(c, &v.top)) {
		put_legend(&v);
		put_y_axis(&v);
		put_x_axis(&v);
		put_series(&v);
	} else {
		buf_printf(b,
		    "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">there is nothing to show yet</text>\n",
		    WIDTH / 2, HEIGHT / 2);
	}
	buf_puts(b, "</svg>\n");
}
