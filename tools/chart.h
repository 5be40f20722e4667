/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of figures over time, as SVG that a browser or a report can show: light and
 * dark, without scripts, with a description for people who cannot see it.
 */
#ifndef TOOLS_CHART_H
#define TOOLS_CHART_H

#include <stdint.h>
#include "lib/buf.h"

enum chart_unit { CHART_COUNT, CHART_BYTES, CHART_PERCENT, CHART_SPAN };
enum chart_form {
	CHART_LINES,
	CHART_BAND,  /* lines; the area between the first and the last is filled */
	CHART_AREAS, /* one on top of the other */
	CHART_BARS   /* the same */
};
enum { CHART_SERIES = 3 };

struct chart {
	const char *title, *note; /* note: one line below the title; "" = none */
	enum chart_unit unit;     /* a fraction for CHART_PERCENT, s for CHART_SPAN */
	enum chart_form form;
	int64_t from, to; /* s UTC; columns divide this time evenly */
	size_t ncolumns, nseries;
	const char *names[CHART_SERIES];
	double *values[CHART_SERIES]; /* of each column; NAN = none */
};

/* Appends the whole SVG document. */
void chart_svg(struct buf *, const struct chart *);
/*
 * The distance of at most `most` round marks from 0 to top, for a unit; top > 0.
 */
double chart_step(enum chart_unit, double top, int most);

#endif
