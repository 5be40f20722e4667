/* SPDX-License-Identifier: Apache-2.0 */
/* locus plot: how the project did over time, as a picture or as figures. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "db/project.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/chart.h"
#include "tools/cmd.h"
#include "lib/human.h"
#include "tools/print/print.h"
#include "tools/terminal.h"
#include "lib/banned.h"

enum {
	DAY_S = 86400,
	COLUMNS = 240, /* of a plot that is not by day */
	COLUMN_S = 60, /* the least that one of them shows */
	DAYS_MOST = 3660,
	DAYS_DEFAULT = 30,
	BINS = 224, /* of turnaround: 8 for each power of two of a second */
	BINS_OF_TWO = 8,
	NBUF = 200,
	SERIES = 3
};

struct plot_opts {
	const char *since, *out;
};

static const struct field plot_options[] = {
	{ "since", FIELD_OF(struct plot_opts, since), "SPAN",
	    "How far back, such as 7d; by default 30d. Begins with the first figure if there is none so old." },
	{ "out", FIELD_OF(struct plot_opts, out), "FILE.svg",
	    "Writes the picture to this file; also -o FILE.svg. By default the figures are printed." },
	{ 0 },
};

static const struct print_column plot_columns[] = {
	{ "time", "TIME", PRINT_DATE, "begin of the column" },
	{ "series", "SERIES", PRINT_TEXT, NULL },
	{ "value", "VALUE", PRINT_REAL,
	    "results, bytes, a fraction, or seconds; columns without a value are left out" },
	{ 0 },
};

struct plot {
	struct cmd_ctx *x;
	struct chart chart;
	struct chart_panel panel;
	const char *names[SERIES];
	double *values[SERIES];
	char note[NBUF];
};

/* Sets the time that the chart shows, and makes room for its series. */
static void plot_frame(
    struct plot *p, int64_t from, int64_t to, size_t columns, double empty)
{
	struct chart *c = &p->chart;

	c->from = from;
	c->to = to;
	c->ncolumns = columns;
	p->panel.nseries = c->nnames;
	for (size_t s = 0; s < c->nnames; s++) {
		p->values[s] = NEWN(p->x->a, double, columns);
		for (size_t i = 0; i < columns; i++)
			p->values[s][i] = empty;
	}
}

static void plot_frame_days(
    struct plot *p, int64_t first_day, int64_t last_day, double empty)
{
	plot_frame(p, first_day * DAY_S, (last_day + 1) * DAY_S,
	    (size_t)(last_day + 1 - first_day), empty);
}

/* --- from the ledger --- */

static enum err plot_days(
    struct plot *p, int64_t since, struct row_ledger **days, size_t *n)
{
	int64_t today = clock_now() / DAY_S, first = since / DAY_S;

	TRY(ledger_days(p->x->db, p->x->a, first, days, n, p->x->f));
	if (*n > 0 && (*days)[0].day > first)
		first = (*days)[0].day;
	plot_frame_days(p, *n > 0 ? first : today, today, NAN);
	return OK;
}

static enum err plot_locality(struct plot *p, int64_t since)
{
	double jobs = 0, hits = 0;
	struct row_ledger *days;
	size_t n;

	p->chart.title = "Jobs sent on files that the host held";
	p->panel.unit = CHART_PERCENT;
	p->names[p->chart.nnames++] = "hit rate of the day";
	TRY(plot_days(p, since, &days, &n));
	for (size_t i = 0; i < n; i++) {
		size_t at = (size_t)(days[i].day - p->chart.from / DAY_S);

		if (days[i].jobs > 0 && at < p->chart.ncolumns)
			p->values[0][at] = (double)days[i].hits / (double)days[i].jobs;
		jobs += (double)days[i].jobs;
		hits += (double)days[i].hits;
	}
	snprintf(p->note, sizeof(p->note),
	    "%.0f of %.0f jobs with large files: %.0f %%", hits, jobs,
	    jobs > 0 ? 100 * hits / jobs : 0);
	return OK;
}

static enum err plot_bytes(struct plot *p, int64_t since)
{
	double saved = 0, sent = 0;
	struct row_ledger *days;
	size_t n;

	p->chart.title = "Bytes of large files";
	p->panel.unit = CHART_BYTES;
	p->panel.form = CHART_BARS;
	p->names[p->chart.nnames++] = "saved, as the host held the file";
	p->names[p->chart.nnames++] = "sent";
	TRY(plot_days(p, since, &days, &n));
	for (size_t i = 0; i < n; i++) {
		size_t at = (size_t)(days[i].day - p->chart.from / DAY_S);

		if (at >= p->chart.ncolumns)
			continue;
		p->values[0][at] = (double)days[i].bytes_saved;
		p->values[1][at] = (double)days[i].bytes_needed;
		saved += (double)days[i].bytes_saved;
		sent += (double)days[i].bytes_needed;
	}
	snprintf(p->note, sizeof(p->note), "saved %s of %s, sent %s",
	    human_bytes(p->x->a, saved), human_bytes(p->x->a, saved + sent),
	    human_bytes(p->x->a, sent));
	return OK;
}

/* --- from the results that the database still has --- */

typedef void (*plot_take)(struct plot *, void *, const struct row_result_times *);

/* Calls take() for all results, by id, and shows how far it is. */
static enum err plot_walk(struct plot *p, plot_take take, void *arg)
{
	struct cmd_ctx *x = p->x;
	struct progress bar;
	struct arena a = { 0 };
	int64_t after = 0, total = 0;
	enum err e = results_last_id(x->db, &total, x->f);
	size_t n = RESULT_TIMES_MOST;

	bar = progress_begin("reading results", total);
	while (e == OK && n == RESULT_TIMES_MOST) {
		struct row_result_times *v;

		e = results_times(x->db, &a, after, &v, &n, x->f);
		for (size_t i = 0; i < n && e == OK; i++)
			take(p, arg, &v[i]);
		if (e == OK && n > 0)
			after = v[n - 1].id;
		arena_reset(&a);
		progress_set(&bar, after);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

static void change_from(struct plot *p, size_t series, int64_t t, double by)
{
	const struct chart *c = &p->chart;
	/* What came before the chart is in its first column. */
	size_t at = t < c->from ?
	                0 :
	                (size_t)((double)(t - c->from) / (double)(c->to - c->from) *
				 (double)c->ncolumns);

	if (at < c->ncolumns)
		p->values[series][at] += by;
}

static void take_work(struct plot *p, void *arg, const struct row_result_times *r)
{
	(void)arg;
	change_from(p, 1, r->create_time, 1);
	if (r->sent_time > 0) {
		change_from(p, 1, r->sent_time, -1);
		change_from(p, 0, r->sent_time, 1);
		if (r->end_time > 0)
			change_from(p, 0, r->end_time, -1);
	} else if (r->end_time > 0) {
		change_from(p, 1, r->end_time, -1);
	}
}

static enum err plot_work_left(struct plot *p, int64_t since)
{
	int64_t now = clock_now(), first;
	struct chart *c = &p->chart;

	c->title = "Work left";
	p->panel.form = CHART_AREAS;
	p->names[c->nnames++] = "in progress on hosts";
	p->names[c->nnames++] = "unsent";
	TRY(results_first_time(p->x->db, &first, p->x->f));
	if (first > 0 && first > since)
		since = first < now - COLUMNS * COLUMN_S ? first :
		                                           now - COLUMNS * COLUMN_S;
	plot_frame(p, since, now, COLUMNS, first == 0 ? NAN : 0);
	if (first == 0)
		return OK;
	TRY(plot_walk(p, take_work, NULL));
	for (size_t s = 0; s < c->nnames; s++)
		for (size_t i = 1; i < c->ncolumns; i++)
			p->values[s][i] += p->values[s][i - 1];
	snprintf(p->note, sizeof(p->note),
	    "now %.0f results unsent and %.0f in progress; results that were purged are left out",
	    p->values[1][c->ncolumns - 1], p->values[0][c->ncolumns - 1]);
	return OK;
}

struct turnarounds {
	int64_t first_day, ndays;
	int32_t (*bins)[BINS]; /* of each day */
	int64_t first_used, n; /* first_used: an index; -1 = no result yet */
};

static void take_turnaround(struct plot *p, void *arg, const struct row_result_times *r)
{
	struct turnarounds *t = arg;
	int64_t day = r->end_time / DAY_S - t->first_day;
	double bin;

	(void)p;
	if (!r->success || r->sent_time == 0 || day < 0 || day >= t->ndays ||
	    r->end_time < r->sent_time)
		return;
	bin = BINS_OF_TWO * log2(1 + (double)(r->end_time - r->sent_time));
	t->bins[day][bin < BINS - 1 ? (size_t)bin : BINS - 1]++;
	t->n++;
	if (t->first_used < 0 || day < t->first_used)
		t->first_used = day;
}

/* The time within which a part of a day's results came back; NAN without results. */
static double percentile(const int32_t *bins, double part)
{
	double n = 0, sum = 0;

	for (int i = 0; i < BINS; i++)
		n += bins[i];
	for (int i = 0; i < BINS && n > 0; i++) {
		sum += bins[i];
		if (sum >= part * n)
			return exp2((i + 0.5) / BINS_OF_TWO) - 1;
	}
	return NAN;
}

static enum err plot_turnaround(struct plot *p, int64_t since)
{
	static const double parts[SERIES] = { 0.1, 0.5, 0.9 };
	struct turnarounds t = { .first_day = since / DAY_S, .first_used = -1 };
	struct chart *c = &p->chart;

	t.ndays = clock_now() / DAY_S + 1 - t.first_day;
	t.bins = arena_alloc(p->x->a, (size_t)t.ndays * sizeof(*t.bins));
	c->title = "Turnaround of successful results, from sending to report";
	p->panel.unit = CHART_SPAN;
	p->panel.form = CHART_BAND;
	p->names[c->nnames++] = "10 % within";
	p->names[c->nnames++] = "half within";
	p->names[c->nnames++] = "90 % within";
	TRY(plot_walk(p, take_turnaround, &t));
	if (t.first_used < 0)
		t.first_used = t.ndays - 1;
	plot_frame_days(p, t.first_day + t.first_used, t.first_day + t.ndays - 1, NAN);
	for (size_t s = 0; s < c->nnames; s++)
		for (size_t i = 0; i < c->ncolumns; i++)
			p->values[s][i] = percentile(
			    t.bins[(size_t)t.first_used + i], parts[s]);
	snprintf(p->note, sizeof(p->note),
	    "%lld results, by the day of their report; those that were purged are left out",
	    (long long)t.n);
	return OK;
}

/* --- the command --- */

static const struct {
	const char *name;
	enum err (*fill)(struct plot *, int64_t since);
} plots[] = { { "work-left", plot_work_left }, { "locality", plot_locality },
	{ "bytes-saved", plot_bytes }, { "turnaround", plot_turnaround } };

static bool has_figures(const struct plot *p)
{
	const struct chart *c = &p->chart;

	for (size_t i = 0; i < c->ncolumns; i++)
		for (size_t s = 0; s < c->nnames; s++)
			if (!isnan(p->values[s][i]) && p->values[s][i] != 0)
				return true;
	return false;
}

/* A project in which nothing has happened has no figures. */
static void print_values(const struct plot *p)
{
	const struct chart *c = &p->chart;
	struct print *l = print_list(p->x, plot_columns);
	bool any = has_figures(p);

	for (size_t i = 0; any && i < c->ncolumns; i++)
		for (size_t s = 0; s < c->nnames; s++) {
			const double after = (double)(c->to - c->from) * (double)i /
			                     (double)c->ncolumns;

			if (!isnan(p->values[s][i]))
				print_cells(l, c->from + (int64_t)after, p->names[s],
				    p->values[s][i]);
		}
	if (print_end(l) == 0)
		p->x->status = EXIT_NOTHING;
}

static enum err plot_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct plot_opts *o = opts;
	struct plot p = { .x = x };
	int64_t span = DAYS_DEFAULT * DAY_S;
	size_t k = 0;

	(void)n;
	while (k < N(plots) && strcmp(args[0], plots[k].name) != 0)
		k++;
	if (k == N(plots))
		return ctx_usage(x,
		    "there is no plot \"%.60s\": it must be work-left, locality, bytes-saved or turnaround",
		    args[0]);
	if (o->since != NULL && !human_span_parse(o->since, &span))
		return ctx_usage(
		    x, "--since %.60s: must be a time such as 30d or 12h", o->since);
	if (span > (int64_t)DAYS_MOST * DAY_S)
		return ctx_usage(x, "--since %s: at most %dd", o->since, DAYS_MOST);
	TRY(ctx_db_report(x));
	p.panel = (struct chart_panel){ .height = CHART_HEIGHT, .values = p.values };
	p.chart = (struct chart){
		.note = p.note, .names = p.names, .panels = &p.panel, .npanels = 1
	};
	TRY(plots[k].fill(&p, clock_now() - span));
	if (o->out != NULL) {
		struct buf b = buf_new(p.x->a);

		chart_svg(&b, &p.chart);
		TRY(fs_write(o->out, b.p, b.n, 0644, p.x->f));
		ctx_progress(p.x, "plotted", "%s: %s", o->out, p.note);
		return OK;
	}
	print_values(&p);
	return OK;
}

const struct cmd cmd_plot = { .name = "plot",
	.args = "work-left|locality|bytes-saved|turnaround",
	.min_args = 1,
	.max_args = 1,
	.purpose = "draw the project's progress over time",
	.about =
	    "work-left: results unsent and in progress. locality: the part of each day's jobs whose\n"
	    "large files the host held already. bytes-saved: bytes of large files that were sent,\n"
	    "and that need not be. turnaround: the time from sending to report, per day. With --out\n"
	    "the picture is an SVG file for browsers and reports; else the figures are printed.\n"
	    "Exit status 3: there are no figures.",
	.details =
	    "locality and bytes-saved come from the ledger, which has single days for ledger_days;\n"
	    "the others from the results that the database still has, so purged ones are left out.\n"
	    "Days are UTC.",
	.opts = plot_options,
	.opts_size = sizeof(struct plot_opts),
	.columns = plot_columns,
	.run = plot_run };
