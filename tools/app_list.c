/* SPDX-License-Identifier: Apache-2.0 */
/* locus app list, app show, app version list, show and set. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "db/stmts.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "tools/progress.h"
#include "tools/set_report.h"
#include "tools/work_pick.h"
#include "tools/tallies.h"
#include "lib/banned.h"

static const struct print_column app_columns[] = {
	{ "id", "ID", PRINT_NUMBER, NULL },
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "title", "TITLE", PRINT_TEXT, "as users see it" },
	{ "versions", "VERSIONS", PRINT_NUMBER, "that are not deprecated" },
	{ "weight", "WEIGHT", PRINT_REAL, NULL },
	{ "locality", "LOCALITY", PRINT_FLAG,
	    "its jobs use large files that stay on hosts" },
	{ "adaptive", "ADAPTIVE", PRINT_NUMBER,
	    "results with adaptive replication; 0: none" },
	{ "beta", "BETA", PRINT_FLAG, NULL },
	{ "deprecated", "DEPRECATED", PRINT_FLAG, "its jobs are not sent" },
	{ "drained", "DRAINED", PRINT_TIME,
	    "since when an admin drains it; null: it is not" },
	{ "min_version", NULL, PRINT_NUMBER, NULL },
	{ "homogeneous_redundancy", NULL, PRINT_NUMBER, NULL },
	{ "homogeneous_app_version", NULL, PRINT_FLAG, NULL },
	{ "non_cpu_intensive", NULL, PRINT_FLAG, NULL },
	{ "created", "CREATED", PRINT_TIME, NULL },
	{ 0 },
};

static void
app_put(struct print *l, const struct app *app, int64_t versions)
{
	print_cells(l, app->id, app->name, app->user_friendly_name, versions,
	    app->weight, app->locality_scheduling != 0, app->target_nresults,
	    app->beta != 0, app->deprecated != 0, app->drain_time, app->min_version,
	    app->homogeneous_redundancy, app->homogeneous_app_version != 0,
	    app->non_cpu_intensive != 0, app->create_time);
}

static enum err
versions_of(struct cmd_ctx *x, int64_t appid, struct row_version_line **v, size_t *n)
{
	*v = NULL;
	return db_query(x->db, x->a, x->f, v, n, VERSIONS_LISTED, .appid = appid);
}

static int64_t
versions_in_use(const struct row_version_line *v, size_t n, int64_t appid)
{
	int64_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += v[i].appid == appid && !v[i].deprecated;
	return used;
}

static enum err
app_list_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct row_version_line *versions;
	struct catalog *c;
	struct print *l;
	size_t n;

	(void)opts, (void)args, (void)nargs;
	TRY(ctx_db_report(x));
	TRY(tools_catalog(x, &c));
	TRY(versions_of(x, 0, &versions, &n));
	l = print_list(x, app_columns);
	for (size_t i = 0; i < c->napps; i++)
		app_put(l, &c->apps[i], versions_in_use(versions, n, c->apps[i].id));
	print_end(l);
	return c->napps > 0 ?
	           OK :
	           ctx_not_found(x, "there is no app; locus app add creates one");
}

const struct cmd cmd_app_list = { .name = "app list",
	.args = "",
	.purpose = "list applications",
	.about =
	    "Lists the applications, how many versions of each are in use, and its settings.",
	.columns = app_columns,
	.run = app_list_run };

/* --- app show --- */

static const struct print_column app_show_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "name", "name", PRINT_TEXT, NULL },
	{ "title", "title", PRINT_TEXT, "as users see it" },
	{ "versions", "versions in use", PRINT_NUMBER, NULL },
	{ "weight", "weight", PRINT_REAL, NULL },
	{ "locality", "locality", PRINT_FLAG, NULL },
	{ "adaptive", "adaptive replication", PRINT_NUMBER, "0: none" },
	{ "beta", "beta", PRINT_FLAG, NULL },
	{ "deprecated", "deprecated", PRINT_FLAG, NULL },
	{ "drained", "drained", PRINT_TIME, "since when; null: it is not drained" },
	{ "min_version", "minimum version", PRINT_NUMBER, NULL },
	{ "homogeneous_redundancy", "homogeneous redundancy", PRINT_NUMBER, NULL },
	{ "homogeneous_app_version", "homogeneous app version", PRINT_FLAG, NULL },
	{ "non_cpu_intensive", "uses almost no CPU", PRINT_FLAG, NULL },
	{ "created", "created", PRINT_TIME, NULL },
	{ "workunits", "workunits", PRINT_NUMBER, NULL },
	{ "waiting", "  waiting", PRINT_NUMBER, "as in work list" },
	{ "unsent", "  unsent", PRINT_NUMBER, NULL },
	{ "in_progress", "  in progress", PRINT_NUMBER, NULL },
	{ "to_validate", "  to validate", PRINT_NUMBER, NULL },
	{ "valid", "  valid", PRINT_NUMBER, "not assimilated yet" },
	{ "assimilated", "  assimilated", PRINT_NUMBER, NULL },
	{ "failed", "  failed", PRINT_NUMBER, NULL },
	{ "cancelled", "  cancelled", PRINT_NUMBER, NULL },
	{ 0 },
};

static enum err
count_states(struct cmd_ctx *x, int64_t appid, int64_t *counts)
{
	struct tally_states *v;
	size_t n;

	TRY(tally_states_read(x, TALLY_OF_APP, appid, &v, &n));
	for (int i = 0; n > 0 && i < PICK_STATES; i++)
		counts[i] = v[0].n[i];
	return OK;
}

static enum err
app_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	int64_t counts[PICK_STATES] = { 0 }, total = 0;
	struct row_version_line *versions;
	const struct app *app;
	struct catalog *c;
	struct print *l;
	size_t n;

	(void)opts, (void)nargs;
	TRY(ctx_db_report(x));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &app));
	TRY(versions_of(x, app->id, &versions, &n));
	TRY(count_states(x, app->id, counts));
	l = print_record_begin(x, app_show_columns);
	app_put(l, app, versions_in_use(versions, n, app->id));
	for (int i = 0; i < PICK_STATES; i++)
		total += counts[i];
	print_cells(l, total);
	for (int i = 0; i < PICK_STATES; i++)
		print_cells(l, counts[i]);
	print_end(l);
	return OK;
}

const struct cmd cmd_app_show = { .name = "app show",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show an application: settings and workunits",
	.about =
	    "Shows an application's settings and how many of its workunits are in each state.\n"
	    "locus app version list lists its versions, locus explain app its failures.",
	.columns = app_show_columns,
	.run = app_show_run };

/* --- versions --- */

static const struct print_column version_columns[] = {
	{ "id", "ID", PRINT_NUMBER, NULL },
	{ "app", "APP", PRINT_TEXT, NULL },
	{ "version", "VERSION", PRINT_TEXT, NULL },
	{ "platform", "PLATFORM", PRINT_TEXT, NULL },
	{ "plan_class", "PLAN CLASS", PRINT_TEXT, NULL },
	{ "files", "FILES", PRINT_NUMBER, NULL },
	{ "size", "SIZE", PRINT_BYTES, "of its files" },
	{ "judged", "JUDGED", PRINT_REAL, "results from which its speed was learned" },
	{ "beta", "BETA", PRINT_FLAG, NULL },
	{ "deprecated", "DEPRECATED", PRINT_FLAG, "not sent any more" },
	{ "min_client", NULL, PRINT_NUMBER, "such as 72005 for 7.20.5; 0: any" },
	{ "max_client", NULL, PRINT_NUMBER, "0: any" },
	{ "created", "CREATED", PRINT_TIME, NULL },
	{ 0 },
};
static const struct print_column version_show_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "app", "app", PRINT_TEXT, NULL },
	{ "version", "version", PRINT_TEXT, NULL },
	{ "platform", "platform", PRINT_TEXT, NULL },
	{ "plan_class", "plan class", PRINT_TEXT, NULL },
	{ "files", "files", PRINT_NUMBER, NULL },
	{ "size", "size", PRINT_BYTES, "of its files" },
	{ "judged", "results judged", PRINT_REAL, "from which its speed was learned" },
	{ "beta", "beta", PRINT_FLAG, NULL },
	{ "deprecated", "deprecated", PRINT_FLAG, NULL },
	{ "min_client", "minimum client", PRINT_NUMBER,
	    "such as 72005 for 7.20.5; 0: any" },
	{ "max_client", "maximum client", PRINT_NUMBER, "0: any" },
	{ "created", "created", PRINT_TIME, NULL },
	{ "file_names", "file names", PRINT_TEXT, NULL },
	{ 0 },
};

static void
version_put(struct cmd_ctx *x, struct print *l, const struct catalog *c,
    const struct row_version_line *v, char **names)
{
	const struct app *app = catalog_app(c, v->appid);
	struct blob_file *files;
	struct fail f = { 0 };
	double bytes = 0;
	size_t n = 0;

	if (blob_files(x->a, v->xml_doc, &files, &n, &f) != OK)
		n = 0;
	*names = arena_strdup(x->a, "");
	for (size_t i = 0; i < n; i++) {
		bytes += files[i].nbytes;
		*names = arena_printf(
		    x->a, "%s%s%s", *names, i == 0 ? "" : " ", files[i].name);
	}
	print_cells(l, v->id, app == NULL ? "" : app->name,
	    arena_printf(x->a, "%d.%02d", v->number / 100, v->number % 100),
	    v->platform, v->plan_class, (int64_t)n, bytes, v->judged, v->beta != 0,
	    v->deprecated != 0, v->min_core, v->max_core, v->create_time);
}

static enum err
version_list_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct row_version_line *v;
	const struct app *app = NULL;
	struct catalog *c;
	struct print *l;
	char *names;
	size_t n;

	(void)opts;
	TRY(ctx_db_report(x));
	TRY(tools_catalog(x, &c));
	if (nargs > 0)
		TRY(tools_app(x, c, args[0], &app));
	TRY(versions_of(x, app == NULL ? 0 : app->id, &v, &n));
	l = print_list(x, version_columns);
	for (size_t i = 0; i < n; i++)
		version_put(x, l, c, &v[i], &names);
	print_end(l);
	return n > 0 ? OK :
	               ctx_not_found(x,
			   "there is no app version; locus app version add adds one");
}

const struct cmd cmd_version_list = { .name = "app version list",
	.alias = "version list",
	.args = "[APP]",
	.max_args = 1,
	.purpose = "list the versions of an application",
	.about =
	    "Lists the versions of an app, or of all apps, the newest of each first, with those\n"
	    "that are deprecated.",
	.columns = version_columns,
	.run = version_list_run };

static enum err
find_version(
    struct cmd_ctx *x, const char *arg, struct catalog **c, struct row_version_line **v)
{
	struct row_version_line *all;
	int64_t id;
	size_t n;

	if (!text_i64(arg, 1, INT64_MAX, &id))
		return ctx_usage(x,
		    "\"%.40s\" is not the id of an app version; locus app version list shows them",
		    arg);
	TRY(tools_catalog(x, c));
	TRY(versions_of(x, 0, &all, &n));
	for (size_t i = 0; i < n; i++)
		if (all[i].id == id) {
			*v = &all[i];
			return OK;
		}
	return ctx_not_found(x,
	    "there is no app version with the id %" PRId64
	    "; locus app version list shows them",
	    id);
}

static enum err
version_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct row_version_line *v;
	struct catalog *c;
	struct print *l;
	char *names;

	(void)opts, (void)n;
	TRY(ctx_db_report(x));
	TRY(find_version(x, args[0], &c, &v));
	l = print_record_begin(x, version_show_columns);
	version_put(x, l, c, v, &names);
	print_cells(l, names);
	print_end(l);
	return OK;
}

const struct cmd cmd_version_show = { .name = "app version show",
	.alias = "version show",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show a version of an application",
	.about =
	    "Shows a version, given by its id in locus app version list, and the names of its files.",
	.columns = version_show_columns,
	.run = version_show_run };

struct version_set_opts { /* NULL = unchanged */
	const char *beta, *min_client, *max_client;
	bool dry_run;
};
#define OFF(member) offsetof(struct version_set_opts, member)

static const struct opt version_set_options[] = {
	{ "beta", OPT_TEXT, OFF(beta), "0|1",
	    "1: only for accounts that volunteered to test apps." },
	{ "min-client", OPT_TEXT, OFF(min_client), "N",
	    "Oldest client that may get it, such as 72005 for 7.20.5; 0: any." },
	{ "max-client", OPT_TEXT, OFF(max_client), "N", "Newest such client; 0: any." },
	DRY_RUN_OPTION(struct version_set_opts),
	{ 0 },
};

static enum err
limit_parse(
    struct cmd_ctx *x, const char *name, const char *value, int64_t most, int32_t *to)
{
	int64_t v;

	if (value == NULL)
		return OK;
	if (!text_i64(value, 0, most, &v))
		return ctx_usage(x,
		    "--%s %.40s: it must be a whole number from 0 to %" PRId64, name,
		    value, most);
	*to = (int32_t)v;
	return OK;
}

static enum err
version_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct version_set_opts *o = opts;
	struct row_version_line *v, was;
	struct set_report r = set_report_new(x);
	struct catalog *c;

	(void)n;
	if (o->beta == NULL && o->min_client == NULL && o->max_client == NULL)
		return ctx_usage(x, "nothing to change: give at least one option");
	TRY(ctx_db(x));
	TRY(find_version(x, args[0], &c, &v));
	was = *v;
	TRY(limit_parse(x, "beta", o->beta, 1, &v->beta));
	TRY(limit_parse(x, "min-client", o->min_client, 9999999, &v->min_core));
	TRY(limit_parse(x, "max-client", o->max_client, 9999999, &v->max_core));
	if (v->max_core > 0 && v->max_core < v->min_core)
		return ctx_usage(x,
		    "--max-client %d is below --min-client %d: no client could get it",
		    v->max_core, v->min_core);
	if (!o->dry_run)
		TRY(db_exec(x->db, x->f, NULL, VERSION_SET, .beta = v->beta,
		    .min_core = v->min_core, .max_core = v->max_core, .id = v->id));
	set_report_number(&r, "beta", was.beta, v->beta);
	set_report_number(&r, "min-client", was.min_core, v->min_core);
	set_report_number(&r, "max-client", was.max_core, v->max_core);
	set_report_print(
	    &r, o->dry_run, arena_printf(x->a, "app version %" PRId64, v->id));
	return o->dry_run ? OK : ctx_reread(x);
}

const struct cmd cmd_version_set = { .name = "app version set",
	.alias = "version set",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "change a version of an application",
	.about =
	    "Changes which clients and accounts get a version; its files and number never change.\n"
	    "locus app version deprecate withdraws it.",
	.opts = version_set_options,
	.opts_size = sizeof(struct version_set_opts),
	.columns = set_columns,
	.run = version_set_run };
