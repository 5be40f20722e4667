/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws figures of the soak: soak_chart OUT.svg count|bytes TITLE NAME... < samples
 *
 * A line of the input is DAY NAME VALUE; at most three names are drawn, which may end
 * in
 * '*' for the sum of all names that begin so. Days without a value have the one
 * before.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/chart.h"
#include "lib/banned.h"

enum { DAYS = 1000, DAY_S = 86400, SOAK_NAME = 100, SERIES = 3 };

static bool name_matches(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	if (n > 0 && pattern[n - 1] == '*')
		return strncmp(pattern, name, n - 1) == 0;
	return strcmp(pattern, name) == 0;
}

static int read_samples(const char *const *names, size_t n, double *const *values)
{
	char name[SOAK_NAME];
	double value;
	int day, last = 0;

	while (scanf("%d %99s %lf", &day, name, &value) == 3) {
		if (day < 0 || day >= DAYS)
			continue;
		last = day > last ? day : last;
		for (size_t i = 0; i < n; i++)
			if (name_matches(names[i], name)) {
				double *v = &values[i][day];
				*v = (isnan(*v) ? 0 : *v) + value;
			}
	}
	for (size_t i = 0; i < n; i++)
		for (int d = 1; d <= last; d++)
			if (isnan(values[i][d]))
				values[i][d] = values[i][d - 1];
	return last;
}

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct buf svg = buf_new(&a);
	struct fail f = { 0 };
	const char *names[SERIES];
	double *values[SERIES];
	struct chart_panel p = { .height = CHART_HEIGHT, .values = values };
	struct chart c = { .note = "by day of the simulated year",
		.names = names,
		.panels = &p,
		.npanels = 1 };

	if (argc < 5 || argc > 4 + SERIES) {
		fprintf(stderr,
		    "usage: soak_chart OUT.svg count|bytes TITLE NAME... <SAMPLES\n");
		return 2;
	}
	p.unit = strcmp(argv[2], "bytes") == 0 ? CHART_BYTES : CHART_COUNT;
	c.title = argv[3];
	for (int i = 4; i < argc; i++) {
		double *v = NEWN(&a, double, DAYS);

		for (int d = 0; d < DAYS; d++)
			v[d] = NAN;
		names[c.nnames] = argv[i];
		values[c.nnames++] = v;
	}
	p.nseries = c.nnames;
	c.ncolumns = (size_t)read_samples(names, c.nnames, values) + 1;
	c.to = (int64_t)c.ncolumns * DAY_S;
	chart_svg(&svg, &c);
	if (fs_write(argv[1], svg.p, svg.n, 0644, &f) != OK) {
		fprintf(stderr, "soak_chart: %s\n", f.detail);
		return 1;
	}
	arena_free(&a);
	return 0;
}
