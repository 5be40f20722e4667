/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xadd: makes the apps and platforms of project.xml, and changes those that are there
 * to what it says. What project.xml does not name stays.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "tools/catalog.h"
#include "tools/dropin/dropin.h"
#include "tools/plan_class.h"
#include "tools/version.h"
#include "lib/banned.h"

/*
 * update_versions: looks for new app versions in apps/APP/VERSION/PLATFORM[__CLASS]/.
 * version.xml in such a directory describes the files, which keep their names.
 */

enum { ENTRIES_MOST = 10000, VERSION_XML_MOST = 256 << 10, ANSWER_MOST = 100 };

struct looking {
	struct dropin *d;
	struct cmd_ctx *x;
	const struct catalog *c;
	const char *dir; /* of the version at hand */
	bool asks;
	size_t added, failed;
};

/* --- version.xml --- */

static enum err fail_xml(struct looking *k, const struct xml_node *n, const char *why)
{
	return FAIL(k->x->f, E_BADREQ, "%s/version.xml:%d: <%s>: %s", k->dir, n->line,
	    n->name, why);
}

static void say_no_effect(struct looking *k, const struct xml_node *n, const char *why)
{
	fprintf(stderr,
	    "update_versions: %s/version.xml:%d: <%.40s> has no effect: %s\n", k->dir,
	    n->line, n->name, why);
}

static bool node_flag(const struct xml_node *n)
{
	return strcmp(n->text, "0") != 0;
}

static enum err file_field(
    struct looking *k, const struct xml_node *n, struct version_file *v)
{
	if (strcmp(n->name, "physical_name") == 0)
		v->name = n->text;
	else if (strcmp(n->name, "logical_name") == 0)
		v->open_name = n->text;
	else if (strcmp(n->name, "main_program") == 0)
		v->main_program = node_flag(n);
	else if (strcmp(n->name, "copy_file") == 0)
		v->copy_file = node_flag(n);
	else if (strcmp(n->name, "url") == 0)
		return fail_xml(
		    k, n, "files of versions are on the project's own server here");
	else if (strcmp(n->name, "gzip") == 0)
		say_no_effect(k, n, "files of versions are sent as they are");
	else
		say_no_effect(k, n, "there is no such element in <file>");
	return OK;
}

static enum err take_file(
    struct looking *k, const struct xml_node *n, struct version *v)
{
	struct version_file *to = &v->files[v->n];
	struct stat st;

	*to = (struct version_file){ .name = NULL };
	for (const struct xml_node *c = n->child; c != NULL; c = c->next)
		TRY(file_field(k, c, to));
	if (to->name == NULL || to->name[0] == '\0' || strchr(to->name, '/') != NULL ||
	    to->name[0] == '.')
		return fail_xml(
		    k, n, "it needs the name of a file here, in <physical_name>");
	v->from[v->n] = arena_printf(k->x->a, "%s/%s", k->dir, to->name);
	if (stat(v->from[v->n], &st) < 0 || !S_ISREG(st.st_mode))
		return fail_xml(
		    k, n, arena_printf(k->x->a, "there is no file %s", v->from[v->n]));
	to->nbytes = (int64_t)st.st_size;
	to->executable = to->main_program || (st.st_mode & S_IXUSR) != 0;
	v->n++;
	return OK;
}

/* Elements of <version> that the version's XML has as they are. */
static enum err version_field(struct looking *k, const struct xml_node *n,
    struct version *v, struct buf *more, const char **api)
{
	static const char *const flags[] = { "dont_throttle", "needs_network",
		"is_wrapper" };

	for (size_t i = 0; i < N(flags); i++)
		if (strcmp(n->name, flags[i]) == 0) {
			if (node_flag(n))
				buf_printf(more, "    <%s/>\n", n->name);
			return OK;
		}
	if (strcmp(n->name, "file_prefix") == 0) {
		buf_puts(more, "    ");
		buf_tag(more, "file_prefix", n->text);
	} else if (strcmp(n->name, "api_version") == 0) {
		*api = n->text;
	} else if (strcmp(n->name, "beta") == 0) {
		v->beta = node_flag(n);
	} else {
		say_no_effect(k, n, "there is no such element in <version>");
	}
	return OK;
}

/* Without version.xml, a single file is the main program. */
static enum err take_single(
    struct looking *k, char **names, size_t n, struct version *v)
{
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		char *path = arena_printf(k->x->a, "%s/%s", k->dir, names[i]);

		if (text_ends_with(names[i], ".sig") || stat(path, &st) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (v->n == 1)
			return FAIL(k->x->f, E_BADREQ,
			    "%s has several files, and no version.xml that says which is the main program",
			    k->dir);
		v->from[0] = path;
		v->files[v->n++] = (struct version_file){ .name = names[i],
			.nbytes = (int64_t)st.st_size,
			.executable = true,
			.main_program = true };
	}
	return v->n == 1 ? OK : FAIL(k->x->f, E_BADREQ, "%s has no files", k->dir);
}

static enum err files_of_version(struct looking *k, struct version *v, const char **api)
{
	const char *path = arena_printf(k->x->a, "%s/version.xml", k->dir);
	char **names, *text;
	size_t n, len;

	TRY(fs_list(k->x->a, k->dir, ENTRIES_MOST, &names, &n, k->x->f));
	v->files = NEWN(k->x->a, struct version_file, ENTRIES_MOST + 1);
	v->from = NEWN(k->x->a, char *, ENTRIES_MOST + 1);
	if (!fs_exists(path))
		return take_single(k, names, n, v);
	TRY(fs_read(k->x->a, path, VERSION_XML_MOST, &text, &len, k->x->f));
	struct buf more = buf_new(k->x->a);
	struct xml_node *root;

	TRY(xml_tree(k->x->a, arena_printf(k->x->a, "%s/version.xml", k->dir), text,
	    len, &root, k->x->f));
	for (const struct xml_node *c = root->child; c != NULL; c = c->next) {
		if (strcmp(c->name, "file") != 0) {
			TRY(version_field(k, c, v, &more, api));
		} else {
			if (v->n == ENTRIES_MOST)
				return fail_xml(k, c, "there are too many files");
			TRY(take_file(k, c, v));
		}
	}
	v->more = more.n == 0 ? NULL : more.p;
	return OK;
}

/* --- one version --- */

static bool version_is_known(const struct looking *k, const struct version *v)
{
	for (size_t i = 0; i < k->c->nversions; i++) {
		const struct app_version *old = &k->c->versions[i];

		if (old->appid == v->app->id && old->version_num == v->num &&
		    old->platformid == v->platform->id &&
		    strcmp(old->plan_class, v->class) == 0)
			return true;
	}
	return false;
}

/* The answer may come from a pipe: yes | bin/update_versions. */
static bool version_is_wanted(const struct looking *k, const struct version *v)
{
	char answer[ANSWER_MOST];

	printf("Found version %s of %s for %s%s%s:\n", v->text, v->app->name,
	    v->platform->name, v->class[0] == '\0' ? "" : ", plan class ", v->class);
	for (size_t i = 0; i < v->n; i++)
		printf("  %s%s\n", v->files[i].name,
		    v->files[i].main_program ? " (main program)" : "");
	if (!k->asks)
		return true;
	printf("Do you want to add this version? (y/n) ");
	fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static enum err offer_version(struct looking *k, struct version *v)
{
	const char *api = NULL, *why = NULL;
	enum err e;

	TRY(plan_class_known(k->x, v->class, &why));
	if (why != NULL)
		return FAIL(k->x->f, E_BADREQ, "plan class %s: %.300s", v->class, why);
	TRY(files_of_version(k, v, &api));
	TRY(version_check_programs(k->x, v));
	if (!version_is_wanted(k, v))
		return OK;
	TRY(version_keys_load(k->x, v, NULL));
	TRY(version_sign(k->x, v));
	e = version_insert(k->x, v, api);
	if (e == E_RACE) /* a version that was withdrawn */
		return OK;
	if (e == OK)
		k->added++;
	return e;
}

/* --- the directories --- */

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum err try_on_platform(
    struct looking *k, struct version *v, const char *platform)
{
	TRY(version_num_parse(k->x, v->text, &v->num));
	TRY(tools_platform(k->x, k->c, platform, &v->platform));
	return version_is_known(k, v) ? OK : offer_version(k, v);
}

/* A version that cannot be added does not hold up the others. */
static void try_version(
    struct looking *k, const struct app *app, const char *number, const char *name)
{
	char *platform = arena_strdup(k->x->a, name), *at = strstr(platform, "__");
	struct version v = { .app = app, .text = number, .class = "" };
	int64_t plain;

	if (at != NULL) {
		*at = '\0';
		v.class = at + 2;
	}
	/* BOINC takes a number without a point for the minor one: 22489 is 224.89 */
	if (text_i64(number, 0, INT32_MAX, &plain))
		v.text = version_num_text(k->x->a, (int32_t)plain);
	if (try_on_platform(k, &v, platform) != OK) {
		fprintf(stderr, "update_versions: %s: %s\n", k->dir, k->x->f->detail);
		k->failed++;
	}
	k->x->status = 0;
}

static enum err look_in_app(struct looking *k, const struct app *app, const char *dir)
{
	char **numbers, **platforms;
	size_t n, m;

	TRY(fs_list(k->x->a, dir, ENTRIES_MOST, &numbers, &n, k->x->f));
	for (size_t i = 0; i < n; i++) {
		const char *in = arena_printf(k->x->a, "%s/%s", dir, numbers[i]);

		if (!is_dir(in))
			continue;
		TRY(fs_list(k->x->a, in, ENTRIES_MOST, &platforms, &m, k->x->f));
		for (size_t j = 0; j < m; j++) {
			k->dir = arena_printf(k->x->a, "%s/%s", in, platforms[j]);
			if (is_dir(k->dir))
				try_version(k, app, numbers[i], platforms[j]);
		}
	}
	return OK;
}

enum err dropin_update_versions(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	struct looking k = {
		.d = d, .x = x, .asks = dropin_value(&d->line, "noconfirm") == NULL
	};
	const char *apps;
	struct catalog *c;
	char **names;
	size_t n;

	TRY(tools_catalog(x, &c));
	k.c = c;
	apps = project_path(x->a, x->cf, "apps");
	TRY(fs_list(x->a, apps, ENTRIES_MOST, &names, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		const char *dir = arena_printf(x->a, "%s/%s", apps, names[i]);
		const struct app *app = catalog_app_named(c, names[i]);

		if (is_dir(dir) && app == NULL)
			fprintf(stderr,
			    "update_versions: %s: there is no app of that name; add it to project.xml and run xadd, or use locus app add\n",
			    dir);
		else if (is_dir(dir))
			TRY(look_in_app(&k, app, dir));
	}
	printf("%zu versions added, %zu failed\n", k.added, k.failed);
	x->status = k.failed > 0 ? EXIT_FAILURE : 0;
	return k.added > 0 ? ctx_reread(x) : OK;
}

enum { XML_MOST = 1 << 20, PLATFORM_NAME_MOST = 250 };

struct adding {
	struct cmd_ctx *x;
	const char *path;
	const struct catalog *c;
	const struct xml_node *root;
	size_t added, changed;
};

#define COLUMN(name) #name, FIELD_OF(struct app, name)
static const struct field numbers[] = {
	{ COLUMN(beta), .max = 1 },
	{ COLUMN(deprecated), .max = 1 },
	{ COLUMN(fraction_done_exact), .max = 1 },
	{ COLUMN(homogeneous_app_version), .max = 1 },
	{ COLUMN(homogeneous_redundancy), .max = 2 },
	{ COLUMN(locality_scheduling), .max = 1 },
	{ COLUMN(min_version), .max = 1000000 },
	{ COLUMN(non_cpu_intensive), .max = 1 },
	{ COLUMN(target_nresults), .max = 1000 },
	{ 0 },
};

static enum err fail_line(
    const struct adding *d, const struct xml_node *n, const char *what)
{
	return FAIL(d->x->f, E_BADREQ, "%s:%d: <%s>%.60s</%s>: %s", d->path, n->line,
	    n->name, n->text, n->name, what);
}

/* Names an element that has no meaning here. */
static void say_ignored(const struct adding *d, const struct xml_node *n)
{
	fprintf(stderr, "xadd: %s:%d: <%s> has no effect\n", d->path, n->line, n->name);
}

static enum err check_node_text(const struct adding *d, const struct xml_node *n)
{
	if (n->text[0] == '\0')
		return fail_line(d, n, "a text is required");
	if (strlen(n->text) > PLATFORM_NAME_MOST)
		return fail_line(d, n, "the text is too long");
	return OK;
}

static const struct xml_node *node_child(const struct xml_node *n, const char *name)
{
	for (const struct xml_node *c = n->child; c != NULL; c = c->next)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* --- platforms --- */

static enum err add_platform(struct adding *d, const struct xml_node *n)
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

static enum err set_app_field(
    const struct adding *d, const struct xml_node *n, struct app *app)
{
	const struct field *o;
	const char *near;
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
	o = field_find(numbers, n->name, false, &near);
	if (o == NULL)
		say_ignored(d, n);
	else if (n->text[0] == '\0')
		field_put_whole(o, app, 1);
	else if (!text_i64(n->text, 0, (int64_t)o->max, &v))
		return fail_line(d, n, "the number is out of range");
	else
		field_put_whole(o, app, v);
	return OK;
}

static bool is_same_app(const struct app *a, const struct app *b)
{
	for (const struct field *o = numbers; o->name != NULL; o++)
		if (field_whole(o, a) != field_whole(o, b))
			return false;
	return strcmp(a->user_friendly_name, b->user_friendly_name) == 0 &&
	       !(a->weight < b->weight || a->weight > b->weight);
}

static enum err add_app(struct adding *d, const struct xml_node *n)
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
static enum err add_all(struct cmd_ctx *x, void *arg)
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

enum err dropin_xadd(struct dropin *t)
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
