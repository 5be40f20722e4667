/* SPDX-License-Identifier: Apache-2.0 */
/* locus app version deprecate, undeprecate: which builds of an app are sent. */
#include <stdio.h>
#include <string.h>
#include "db/stmts.h"
#include "db/wu_updates.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "tools/version_text.h"
#include "lib/banned.h"

struct deprecate_opts {
	bool dry_run;
};

static const struct opt deprecate_options[] = {
	DRY_RUN_OPTION(struct deprecate_opts),
	{ 0 },
};

static const struct print_column deprecate_columns[] = {
	{ "id", NULL, PRINT_NUMBER, "id of the version" },
	{ "app", "APP", PRINT_TEXT, NULL },
	{ "version", "VERSION", PRINT_TEXT, "such as 1.07" },
	{ "platform", "PLATFORM", PRINT_TEXT, NULL },
	{ "plan_class", "CLASS", PRINT_TEXT, "plan class; empty = none" },
	{ "deprecated", "DEPRECATED", PRINT_FLAG, "no new jobs are sent with it" },
	{ "changed", "CHANGED", PRINT_FLAG, "it was otherwise before" },
	{ 0 },
};

struct version_choice { /* what the arguments name */
	const struct app *app;
	const struct platform *platform; /* NULL = any */
	const char *class;               /* NULL = any */
	int32_t num;
};

static bool
version_is_chosen(const struct version_choice *c, const struct app_version *v)
{
	return v->version_num == c->num &&
	       (c->platform == NULL || v->platformid == c->platform->id) &&
	       (c->class == NULL || strcmp(v->plan_class, c->class) == 0);
}

static enum err
version_choice_of(struct cmd_ctx *x, const struct catalog *c, char **args, size_t n,
    struct version_choice *q)
{
	char *platform, *colon;

	TRY(version_num_parse(x, args[1], &q->num));
	TRY(tools_app(x, c, args[0], &q->app));
	if (n < 3)
		return OK;
	platform = arena_strdup(x->a, args[2]);
	colon = strchr(platform, ':');
	q->class = colon == NULL ? "" : colon + 1;
	if (colon != NULL)
		*colon = '\0';
	return tools_platform(x, c, platform, &q->platform);
}

/* The versions that are there, for a message. */
static enum err
no_such_version(struct cmd_ctx *x, const struct version_choice *q, char **args,
    const struct app_version *v, size_t n)
{
	int32_t newest = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].version_num > newest)
			newest = v[i].version_num;
	if (n == 0)
		return ctx_not_found(x, "app %s has no versions", q->app->name);
	return ctx_not_found(x, "app %s has no version %s%s%s; its newest one is %s",
	    q->app->name, args[1], q->platform == NULL ? "" : " for ",
	    q->platform == NULL ? "" : args[2], version_num_text(x->a, newest));
}

/* Hosts of a platform without a version get no jobs of the app any more. */
static void
warn_of_gap(const struct catalog *c, const struct version_choice *q,
    const struct app_version *v, size_t n)
{
	for (size_t p = 0; p < c->nplatforms; p++) {
		bool lost = false, left = false;

		for (size_t i = 0; i < n; i++) {
			if (v[i].platformid != c->platforms[p].id)
				continue;
			lost |= version_is_chosen(q, &v[i]);
			left |= !version_is_chosen(q, &v[i]) && !v[i].deprecated;
		}
		if (lost && !left)
			fprintf(stderr,
			    "locus: no version of %s is left for %s: hosts of this platform get none of its jobs until there is one\n",
			    q->app->name, c->platforms[p].name);
	}
}

/* A withdrawn version's tasks go on until somebody ends them. */
static enum err
tell_of_tasks(struct cmd_ctx *x, const struct version_choice *q,
    const struct app_version *v, size_t n)
{
	int64_t *ids = NEWN(x->a, int64_t, n + 1);
	struct row_pair *tasks;
	size_t nids = 0, ntasks;

	for (size_t i = 0; i < n; i++)
		if (version_is_chosen(q, &v[i]))
			ids[nids++] = v[i].id;
	TRY(version_tasks(x->db, x->a, q->app->id, ids, nids, &tasks, &ntasks, x->f));
	if (ntasks > 0)
		fprintf(stderr,
		    "locus: %zu of its tasks are in progress and go on; locus work cancel --app %s --version %s ends them\n",
		    ntasks, q->app->name, version_num_text(x->a, q->num));
	return OK;
}

static const char *
platform_name(const struct catalog *c, int64_t id)
{
	for (size_t i = 0; i < c->nplatforms; i++)
		if (c->platforms[i].id == id)
			return c->platforms[i].name;
	return "";
}

static enum err
deprecate_versions(
    struct cmd_ctx *x, const struct deprecate_opts *o, char **args, size_t n, bool off)
{
	struct version_choice q = { 0 };
	struct app_version *v = NULL;
	struct print *l;
	struct catalog *c;
	size_t nv = 0, found = 0;

	TRY(tools_catalog(x, &c));
	TRY(version_choice_of(x, c, args, n, &q));
	TRY(app_versions_of(x->db, x->a, q.app->id, &v, &nv, x->f));
	for (size_t i = 0; i < nv; i++)
		found += version_is_chosen(&q, &v[i]);
	if (found == 0)
		return no_such_version(x, &q, args, v, nv);
	for (size_t i = 0; i < nv && !o->dry_run; i++)
		if (version_is_chosen(&q, &v[i]))
			TRY(app_version_set_deprecated(x->db, v[i].id, off, x->f));
	l = print_list(x, deprecate_columns);
	for (size_t i = 0; i < nv; i++) {
		if (!version_is_chosen(&q, &v[i]))
			continue;
		print_cells(l, v[i].id, q.app->name,
		    version_num_text(x->a, v[i].version_num),
		    platform_name(c, v[i].platformid), v[i].plan_class, off,
		    (v[i].deprecated != 0) != off);
	}
	print_end(l);
	if (off)
		warn_of_gap(c, &q, v, nv);
	if (off)
		TRY(tell_of_tasks(x, &q, v, nv));
	return o->dry_run ? OK : ctx_reread(x);
}

static enum err
version_deprecate_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	return deprecate_versions(x, opts, args, n, true);
}

static enum err
version_undeprecate_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	return deprecate_versions(x, opts, args, n, false);
}

const struct cmd cmd_version_deprecate = { .name = "app version deprecate",
	.alias = "version deprecate",
	.args = "APP VERSION [PLATFORM[:CLASS]]",
	.min_args = 2,
	.max_args = 3,
	.purpose = "withdraw a build of an app",
	.about =
	    "No new jobs are sent with the version, on all platforms or on the given one; the\n"
	    "schedulers notice within seconds, others of a cluster within a minute. Jobs in\n"
	    "progress go on, and their results count; locus work cancel --app APP --version\n"
	    "VERSION ends them.\n"
	    "Workunits that an app with --homogeneous-app-version has bound to the version still\n"
	    "use it. PLATFORM without :CLASS means the version without a plan class.",
	.opts = deprecate_options,
	.opts_size = sizeof(struct deprecate_opts),
	.columns = deprecate_columns,
	.run = version_deprecate_run };
const struct cmd cmd_version_undeprecate = { .name = "app version undeprecate",
	.alias = "version undeprecate",
	.args = "APP VERSION [PLATFORM[:CLASS]]",
	.min_args = 2,
	.max_args = 3,
	.purpose = "send a withdrawn build again",
	.about = "Takes back locus app version deprecate.",
	.opts = deprecate_options,
	.opts_size = sizeof(struct deprecate_opts),
	.columns = deprecate_columns,
	.run = version_undeprecate_run };
const struct cmd cmd_version_withdraw = { .name = "app version withdraw",
	.alias = "version withdraw",
	.args = "APP VERSION [PLATFORM[:CLASS]]",
	.min_args = 2,
	.max_args = 3,
	.purpose = "withdraw a build of an app",
	.about =
	    "The same as locus app version deprecate, under the name that many look for.",
	.opts = deprecate_options,
	.opts_size = sizeof(struct deprecate_opts),
	.columns = deprecate_columns,
	.run = version_deprecate_run };
