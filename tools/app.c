/* SPDX-License-Identifier: Apache-2.0 */
/* locus app add: the row, its templates and the daemons that it needs. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "proto/template.h"
#include "db/catalog.h"
#include "tools/app_parts.h"
#include "tools/catalog.h"
#include "tools/program.h"
#include "tools/conf_edit.h"
#include "tools/confirm.h"
#include "tools/same_work.h"
#include "tools/unit_run.h"
#include "lib/banned.h"

enum { NAME_MOST = 60 };

struct app_opts {
	const char *people, *in, *out, *generator, *validator, *assimilator;
	const char *locality, *program, *platform;
	bool no_locality, wrap, dry_run;
	int64_t min_version, weight, adaptive, quorum;
	struct conf_list daemons;
};

#define FIELD(name) offsetof(struct app_opts, name)
static const struct opt app_options[] = {
	{ "name", OPT_TEXT, FIELD(people), "TEXT",
	    "Name shown to users; default NAME." },
	{ "program", OPT_TEXT, FIELD(program), "FILE",
	    "Makes FILE version 1.00. Without templates, the app gets a pair for any program that reads a file \"in\" and writes a file \"out\"." },
	{ "wrap", OPT_FLAG, FIELD(wrap), NULL,
	    "The program knows nothing of BOINC: each task runs it through a wrapper, which tells the client that it has finished." },
	{ "platform", OPT_TEXT, FIELD(platform), "NAME",
	    "Platform of that program; default: this machine's." },
	{ "locality", OPT_TEXT, FIELD(locality), "file|none",
	    "file: jobs use large files that stay on hosts (the default); none: jobs go to any host." },
	{ "no-locality", OPT_FLAG, FIELD(no_locality), NULL,
	    "The same as --locality none." },
	{ "quorum", OPT_NUMBER, FIELD(quorum), "N",
	    "Sets min_quorum and target_nresults in the app's input template: so many results are made, and must agree." },
	{ "input-template", OPT_TEXT, FIELD(in), "FILE",
	    "Copies FILE to templates/NAME_in.xml, after a check." },
	{ "output-template", OPT_TEXT, FIELD(out), "FILE",
	    "Copies FILE to templates/NAME_out.xml, after a check." },
	{ "generator", OPT_MAYBE, FIELD(generator), "ARGS",
	    "Adds work_generator to the daemons, with these additional arguments, such as \"--ranges 1000\"." },
	{ "validator", OPT_MAYBE, FIELD(validator), "ARGS",
	    "Adds validator to the daemons, with these additional arguments." },
	{ "assimilator", OPT_MAYBE, FIELD(assimilator), "ARGS",
	    "Adds assimilator to the daemons, with these additional arguments." },
	{ "daemon", OPT_TEXTS, FIELD(daemons), "CMD",
	    "Adds this command to the daemons; may be repeated." },
	{ "min-version", OPT_NUMBER, FIELD(min_version), "N",
	    "Minimum version of the app; older ones are not used." },
	{ "weight", OPT_NUMBER, FIELD(weight), "N",
	    "Weight among the project's apps; default 1." },
	{ "adaptive", OPT_NUMBER, FIELD(adaptive), "N",
	    "Adaptive replication: a workunit starts with one result, whatever its template says, and is raised to N results and a quorum of N if its host is not trusted; see scheduler(8)." },
	DRY_RUN_OPTION(struct app_opts),
	{ 0 },
};

enum err
app_name_check(struct cmd_ctx *x, const char *name)
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

static struct new_daemon
daemon_of(struct cmd_ctx *x, const char *program, const char *app, const char *more,
    const char *args)
{
	const char *name = arena_printf(x->a, "%s-%s", program, app);

	return (struct new_daemon){ name,
		arena_printf(x->a, "%s --name %s --app %s%s%s%s", program, name, app,
		    more, args[0] == '\0' ? "" : " ", args) };
}

/* The daemons that the options ask for. */
static void
plan_daemons(struct cmd_ctx *x, const struct app_opts *o, const char *app,
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

static enum err
add_daemons(struct cmd_ctx *x, const struct app_added *added, bool dry)
{
	const char **names = NEWN(x->a, const char *, added->n + 1);

	if (!dry)
		TRY(conf_add_daemons(x, added->daemons, added->n));
	for (size_t i = 0; i < added->n; i++) {
		names[i] = added->daemons[i].name;
		ctx_progress(x, dry ? "would" : "added", "%sdaemon %s",
		    dry ? "add " : "", names[i]);
	}
	return dry ? OK : unit_run_follow(x, names, added->n);
}

/* Does the generator fill ranges into the template's command line? */
static bool
needs_ranges(const struct app_opts *o)
{
	return o->generator != NULL && strstr(o->generator, "-ranges") != NULL &&
	       strstr(o->generator, "-arguments") == NULL;
}

/* Reports what would make the generator exit at once. */
static enum err
check_generator(struct cmd_ctx *x, const struct app_opts *o, const char *app)
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

/* Refuses a daemon that could not be started. */
static enum err
check_daemon_programs(struct cmd_ctx *x, const struct app_opts *o)
{
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
	return OK;
}

/* Results of the same host or account do not confirm each other. */
static void
confirmation_hint(const struct cmd_ctx *x, const struct app_opts *o)
{
	if ((o->adaptive > 0 || o->quorum > 1) && !x->cf->one_result_per_user_per_wu &&
	    !x->cf->one_result_per_host_per_wu)
		fprintf(stderr,
		    "locus: one host may get all results of a workunit: right while all computers are yours; for volunteers, locus config set one_result_per_user_per_wu 1\n");
}

static enum err
check_program_options(struct cmd_ctx *x, const struct app_opts *o)
{
	if ((o->platform != NULL || o->wrap) && o->program == NULL)
		return ctx_usage(x, "--platform and --wrap belong to --program FILE");
	if (o->quorum > 0 && o->in == NULL && o->program == NULL)
		return ctx_usage(x,
		    "--quorum N changes the input template: give --input-template FILE, or --program FILE for the usual one");
	return OK;
}

static enum err
app_add_check_options(struct cmd_ctx *x, const struct app_opts *o)
{
	if (o->locality != NULL && strcmp(o->locality, "file") != 0 &&
	    strcmp(o->locality, "none") != 0)
		return ctx_usage(
		    x, "--locality %.40s: it must be file or none", o->locality);
	if (o->no_locality && o->locality != NULL && strcmp(o->locality, "file") == 0)
		return ctx_usage(
		    x, "--locality file and --no-locality are mutually exclusive");
	TRY(check_program_options(x, o));
	if (o->min_version > 1000000 || o->weight > 1000000 || o->adaptive > 1000 ||
	    o->quorum > 1000)
		return ctx_usage(x, "a number is too large");
	if (o->adaptive == 1)
		return ctx_usage(x, "--adaptive must be at least 2");
	return OK;
}

static bool
has_locality(const struct app_opts *o)
{
	return !o->no_locality &&
	       (o->locality == NULL || strcmp(o->locality, "none") != 0);
}

static enum err
app_add_templates(struct cmd_ctx *x, const struct app_opts *o, const char *app,
    struct app_added *added)
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

/* Everything that can be refused is refused before the first thing is created. */
static enum err
app_add_check(struct cmd_ctx *x, const struct app_opts *o, const char *app,
    const struct app_program *p, struct app_added *added)
{
	struct catalog *c;

	TRY(app_name_check(x, app));
	TRY(app_add_check_options(x, o));
	TRY(ctx_alone(x));
	TRY(tools_catalog(x, &c));
	if (catalog_app_named(c, app) != NULL)
		return FAIL(x->f, E_RACE, "there is an app %s already", app);
	TRY(check_generator(x, o, app));
	TRY(check_daemon_programs(x, o));
	plan_daemons(x, o, app, added);
	TRY(conf_check_new_daemons(x, added->daemons, added->n));
	TRY(same_work_refuse(x->a, x->cf, added->daemons, added->n, x->f));
	return o->program == NULL ? OK : app_program_check(x, app, p);
}

/* The row comes first, and with it what else is going to be written. */
static enum err
app_add_rows(struct cmd_ctx *x, const struct app_opts *o, struct app *app,
    const struct app_program *p, const struct app_added *added)
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

static void
app_add_announce(struct cmd_ctx *x, const struct app_opts *o, const struct app *app,
    const struct app_program *p)
{
	ctx_progress(x, "would", "create app %s (%s locality)", app->name,
	    app->locality_scheduling ? "with" : "without");
	if (o->program != NULL)
		ctx_progress(x, "would", "create version 1.00 of %s for %s", app->name,
		    p->platform);
}

static enum err
app_add_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
	if (o->dry_run)
		app_add_announce(x, o, &app, &p);
	else
		TRY(app_add_rows(x, o, &app, &p, &added));
	confirmation_hint(x, o);
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
