/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that whatever the work in a reply refers to is in the reply or at the client.
 */
#include <stdlib.h>
#include <string.h>
#include "test/check_reply_own.h"
#include "lib/banned.h"

enum { CUDA_VERSION = 70000 }; /* below: NVIDIA is called CUDA */

const struct node *check_named(
    const struct check *c, const char *element, const char *key, const char *text)
{
	for (EACH(n, c->root, element))
		if (strcmp(tree_text(n, key), text) == 0)
			return n;
	return NULL;
}

static bool known_app(const struct check *c, const char *name)
{
	if (check_named(c, "app", "name", name) != NULL)
		return true;
	for (size_t i = 0; c->q != NULL && i < c->q->napp_versions; i++)
		if (strcmp(c->q->app_versions[i].app_name, name) == 0)
			return true;
	return false;
}

static void once(const struct check *c, const char *element)
{
	for (EACH(n, c->root, element)) {
		const char *name = tree_text(n, "name");

		if (name[0] == '\0')
			violation(c->x, "line %d: <%s> has no name", n->line, element);
		for (const struct node *m = tree_next(n, element); m != NULL;
		     m = tree_next(m, element))
			if (strcmp(tree_text(m, "name"), name) == 0)
				violation(c->x, "line %d: <%s> %s for the second time",
				    m->line, element, name);
	}
}

/* --- files --- */

static bool good_file_name(const char *name)
{
	for (const char *p = name; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			return false;
	return name[0] != '\0' && name[0] != '/' && strstr(name, "..") == NULL &&
	       strchr(name, '%') == NULL;
}

static bool reply_file_held(const struct check *c, const char *name)
{
	for (size_t i = 0; c->q != NULL && i < c->q->nfiles; i++)
		if (strcmp(c->q->files[i].name, name) == 0)
			return true;
	return c->q == NULL;
}

static void urls(const struct check *c, const struct node *file, const char *element)
{
	for (EACH(u, file, element))
		if (strncmp(u->text, "http://", 7) != 0 &&
		    strncmp(u->text, "https://", 8) != 0)
			violation(c->x, "line %d: <%s> is \"%.40s\"", u->line, element,
			    u->text);
}

static void files(const struct check *c)
{
	for (EACH(n, c->root, "file_info")) {
		const char *name = tree_text(n, "name");

		if (!good_file_name(name))
			violation(c->x, "line %d: file name %s", n->line, name);
		urls(c, n, "url");
		urls(c, n, "download_url");
		urls(c, n, "upload_url");
		urls(c, n, "gzipped_url");
	}
	for (EACH(n, c->root, "delete_file_info")) {
		if (check_named(c, "file_info", "name", n->text) != NULL)
			violation(c->x, "line %d: %s is ordered deleted and declared",
			    n->line, n->text);
		if (!reply_file_held(c, n->text))
			violation(c->x,
			    "line %d: %s is ordered deleted, the client has none",
			    n->line, n->text);
	}
}

static bool uploads(const struct node *file)
{
	if (tree_child(file, "upload_url") != NULL)
		return true;
	for (EACH(u, file, "url"))
		if (strstr(u->text, "file_upload_handler") != NULL)
			return true;
	return false;
}

static bool downloads(const struct node *file)
{
	return tree_child(file, "url") != NULL ||
	       tree_child(file, "download_url") != NULL ||
	       tree_child(file, "gzipped_url") != NULL;
}

enum use { USE_VERSION, USE_INPUT, USE_OUTPUT, USE_SHOWN };

static void file_used(
    const struct check *c, const struct node *f, const struct node *ref, enum use use)
{
	const char *name = tree_text(f, "name");
	bool main_program = tree_child(ref, "main_program") != NULL;

	if (use == USE_VERSION && tree_text(f, "file_signature")[0] == '\0')
		violation(c->x, "line %d: app file %s has no signature", f->line, name);
	if (main_program && tree_child(f, "executable") == NULL)
		violation(c->x, "line %d: the main program %s is not executable",
		    f->line, name);
	if (use == USE_OUTPUT && !uploads(f))
		violation(c->x, "line %d: output %s has no upload URL", f->line, name);
	if (use == USE_OUTPUT && !(strtod(tree_text(f, "max_nbytes"), NULL) > 0))
		violation(c->x, "line %d: output %s has no max_nbytes", f->line, name);
	if (use != USE_OUTPUT && !downloads(f))
		violation(c->x, "line %d: %s has no url", f->line, name);
}

static void refs(const struct check *c, const struct node *n, enum use use)
{
	size_t mains = 0;

	for (EACH(r, n, "file_ref")) {
		const char *name = tree_text(r, "file_name");
		const char *open_name = tree_text(r, "open_name");
		const struct node *f = check_named(c, "file_info", "name", name);

		mains += tree_child(r, "main_program") != NULL;
		if (strstr(open_name, "..") != NULL || strchr(open_name, '%') != NULL)
			violation(c->x, "line %d: open_name %s", r->line, open_name);
		if (f == NULL)
			violation(c->x,
			    "line %d: <%s> refers to file %s, which is not declared",
			    r->line, n->name, name);
		else
			file_used(c, f, r, use);
	}
	if (use == USE_VERSION && mains != 1)
		violation(c->x, "line %d: app_version with %zu main programs", n->line,
		    mains);
	if (use != USE_VERSION && mains > 0)
		violation(c->x, "line %d: a main program in <%s>", n->line, n->name);
}

/* --- versions --- */

static bool platform_of_client(const struct check *c, const char *platform)
{
	for (size_t i = 0; i < c->q->nplatforms; i++)
		if (strcmp(c->q->platforms[i], platform) == 0)
			return true;
	return false;
}

static bool anonymous(const struct check *c)
{
	return c->q != NULL && strcmp(c->q->platform_name, "anonymous") == 0;
}

/* Unknown types make the client abort the task. */
static void coproc(const struct check *c, const struct node *version)
{
	const struct node *n = tree_child(version, "coproc");
	const char *type = n == NULL ? "" : tree_text(n, "type");
	bool old = c->version > 0 && c->version < CUDA_VERSION;

	if (n == NULL || c->q == NULL)
		return;
	if (!(strtod(tree_text(n, "count"), NULL) > 0))
		violation(c->x, "line %d: coproc of count 0", n->line);
	if (old && strcmp(type, "CUDA") == 0)
		type = "NVIDIA";
	for (size_t i = 1; i < c->q->nresources; i++)
		if (strcmp(c->q->resources[i].type, type) == 0)
			return;
	violation(c->x, "line %d: coproc %s, the client has none", n->line, type);
}

static bool same_key(const struct node *a, const struct node *b)
{
	static const char *const key[] = { "app_name", "platform", "version_num",
		"plan_class" };

	for (size_t i = 0; i < N(key); i++)
		if (strcmp(tree_text(a, key[i]), tree_text(b, key[i])) != 0)
			return false;
	return true;
}

static void version(const struct check *c, const struct node *n)
{
	const char *platform = tree_text(n, "platform");

	if (!known_app(c, tree_text(n, "app_name")))
		violation(c->x, "line %d: app_version of unknown app %s", n->line,
		    tree_text(n, "app_name"));
	if (tree_child(n, "version_num") == NULL)
		violation(c->x, "line %d: app_version without a number", n->line);
	if (anonymous(c))
		violation(
		    c->x, "line %d: app_version for an anonymous platform", n->line);
	else if (c->q != NULL && platform[0] != '\0' &&
		 !platform_of_client(c, platform))
		violation(
		    c->x, "line %d: app_version for platform %s", n->line, platform);
	if (c->q != NULL && !c->q->client_cap_plan_class &&
	    tree_text(n, "plan_class")[0] != '\0')
		violation(
		    c->x, "line %d: a plan class for a client without them", n->line);
	if (!(strtod(tree_text(n, "flops"), NULL) > 0) ||
	    !(strtod(tree_text(n, "avg_ncpus"), NULL) > 0))
		violation(c->x, "line %d: flops or avg_ncpus not above 0", n->line);
	coproc(c, n);
	refs(c, n, USE_VERSION);
	for (const struct node *m = tree_next(n, n->name); m != NULL;
	     m = tree_next(m, n->name))
		if (same_key(n, m))
			violation(c->x, "line %d: the same app_version again", m->line);
}

/* --- work --- */

static void workunit(const struct check *c, const struct node *n)
{
	static const char *const above_0[] = { "rsc_fpops_est", "rsc_fpops_bound",
		"rsc_memory_bound", "rsc_disk_bound" };

	if (!known_app(c, tree_text(n, "app_name")))
		violation(c->x, "line %d: workunit of unknown app %s", n->line,
		    tree_text(n, "app_name"));
	for (size_t i = 0; i < N(above_0); i++)
		if (tree_child(n, above_0[i]) != NULL &&
		    !(strtod(tree_text(n, above_0[i]), NULL) > 0))
			violation(c->x, "line %d: %s not above 0", n->line, above_0[i]);
	refs(c, n, USE_INPUT);
}

/* Tells whether the reply or the client has a version that can run the result. */
static bool version_for(const struct check *c, const struct node *r, const char *app)
{
	const char *platform = tree_text(r, "platform");
	const char *class = tree_text(r, "plan_class"),
		   *num = tree_text(r, "version_num");

	if (anonymous(c) && platform[0] == '\0')
		return true; /* the client takes the newest of its own */
	for (EACH(v, c->root, "app_version"))
		if (strcmp(tree_text(v, "app_name"), app) == 0 &&
		    strcmp(tree_text(v, "platform"), platform) == 0 &&
		    strcmp(tree_text(v, "plan_class"), class) == 0 &&
		    strcmp(tree_text(v, "version_num"), num) == 0)
			return true;
	for (size_t i = 0; c->q != NULL && i < c->q->napp_versions; i++) {
		const struct rq_app_version *v = &c->q->app_versions[i];

		if (strcmp(v->app_name, app) == 0 &&
		    strcmp(v->platform, platform) == 0 &&
		    strcmp(v->plan_class, class) == 0 &&
		    v->version_num == strtol(num, NULL, 10))
			return true;
	}
	return false;
}

static bool at_client(const struct check *c, const char *result)
{
	for (size_t i = 0; c->q != NULL && i < c->q->nother_results; i++)
		if (strcmp(c->q->other_results[i].name, result) == 0)
			return true;
	return false;
}

static void result(const struct check *c, const struct node *n)
{
	const char *wu = tree_text(n, "wu_name");
	const struct node *w = check_named(c, "workunit", "name", wu);

	if (w == NULL)
		violation(c->x,
		    "line %d: result of workunit %s, which is not in the reply",
		    n->line, wu);
	else if (!version_for(c, n, tree_text(w, "app_name")))
		violation(c->x, "line %d: no app version %s %s %s for the result",
		    n->line, tree_text(n, "platform"), tree_text(n, "version_num"),
		    tree_text(n, "plan_class"));
	if (!(strtod(tree_text(n, "report_deadline"), NULL) > 0))
		violation(c->x, "line %d: no report_deadline", n->line);
	if (at_client(c, tree_text(n, "name")))
		violation(c->x, "line %d: the client has %s already", n->line,
		    tree_text(n, "name"));
	if (c->q != NULL && c->q->dont_send_work)
		violation(c->x, "line %d: work for a client that wants none", n->line);
	refs(c, n, USE_OUTPUT);
}

void check_work(const struct check *c)
{
	const struct node *shown = tree_child(c->root, "project_files");

	once(c, "app");
	once(c, "file_info");
	once(c, "workunit");
	once(c, "result");
	files(c);
	for (EACH(n, c->root, "app_version"))
		version(c, n);
	for (EACH(n, c->root, "workunit"))
		workunit(c, n);
	for (EACH(n, c->root, "result"))
		result(c, n);
	if (shown != NULL)
		refs(c, shown, USE_SHOWN);
}
