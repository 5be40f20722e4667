/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "lib/human.h"
#include "lib/banned.h"

enum {
	WIDTH = 960,
	LEFT = 84,
	RIGHT = 24,
	TOP = 92,
	GAP = 34, /* between panels */
	BOTTOM = 40,
	MARKS_Y = 6,
	MARKS_X = 9,
	LEGEND_ITEM = 40, /* pixels besides the text */
	LEGEND_LINE = 18,
	CHAR = 7, /* pixels of a character, about */
};

struct canvas { /* of one panel */
	struct buf *b;
	const struct chart *c;
	const struct chart_panel *p;
	double low, high; /* values at the lower and the upper edge */
	double w, y;      /* y: of the upper edge */
};

static const char style[] =
    "<style>\n"
    "text { font: 13px system-ui, sans-serif; fill: #1b1f24; }\n"
    ".title { font-size: 20px; font-weight: 600; }\n"
    ".note, .mark { fill: #57606a; }\n"
    ".back { fill: #ffffff; }\n"
    ".free { fill: #eef1f4; }\n"
    ".grid { stroke: #dfe4ea; }\n"
    ".axis { stroke: #8a94a0; }\n"
    ".line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }\n"
    ".band { opacity: .16; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6e9ed; } .note, .mark { fill: #a7b0ba; }\n"
    ".back { fill: #14181d; } .free { fill: #20272e; } .grid { stroke: #2a323b; }\n"
    "}\n";

static const char *color(struct arena *a, size_t series)
{
	static const char *const first[] = { "#2f6fd0", "#e08a2c", "#2f9e61", "#cc79a7",
		"#56b4e9", "#d55e00", "#f0e442", "#808080" };

	/* By the golden angle, so that neighbours differ. */
	return series < N(first) ?
	           first[series] :
	           arena_printf(a, "hsl(%zu,%d%%,%d%%)", series * 137 % 360,
		       series % 2 ? 75 : 55, series % 3 ? 45 : 60);
}

/* --- scales --- */

static double round_step(double least)
{
	static const double steps[] = { 1, 2, 5, 10 };
	double power = pow(10, floor(log10(least)));

	for (size_t i = 0; i < N(steps); i++)
		if (steps[i] * power >= least * 0.999)
			return steps[i] * power;
	return 10 * power;
}

double chart_step(enum chart_unit unit, double top, int most)
{
	double least = top / most;

	if (unit == CHART_PERCENT)
		return 0.25;
	if (unit == CHART_SPAN) {
		/* Steps of whole minutes, hours and days. */
		static const double steps[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600,
			900, 1800, 3600, 7200, 10800, 21600, 43200, 86400 };

		for (size_t i = 0; i < N(steps); i++)
			if (steps[i] >= least * 0.999)
				return steps[i];
		return 86400 * round_step(least / 86400);
	}
	return unit == CHART_COUNT ? fmax(1, round_step(least)) : round_step(least);
}

/* The value of a series in a column, on top of those below it; 0 below the first. */
static double upper(const struct chart_panel *p, size_t nseries, size_t column)
{
	double sum = 0;

	for (size_t i = 0; i < nseries; i++)
		if (!isnan(p->values[i][column]))
			sum += p->values[i][column];
	return sum;
}

/* False if there is no value at all. */
static bool find_range(struct canvas *v)
{
	const struct chart_panel *p = v->p;
	bool any = false;
	double step;

	for (size_t s = 0; s < p->nseries; s++)
		for (size_t i = 0; i < v->c->ncolumns; i++) {
			double value = p->form == CHART_AREAS || p->form == CHART_BARS ?
			                   upper(p, s + 1, i) :
			                   p->values[s][i];

			any = any || !isnan(p->values[s][i]);
			v->high = fmax(v->high, value);
			v->low = fmin(v->low, value);
		}
	if (p->unit == CHART_PERCENT || v->high <= v->low)
		v->high = v->low + 1;
	step = chart_step(p->unit, v->high - v->low, MARKS_Y);
	v->high = ceil(v->high / step) * step;
	v->low = floor(v->low / step) * step;
	return any;
}

static double chart_x(const struct canvas *v, double column)
{
	return LEFT + v->w * column / (double)v->c->ncolumns;
}

/* Values are drawn in the middle of their columns. */
static double middle(const struct canvas *v, size_t column)
{
	return chart_x(v, (double)column + 0.5);
}

static double chart_y(const struct canvas *v, double value)
{
	return v->y + v->p->height * (v->high - value) / (v->high - v->low);
}

/* --- axes --- */

static void chart_text(
    struct buf *b, const char *attributes, double x, double y, const char *text)
{
	buf_printf(b, "<text%s x=\"%.0f\" y=\"%.1f\">", attributes, x, y);
	buf_xml(b, text);
	buf_puts(b, "</text>\n");
}

static char *mark_text(struct arena *a, enum chart_unit unit, double value)
{
	double size = fabs(value);

	switch (unit) {
	case CHART_BYTES:
		return human_bytes(a, value);
	case CHART_PERCENT:
		return arena_printf(a, "%.0f %%", value * 100);
	case CHART_SPAN:
		if (size >= 86400 && fmod(size, 86400) == 0)
			return arena_printf(a, "%.0f d", value / 86400);
		if (size >= 3600)
			return arena_printf(a, "%.3g h", value / 3600);
		return size >= 60 ? arena_printf(a, "%.3g min", value / 60) :
		                    arena_printf(a, "%.3g s", value);
	case CHART_COUNT:
		break;
	}
	return arena_printf(a, "%.0f", value);
}

/* by_day: each column is a day, which has one mark at most. */
static int64_t time_step(const struct chart *c, bool by_day)
{
	static const int64_t steps[] = { 60, 300, 900, 1800, 3600, 7200, 10800, 21600,
		43200, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400, 91 * 86400,
		365 * 86400 };
	int64_t span = c->to - c->from;

	if (c->days)
		return (int64_t)fmax(
		    1, 86400 * round_step((double)span / 86400 / MARKS_X));
	for (size_t i = 0; i < N(steps); i++)
		if (span / steps[i] <= MARKS_X && (!by_day || steps[i] >= 86400))
			return steps[i];
	return steps[N(steps) - 1];
}

/* Below the panels, which end at bottom; several panels have lines in common. */
static void put_x_axis(const struct canvas *v, double bottom)
{
	const struct chart *c = v->c;
	bool by_day = !c->days && c->to - c->from == (int64_t)c->ncolumns * 86400;
	int64_t step = time_step(c, by_day);
	double half = by_day ? 43200 : 0;
	char text[32];
	struct tm tm;

	for (int64_t t = (c->from + step - 1) / step * step; t < c->to + c->days;
	     t += step) {
		time_t at = t;
		double x = LEFT + v->w * ((double)(t - c->from) + half) /
		                      (double)(c->to - c->from);

		gmtime_r(&at, &tm);
		strftime(text, sizeof(text), step < 86400 ? "%H:%M" : "%d %b", &tm);
		if (c->days)
			snprintf(text, sizeof(text), "day %g", (double)t / 86400);
		buf_printf(v->b,
		    "<line class=\"%s\" x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\"/>\n",
		    c->npanels > 1 ? "grid" : "axis", x, c->npanels > 1 ? v->y : bottom,
		    x, bottom + 5);
		chart_text(v->b, " class=\"mark\" text-anchor=\"middle\"", x,
		    bottom + 20, text);
	}
}

/* Returns where the panels begin. */
static double put_legend(struct buf *b, const struct chart *c)
{
	int x = LEFT, y = TOP;

	for (size_t s = 0; s < c->nnames; s++) {
		int width = LEGEND_ITEM + (int)strlen(c->names[s]) * CHAR;

		if (x > LEFT && x + width > WIDTH) {
			x = LEFT;
			y += LEGEND_LINE;
		}
		buf_printf(b,
		    "<rect class=\"f%zu\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\"/>",
		    s, x, y - 26);
		chart_text(b, "", x + 18, y - 15, c->names[s]);
		x += width;
	}
	return y;
}

/* --- series --- */

static void put_point(
    const struct canvas *v, const char *command, size_t column, double value)
{
	buf_printf(v->b, "%s%.1f %.1f", command, middle(v, column), chart_y(v, value));
}

/* A value without neighbours is a dot, as a line of one point is invisible. */
static void put_polyline(const struct canvas *v, size_t s)
{
	const double *values = v->p->values[s];
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

static void put_band(const struct canvas *v)
{
	const double *low = v->p->values[0], *high = v->p->values[v->p->nseries - 1];
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

static void put_area(const struct canvas *v, size_t s)
{
	size_t n = v->c->ncolumns;

	buf_printf(v->b, "<path class=\"f%zu\" d=\"", s);
	for (size_t i = 0; i < n; i++)
		put_point(v, i == 0 ? "M" : "L", i, upper(v->p, s + 1, i));
	for (size_t i = n; i-- > 0;)
		put_point(v, "L", i, upper(v->p, s, i));
	buf_puts(v->b, "Z\"/>\n");
}

static void put_bars(const struct canvas *v, size_t s)
{
	double gap = fmin(6, v->w / (double)v->c->ncolumns * 0.2);

	for (size_t i = 0; i < v->c->ncolumns; i++) {
		double y = chart_y(v, upper(v->p, s + 1, i));
		double below = chart_y(v, upper(v->p, s, i));

		if (below - y > 0)
			buf_printf(v->b,
			    "<rect class=\"f%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
			    s, chart_x(v, (double)i) + gap / 2, y,
			    v->w / (double)v->c->ncolumns - gap, below - y);
	}
}

/* Neighbours of the same colour share a rectangle. */
static void put_holders(const struct canvas *v, size_t s)
{
	const double *who = v->p->values[s];
	double y = v->y + CHART_ROW * (double)s;
	size_t n = v->c->ncolumns;

	buf_printf(v->b,
	    "<rect class=\"free\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
	    LEFT, y, v->w, CHART_ROW - 2);
	chart_text(v->b, " class=\"mark\" text-anchor=\"end\"", LEFT - 10, y + 12,
	    v->p->rows[s]);
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && who[to] == who[from]; to++)
			;
		if (!isnan(who[from]))
			buf_printf(v->b,
			    "<rect class=\"f%.0f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
			    who[from], chart_x(v, (double)from), y,
			    chart_x(v, (double)to) - chart_x(v, (double)from),
			    CHART_ROW - 2);
	}
}

static void put_panel(const struct canvas *v)
{
	static void (*const put[])(const struct canvas *, size_t) = {
		[CHART_LINES] = put_polyline,
		[CHART_BAND] = put_polyline,
		[CHART_AREAS] = put_area,
		[CHART_BARS] = put_bars,
		[CHART_ROWS] = put_holders,
	};

	if (v->p->title != NULL)
		chart_text(v->b, "", LEFT, v->y - 8, v->p->title);
	if (v->p->form != CHART_ROWS) {
		/* The marks of the y axis, with a line across for each. */
		double step = chart_step(v->p->unit, v->high - v->low, MARKS_Y);

		for (double i = ceil(v->low / step); i * step <= v->high * 1.0001;
		     i++) {
			double value = i * step, y = chart_y(v, value);

			buf_printf(v->b,
			    "<line class=\"%s\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n",
			    value == 0 ? "axis" : "grid", LEFT, y, WIDTH - RIGHT, y);
			chart_text(v->b, " class=\"mark\" text-anchor=\"end\"",
			    LEFT - 10, y + 4, mark_text(v->b->a, v->p->unit, value));
		}
	}
	if (v->p->form == CHART_BAND && v->p->nseries > 1)
		put_band(v);
	for (size_t s = 0; s < v->p->nseries; s++)
		put[v->p->form](v, s);
}

static void chart_head(struct buf *b, const struct chart *c, double height)
{
	buf_printf(b,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" role=\"img\">\n",
	    WIDTH, height, WIDTH, height);
	buf_tag(b, "title", c->title);
	buf_tag(b, "desc", c->note);
	buf_puts(b, style);
	for (size_t s = 0; s < c->nnames; s++)
		buf_printf(b, ".f%zu { fill: %s; } .l%zu { stroke: %s; }\n", s,
		    color(b->a, s), s, color(b->a, s));
	buf_printf(b, "</style>\n<rect class=\"back\" width=\"%d\" height=\"%.0f\"/>\n",
	    WIDTH, height);
	chart_text(b, " class=\"title\"", LEFT, 32, c->title);
	chart_text(b, " class=\"note\"", LEFT, 53, c->note);
}

void chart_svg(struct buf *b, const struct chart *c)
{
	struct buf body = buf_new(b->a), legend = buf_new(b->a);
	struct canvas v = { .b = &body, .c = c, .w = WIDTH - LEFT - RIGHT };
	double top = put_legend(&legend, c), y = top;
	bool any = false;

	for (size_t i = 0; i < c->npanels; i++) {
		v.p = &c->panels[i];
		v.y = y + (v.p->title != NULL ? GAP : 0);
		v.low = v.high = 0;
		any = find_range(&v) || any;
		put_panel(&v);
		y = v.y + v.p->height;
	}
	chart_head(b, c, y + BOTTOM);
	if (any) {
		buf_put(b, legend.p, legend.n);
		v.b = b;
		v.y = top;
		put_x_axis(&v, y);
		buf_put(b, body.p, body.n);
	} else {
		chart_text(b, " text-anchor=\"middle\"", WIDTH / 2, (y + BOTTOM) / 2,
		    "there is nothing to show yet");
	}
	buf_puts(b, "</svg>\n");
}
