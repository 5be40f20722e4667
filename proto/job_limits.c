/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the block of limits; errors name the file and the line. */
#include "proto/job_limits.h"

#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/xml_tree.h"
#include "lib/banned.h"

enum { FILE_MOST = 1 << 20, JOBS_MOST = 1000000 };

struct limits_reader {
	struct arena *a;
	const char *path;
	struct fail *f;
	struct job_limits *all;
	size_t cap;
};

static enum err
unknown_element(
    const struct limits_reader *r, const struct xml_node *at, const char *in)
{
	return FAIL(r->f, E_CONFIG, "%s:%d: <%.40s> is not an element of <%s>", r->path,
	    at->line, at->name, in);
}

static bool
elem_is(const struct xml_node *n, const char *name)
{
	return strcmp(n->name, name) == 0;
}

/* Reads <jobs>N</jobs> and an optional <per_proc/>. */
static enum err
read_limit(const struct limits_reader *r, const struct xml_node *n, bool total,
    struct job_limit *l)
{
	for (const struct xml_node *c = n->child; c != NULL; c = c->next) {
		char *end;

		if (elem_is(c, "per_proc")) {
			l->per_proc = strcmp(c->text, "0") != 0;
			continue;
		}
		if (!elem_is(c, "jobs"))
			return unknown_element(r, c, n->name);
		l->jobs = strtod(c->text, &end);
		if (c->text[0] == '\0' || *end != '\0' ||
		    !(l->jobs >= 0 && l->jobs <= JOBS_MOST))
			return FAIL(r->f, E_CONFIG, "%s:%d: <jobs> must be 0 to %d",
			    r->path, c->line, JOBS_MOST);
		l->set = true;
	}
	if (!l->set)
		return FAIL(r->f, E_CONFIG, "%s:%d: <%s> has no <jobs>", r->path,
		    n->line, n->name);
	/* a total spans all types of processor, so there is no number to multiply by */
	if (total)
		l->per_proc = false;
	return OK;
}

static enum err
read_limits(const struct limits_reader *r, const struct xml_node *n, bool app,
    struct job_limits_of *o)
{
	enum err e = OK;

	for (const struct xml_node *c = n->child; c != NULL && e == OK; c = c->next) {
		if (elem_is(c, "total_limit"))
			e = read_limit(r, c, true, &o->total);
		else if (elem_is(c, "cpu_limit"))
			e = read_limit(r, c, false, &o->cpu);
		else if (elem_is(c, "gpu_limit"))
			e = read_limit(r, c, false, &o->gpu);
		else if (app && elem_is(c, "app_name"))
			o->app_name = c->text;
		else
			e = unknown_element(r, c, n->name);
	}
	if (e == OK && app && (o->app_name == NULL || o->app_name[0] == '\0'))
		e = FAIL(
		    r->f, E_CONFIG, "%s:%d: <app> has no <app_name>", r->path, n->line);
	return e;
}

static enum err
read_block(struct limits_reader *r, const struct xml_node *block)
{
	enum err e = OK;

	for (const struct xml_node *c = block->child; c != NULL && e == OK;
	     c = c->next) {
		struct job_limits_of o = { 0 };

		if (elem_is(c, "project")) {
			e = read_limits(r, c, false, &r->all->project);
			continue;
		}
		if (!elem_is(c, "app"))
			return unknown_element(r, c, block->name);
		e = read_limits(r, c, true, &o);
		PUSH(r->a, r->all->apps, r->all->napps, r->cap) = o;
	}
	return e;
}

enum err
job_limits_parse(struct arena *a, const char *path, const char *text, size_t n,
    struct job_limits **out, struct fail *f)
{
	struct limits_reader r = {
		.a = a, .path = path, .f = f, .all = NEW(a, struct job_limits)
	};
	struct xml_node *root;
	enum err e = xml_tree(a, path, text, n, &root, f);

	*out = r.all;
	if (e != OK)
		return e;
	for (const struct xml_node *c = root->child; c != NULL && e == OK; c = c->next)
		if (elem_is(c, "max_jobs_in_progress"))
			e = read_block(&r, c);
	return e;
}

enum err
job_limits_load(
    struct arena *a, const char *path, struct job_limits **out, struct fail *f)
{
	char *text;
	size_t n;
	enum err e = fs_read(a, path, FILE_MOST, &text, &n, f);

	return e != OK ? e : job_limits_parse(a, path, text, n, out, f);
}
