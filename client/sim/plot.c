/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a run as one SVG picture with three bands over the same days: which project had
 * each instance, how many hours of work were queued, what each project was owed.  The
 * size is bounded by the number of columns, however long the run. */
#include "client/sim/report.h"

#include <math.h>
#include <string.h>
#include "lib/banned.h"

enum {
	COLUMNS = 960, /* width of the time axis, pixels */
	LEFT = 90,
	TOP = 44,
	ROW = 16, /* height of an instance */
	ROWS_MOST = 24,
	BAND = 130, /* height of each of the other two bands */
	GAP = 34,
	LEGEND = 150,
	LEGEND_MOST = 24 /* number of projects shown */
};

/* The time in which a job had an instance. */
struct bar {
	int32_t row, project;
	double from, to;
};
struct job { /* a running job */
	uint64_t id;
	int32_t project, rsc, nrows;
	double use, flops;
	size_t rows[ROWS_MOST];
	double from;
};

struct sim_plot {
	struct arena *a;
	const struct sim_scenario *scenario;
	const char *title;
	double end;
	/* Resource r has the rows from rsc_row[r] to before rsc_row[r + 1]. */
	size_t nrows, rsc_row[CW_RSC_MOST + 1];
	double load[ROWS_MOST];
	struct bar *bars;
	size_t nbars, bars_cap;
	struct job *jobs;
	size_t njobs, jobs_cap;
	double now;
	/* Per project: hours queued, FLOPS now, operations so far. */
	double *queued, *rate, *had;
	double *queue, *debt; /* [column * nprojects + project] */
	size_t column;        /* the first column not filled yet */
	bool off;
};

struct sim_plot *
sim_plot_new(
    struct arena *a, const struct sim_scenario *s, const char *title, double days)
{
	struct sim_plot *p = NEW(a, struct sim_plot);

	*p = (struct sim_plot){
		.a = a,
		.scenario = s,
		.title = title,
		.end = days * 86400,
		.queued = NEWN(a, double, s->nprojects),
		.rate = NEWN(a, double, s->nprojects),
		.had = NEWN(a, double, s->nprojects),
		.queue = NEWN(a, double, mul_or_die(COLUMNS, s->nprojects)),
		.debt = NEWN(a, double, mul_or_die(COLUMNS, s->nprojects)),
	};
	for (size_t r = 0; r < s->nrsc; r++) {
		size_t n = (size_t)fmax(1, fmin(s->rsc[r].ninst, ROWS_MOST));

		p->nrows = p->nrows + n > ROWS_MOST ? ROWS_MOST : p->nrows + n;
		p->rsc_row[r + 1] = p->nrows;
	}
	return p;
}

/* --- collecting --- */

static void
plot_advance(struct sim_plot *p, double t)
{
	for (size_t i = 0; i < p->scenario->nprojects && !p->off; i++)
		p->had[i] += p->rate[i] * (t - p->now);
	p->now = t;
}

/* A project is owed its share of what all projects had, less what it had itself, in
 * hours of the host. */
static void
fill_column(struct sim_plot *p)
{
	size_t np = p->scenario->nprojects;
	double all = 0, shares = 0, host = 0;

	for (size_t r = 0; r < p->scenario->nrsc; r++)
		host += p->scenario->rsc[r].ninst * p->scenario->rsc[r].flops;
	for (size_t i = 0; i < np; i++) {
		all += p->had[i];
		shares += p->scenario->projects[i].share;
	}
	for (size_t i = 0; i < np; i++) {
		double share = p->scenario->projects[i].share / shares;

		p->queue[p->column * np + i] = p->queued[i];
		p->debt[p->column * np + i] = (share * all - p->had[i]) / host / 3600;
	}
	p->column++;
}

static void
plot_go_to(struct sim_plot *p, double t)
{
	double next;

	while (p->column < COLUMNS &&
	       (next = (double)(p->column + 1) * p->end / COLUMNS) <= t) {
		plot_advance(p, next);
		fill_column(p);
	}
	plot_advance(p, t);
}

static void
close_bars(struct sim_plot *p, const struct job *j, double t)
{
	for (int32_t i = 0; i < j->nrows && t > j->from; i++)
		PUSH(p->a, p->bars, p->nbars, p->bars_cap) = (struct bar){
			(int32_t)j->rows[i], j->project, j->from, t
		};
}

/* Puts the job on the least loaded rows of its resource, one per instance. */
static void
plot_start_job(struct sim_plot *p, const struct sim_event *e)
{
	const struct sim_app *app = &p->scenario->projects[e->project].apps[e->app];
	struct job j = { .id = e->job,
		.project = e->project,
		.rsc = e->rsc,
		.use = app->use,
		.from = e->t };

	j.flops = app->use * p->scenario->rsc[e->rsc].flops;
	if (e->rsc != CW_CPU)
		j.flops += app->ncpus * p->scenario->rsc[CW_CPU].flops;
	p->rate[e->project] += j.flops;

	size_t first = p->rsc_row[e->rsc], last = p->rsc_row[e->rsc + 1];
	while (first < last && (size_t)j.nrows < last - first &&
	       j.nrows < fmax(1, round(app->use))) {
		size_t best = first;

		for (size_t i = first; i < last; i++)
			if (p->load[i] < p->load[best])
				best = i;
		p->load[best] += fmin(1, app->use);
		j.rows[j.nrows++] = best;
	}
	PUSH(p->a, p->jobs, p->njobs, p->jobs_cap) = j;
}

static void
plot_stop_job(struct sim_plot *p, const struct sim_event *e)
{
	for (size_t i = 0; i < p->njobs; i++) {
		struct job *j = &p->jobs[i];

		if (j->id != e->job)
			continue;
		if (!p->off)
			close_bars(p, j, e->t);
		p->rate[j->project] -= j->flops;
		for (int32_t k = 0; k < j->nrows; k++)
			p->load[j->rows[k]] -= fmin(1, j->use);
		*j = p->jobs[--p->njobs];
		return;
	}
}

static void
plot_host(struct sim_plot *p, bool on, double t)
{
	for (size_t i = 0; i < p->njobs; i++) {
		if (!on && !p->off)
			close_bars(p, &p->jobs[i], t);
		p->jobs[i].from = t;
	}
	p->off = !on;
}

void
sim_plot_event(struct sim_plot *p, const struct sim_event *e)
{
	double hours = 0;

	plot_go_to(p, e->t);
	if (e->kind == SIM_JOB || e->kind == SIM_END || e->kind == SIM_ABORT) {
		const struct sim_app *app =
		    &p->scenario->projects[e->project].apps[e->app];

		hours = app->run_s * app->use / 3600;
	}
	switch (e->kind) {
	case SIM_START:
		plot_start_job(p, e);
		break;
	case SIM_PREEMPT:
		plot_stop_job(p, e);
		break;
	case SIM_JOB:
		p->queued[e->project] += hours;
		break;
	case SIM_END:
		plot_stop_job(p, e);
		/* fall through */
	case SIM_ABORT:
		p->queued[e->project] = fmax(0, p->queued[e->project] - hours);
		break;
	case SIM_HOST:
		plot_host(p, e->n != 0, e->t);
		break;
	case SIM_DETACH:
		p->queued[e->project] = 0;
		break;
	default:
		break;
	}
}

/* --- drawing --- */

static const char *
color(const struct sim_plot *p, size_t project)
{
	static const char *const few[] = { "#0072b2", "#e69f00", "#009e73", "#cc79a7",
		"#56b4e9", "#d55e00", "#f0e442", "#555555" };

	if (p->scenario->nprojects <= N(few))
		return few[project];
	return arena_printf(p->a, "hsl(%zu,%d%%,%d%%)",
	    project * 360 / p->scenario->nprojects, project % 2 ? 75 : 55,
	    project % 3 ? 45 : 60);
}

static void
svg_text(struct buf *b, double x, double y, const char *anchor, const char *s)
{
	buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	buf_xml(b, s);
	buf_puts(b, "</text>\n");
}

/* Returns the time for which each project had the instance in each column: [column *
 * (projects + 1) + project]. */
static double *
row_times(struct sim_plot *p, size_t row, double width)
{
	size_t np = p->scenario->nprojects;
	double *had = NEWN(p->a, double, mul_or_die(COLUMNS, np + 1));

	for (size_t i = 0; i < p->nbars; i++) {
		const struct bar *r = &p->bars[i];

		if ((size_t)r->row != row)
			continue;
		for (int c = (int)(r->from / width); c < COLUMNS && c * width < r->to;
		     c++)
			had[(size_t)c * (np + 1) + (size_t)r->project] +=
			    fmin(r->to, (c + 1) * width) - fmax(r->from, c * width);
	}
	return had;
}

/* Returns the project that had it longest; -1 = none for half of the column. */
static int32_t
longest_holder(const double *had, size_t nprojects, double width)
{
	double most = width / 2, sum = 0;
	int32_t who = -1;

	for (size_t i = 0; i < nprojects; i++)
		sum += had[i];
	for (size_t i = 0; i < nprojects; i++)
		if (had[i] > 0 && sum >= most && (who < 0 || had[i] > had[who]))
			who = (int32_t)i;
	return who;
}

/* Draws which project had the instance longest in each column; equal neighbours share a
 * rectangle. */
static void
draw_row(struct sim_plot *p, size_t row, double y, struct buf *b)
{
	size_t np = p->scenario->nprojects;
	double width = p->end / COLUMNS;
	const double *had = row_times(p, row, width);
	int32_t run = -1;
	int from = 0;

	for (int c = 0; c <= COLUMNS; c++) {
		int32_t who = c == COLUMNS ?
		                  -1 :
		                  longest_holder(had + (size_t)c * (np + 1), np, width);

		if (who == run && c < COLUMNS)
			continue;
		if (run >= 0)
			buf_printf(b,
			    "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
			    LEFT + from, y, c - from, ROW - 2, color(p, (size_t)run));
		run = who;
		from = c;
	}
}

static double
draw_instances(struct sim_plot *p, double y, struct buf *b)
{
	for (size_t r = 0; r < p->scenario->nrsc; r++)
		for (size_t i = p->rsc_row[r]; i < p->rsc_row[r + 1]; i++, y += ROW) {
			buf_printf(b,
			    "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#eee\"/>\n",
			    LEFT, y, COLUMNS, ROW - 2);
			svg_text(b, LEFT - 6, y + ROW - 5, "end",
			    arena_printf(p->a, "%s %zu", p->scenario->rsc[r].name,
				i - p->rsc_row[r] + 1));
			draw_row(p, i, y, b);
		}
	return y;
}

struct scale {
	double low, high, y; /* y: position of high; low is BAND below */
};

static double
scale_y(const struct scale *s, double v)
{
	return s->y + (s->high - v) / (s->high - s->low) * BAND;
}

static void
draw_frame(struct sim_plot *p, const struct scale *s, const char *what, struct buf *b)
{
	buf_printf(b,
	    "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n",
	    LEFT, s->y, COLUMNS, BAND);
	svg_text(b, LEFT, s->y - 6, "start", what);
	svg_text(b, LEFT - 6, s->y + 10, "end", arena_printf(p->a, "%.3g", s->high));
	svg_text(b, LEFT - 6, s->y + BAND, "end", arena_printf(p->a, "%.3g", s->low));
}

/* Draws the projects' queues stacked. */
static void
draw_queue(struct sim_plot *p, double y, struct buf *b)
{
	size_t np = p->scenario->nprojects;
	double *base = NEWN(p->a, double, COLUMNS);
	struct scale s = { 0, 1e-9, y };

	for (size_t c = 0; c < COLUMNS; c++) {
		double sum = 0;

		for (size_t i = 0; i < np; i++)
			sum += p->queue[c * np + i];
		s.high = fmax(s.high, sum);
	}
	for (size_t i = 0; i < np; i++) {
		buf_puts(b, "<path d=\"");
		for (int c = 0; c < COLUMNS; c++)
			buf_printf(b, "%c%d %.1f", c == 0 ? 'M' : 'L', LEFT + c,
			    scale_y(&s, base[c] + p->queue[(size_t)c * np + i]));
		for (int c = COLUMNS - 1; c >= 0; c--) {
			buf_printf(b, "L%d %.1f", LEFT + c, scale_y(&s, base[c]));
			base[c] += p->queue[(size_t)c * np + i];
		}
		buf_printf(b, "Z\" fill=\"%s\"/>\n", color(p, i));
	}
	draw_frame(p, &s, "work queued, instance hours", b);
}

static void
draw_debt(struct sim_plot *p, double y, struct buf *b)
{
	size_t np = p->scenario->nprojects;
	struct scale s = { 0, 0, y };

	for (size_t i = 0; i < COLUMNS * np; i++) {
		s.low = fmin(s.low, p->debt[i]);
		s.high = fmax(s.high, p->debt[i]);
	}
	if (s.high - s.low < 1e-12)
		s.high = s.low + 1;
	for (size_t i = 0; i < np; i++) {
		buf_puts(b, "<path d=\"");
		for (int c = 0; c < COLUMNS; c++)
			buf_printf(b, "%c%d %.1f", c == 0 ? 'M' : 'L', LEFT + c,
			    scale_y(&s, p->debt[(size_t)c * np + i]));
		buf_printf(b, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
		    color(p, i));
	}
	draw_frame(
	    p, &s, "what each project is owed by its share, hours of the host", b);
}

/* Draws some ten ticks at multiples of 1, 2 or 5 times a power of ten. */
static void
draw_days(struct sim_plot *p, double y, struct buf *b)
{
	double days = p->end / 86400, power = pow(10, floor(log10(days / 10)));
	double raw = days / 10 / power;
	double step = power * (raw <= 1 ? 1 : raw <= 2 ? 2 : raw <= 5 ? 5 : 10);

	for (int i = 0; i * step <= days * (1 + 1e-9); i++) {
		double x = LEFT + i * step / days * COLUMNS;

		buf_printf(b,
		    "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\" stroke=\"#000\" stroke-opacity=\".12\"/>\n",
		    x, x, TOP, y);
		svg_text(b, x, y + 14, "middle", arena_printf(p->a, "%g", i * step));
	}
	svg_text(b, LEFT + COLUMNS / 2.0, y + 30, "middle", "days");
}

static void
draw_legend(struct sim_plot *p, struct buf *b)
{
	size_t n = p->scenario->nprojects;

	for (size_t i = 0; i < n && i < LEGEND_MOST; i++) {
		double y = TOP + 16 * (double)i;

		buf_printf(b,
		    "<rect x=\"%d\" y=\"%.1f\" width=\"11\" height=\"11\" fill=\"%s\"/>\n",
		    LEFT + COLUMNS + 14, y, color(p, i));
		svg_text(b, LEFT + COLUMNS + 30, y + 10, "start",
		    arena_printf(p->a, "%.18s", p->scenario->projects[i].name));
	}
	if (n > LEGEND_MOST)
		svg_text(b, LEFT + COLUMNS + 30, TOP + 16 * LEGEND_MOST + 10, "start",
		    arena_printf(p->a, "and %zu more", n - LEGEND_MOST));
}

void
sim_plot_draw(struct sim_plot *p, struct buf *b)
{
	double y = TOP + ROW * (double)p->nrows + GAP,
	       height = y + 2 * (BAND + GAP) + 12;

	plot_go_to(p, p->end);
	plot_host(p, false, p->end);
	buf_printf(b,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n"
	    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
	    "<g font-size=\"14\">\n",
	    LEFT + COLUMNS + LEGEND, height);
	svg_text(b, LEFT, 22, "start", p->title);
	buf_puts(b, "</g>\n");
	draw_instances(p, TOP, b);
	draw_queue(p, y, b);
	draw_debt(p, y + BAND + GAP, b);
	draw_days(p, y + 2 * BAND + GAP, b);
	draw_legend(p, b);
	buf_puts(b, "</svg>\n");
}
