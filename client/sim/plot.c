/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a run as one SVG picture with three bands over the same days: which project had
 * each instance, how much work was queued, what each project was owed. The
 * size is bounded by the number of columns, however long the run. */
#include "client/sim/report.h"

#include <math.h>
#include "lib/chart.h"
#include "lib/banned.h"

enum {
	COLUMNS = 960,
	ROWS_MOST = 24,
	BAND = 130 /* pixels: height of each of the other two bands */
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
	/* Per project: time queued, FLOPS now, operations so far. */
	double *queued, *rate, *had;
	double **queue, **debt; /* s; [project][column] */
	size_t column;          /* the first column not filled yet */
	bool off;
};

struct sim_plot *sim_plot_new(
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
		.queue = NEWN(a, double *, s->nprojects),
		.debt = NEWN(a, double *, s->nprojects),
	};
	for (size_t i = 0; i < s->nprojects; i++) {
		p->queue[i] = NEWN(a, double, COLUMNS);
		p->debt[i] = NEWN(a, double, COLUMNS);
	}
	for (size_t r = 0; r < s->nrsc; r++) {
		size_t n = (size_t)fmax(1, fmin(s->rsc[r].ninst, ROWS_MOST));

		p->nrows = p->nrows + n > ROWS_MOST ? ROWS_MOST : p->nrows + n;
		p->rsc_row[r + 1] = p->nrows;
	}
	return p;
}

/* --- collecting --- */

static void plot_advance(struct sim_plot *p, double t)
{
	for (size_t i = 0; i < p->scenario->nprojects && !p->off; i++)
		p->had[i] += p->rate[i] * (t - p->now);
	p->now = t;
}

/* A project is owed its share of what all projects had, less what it had itself, in
 * time of the host. */
static void fill_column(struct sim_plot *p)
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

		p->queue[i][p->column] = p->queued[i];
		p->debt[i][p->column] = (share * all - p->had[i]) / host;
	}
	p->column++;
}

static void plot_go_to(struct sim_plot *p, double t)
{
	double next;

	while (p->column < COLUMNS &&
	       (next = (double)(p->column + 1) * p->end / COLUMNS) <= t) {
		plot_advance(p, next);
		fill_column(p);
	}
	plot_advance(p, t);
}

static void close_bars(struct sim_plot *p, const struct job *j, double t)
{
	for (int32_t i = 0; i < j->nrows && t > j->from; i++)
		PUSH(p->a, p->bars, p->nbars, p->bars_cap) = (struct bar){
			(int32_t)j->rows[i], j->project, j->from, t
		};
}

/* Puts the job on the least loaded rows of its resource, one per instance. */
static void plot_start_job(struct sim_plot *p, const struct sim_event *e)
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

static void plot_stop_job(struct sim_plot *p, const struct sim_event *e)
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

static void plot_host(struct sim_plot *p, bool on, double t)
{
	for (size_t i = 0; i < p->njobs; i++) {
		if (!on && !p->off)
			close_bars(p, &p->jobs[i], t);
		p->jobs[i].from = t;
	}
	p->off = !on;
}

void sim_plot_event(struct sim_plot *p, const struct sim_event *e)
{
	double work_s = 0;

	plot_go_to(p, e->t);
	if (e->kind == SIM_JOB || e->kind == SIM_END || e->kind == SIM_ABORT) {
		const struct sim_app *app =
		    &p->scenario->projects[e->project].apps[e->app];

		work_s = app->run_s * app->use;
	}
	switch (e->kind) {
	case SIM_START:
		plot_start_job(p, e);
		break;
	case SIM_PREEMPT:
		plot_stop_job(p, e);
		break;
	case SIM_JOB:
		p->queued[e->project] += work_s;
		break;
	case SIM_END:
		plot_stop_job(p, e);
		/* fall through */
	case SIM_ABORT:
		p->queued[e->project] = fmax(0, p->queued[e->project] - work_s);
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

/*
 * Returns the time for which each project had the instance in each column: [column *
 * projects + project].
 */
static double *row_times(struct sim_plot *p, size_t row, double width)
{
	size_t np = p->scenario->nprojects;
	double *had = NEWN(p->a, double, mul_or_die(COLUMNS, np));

	for (size_t i = 0; i < p->nbars; i++) {
		const struct bar *r = &p->bars[i];

		if ((size_t)r->row != row)
			continue;
		for (int c = (int)(r->from / width); c < COLUMNS && c * width < r->to;
		     c++)
			had[(size_t)c * np + (size_t)r->project] +=
			    fmin(r->to, (c + 1) * width) - fmax(r->from, c * width);
	}
	return had;
}

/* Returns the project that had it longest; NAN = none for half of the column. */
static double longest_holder(const double *had, size_t nprojects, double width)
{
	double sum = 0;
	size_t who = 0;

	for (size_t i = 0; i < nprojects; i++) {
		sum += had[i];
		who = had[i] > had[who] ? i : who;
	}
	return sum >= width / 2 ? (double)who : NAN;
}

static void fill_instances(struct sim_plot *p, const char **names, double **who)
{
	size_t np = p->scenario->nprojects;
	double width = p->end / COLUMNS;

	for (size_t r = 0; r < p->scenario->nrsc; r++)
		for (size_t i = p->rsc_row[r]; i < p->rsc_row[r + 1]; i++) {
			const double *had = row_times(p, i, width);

			names[i] = arena_printf(p->a, "%s %zu",
			    p->scenario->rsc[r].name, i - p->rsc_row[r] + 1);
			who[i] = NEWN(p->a, double, COLUMNS);
			for (size_t c = 0; c < COLUMNS; c++)
				who[i][c] = longest_holder(had + c * np, np, width);
		}
}

void sim_plot_draw(struct sim_plot *p, struct buf *b)
{
	size_t np = p->scenario->nprojects;
	const char **names = NEWN(p->a, const char *, np), *rows[ROWS_MOST];
	double *who[ROWS_MOST];
	const struct chart_panel panels[] = {
		{ .form = CHART_ROWS,
		    .height = CHART_ROW * (int)p->nrows,
		    .nseries = p->nrows,
		    .rows = rows,
		    .values = who },
		{ .title = "work queued, time of instances",
		    .form = CHART_AREAS,
		    .unit = CHART_SPAN,
		    .height = BAND,
		    .nseries = np,
		    .values = p->queue },
		{ .title = "what each project is owed by its share, time of the host",
		    .form = CHART_LINES,
		    .unit = CHART_SPAN,
		    .height = BAND,
		    .nseries = np,
		    .values = p->debt },
	};

	plot_go_to(p, p->end);
	plot_host(p, false, p->end);
	fill_instances(p, rows, who);
	for (size_t i = 0; i < np; i++)
		names[i] = p->scenario->projects[i].name;
	chart_svg(b, &(const struct chart){ .title = p->title,
			 .note = "",
			 .to = (int64_t)p->end,
			 .days = true,
			 .ncolumns = COLUMNS,
			 .nnames = np,
			 .names = names,
			 .panels = panels,
			 .npanels = N(panels) });
}
