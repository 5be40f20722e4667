/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xadd: makes the apps and platforms of project.xml, and changes those that are there
 * to what it says. What project.xml does not name stays.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "tools/catalog.h"
#include "tools/dropin/dropin.h"
#include "lib/banned.h"

enum { XML_MOST = 1 << 20, PLATFORM_NAME_MOST = 250 };

struct adding {
	struct cmd_ctx *x;
	const char *path;
	const struct catalog *c;
	const struct xml_node *root;
	size_t added, changed;
};

#define COLUMN(name) #name, offsetof(struct app, name)
static const struct {
	const char *name;
	size_t off;
	int64_t lo, hi;
} numbers[] = {
	{ COLUMN(beta), 0, 1 },
	{ COLUMN(deprecated), 0, 1 },
	{ COLUMN(fraction_done_exact), 0, 1 },
	{ COLUMN(homogeneous_app_version), 0, 1 },
	{ COLUMN(homogeneous_redundancy), 0, 2 },
	{ COLUMN(locality_scheduling), 0, 1 },
	{ COLUMN(min_version), 0, 1000000 },
	{ COLUMN(non_cpu_intensive), 0, 1 },
	{ COLUMN(target_nresults), 0, 1000 },
};

static enum err
fail_line(const struct adding *d, const struct xml_node *n, const char *what)
{
	return FAIL(d->x->f, E_BADREQ, "%s:%d: <%s>%.60s</%s>: %s", d->path, n->line,
	    n->name, n->text, n->name, what);
}

/* Names an element that has no meaning here. */
static void
say_ignored(const struct adding *d, const struct xml_node *n)
{
	fprintf(stderr, "xadd: %s:%d: <%s> has no effect\n", d->path, n->line, n->name);
}

static enum err
check_node_text(const struct adding *d, const struct xml_node *n)
{
	if (n->text[0] == '\0')
		return fail_line(d, n, "a text is required");
	if (strlen(n->text) > PLATFORM_NAME_MOST)
		return fail_line(d, n, "the text is too long");
	return OK;
}

static const struct xml_node *
node_child(const struct xml_node *n, const char *name)
{
	for (const struct xml_node *c = n->child; c != NULL; c = c->next)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* --- platforms --- */

static enum err
add_platform(struct adding *d, const struct xml_node *n)
{
	const struct xml_node *name = node_child(n, "name");
	const struct xml_node *people = node_child(n, "user_friendly_name");
	const struct platform *old;
	struct platform p = { .name = NULL };

	if (name == NULL)
		return fail_line(d, n, "a platform needs a <name>");
	TRY(check_node_text(d, name));
	if (people != NULL)
		TRY(check_node_text(d, people));
	p.name = name->text;
	p.user_friendly_name = people == NULL ? name->text : people->text;
	old = catalog_platform_named(d->c, p.name);
	if (old == NULL) {
		d->added++;
		printf("added platform %s\n", p.name);
		return platform_insert(d->x->db, &p, d->x->f);
	}
	if (people == NULL || strcmp(old->user_friendly_name, people->text) == 0)
		return OK;
	p.id = old->id;
	d->changed++;
	printf("changed platform %s\n", p.name);
	return platform_update(d->x->db, &p, d->x->f);
}

/* --- apps --- */

static enum err
set_app_field(const struct adding *d, const struct xml_node *n, struct app *app)
{
	double weight;
	int64_t v;

	if (strcmp(n->name, "name") == 0)
		return OK;
	if (strcmp(n->name, "user_friendly_name") == 0) {
		TRY(check_node_text(d, n));
		app->user_friendly_name = n->text;
		return OK;
	}
	if (strcmp(n->name, "weight") == 0) {
		if (!text_f64(n->text, &weight) || weight < -1 || weight > 1e6)
			return fail_line(
			    d, n, "it must be a number from -1 to 1000000");
		app->weight = weight;
		return OK;
	}
	for (size_t i = 0; i < N(numbers); i++) {
		if (strcmp(n->name, numbers[i].name) != 0)
			continue;
		if (n->text[0] == '\0')
			v = 1;
		else if (!text_i64(n->text, numbers[i].lo, numbers[i].hi, &v))
			return fail_line(d, n, "the number is out of range");
		*(int32_t *)(void *)((char *)app + numbers[i].off) = (int32_t)v;
		return OK;
	}
	say_ignored(d, n);
	return OK;
}

static bool
is_same_app(const struct app *a, const struct app *b)
{
	for (size_t i = 0; i < N(numbers); i++)
		if (memcmp((const char *)a + numbers[i].off,
			(const char *)b + numbers[i].off, sizeof(int32_t)) != 0)
			return false;
	return strcmp(a->user_friendly_name, b->user_friendly_name) == 0 &&
	       !(a->weight < b->weight || a->weight > b->weight);
}

static enum err
add_app(struct adding *d, const struct xml_node *n)
{
	const struct xml_node *name = node_child(n, "name");
	const struct app *old;
	struct app app = { .weight = 1 };

	if (name == NULL)
		return fail_line(d, n, "an app needs a <name>");
	TRY(app_name_check(d->x, name->text));
	old = catalog_app_named(d->c, name->text);
	if (old != NULL)
		app = *old;
	app.name = name->text;
	if (old == NULL) {
		app.user_friendly_name = name->text;
		app.create_time = clock_now();
	}
	for (const struct xml_node *c = n->child; c != NULL; c = c->next)
		TRY(set_app_field(d, c, &app));
	if (app.target_nresults == 1)
		return fail_line(d, n, "<target_nresults> must be 0 or at least 2");
	if (old == NULL) {
		d->added++;
		printf("added app %s\n", app.name);
		return app_insert(d->x->db, &app, d->x->f);
	}
	if (is_same_app(old, &app))
		return OK;
	d->changed++;
	printf("changed app %s\n", app.name);
	return app_update(d->x->db, &app, d->x->f);
}

/* --- all --- */

/* One transaction: a mistake in project.xml changes nothing. */
static enum err
add_all(struct cmd_ctx *x, void *arg)
{
	struct adding *d = arg;

	(void)x;
	d->added = d->changed = 0;
	for (const struct xml_node *n = d->root->child; n != NULL; n = n->next) {
		if (strcmp(n->name, "platform") == 0)
			TRY(add_platform(d, n));
		else if (strcmp(n->name, "app") == 0)
			TRY(add_app(d, n));
		else
			say_ignored(d, n);
	}
	return OK;
}

enum err
dropin_xadd(struct dropin *t)
{
	struct adding d = { .x = t->x };
	struct xml_node *root;
	struct catalog *c;
	char *text;
	size_t n;

	TRY(tools_catalog(t->x, &c));
	d.c = c;
	d.path = project_path(t->x->a, t->x->cf, "project.xml");
	TRY(fs_read(t->x->a, d.path, XML_MOST, &text, &n, t->x->f));
	TRY(xml_tree(t->x->a, d.path, text, n, &root, t->x->f));
	d.root = root;
	TRY(tools_transaction(t->x, add_all, &d));
	printf("%zu added, %zu changed\n", d.added, d.changed);
	return d.added + d.changed > 0 ? ctx_reread(t->x) : OK;
}
