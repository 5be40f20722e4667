/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus app remove: takes back locus app add. The app's row goes last, so that an
 * interrupted run can be repeated.
 */
#include "db/catalog.h"

#include <inttypes.h>
#include <string.h>
#include "lib/json_text.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "model/catalog.h"
#include "proto/blob.h"
#include "tools/app_parts.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/dir_cure.h"
#include "tools/print/print.h"
#include "tools/version.h"
#include "lib/banned.h"

struct remove_opts {
	bool dry_run, yes;
};

static const struct field remove_options[] = {
	DRY_RUN_OPTION(struct remove_opts),
	YES_OPTION(struct remove_opts),
	{ 0 },
};

static const struct print_column remove_columns[] = {
	{ "what", "WHAT", PRINT_TEXT,
	    "daemon, template, version, file, directory or app" },
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "removed", "REMOVED", PRINT_FLAG, "in a dry run: would be removed" },
	{ "why", "WHY NOT", PRINT_TEXT, "why it stays" },
	{ 0 },
};

/* --- what app add noted --- */

char *app_added_text(struct arena *a, const struct app_added *added)
{
	json_t *daemons = json_array(), *root;
	size_t len;
	char *text;

	for (size_t i = 0; i < added->n; i++)
		json_array_append_new(daemons,
		    json_pack("{s:o, s:o}", "name", json_text(added->daemons[i].name),
			"cmd", json_text(added->daemons[i].cmd)));
	root = json_pack("{s:s*, s:s*, s:o}", "in", added->in, "out", added->out,
	    "daemons", daemons);
	len = json_dumpb(root, NULL, 0, JSON_COMPACT);
	text = arena_alloc(a, len + 1);
	json_dumpb(root, text, len, JSON_COMPACT);
	json_decref(root);
	return text;
}

/* Reads that text; of one that is no such JSON, or "", nothing is known. */
static struct app_added app_added_of(struct arena *a, const char *text)
{
	json_t *root = json_loads(text, 0, NULL), *daemons, *one;
	struct app_added added = { 0 };
	const char *in, *out;
	size_t i;

	in = json_string_value(json_object_get(root, "in"));
	out = json_string_value(json_object_get(root, "out"));
	daemons = json_object_get(root, "daemons");
	added.in = in == NULL ? NULL : arena_strdup(a, in);
	added.out = out == NULL ? NULL : arena_strdup(a, out);
	added.daemons = NEWN(a, struct new_daemon, json_array_size(daemons) + 1);
	json_array_foreach(daemons, i, one)
	{
		const char *name = json_string_value(json_object_get(one, "name"));
		const char *cmd = json_string_value(json_object_get(one, "cmd"));

		if (name != NULL && cmd != NULL)
			added.daemons[added.n++] = (struct new_daemon){
				arena_strdup(a, name), arena_strdup(a, cmd)
			};
	}
	json_decref(root);
	return added;
}

/* --- the plan --- */

struct item {
	const char *what, *name, *path; /* path: what to unlink, or NULL */
	const char *why;                /* NULL = it is removed */
};
struct removal {
	struct cmd_ctx *x;
	const struct app *app;
	struct app_added added;
	struct app_version *versions;
	size_t nversions;
	const char **others; /* xml_doc of the versions of other apps */
	size_t nothers, others_cap;
	struct item *items;
	size_t n, cap;
};

static void plan(struct removal *r, const char *what, const char *name,
    const char *path, const char *why)
{
	PUSH(r->x->a, r->items, r->n, r->cap) = (struct item){ what, name, path, why };
}

/* Does the command have "--app NAME"? */
static bool names_app(struct cmd_ctx *x, const char *cmd, const char *app)
{
	struct fail f = { 0 };
	char **argv;

	if (proc_split(x->a, cmd, &argv, &f) != OK)
		return false;
	for (size_t i = 0; argv[i] != NULL; i++) {
		const char *word = argv[i] + (strncmp(argv[i], "--", 2) == 0);

		if (strcmp(word, "-app") == 0 && argv[i + 1] != NULL &&
		    strcmp(argv[i + 1], app) == 0)
			return true;
		if (strncmp(word, "-app=", 5) == 0 && strcmp(word + 5, app) == 0)
			return true;
	}
	return false;
}

static enum err plan_daemons_away(struct removal *r)
{
	struct cmd_ctx *x = r->x;
	bool *gone = NEWN(x->a, bool, r->added.n + 1);

	TRY(conf_remove_daemons(x, r->added.daemons, r->added.n, false, gone));
	for (size_t i = 0; i < x->cf->ndaemons; i++) {
		const struct conf_daemon *d = &x->cf->daemons[i];
		bool ours = false, same = false;

		for (size_t k = 0; k < r->added.n; k++)
			if (strcmp(r->added.daemons[k].name, d->name) == 0) {
				ours = true;
				same = gone[k];
			}
		if (!ours && !names_app(x, d->cmd, r->app->name))
			continue;
		plan(r, "daemon", d->name, NULL,
		    same ? NULL :
		    ours ? "changed since app add; take it out of config.xml by hand" :
			   "not of app add; take it out of config.xml by hand");
	}
	return OK;
}

static void plan_template_away(struct removal *r, const char *kind, const char *written)
{
	struct cmd_ctx *x = r->x;
	char *path = app_template_path(x, r->app->name, kind);
	char *name = arena_printf(x->a, "templates/%s_%s.xml", r->app->name, kind);
	char md5[MD5_HEX];
	struct fail f = { 0 };
	int64_t bytes;

	if (!fs_exists(path))
		return;
	if (written == NULL)
		plan(r, "template", name, path, "not written by app add");
	else if (md5_file(path, md5, &bytes, &f) != OK || strcmp(md5, written) != 0)
		plan(r, "template", name, path, "changed since app add");
	else
		plan(r, "template", name, path, NULL);
}

static enum err others_read(struct removal *r, const struct catalog *c)
{
	struct cmd_ctx *x = r->x;

	for (size_t i = 0; i < c->napps; i++) {
		struct app_version *v = NULL;
		size_t n = 0;

		if (c->apps[i].id == r->app->id)
			continue;
		TRY(app_versions_of(x->db, x->a, c->apps[i].id, &v, &n, x->f));
		for (size_t k = 0; k < n; k++)
			PUSH(x->a, r->others, r->nothers, r->others_cap) = v[k].xml_doc;
	}
	return OK;
}

/* *why: what else needs the file of that name; NULL = nothing. */
static enum err file_needed(struct removal *r, const char *name, const char **why)
{
	struct cmd_ctx *x = r->x;
	const char *element = arena_printf(x->a, "<name>%s</name>", name);
	struct file *large;
	enum err e;

	*why = NULL;
	for (size_t i = 0; i < r->nothers && *why == NULL; i++)
		if (strstr(r->others[i], element) != NULL)
			*why = "a version of another app has it";
	if (*why != NULL)
		return OK;
	e = file_by_name(x->db, x->a, name, &large, x->f);
	if (e == OK)
		*why = "it is a large file, too";
	return e == E_NOTFOUND ? OK : e;
}

static enum err plan_version_away(
    struct removal *r, const struct catalog *c, const struct app_version *v)
{
	struct cmd_ctx *x = r->x;
	const struct platform *p = catalog_platform(c, v->platformid);
	struct blob_file *files = NULL;
	const char *why;
	size_t n = 0;

	plan(r, "version",
	    arena_printf(x->a, "%s %s%s%s", version_num_text(x->a, v->version_num),
		p == NULL ? "" : p->name, v->plan_class[0] == '\0' ? "" : ":",
		v->plan_class),
	    NULL, NULL);
	TRY(blob_files(x->a, v->xml_doc, &files, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		const char *name = files[i].name;
		char *path = arena_printf(x->a, "%s/%s", x->cf->download_dir, name);

		if (strchr(name, '/') != NULL || !fs_exists(path))
			continue;
		TRY(file_needed(r, name, &why));
		plan(r, "file", name, path, why);
	}
	return OK;
}

static enum err plan_all(struct removal *r, const struct catalog *c)
{
	struct cmd_ctx *x = r->x;
	char *dir = arena_printf(x->a, "apps/%s", r->app->name), *text;

	TRY(app_added_read(x->db, x->a, r->app->id, &text, x->f));
	r->added = app_added_of(x->a, text);
	TRY(plan_daemons_away(r));
	plan_template_away(r, "in", r->added.in);
	plan_template_away(r, "out", r->added.out);
	TRY(others_read(r, c));
	for (size_t i = 0; i < r->nversions; i++)
		TRY(plan_version_away(r, c, &r->versions[i]));
	if (fs_exists(project_path(x->a, x->cf, dir)))
		plan(r, "directory", dir, NULL, "not made by app add");
	plan(r, "app", r->app->name, NULL, NULL);
	return OK;
}

/* --- refusals --- */

static enum err refuse_needed_app(struct removal *r)
{
	struct cmd_ctx *x = r->x;
	const char *name = r->app->name;
	struct app_needs n;
	bool used;

	TRY(app_needs_read(x->db, r->app->id, &n, x->f));
	if (n.unfinished > 0)
		return FAIL(x->f, E_BADREQ,
		    "%s is needed: %" PRId64
		    " workunits are not assimilated yet; locus app drain %s lets them end, locus work cancel --app %s ends them",
		    name, n.unfinished, name, name);
	if (n.workunits > 0)
		return FAIL(x->f, E_BADREQ,
		    "%s is needed: %" PRId64
		    " finished workunits are in the tables; to archive and remove them, run: %s %s",
		    name, n.workunits,
		    locus_command(x->a, x->cf, "purge --older-than 1s --app"), name);
	if (n.filesets > 0)
		return FAIL(x->f, E_BADREQ,
		    "%s is needed: %" PRId64
		    " large files are for its work; locus file list shows them, locus file remove takes them out",
		    name, n.filesets);
	for (size_t i = 0; i < r->nversions; i++) {
		const struct app_version *v = &r->versions[i];

		if (v->deprecated)
			continue;
		TRY(app_version_used(x->db, x->a, v->id, &used, x->f));
		if (used)
			return FAIL(x->f, E_BADREQ,
			    "%s is needed: hosts have its version %s, which is not deprecated; run: %s %s %s",
			    name, version_num_text(x->a, v->version_num),
			    locus_command(x->a, x->cf, "version withdraw"), name,
			    version_num_text(x->a, v->version_num));
	}
	return OK;
}

/* --- the removal --- */

static enum err statistics_away(struct cmd_ctx *x, int64_t from, int64_t to)
{
	struct progress bar = progress_begin("deleting hosts' statistics", 0);
	struct version_range r = { .from = from, .to = to };
	struct arena a = { 0 };
	int64_t left = 1, done = 0;
	enum err e = OK;

	while (e == OK && left > 0) {
		arena_reset(&a);
		e = app_statistics_delete(x->db, &a, &r, &left, x->f);
		progress_set(&bar, done += left);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

static enum err app_delete_in_tx(struct cmd_ctx *x, void *arg)
{
	return app_delete(x->db, *(const int64_t *)arg, x->f);
}

static enum err remove_all(struct removal *r)
{
	struct cmd_ctx *x = r->x;
	bool *gone = NEWN(x->a, bool, r->added.n + 1);
	struct app off = *r->app;
	int64_t id = off.id;

	/* From now on its versions are not sent, whatever happens next. */
	off.deprecated = 1;
	TRY(app_update(x->db, &off, x->f));
	TRY(ctx_reread(x));
	TRY(conf_remove_daemons(x, r->added.daemons, r->added.n, true, gone));
	for (size_t i = 0; i < r->n; i++)
		if (r->items[i].why == NULL && r->items[i].path != NULL)
			TRY(fs_unlink(r->items[i].path, x->f));
	for (size_t i = 0; i < r->nversions; i++)
		TRY(statistics_away(x, r->versions[i].id, r->versions[i].id));
	/* Those of clients' own programs. */
	TRY(statistics_away(
	    x, resource_statistics_id(id, -1), resource_statistics_id(id + 1, -1) - 1));
	TRY(tools_transaction(x, app_delete_in_tx, &id));
	return ctx_reread(x);
}

static enum err app_remove_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct remove_opts *o = opts;
	struct removal r = { .x = x };
	struct catalog *c;
	struct print *l;

	(void)n;
	if (o->yes && !o->dry_run) /* no question keeps others waiting */
		TRY(ctx_alone(x));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &r.app));
	TRY(app_versions_of(x->db, x->a, r.app->id, &r.versions, &r.nversions, x->f));
	TRY(refuse_needed_app(&r));
	TRY(plan_all(&r, c));
	for (size_t i = 0; i < r.n; i++)
		if (r.items[i].why == NULL && r.items[i].path != NULL &&
		    fs_exists(r.items[i].path))
			TRY(fs_check_change(r.items[i].path, x->f));
	if (!o->dry_run) {
		TRY(confirm(x, o->yes, "remove app %s with %zu versions for ever",
		    r.app->name, r.nversions));
		TRY(remove_all(&r));
	}
	l = print_list(x, remove_columns);
	for (size_t i = 0; i < r.n; i++)
		print_cells(l, r.items[i].what, r.items[i].name, r.items[i].why == NULL,
		    r.items[i].why == NULL ? "" : r.items[i].why);
	print_end(l);
	return OK;
}

const struct cmd cmd_app_remove = { .name = "app remove",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "take an application out of the project",
	.about =
	    "Takes back locus app add, and says what it removes. Refused, with the reason, while\n"
	    "the app has workunits or large files, or a version that hosts have and that is not\n"
	    "deprecated. Removed are the app, its versions with their files in the download\n"
	    "directory, the hosts' statistics of them, its batches, the permissions to submit work\n"
	    "for it, and, as far as app add wrote them and nobody has changed them since, its\n"
	    "daemons in config.xml and its templates. Stay: credit that was granted for its work,\n"
	    "the archive of purged workunits, collected outputs, logs, the directory apps/NAME, and\n"
	    "files that hosts have. An interrupted run can be repeated.",
	.opts = remove_options,
	.opts_size = sizeof(struct remove_opts),
	.columns = remove_columns,
	.as_root = true,
	.run = app_remove_run };
