/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the block of limits; a mistake costs the limit that it is in. */
#include "proto/job_limits.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml_tree.h"
#include "lib/banned.h"

enum { FILE_MOST = 1 << 20, JOBS_MOST = 1000000 };

struct limits_reader {
	struct arena *a;
	struct limits_read *out;
	size_t cap, apps_cap;
};

static void
limits_remark(struct limits_reader *r, int line, char *text)
{
	PUSH(r->a, r->out->remarks, r->out->n,
	    r->cap) = (struct conf_remark){ .line = line, .error = true, .text = text };
}

static void
unknown_element(struct limits_reader *r, const struct xml_node *at, const char *in)
{
	limits_remark(r, at->line,
	    arena_printf(r->a, "<%.40s> is not an element of <%s>: it is left out",
		at->name, in));
}

static bool
elem_is(const struct xml_node *n, const char *name)
{
	return strcmp(n->name, name) == 0;
}

static void
read_limit_number(struct limits_reader *r, const struct xml_node *n, const char *in,
    struct job_limit *l)
{
	double jobs;

	if (!text_f64(n->text, &jobs) || !(jobs >= 0 && jobs <= JOBS_MOST) ||
	    strpbrk(n->text, "nN") != NULL) {
		limits_remark(r, n->line,
		    arena_printf(r->a,
			"<jobs>: \"%.40s\" is not a number from 0 to %d: <%s> is left out",
			n->text, JOBS_MOST, in));
		return;
	}
	if (n->unclosed)
		limits_remark(r, n->line,
		    arena_printf(
			r->a, "<jobs> has no end tag; its number %.15g counts", jobs));
	l->jobs = jobs;
	l->set = true;
}

/* Reads <jobs>N</jobs> and an optional <per_proc/>. */
static void
read_limit(struct limits_reader *r, const struct xml_node *n, struct job_limit *l)
{
	bool said = false;

	if (n->unclosed)
		limits_remark(r, n->line,
		    arena_printf(r->a,
			"<%s> has no end tag: it ends with what holds it", n->name));
	for (const struct xml_node *c = n->child; c != NULL; c = c->next) {
		if (elem_is(c, "per_proc"))
			l->per_proc = strcmp(c->text, "0") != 0;
		else if (elem_is(c, "jobs"))
			read_limit_number(r, c, n->name, l);
		else
			unknown_element(r, c, n->name);
		said = said || elem_is(c, "jobs");
	}
	if (!said)
		limits_remark(r, n->line,
		    arena_printf(r->a, "<%s> has no <jobs>: it is left out", n->name));
	/* a total spans all types of processor, so there is no number to multiply by */
	if (elem_is(n, "total_limit"))
		l->per_proc = false;
}

static void
read_limits(struct limits_reader *r, const struct xml_node *n, struct job_limits_of *o)
{
	bool app = elem_is(n, "app");

	if (n->unclosed)
		limits_remark(r, n->line,
		    arena_printf(r->a,
			"<%s> has no end tag: it ends with what holds it", n->name));
	for (const struct xml_node *c = n->child; c != NULL; c = c->next) {
		if (elem_is(c, "total_limit"))
			read_limit(r, c, &o->total);
		else if (elem_is(c, "cpu_limit"))
			read_limit(r, c, &o->cpu);
		else if (elem_is(c, "gpu_limit"))
			read_limit(r, c, &o->gpu);
		else if (app && elem_is(c, "app_name"))
			o->app_name = c->text;
		else
			unknown_element(r, c, n->name);
	}
}

static void
read_block(struct limits_reader *r, const struct xml_node *block)
{
	struct job_limits *all = r->out->limits;

	for (const struct xml_node *c = block->child; c != NULL; c = c->next) {
		struct job_limits_of o = { 0 };

		if (elem_is(c, "project")) {
			read_limits(r, c, &all->project);
			continue;
		}
		if (!elem_is(c, "app")) {
			unknown_element(r, c, block->name);
			continue;
		}
		read_limits(r, c, &o);
		if (o.app_name == NULL || o.app_name[0] == '\0')
			limits_remark(r, c->line,
			    arena_strdup(
				r->a, "<app> has no <app_name>: it is left out"));
		else
			PUSH(r->a, all->apps, all->napps, r->apps_cap) = o;
	}
}

enum err
job_limits_parse(struct arena *a, const char *path, const char *text, size_t n,
    struct limits_read *out, struct fail *f)
{
	static const char block[] = "max_jobs_in_progress";
	static const char *const containers[] = { "config", block, "project", "app",
		"total_limit", "cpu_limit", "gpu_limit", NULL };
	struct limits_reader r = { .a = a, .out = out };
	struct xml_source src = { text, n, containers };
	struct xml_mistakes bad;
	struct xml_node *root;

	*out = (struct limits_read){ .limits = NEW(a, struct job_limits) };
	TRY(xml_tree_lenient(a, path, src, &root, &bad, f));
	for (size_t i = 0; i < bad.n; i++)
		limits_remark(&r, bad.v[i].line, bad.v[i].text);
	if (root->unclosed)
		limits_remark(
		    &r, root->line, arena_printf(a, "<%s> has no end tag", root->name));
	if (elem_is(root, block))
		read_block(&r, root);
	for (const struct xml_node *c = root->child; c != NULL; c = c->next)
		if (elem_is(c, block))
			read_block(&r, c);
	return OK;
}

enum err
job_limits_load(
    struct arena *a, const char *path, struct limits_read *out, struct fail *f)
{
	char *text;
	size_t n;

	*out = (struct limits_read){ .limits = NEW(a, struct job_limits) };
	TRY(fs_read(a, path, FILE_MOST, &text, &n, f));
	return job_limits_parse(a, path, text, n, out, f);
}
