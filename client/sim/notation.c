/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios in the document's notation, extended (client.md 7):
 *
 *	P1(0.1, 1, .5)  P2(1, 24, .25; gpu, sd=.1)  NCPUS = 2  AVAIL(P1, .4, 5)
 *
 * Times are in hours. White space is free; # starts a comment.
 */
#include "client/sim/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/field.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { ARGS_MOST = 3 };

struct scan {
	struct arena *a;
	const char *file, *p;
	int line;
	struct sim_scenario *scenario;
	size_t cap;
	double ngpus, gpu_speed;
	struct fail *f;
};

/* NAME = x */
static const struct field assignments[] = {
#define SET(name, member, factor, low, high)                                           \
	{                                                                              \
		name, FIELD_OF(struct sim_scenario, member), .scale = factor,          \
							     .min = low, .max = high   \
	}
	SET("NCPUS", rsc[CW_CPU].ninst, 1, 0.01, 4096),
	SET("min_queue", prefs.min_s, 3600, 0, 24000),
	SET("additional_queue", prefs.extra_s, 3600, 0, 24000),
	SET("cpu_scheduling_period", prefs.period_s, 3600, 1e-4, 24000),
	SET("ON", on.fraction, 1, 0.01, 1),
	SET("ACTIVE", active.fraction, 1, 0.01, 1),
	SET("CONNECTED", connected.fraction, 1, 0.01, 1),
	{ 0 },
#undef SET
};

/* NAME(project, x) and, where there is a second number, NAME(project, x, y) */
enum about {
	ABOUT_AVAIL,
	ABOUT_ATTACH,
	ABOUT_DETACH,
	ABOUT_CHECKPOINT,
	ABOUT_OVERHEAD,
	ABOUT_LIMIT,
	ABOUT_EST
};
static const struct statement {
	const char *name;
	enum about about;
	double low, high;
} statements[] = {
	{ "AVAIL", ABOUT_AVAIL, 0.01, 1 },
	{ "ATTACH", ABOUT_ATTACH, 0, 1e6 },
	{ "DETACH", ABOUT_DETACH, 0, 1e6 },
	{ "CHECKPOINT", ABOUT_CHECKPOINT, 0, 1e6 },
	{ "OVERHEAD", ABOUT_OVERHEAD, 0, 1e6 },
	{ "LIMIT", ABOUT_LIMIT, 1, 1e6 },
	{ "EST", ABOUT_EST, 1e-3, 1e3 },
};

#define WRONG(s, ...)                                                                  \
	FAIL((s)->f, E_BADREQ, "%s:%d: %s", (s)->file, (s)->line,                      \
	    arena_printf((s)->a, __VA_ARGS__))

static void skip_blanks(struct scan *s)
{
	bool comment = false;

	for (; *s->p != '\0'; s->p++) {
		comment = (comment || *s->p == '#') && *s->p != '\n';
		if (!comment && !text_white(*s->p))
			return;
		if (*s->p == '\n')
			s->line++;
	}
}

static bool take_char(struct scan *s, char c)
{
	skip_blanks(s);
	if (*s->p != c)
		return false;
	s->p++;
	return true;
}

/* Takes a word; "" if there is none here. */
static const char *take_word(struct scan *s)
{
	const char *from;

	skip_blanks(s);
	for (from = s->p; text_alnum(*s->p) || *s->p == '_'; s->p++)
		;
	return arena_memdup(s->a, from, (size_t)(s->p - from));
}

static bool take_number(struct scan *s, double *x)
{
	char *end;

	skip_blanks(s);
	*x = strtod(s->p, &end);
	if (end == s->p || !isfinite(*x))
		return false;
	s->p = end;
	return true;
}

static enum err take_bounded(
    struct scan *s, const char *what, double low, double high, double *x)
{
	if (!take_number(s, x) || *x < low || *x > high)
		return WRONG(s, "%s must be a number from %g to %g", what, low, high);
	return OK;
}

static enum err take_closing(struct scan *s, const char *what)
{
	return take_char(s, ')') ? OK : WRONG(s, "%s is not closed by \")\"", what);
}

static struct sim_project *find_project(struct scan *s, const char *name)
{
	for (size_t i = 0; i < s->scenario->nprojects; i++)
		if (strcmp(s->scenario->projects[i].name, name) == 0)
			return &s->scenario->projects[i];
	return NULL;
}

static enum err take_assignment(struct scan *s, const char *name)
{
	const struct field *o;
	const char *yes, *near;
	double x;

	if (strcmp(name, "leave_in_memory") == 0) {
		yes = take_word(s);
		s->scenario->prefs.leave_in_memory = strcmp(yes, "true") == 0;
		if (!s->scenario->prefs.leave_in_memory && strcmp(yes, "false") != 0)
			return WRONG(s, "leave_in_memory must be true or false");
		return OK;
	}
	if (strcmp(name, "NGPU") == 0)
		return take_bounded(s, name, 0, 4096, &s->ngpus);
	if (strcmp(name, "GPU_SPEED") == 0)
		return take_bounded(s, name, 1e-9, 1e9, &s->gpu_speed);
	o = field_find(assignments, name, false, &near);
	if (o != NULL) {
		TRY(take_bounded(s, name, o->min, o->max, &x));
		field_put_number(o, s->scenario, x);
		return OK;
	}
	return WRONG(s,
	    "unknown option \"%.60s\"; the options are NCPUS, NGPU, GPU_SPEED, min_queue, additional_queue, leave_in_memory, cpu_scheduling_period, ON, ACTIVE and CONNECTED",
	    name);
}

static void apply_statement(
    struct sim_project *p, enum about about, double x, double mean_h)
{
	switch (about) {
	case ABOUT_AVAIL:
		p->up = (struct sim_onoff){ x, mean_h * 3600 };
		return;
	case ABOUT_ATTACH:
		p->attach_s = x * 3600;
		return;
	case ABOUT_DETACH:
		p->detach_s = x * 3600;
		return;
	default:
		break;
	}
	for (size_t i = 0; i < p->napps; i++) {
		struct sim_app *app = &p->apps[i];

		if (about == ABOUT_CHECKPOINT)
			app->checkpoint_s = x * 3600;
		else if (about == ABOUT_OVERHEAD)
			app->restart_s = x * 3600;
		else if (about == ABOUT_LIMIT)
			app->in_progress_most = (int32_t)x;
		else
			app->bias = x;
	}
}

static enum err take_statement(struct scan *s, const struct statement *st)
{
	const char *name = take_word(s);
	struct sim_project *p = find_project(s, name);
	double x, mean_h = 4;

	if (p == NULL)
		return WRONG(s,
		    "%s(%.60s, ...): no project of that name is described above",
		    st->name, name);
	if (!take_char(s, ','))
		return WRONG(s, "%s(%s must be followed by a comma and a number",
		    st->name, name);
	TRY(take_bounded(s, st->name, st->low, st->high, &x));
	if (st->about == ABOUT_AVAIL && take_char(s, ','))
		TRY(take_bounded(s, "the mean length of a period", 1e-3, 1e5, &mean_h));
	if (st->about == ABOUT_LIMIT && x != floor(x))
		return WRONG(s, "LIMIT must be a whole number");
	TRY(take_closing(s, st->name));
	apply_statement(p, st->about, x, mean_h);
	return OK;
}

/* Takes what follows the ";" in P(C, D, R; ...): gpu, gpu=U, ncpus=N, sd=X. */
static enum err take_job_details(struct scan *s, struct sim_app *app)
{
	bool ncpus = false;

	do {
		const char *name = take_word(s);
		enum err e = OK;

		if (strcmp(name, "gpu") == 0) {
			app->rsc = SIM_GPU;
			app->use = 1;
			if (take_char(s, '='))
				e = take_bounded(s, name, 1e-3, 4096, &app->use);
		} else if (strcmp(name, "ncpus") == 0 && take_char(s, '=')) {
			ncpus = true;
			e = take_bounded(s, name, 0, 4096, &app->ncpus);
		} else if (strcmp(name, "sd") == 0 && take_char(s, '=')) {
			e = take_bounded(s, name, 0, 10, &app->sd);
		} else {
			e = WRONG(
			    s, "only gpu, gpu=U, ncpus=N and sd=X may follow \";\"");
		}
		if (e != OK)
			return e;
	} while (take_char(s, ','));
	if (app->rsc == CW_CPU)
		app->use = app->ncpus;
	else if (!ncpus)
		app->ncpus = 0.01;
	return OK;
}

static struct sim_app *scan_add_app(struct scan *s, const char *name, double share)
{
	struct sim_scenario *sc = s->scenario;
	struct sim_project *p = find_project(s, name);
	struct sim_app *apps;

	if (p == NULL) {
		struct sim_project made;

		sim_project_defaults(&made);
		made.name = name;
		PUSH(s->a, sc->projects, sc->nprojects, s->cap) = made;
		p = &sc->projects[sc->nprojects - 1];
	}
	p->share = share;
	apps = NEWN(s->a, struct sim_app, p->napps + 1);
	if (p->napps > 0)
		memcpy(apps, p->apps, p->napps * sizeof(*apps));
	p->apps = apps;
	sim_app_defaults(&apps[p->napps]);
	return &apps[p->napps++];
}

/* Takes P(C, D, R); repeated for the same P it adds another kind of job. */
static enum err take_project_line(struct scan *s, const char *name)
{
	static const char *const what[ARGS_MOST] = { "C, the hours of a job,",
		"D, the hours to its deadline,", "R, the project's share," };
	static const double low[ARGS_MOST] = { 1e-6, 1e-6, 0 };
	double x[ARGS_MOST];
	struct sim_project *p = find_project(s, name);
	struct sim_app *app;

	if (p == NULL ? s->scenario->nprojects == SIM_PROJECTS_MOST :
			p->napps == SIM_APPS_MOST)
		return WRONG(s, "more than %d projects, or %d kinds of jobs of one",
		    SIM_PROJECTS_MOST, SIM_APPS_MOST);
	for (int i = 0; i < ARGS_MOST; i++) {
		if (i > 0 && !take_char(s, ','))
			return WRONG(s, "a project is %s(C, D, R)", name);
		TRY(take_bounded(s, what[i], low[i], 1e7, &x[i]));
	}
	if (p != NULL && p->share != x[2])
		return WRONG(s, "%s already has the share %g", name, p->share);
	app = scan_add_app(s, name, x[2]);
	app->run_s = x[0] * 3600;
	app->deadline_s = x[1] * 3600;
	if (take_char(s, ';'))
		TRY(take_job_details(s, app));
	return take_closing(s, name);
}

static enum err take_item(struct scan *s)
{
	const char *name = take_word(s);

	if (name[0] == '\0')
		return WRONG(
		    s, "expected a project P(C, D, R) or an option NAME=VALUE");
	if (strlen(name) > 60)
		return WRONG(s, "a name has at most 60 letters");
	if (take_char(s, '='))
		return take_assignment(s, name);
	if (!take_char(s, '('))
		return WRONG(s, "\"%s\" must be followed by \"(\" or \"=\"", name);
	for (size_t i = 0; i < N(statements); i++)
		if (strcmp(name, statements[i].name) == 0)
			return take_statement(s, &statements[i]);
	return take_project_line(s, name);
}

enum err sim_notation(struct arena *a, const char *file, const char *bytes, size_t n,
    struct sim_scenario *sc, struct fail *f)
{
	struct scan s = { .a = a,
		.file = file,
		.p = bytes,
		.line = 1,
		.scenario = sc,
		.gpu_speed = 1,
		.f = f };
	enum err e = OK;

	if (memchr(bytes, '\0', n) != NULL)
		return FAIL(f, E_BADREQ, "%s: is not a text file", file);
	for (skip_blanks(&s); e == OK && *s.p != '\0'; skip_blanks(&s))
		e = take_item(&s);
	if (e == OK && sc->nprojects == 0)
		e = FAIL(f, E_BADREQ, "%s: describes no project", file);
	if (s.ngpus > 0)
		sim_add_gpus(sc, s.ngpus, s.gpu_speed);
	sc->prefs.cushion_s = sc->prefs.min_s;
	return e;
}
