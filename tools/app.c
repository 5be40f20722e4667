/* SPDX-License-Identifier: Apache-2.0 */
/* locus app add: the row, its templates and the daemons that it needs. */
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "db/catalog.h"
#include "db/stmts.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "tools/app_parts.h"
#include "tools/catalog.h"
#include "tools/conf_edit.h"
#include "tools/terminal.h"
#include "tools/print/print.h"
#include "tools/program.h"
#include "tools/version.h"
#include "tools/work_retry.h"
#include "tools/census.h"
#include "tools/work_pick.h"
#include "lib/banned.h"

enum { NAME_MOST = 60 };

struct app_opts {
	const char *people, *in, *out, *generator, *validator, *assimilator;
	const char *locality, *program, *platform;
	bool no_locality, wrap, dry_run;
	int64_t min_version, weight, adaptive, quorum;
	struct text_list daemons;
};

#define ADD_FIELD(name) FIELD_OF(struct app_opts, name)
static const struct field app_options[] = {
	{ "name", ADD_FIELD(people), "TEXT", "Name shown to users; default NAME." },
	{ "program", ADD_FIELD(program), "FILE",
	    "Makes FILE version 1.00. Without templates, the app gets a pair for any program that reads a file \"in\" and writes a file \"out\"." },
	{ "wrap", ADD_FIELD(wrap), NULL,
	    "The program knows nothing of BOINC: each task runs it through a wrapper, which tells the client that it has finished." },
	{ "platform", ADD_FIELD(platform), "NAME",
	    "Platform of that program; default: this machine's." },
	{ "locality", ADD_FIELD(locality), "file|none",
	    "file: jobs use large files that stay on hosts (the default); none: jobs go to any host." },
	{ "no-locality", ADD_FIELD(no_locality), NULL, "The same as --locality none." },
	{ "quorum", ADD_FIELD(quorum), "N",
	    "Sets min_quorum and target_nresults in the app's input template: so many results are made, and must agree.",
	    .max = 1000 },
	{ "input-template", ADD_FIELD(in), "FILE",
	    "Copies FILE to templates/NAME_in.xml, after a check." },
	{ "output-template", ADD_FIELD(out), "FILE",
	    "Copies FILE to templates/NAME_out.xml, after a check." },
	{ "generator", ADD_FIELD(generator), "ARGS",
	    "Adds work_generator to the daemons, with these additional arguments, such as \"--ranges 1000\".",
	    .maybe = true },
	{ "validator", ADD_FIELD(validator), "ARGS",
	    "Adds validator to the daemons, with these additional arguments.",
	    .maybe = true },
	{ "assimilator", ADD_FIELD(assimilator), "ARGS",
	    "Adds assimilator to the daemons, with these additional arguments.",
	    .maybe = true },
	{ "daemon", ADD_FIELD(daemons), "CMD",
	    "Adds this command to the daemons; may be repeated." },
	{ "min-version", ADD_FIELD(min_version), "N",
	    "Minimum version of the app; older ones are not used.", .max = 1000000 },
	{ "weight", ADD_FIELD(weight), "N",
	    "Weight among the project's apps; default 1.", .max = 1000000 },
	{ "adaptive", ADD_FIELD(adaptive), "N",
	    "Adaptive replication: a workunit starts with one result, whatever its template says, and is raised to N results and a quorum of N if its host is not trusted; see scheduler(8).",
	    .max = 1000 },
	DRY_RUN_OPTION(struct app_opts),
	{ 0 },
};

enum err app_name_check(struct cmd_ctx *x, const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > NAME_MOST || strstr(name, "__") != NULL ||
	    strspn(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
		n ||
	    name[0] == '.' || name[0] == '-')
		return ctx_usage(x,
		    "\"%.80s\" cannot be an app's name: letters, digits and _ - . , no \"__\", at most %d",
		    name, NAME_MOST);
	return OK;
}

static struct new_daemon daemon_of(struct cmd_ctx *x, const char *program,
    const char *app, const char *more, const char *args)
{
	const char *name = arena_printf(x->a, "%s-%s", program, app);

	return (struct new_daemon){ name,
		arena_printf(x->a, "%s --name %s --app %s%s%s%s", program, name, app,
		    more, args[0] == '\0' ? "" : " ", args) };
}

/* The daemons that the options ask for. */
static void plan_daemons(struct cmd_ctx *x, const struct app_opts *o, const char *app,
    struct app_added *added)
{
	const char *templates = arena_printf(
	    x->a, " --input_template %s_in.xml --output_template %s_out.xml", app, app);
	struct new_daemon *p = NEWN(x->a, struct new_daemon, o->daemons.n + 3);
	size_t n = 0;

	if (o->generator != NULL)
		p[n++] = daemon_of(x, "work_generator", app, templates, o->generator);
	if (o->validator != NULL)
		p[n++] = daemon_of(x, "validator", app, "", o->validator);
	if (o->assimilator != NULL)
		p[n++] = daemon_of(x, "assimilator", app, "", o->assimilator);
	for (size_t i = 0; i < o->daemons.n; i++) {
		const char *cmd = o->daemons.v[i];
		const char *word = arena_memdup(x->a, cmd, strcspn(cmd, " \t"));
		const char *slash = strrchr(word, '/');

		p[n++] = (struct new_daemon){ arena_printf(x->a, "%s-%s",
						  slash == NULL ? word : slash + 1,
						  app),
			cmd };
	}
	added->daemons = p;
	added->n = n;
}

static enum err add_daemons(struct cmd_ctx *x, const struct app_added *added, bool dry)
{
	if (!dry)
		TRY(conf_add_daemons(x, added->daemons, added->n));
	for (size_t i = 0; i < added->n; i++)
		ctx_progress(x, dry ? "would" : "added", "%sdaemon %s",
		    dry ? "add " : "", added->daemons[i].name);
	return OK;
}

/* Does the generator fill ranges into the template's command line? */
static bool needs_ranges(const struct app_opts *o)
{
	return o->generator != NULL && strstr(o->generator, "-ranges") != NULL &&
	       strstr(o->generator, "-arguments") == NULL;
}

/* Reports what would make the generator exit at once. */
static enum err check_generator(
    struct cmd_ctx *x, const struct app_opts *o, const char *app)
{
	const char *const kinds[] = { o->in == NULL ? "in" : NULL,
		o->out == NULL ? "out" : NULL };

	if (o->generator == NULL)
		return OK;
	if (strstr(o->generator, "--ranges") == NULL &&
	    strstr(o->generator, "--command") == NULL)
		return ctx_usage(x,
		    "--generator=ARGS: ARGS must have --ranges TOTAL or --command CMD, see work_generator(8)");
	for (size_t i = 0; i < N(kinds); i++) {
		const char *name;

		if (kinds[i] == NULL)
			continue;
		/* A program gets a pair, whose command line has no range. */
		if (o->program != NULL && (i == 1 || !needs_ranges(o)))
			continue;
		name = arena_printf(x->a, "templates/%s_%s.xml", app, kinds[i]);
		if (!fs_exists(project_path(x->a, x->cf, name)) &&
		    strstr(o->generator, "_template") == NULL)
			return ctx_usage(x,
			    "the generator needs %s: provide it with --%sput-template FILE",
			    name, kinds[i]);
	}
	return OK;
}

static enum err check_program_options(struct cmd_ctx *x, const struct app_opts *o)
{
	if ((o->platform != NULL || o->wrap) && o->program == NULL)
		return ctx_usage(x, "--platform and --wrap belong to --program FILE");
	if (o->quorum > 0 && o->in == NULL && o->program == NULL)
		return ctx_usage(x,
		    "--quorum N changes the input template: give --input-template FILE, or --program FILE for the usual one");
	return OK;
}

static enum err app_add_check_options(struct cmd_ctx *x, const struct app_opts *o)
{
	if (o->locality != NULL && strcmp(o->locality, "file") != 0 &&
	    strcmp(o->locality, "none") != 0)
		return ctx_usage(
		    x, "--locality %.40s: it must be file or none", o->locality);
	if (o->no_locality && o->locality != NULL && strcmp(o->locality, "file") == 0)
		return ctx_usage(
		    x, "--locality file and --no-locality are mutually exclusive");
	TRY(check_program_options(x, o));
	if (o->adaptive == 1)
		return ctx_usage(x, "--adaptive must be at least 2");
	return OK;
}

static bool has_locality(const struct app_opts *o)
{
	return !o->no_locality &&
	       (o->locality == NULL || strcmp(o->locality, "none") != 0);
}

static enum err app_add_templates(struct cmd_ctx *x, const struct app_opts *o,
    const char *app, struct app_added *added)
{
	const struct app_templates t = { .in = o->in,
		.out = o->out,
		.first = o->program != NULL,
		.sticky = has_locality(o),
		.quorum = o->quorum,
		/* The generator makes work only for large files. */
		.large = needs_ranges(o)      ? LARGE_RANGES :
		         o->generator != NULL ? LARGE_FIRST :
		         has_locality(o)      ? LARGE_PERHAPS :
		                                LARGE_NONE,
		.dry_run = o->dry_run };

	return app_templates_install(x, app, &t, added);
}

/* The first version of a new app: one program, for the platform of this machine unless
 * another one is named. */
struct app_program { /* what becomes version 1.00 */
	const char *file, *platform;
	bool wrap; /* run by locus-wrapper */
};

/* Refuses a program that could not become a version: before anything is created. */
static enum err app_program_check(
    struct cmd_ctx *x, const char *app, const struct app_program *p)
{
	const struct platform *platform;
	struct catalog *c;
	struct stat st;

	if (stat(p->file, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", p->file);
	if (!S_ISREG(st.st_mode))
		return FAIL(
		    x->f, E_BADREQ, "%s is not a program: it is no file", p->file);
	if ((st.st_mode & 0111) == 0)
		return FAIL(x->f, E_BADREQ,
		    "%s is not a program: nobody may execute it; run: chmod +x %s",
		    p->file, p->file);
	TRY(tools_catalog(x, &c));
	if (catalog_app_named(c, app) != NULL)
		return FAIL(x->f, E_RACE, "there is an app %s already", app);
	TRY(tools_platform(x, c, p->platform, &platform));
	TRY(version_check_program(x, platform, p->file));
	if (p->wrap)
		TRY(version_name_wrapped(x,
		    &(struct version){
			.app = &(struct app){ .name = arena_strdup(x->a, app) },
			.platform = platform,
			.class = "",
			.text = "1.00" },
		    p->file));
	/* Is there a way to sign it? */
	const char *key = arena_printf(x->a, "%s/code_sign_private", x->cf->key_dir);

	if (fs_exists(key) ||
	    (!p->wrap && fs_exists(arena_printf(x->a, "%s.sig", p->file))))
		return OK;
	return FAIL(x->f, E_CONFIG,
	    "the code signing key is not on this machine: sign the program where it is (locus sign --key KEY %s), bring %s.sig here, and give it without --wrap",
	    p->file, p->file);
}

/* Makes the program version 1.00 of the app, which exists. */
static enum err app_program_add(
    struct cmd_ctx *x, const char *app, const struct app_program *p)
{
	struct version v = { .class = "", .text = "1.00", .num = 100 };
	struct catalog *c;

	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, app, &v.app));
	TRY(tools_platform(x, c, p->platform, &v.platform));
	char **path = NEWN(x->a, char *, 1);

	path[0] = arena_strdup(x->a, p->file);
	TRY(p->wrap ? version_name_wrapped(x, &v, p->file) :
		      version_name_files(x, &v, path, 1, NULL));
	TRY(version_keys_load(x, &v, NULL));
	TRY(version_sign(x, &v));
	TRY(version_insert(x, &v, NULL));
	ctx_progress(x, "created", "version %s of %s for %s", v.text, app, p->platform);
	return OK;
}

/* Everything that can be refused is refused before the first thing is created. */
static enum err app_add_check(struct cmd_ctx *x, const struct app_opts *o,
    const char *app, const struct app_program *p, struct app_added *added)
{
	struct catalog *c;

	TRY(app_name_check(x, app));
	TRY(app_add_check_options(x, o));
	TRY(ctx_alone(x));
	TRY(tools_catalog(x, &c));
	if (catalog_app_named(c, app) != NULL)
		return FAIL(x->f, E_RACE, "there is an app %s already", app);
	TRY(check_generator(x, o, app));
	/* Refuses a daemon that could not be started. */
	for (size_t i = 0; i < o->daemons.n; i++) {
		char **argv;
		enum err e = proc_split(x->a, o->daemons.v[i], &argv, x->f);

		if (e != OK)
			return e;
		if (program_find(x->a, x->cf, argv[0]) == NULL)
			return FAIL(x->f, E_BADREQ,
			    "--daemon %s: there is no program %s in the project's bin, among the installed ones or on PATH, so nothing was created; put it there first and make it executable",
			    o->daemons.v[i], argv[0]);
	}

	plan_daemons(x, o, app, added);
	TRY(conf_check_new_daemons(x, added->daemons, added->n));
	TRY(same_work_refuse(x->a, x->cf, added->daemons, added->n, x->f));
	return o->program == NULL ? OK : app_program_check(x, app, p);
}

/* The row comes first, and with it what else is going to be written. */
static enum err app_add_rows(struct cmd_ctx *x, const struct app_opts *o,
    struct app *app, const struct app_program *p, const struct app_added *added)
{
	enum err e = app_insert(x->db, app, x->f);

	if (e == E_RACE)
		return FAIL(x->f, E_RACE, "there is an app %s already", app->name);
	TRY(e);
	TRY(app_added_note(x->db, app->id, app_added_text(x->a, added), x->f));
	ctx_progress(x, "created", "app %s (%s locality)", app->name,
	    app->locality_scheduling ? "with" : "without");
	if (o->program != NULL)
		TRY(app_program_add(x, app->name, p));
	return ctx_reread(x);
}

static enum err app_add_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct app_opts *o = opts;
	struct app app = { .create_time = clock_now(),
		.name = args[0],
		.user_friendly_name = arena_strdup(
		    x->a, o->people == NULL ? args[0] : o->people),
		.min_version = (int32_t)o->min_version,
		.weight = o->weight == 0 ? 1 : (double)o->weight,
		.target_nresults = (int32_t)o->adaptive,
		.locality_scheduling = has_locality(o) };
	const struct app_program p = { .file = o->program,
		.platform = o->platform != NULL ? o->platform : program_platform(),
		.wrap = o->wrap };
	struct app_added added = { 0 };

	(void)n;
	TRY(app_add_check(x, o, app.name, &p, &added));
	TRY(app_add_templates(x, o, app.name, &added));
	if (o->dry_run) {
		ctx_progress(x, "would", "create app %s (%s locality)", app.name,
		    app.locality_scheduling ? "with" : "without");
		if (o->program != NULL)
			ctx_progress(x, "would", "create version 1.00 of %s for %s",
			    app.name, p.platform);
	} else
		TRY(app_add_rows(x, o, &app, &p, &added));
	/* Results of the same host or account do not confirm each other. */
	if ((o->adaptive > 0 || o->quorum > 1) && !x->cf->one_result_per_user_per_wu &&
	    !x->cf->one_result_per_host_per_wu)
		fprintf(stderr,
		    "locus: one host may get all results of a workunit: right while all computers are yours; for volunteers, locus config set one_result_per_user_per_wu 1\n");
	return add_daemons(x, &added, o->dry_run);
}

const struct cmd cmd_app_add = { .name = "app add",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "create an application",
	.about =
	    "Creates an application and adds the daemons that it needs to config.xml; a running\n"
	    "project starts them at once. With --program, the app is ready for work\n"
	    "at once; the template templates/NAME_in.xml has the command line with which the\n"
	    "program is called, and its limits, and may be edited at any time.",
	.opts = app_options,
	.opts_size = sizeof(struct app_opts),
	.as_root = true,
	.run = app_add_run };

/* locus app list, app show, version list, show and set. */

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

static void app_put(struct print *l, const struct app *app, int64_t versions)
{
	print_cells(l, app->id, app->name, app->user_friendly_name, versions,
	    app->weight, app->locality_scheduling != 0, app->target_nresults,
	    app->beta != 0, app->deprecated != 0, app->drain_time, app->min_version,
	    app->homogeneous_redundancy, app->homogeneous_app_version != 0,
	    app->non_cpu_intensive != 0, app->create_time);
}

static enum err versions_of(
    struct cmd_ctx *x, int64_t appid, struct row_version_line **v, size_t *n)
{
	*v = NULL;
	return db_query(x->db, x->a, x->f, v, n, VERSIONS_LISTED, .appid = appid);
}

static int64_t versions_in_use(
    const struct row_version_line *v, size_t n, int64_t appid)
{
	int64_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += v[i].appid == appid && !v[i].deprecated;
	return used;
}

static enum err app_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
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

static enum err count_states(struct cmd_ctx *x, int64_t appid, int64_t *counts)
{
	struct tally_states *v;
	size_t n;

	TRY(tally_states_read(x, TALLY_OF_APP, appid, &v, &n));
	for (int i = 0; n > 0 && i < PICK_STATES; i++)
		counts[i] = v[0].n[i];
	return OK;
}

static enum err app_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
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
	    "locus version list lists its versions, locus explain app its failures.",
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

static void version_put(struct cmd_ctx *x, struct print *l, const struct catalog *c,
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

static enum err version_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
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
	               ctx_not_found(
			   x, "there is no app version; locus version add adds one");
}

const struct cmd cmd_version_list = { .name = "version list",
	.args = "[APP]",
	.max_args = 1,
	.purpose = "list the versions of an application",
	.about =
	    "Lists the versions of an app, or of all apps, the newest of each first, with those\n"
	    "that are deprecated.",
	.columns = version_columns,
	.run = version_list_run };

static enum err find_version(
    struct cmd_ctx *x, const char *arg, struct catalog **c, struct row_version_line **v)
{
	struct row_version_line *all;
	int64_t id;
	size_t n;

	if (!text_i64(arg, 1, INT64_MAX, &id))
		return ctx_usage(x,
		    "\"%.40s\" is not the id of an app version; locus version list shows them",
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
	    "; locus version list shows them",
	    id);
}

static enum err version_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

const struct cmd cmd_version_show = { .name = "version show",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show a version of an application",
	.about =
	    "Shows a version, given by its id in locus version list, and the names of its files.",
	.columns = version_show_columns,
	.run = version_show_run };

struct version_set_opts { /* NULL = unchanged */
	const int64_t *beta, *min_client, *max_client;
	bool dry_run;
};
#define OFF(member) FIELD_OF(struct version_set_opts, member)

static const struct field version_set_options[] = {
	{ "beta", OFF(beta), "0|1",
	    "1: only for accounts that volunteered to test apps.", .max = 1 },
	{ "min-client", OFF(min_client), "N",
	    "Oldest client that may get it, such as 72005 for 7.20.5; 0: any.",
	    .max = 9999999 },
	{ "max-client", OFF(max_client), "N", "Newest such client; 0: any.",
	    .max = 9999999 },
	DRY_RUN_OPTION(struct version_set_opts),
	{ 0 },
};

static enum err version_set_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
	set_given(o->beta, &v->beta);
	set_given(o->min_client, &v->min_core);
	set_given(o->max_client, &v->max_core);
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

const struct cmd cmd_version_set = { .name = "version set",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "change a version of an application",
	.about =
	    "Changes which clients and accounts get a version; its files and number never change.\n"
	    "locus version deprecate withdraws it.",
	.opts = version_set_options,
	.opts_size = sizeof(struct version_set_opts),
	.columns = set_columns,
	.run = version_set_run };

/* locus app set: changes the settings of an application. */

struct set_opts { /* NULL = unchanged */
	const char *people, *weight;
	const int64_t *min_version, *adaptive, *locality, *deprecated;
	const int64_t *beta, *no_cpu, *hr, *hav, *exact;
	bool dry_run;
};

#define SET_FIELD(name) FIELD_OF(struct set_opts, name)
static const struct field set_options[] = {
	{ "name", SET_FIELD(people), "TEXT", "Name shown to users." },
	{ "deprecated", SET_FIELD(deprecated), "0|1", "1: its jobs are no longer sent.",
	    .max = 1 },
	{ "weight", SET_FIELD(weight), "N",
	    "Weight among the project's apps; -1: only for hosts that have earned credit." },
	{ "min-version", SET_FIELD(min_version), "N",
	    "Minimum version of the app; older ones are not used; 0: no minimum.",
	    .max = 1000000 },
	{ "adaptive", SET_FIELD(adaptive), "N",
	    "Adaptive replication with this number of results, see scheduler(8); 0: none.",
	    .max = 1000 },
	{ "locality", SET_FIELD(locality), "0|1",
	    "1: jobs use large files that stay on hosts.", .max = 1 },
	{ "beta", SET_FIELD(beta), "0|1",
	    "1: only for accounts that volunteered to test apps.", .max = 1 },
	{ "non-cpu-intensive", SET_FIELD(no_cpu), "0|1",
	    "1: it uses almost no CPU; every host gets one job at a time.", .max = 1 },
	{ "homogeneous-redundancy", SET_FIELD(hr), "0|1|2",
	    "All results of a workunit go to hosts of the same class: 1 fine-grained, 2 coarse-grained.",
	    .max = 2 },
	{ "homogeneous-app-version", SET_FIELD(hav), "0|1",
	    "1: all results of a workunit use the same version of the app.", .max = 1 },
	{ "fraction-done-exact", SET_FIELD(exact), "0|1",
	    "1: its programs report their exact progress.", .max = 1 },
	DRY_RUN_OPTION(struct set_opts),
	{ 0 },
};

/* The columns that these options set, by the option's name. */
static const struct field numbers[] = {
	{ "deprecated", FIELD_OF(struct app, deprecated) },
	{ "min-version", FIELD_OF(struct app, min_version) },
	{ "adaptive", FIELD_OF(struct app, target_nresults) },
	{ "locality", FIELD_OF(struct app, locality_scheduling) },
	{ "beta", FIELD_OF(struct app, beta) },
	{ "non-cpu-intensive", FIELD_OF(struct app, non_cpu_intensive) },
	{ "homogeneous-redundancy", FIELD_OF(struct app, homogeneous_redundancy) },
	{ "homogeneous-app-version", FIELD_OF(struct app, homogeneous_app_version) },
	{ "fraction-done-exact", FIELD_OF(struct app, fraction_done_exact) },
	{ 0 },
};

static enum err app_set_numbers(
    struct cmd_ctx *x, const struct set_opts *o, struct app *app)
{
	const char *near;

	for (const struct field *c = numbers; c->name != NULL; c++) {
		const struct field *option = field_find(
		    set_options, c->name, false, &near);
		const int64_t *value;

		memcpy(&value, (const char *)o + option->off, sizeof(value));
		if (value != NULL)
			field_put_whole(c, app, *value);
	}
	if (app->target_nresults == 1)
		return ctx_usage(x, "--adaptive must be 0 or at least 2");
	return OK;
}

static enum err app_set_weight(struct cmd_ctx *x, const char *value, struct app *app)
{
	double v;

	if (value == NULL)
		return OK;
	if (!text_f64(value, &v) || v > 1e6 || (v < 0 && v != -1))
		return ctx_usage(
		    x, "--weight must be a number from 0 to 1000000, or -1");
	app->weight = v;
	return OK;
}

static enum err app_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	static const struct set_opts nothing, only_dry = { .dry_run = true };
	const struct set_opts *o = opts;
	struct catalog *c;
	const struct app *was;
	struct app app;

	(void)n;
	if (memcmp(o, &nothing, sizeof(nothing)) == 0 ||
	    memcmp(o, &only_dry, sizeof(only_dry)) == 0)
		return ctx_usage(x, "nothing to change: give at least one option");
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &was));
	app = *was;
	if (o->people != NULL)
		app.user_friendly_name = arena_strdup(x->a, o->people);
	TRY(app_set_numbers(x, o, &app));
	TRY(app_set_weight(x, o->weight, &app));
	if (!o->dry_run)
		TRY(app_update(x->db, &app, x->f));
	struct set_report r = set_report_new(x);

	set_report_text(&r, "name", was->user_friendly_name, app.user_friendly_name);
	set_report_real(&r, "weight", was->weight, app.weight);
	for (const struct field *k = numbers; k->name != NULL; k++)
		set_report_number(
		    &r, k->name, field_whole(k, was), field_whole(k, &app));
	set_report_print(&r, o->dry_run, arena_printf(x->a, "app %s", app.name));
	return o->dry_run ? OK : ctx_reread(x);
}

const struct cmd cmd_app_set = { .name = "app set",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "change an application",
	.about =
	    "Changes what the options name and leaves the rest; the schedulers pick it up within\n"
	    "seconds. Existing workunits keep their number of results and their quorum.",
	.opts = set_options,
	.opts_size = sizeof(struct set_opts),
	.columns = set_columns,
	.run = app_set_run };
