/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios in JSON, by a table of fields; fields outside the table are errors. */
#include "client/sim/read.h"

#include <math.h>
#include <string.h>
#include <jansson.h>
#include "lib/field.h"
#include "lib/banned.h"

/* The host as a file describes it; the scenario has resources instead. */
struct file_host {
	double ncpus, cpu_flops, ngpus, gpu_rel;
	struct sim_onoff on, active, connected;
};

#define NUMBER(name, member, factor, low, high)                                        \
	{                                                                              \
		name, FIELD_OF(T, member), .scale = factor, .min = low, .max = high    \
	}
#include "client/sim/fields.def"

static const struct object {
	const char *word;
	const struct field *fields;
} host_object = { "host", host_fields }, prefs_object = { "prefs", prefs_fields },
  project_object = { "project", project_fields }, app_object = { "app", app_fields };

struct reader {
	struct arena *a;
	const char *file;
	struct fail *f;
};

static enum err read_app(struct reader *, const char *at, json_t *, struct sim_app *);

static enum err read_number(
    struct reader *r, const char *at, const struct field *f, json_t *v, void *row)
{
	double x = json_number_value(v);

	if (!json_is_number(v) || !field_within(f, x) || !field_put_number(f, row, x))
		return FAIL(r->f, E_BADREQ,
		    "%s: %s.%s must be a %snumber from %g to %g", r->file, at, f->name,
		    f->type == FIELD_I32 ? "whole " : "", f->min, f->max);
	return OK;
}

/* [fraction of the time, mean length of a period in seconds] */
static enum err read_onoff(struct reader *r, const char *at, const struct field *f,
    json_t *v, struct sim_onoff *out)
{
	double fraction = json_number_value(json_array_get(v, 0));
	double mean = json_number_value(json_array_get(v, 1));

	if (json_array_size(v) != 2 || !(fraction >= 0.01 && fraction <= 1) ||
	    !(mean >= 1 && mean <= 1e9))
		return FAIL(r->f, E_BADREQ,
		    "%s: %s.%s must be [fraction, seconds], a fraction from 0.01 to 1 and the mean length of a period on, 1 to 1e9",
		    r->file, at, f->name);
	*out = (struct sim_onoff){ fraction, mean };
	return OK;
}

static enum err read_name(struct reader *r, const char *at, const struct field *f,
    json_t *v, const char **out)
{
	const char *s = json_string_value(v);

	if (s == NULL || !sim_name_ok(s))
		return FAIL(r->f, E_BADREQ, "%s: %s.%s must be " SIM_NAME_WORDS,
		    r->file, at, f->name);
	*out = arena_strdup(r->a, s);
	return OK;
}

static enum err read_apps(
    struct reader *r, const char *at, json_t *v, struct sim_project *p)
{
	p->napps = json_array_size(v);
	if (p->napps == 0 || p->napps > SIM_APPS_MOST)
		return FAIL(r->f, E_BADREQ,
		    "%s: %s.apps must be a list of 1 to %d apps", r->file, at,
		    SIM_APPS_MOST);
	p->apps = NEWN(r->a, struct sim_app, p->napps);
	for (size_t i = 0; i < p->napps; i++)
		TRY(read_app(r, arena_printf(r->a, "%s.apps[%zu]", at, i),
		    json_array_get(v, i), &p->apps[i]));
	return OK;
}

static enum err read_value(
    struct reader *r, const char *at, const struct field *f, json_t *v, void *row)
{
	char *to = (char *)row + f->off;

	switch (f->type) {
	case FIELD_FLAG:
		if (!json_is_boolean(v))
			return FAIL(r->f, E_BADREQ, "%s: %s.%s must be true or false",
			    r->file, at, f->name);
		field_put_whole(f, row, json_is_true(v));
		return OK;
	case FIELD_TEXT:
		return read_name(r, at, f, v, (const char **)(void *)to);
	case FIELD_ROW:
		return read_onoff(r, at, f, v, (struct sim_onoff *)(void *)to);
	case FIELD_ROWS:
		return read_apps(r, at, v, row);
	default:
		return read_number(r, at, f, v, row);
	}
}

/* Reads all members of an object, each of which must be a field of its type. */
static enum err read_object(
    struct reader *r, const char *at, const struct object *kind, json_t *o, void *row)
{
	const char *name, *near;
	json_t *v;

	if (!json_is_object(o))
		return FAIL(r->f, E_BADREQ, "%s: %s must be an object: a %s", r->file,
		    at, kind->word);
	json_object_foreach(o, name, v)
	{
		const struct field *f = field_find(kind->fields, name, false, &near);

		if (f == NULL)
			return FAIL(r->f, E_BADREQ,
			    "%s: %s has no field \"%.60s\"%s%s%s", r->file, at, name,
			    near == NULL ? "" : "; is \"", near == NULL ? "" : near,
			    near == NULL ? "" : "\" meant?");
		TRY(read_value(r, at, f, v, row));
	}
	return OK;
}

static enum err read_app(
    struct reader *r, const char *at, json_t *o, struct sim_app *app)
{
	sim_app_defaults(app);
	app->use = 0; /* GPUs; 0 makes it a CPU job */
	TRY(read_object(r, at, &app_object, o, app));
	if (json_object_get(o, "C") == NULL || json_object_get(o, "D") == NULL)
		return FAIL(r->f, E_BADREQ,
		    "%s: %s needs C, the hours of a job, and D, its deadline in hours",
		    r->file, at);
	app->rsc = app->use > 0 ? SIM_GPU : CW_CPU;
	if (app->rsc == CW_CPU)
		app->use = app->ncpus;
	return OK;
}

static enum err read_project(
    struct reader *r, size_t i, json_t *o, struct sim_project *p)
{
	const char *at = arena_printf(r->a, "projects[%zu]", i);

	sim_project_defaults(p);
	p->name = arena_printf(r->a, "P%zu", i + 1);
	TRY(read_object(r, at, &project_object, o, p));
	if (p->napps == 0)
		return FAIL(r->f, E_BADREQ, "%s: %s needs \"apps\"", r->file, at);
	return OK;
}

static enum err read_host(struct reader *r, json_t *o, struct sim_scenario *s)
{
	struct file_host h = { .ncpus = 1,
		.cpu_flops = 1,
		.gpu_rel = 1,
		.on = s->on,
		.active = s->active,
		.connected = s->connected };
	enum err e = read_object(r, "host", &host_object, o, &h);

	s->rsc[CW_CPU].ninst = h.ncpus;
	s->rsc[CW_CPU].flops = h.cpu_flops;
	if (h.ngpus > 0)
		sim_add_gpus(s, h.ngpus, h.gpu_rel);
	s->on = h.on;
	s->active = h.active;
	s->connected = h.connected;
	return e;
}

static enum err read_top(struct reader *r, json_t *top, struct sim_scenario *s)
{
	const char *name;
	json_t *v;
	enum err e = OK;

	json_object_foreach(top, name, v)
	{
		if (strcmp(name, "note") == 0 && json_is_string(v))
			s->note = arena_strdup(r->a, json_string_value(v));
		else if (strcmp(name, "host") == 0)
			e = read_host(r, v, s);
		else if (strcmp(name, "prefs") == 0)
			e = read_object(r, "prefs", &prefs_object, v, &s->prefs);
		else if (strcmp(name, "projects") == 0)
			s->nprojects = json_array_size(v);
		else
			e = FAIL(r->f, E_BADREQ,
			    "%s: a scenario has no field \"%.60s\"; its fields are note (a text), host, prefs and projects",
			    r->file, name);
		if (e != OK)
			return e;
	}
	return e;
}

static enum err read_scenario(struct reader *r, json_t *top, struct sim_scenario *s)
{
	json_t *list = json_object_get(top, "projects");
	bool cushion = json_object_get(json_object_get(top, "prefs"), "cushion_days") !=
	               NULL;

	TRY(read_top(r, top, s));
	if (s->nprojects == 0 || s->nprojects > SIM_PROJECTS_MOST)
		return FAIL(r->f, E_BADREQ,
		    "%s: \"projects\" must be a list of 1 to %d projects", r->file,
		    SIM_PROJECTS_MOST);
	s->projects = NEWN(r->a, struct sim_project, s->nprojects);
	for (size_t i = 0; i < s->nprojects; i++)
		TRY(read_project(r, i, json_array_get(list, i), &s->projects[i]));
	/* As upstream, a host keeps at least three minutes of work, and deadlines count
	 * as earlier by the low-water mark. */
	s->prefs.min_s = fmax(s->prefs.min_s, 180);
	if (!cushion)
		s->prefs.cushion_s = s->prefs.min_s;
	return OK;
}

enum err sim_json(struct arena *a, const char *file, const char *bytes, size_t n,
    struct sim_scenario *s, struct fail *f)
{
	struct reader r = { a, file, f };
	json_error_t at;
	json_t *top = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &at);
	enum err e;

	if (top == NULL)
		return FAIL(f, E_BADREQ, "%s:%d: %s", file, at.line, at.text);
	e = json_is_object(top) ? read_scenario(&r, top, s) :
	                          FAIL(f, E_BADREQ, "%s: must be an object", file);
	json_decref(top);
	return e;
}
