/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of figures over time, as SVG that a browser or a report can show: light and
 * dark, without scripts, with a description for people who cannot see it.
 */
#ifndef LIB_CHART_H
#define LIB_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/buf.h"

enum chart_unit { CHART_COUNT, CHART_BYTES, CHART_PERCENT, CHART_SPAN };
enum chart_form {
	CHART_LINES,
	CHART_BAND,  /* lines; the area between the first and the last is filled */
	CHART_AREAS, /* one on top of the other */
	CHART_BARS,  /* the same */
	CHART_ROWS   /* a row for each series, whose values say who had it */
};
enum { CHART_HEIGHT = 308, CHART_ROW = 16 }; /* pixels: of one panel, of a row */

struct chart_panel {
	const char *title;    /* above it; NULL = none */
	enum chart_unit unit; /* a fraction for CHART_PERCENT, s for CHART_SPAN */
	enum chart_form form;
	int height; /* pixels */
	size_t nseries;
	double *const *values; /* [series][column]; NAN = none */
	/* CHART_ROWS: a value is an index of the chart's names; the row's own names. */
	const char *const *rows;
};
struct chart {                    /* panels, one below the other, over the same time */
	const char *title, *note; /* note: one line below the title; "" = none */
	int64_t from, to;         /* s UTC; columns divide this time evenly */
	bool days;                /* from is 0: days are numbered */
	size_t ncolumns, nnames;
	const char *const *names; /* of series, which have a colour each */
	const struct chart_panel *panels;
	size_t npanels;
};

/* Appends the whole SVG document. */
void chart_svg(struct buf *, const struct chart *);
/*
 * The distance of at most `most` round marks from 0 to top, for a unit; top > 0.
 */
double chart_step(enum chart_unit, double top, int most);

#endif
