/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus version add: copies the program files to the download directory under names
 * whose content never changes, then adds their signatures and the row. Files come
 * first: a row whose files are missing would make every host fail.
 */
#include "tools/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "db/stmts.h"
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/dir_cure.h"
#include "tools/key.h"
#include "tools/plan_class.h"
#include "tools/print/print.h"
#include "tools/program.h"
#include "lib/banned.h"

enum {
	MAJOR_LARGEST = 20000000, /* that fits the column */
	MAJOR_SENSIBLE = 9999,
	MAJOR_STEP = 100, /* above the highest one */
	MINORS = 100
};

enum err version_num_parse(struct cmd_ctx *x, const char *text, int32_t *num)
{
	char *dot, *end;
	long major = strtol(text, &dot, 10), minor;

	if (dot == text || *dot != '.' || major < 0 || major > MAJOR_LARGEST)
		return ctx_usage(
		    x, "version \"%.60s\": must be MAJOR.MINOR, such as 1.00", text);
	minor = strtol(dot + 1, &end, 10);
	if (end == dot + 1 || *end != '\0' || dot[1] == '-' || dot[1] == '+' ||
	    minor >= MINORS || minor < 0)
		return ctx_usage(
		    x, "version \"%.60s\": the minor version must be 0 to 99", text);
	*num = (int32_t)(major * MINORS + minor);
	if (*num == 0)
		return ctx_usage(
		    x, "version 0.00 stands for \"none\"; start with 0.01");
	return OK;
}

char *version_num_text(struct arena *a, int32_t num)
{
	return arena_printf(a, "%d.%02d", num / MINORS, num % MINORS);
}

const char *version_senseless(struct arena *a, int32_t num, int32_t highest)
{
	int32_t major = num / MINORS;

	if (major > MAJOR_SENSIBLE)
		return arena_printf(a, "a major version above %d is probably a slip",
		    (int)MAJOR_SENSIBLE);
	if (highest > 0 && major > highest / MINORS + MAJOR_STEP)
		return arena_printf(a, "it is far above %s, the highest one so far",
		    version_num_text(a, highest));
	return NULL;
}

enum err version_builds_find(
    struct cmd_ctx *x, const char *app, const char *version, struct version_builds *b)
{
	struct app_version *v = NULL;
	struct catalog *c;
	bool sent = false;
	size_t n = 0;
	int32_t num;

	TRY(version_num_parse(x, version, &num));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, app, &b->app));
	TRY(app_versions_of(x->db, x->a, b->app->id, &v, &n, x->f));
	b->text = version_num_text(x->a, num);
	b->ids = NEWN(x->a, int64_t, n + 1);
	b->n = 0;
	for (size_t i = 0; i < n && b->n < DB_LIST_MAX; i++)
		if (v[i].version_num == num) {
			b->ids[b->n++] = v[i].id;
			sent = sent || !v[i].deprecated;
		}
	if (b->n == 0)
		return ctx_not_found(x, "app %s has no version %s", app, b->text);
	if (sent)
		fprintf(stderr,
		    "locus: version %s is still sent; locus version withdraw %s %s ends this\n",
		    b->text, app, b->text);
	return OK;
}

enum { SIGNATURE_MAX = 4096 };

struct version_opts {
	const char *main, *key, *signatures, *api_version;
	bool any_class, force, dry_run, wrap;
};

#define FIELD(name) FIELD_OF(struct version_opts, name)
static const struct field version_options[] = {
	{ "main", FIELD(main), "FILE", "The main program; default: the first file." },
	{ "wrap", FIELD(wrap), NULL,
	    "The only FILE is a program that knows nothing of BOINC: each task runs it through a wrapper, as with app add --wrap." },
	{ "sign-with", FIELD(key), "KEY",
	    "Private key to sign files that have no FILE.sig; default: keys/code_sign_private of the project." },
	{ "sig", FIELD(signatures), "DIR",
	    "Directory with the FILE.sig of each file, made on the machine that has the key; default: beside the file." },
	{ "any-class", FIELD(any_class), NULL,
	    "Accepts a plan class that is not (yet) in plan_class_spec.xml." },
	{ "force", FIELD(force), NULL,
	    "Accepts a version number that is probably a slip." },
	DRY_RUN_OPTION(struct version_opts),
	{ "api-version", FIELD(api_version), "V",
	    "Version of the BOINC API in the program, if it uses the API." },
	{ 0 },
};

enum err version_check_program(
    struct cmd_ctx *x, const struct platform *p, const char *path)
{
	const char *why = program_misfit(x->a, path, p->name);

	return why == NULL ? OK : FAIL(x->f, E_BADREQ, "%s", why);
}

enum err version_check_programs(struct cmd_ctx *x, const struct version *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->files[i].main_program)
			TRY(version_check_program(x, v->platform, v->from[i]));
	return OK;
}

enum err version_name_files(
    struct cmd_ctx *x, struct version *v, char **paths, size_t n, const char *main)
{
	const char *stem = arena_printf(x->a, "%s_%s_%s%s%s", v->app->name, v->text,
	    v->platform->name, v->class[0] == '\0' ? "" : "__", v->class);
	size_t nmain = 0;
	struct stat st;

	v->files = NEWN(x->a, struct version_file, n);
	v->from = paths;
	v->n = n;
	for (size_t i = 0; i < n; i++) {
		const char *base = text_base_name(paths[i]);
		bool is_main = main == NULL ? i == 0 :
		                              strcmp(main, paths[i]) == 0 ||
		                                  strcmp(main, base) == 0;

		if (stat(paths[i], &st) < 0)
			return FAIL_ERRNO(x->f, "looking at %s", paths[i]);
		if (!S_ISREG(st.st_mode))
			return FAIL(x->f, E_BADREQ, "%s is not a file", paths[i]);
		for (size_t j = 0; j < i; j++)
			if (strcmp(text_base_name(paths[j]), base) == 0)
				return FAIL(
				    x->f, E_BADREQ, "two files are named %s", base);
		nmain += is_main;
		v->files[i] = (struct version_file){
			.name = is_main ? stem :
			                  arena_printf(x->a, "%s_%s", stem, base),
			.nbytes = (int64_t)st.st_size,
			.open_name = is_main ? NULL : base,
			.executable = is_main || (st.st_mode & S_IXUSR) != 0,
			.main_program = is_main,
		};
	}
	if (nmain != 1)
		return ctx_usage(x, "--main %s: not one of the given files", main);
	return version_check_programs(x, v);
}

static const char wrapper_name[] = "locus-wrapper";

enum err version_name_wrapped(struct cmd_ctx *x, struct version *v, const char *program)
{
	const char *base = text_base_name(program);
	char **paths = NEWN(x->a, char *, 2);

	if (strcmp(v->platform->name, program_platform()) != 0)
		return ctx_usage(x,
		    "--wrap: the wrapper that is installed here is one for %s",
		    program_platform());
	paths[0] = program_find(x->a, NULL, wrapper_name);
	if (paths[0] == NULL)
		return FAIL(
		    x->f, E_CONFIG, "%s is not installed beside locus", wrapper_name);
	paths[1] = arena_strdup(x->a, program);
	TRY(version_name_files(x, v, paths, 2, NULL));
	/* The wrapper runs the program by the name behind the point. */
	v->files[1].open_name = strstr(base, "..") != NULL ||
	                                strchr(base, '%') != NULL ?
	                            arena_strdup(x->a, "program") :
	                            arena_printf(x->a, "program.%s", base);
	v->files[1].copy_file = true;
	/* stock clients then speak to the wrapper through a mapped file */
	v->more = "    <api_version>7.20.5</api_version>\n";
	return version_check_program(x, v->platform, program);
}

/* Refuses a name that exists with different content. */
static enum err check_name_taken(struct cmd_ctx *x, const char *to, const char *md5)
{
	char have[MD5_HEX];
	int64_t n;

	if (!fs_exists(to))
		return fs_check_change(to, x->f);
	TRY(md5_file(to, have, &n, x->f));
	if (strcmp(have, md5) != 0)
		return FAIL(x->f, E_BADREQ,
		    "%s exists with different content, and hosts may have it: give this build a higher version",
		    to);
	return OK;
}

enum err version_sign(struct cmd_ctx *x, struct version *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct version_file *file = &v->files[i];
		char md5[MD5_HEX], *sig;

		TRY(md5_file(v->from[i], md5, &file->nbytes, x->f));
		/* Reads FILE.sig, or signs the file if there is none; the signature
		 * must match the public key. */
		const char *path = v->from[i];
		const char *ready = v->signatures == NULL ?
		                        arena_printf(x->a, "%s.sig", path) :
		                        arena_printf(x->a, "%s/%s.sig", v->signatures,
					    text_base_name(path));
		enum err e;

		if (fs_exists(ready))
			e = fs_read(x->a, ready, SIGNATURE_MAX, &sig, NULL, x->f);
		else if (v->private == NULL)
			return FAIL(x->f, E_CONFIG,
			    "there is neither %s nor a private key; give --sign-with KEY, or on the machine that has the key, run: locus sign --key KEY %s",
			    ready, path);
		else
			e = sign_md5(x->a, v->private, md5, &sig, x->f);
		if (e != OK)
			return e;
		if (verify_md5(v->public, md5, sig, x->f) != OK)
			return FAIL(x->f, E_BADREQ,
			    "the signature of %s does not match the project's keys/code_sign_public: clients would refuse the file",
			    path);

		TRY(check_name_taken(x,
		    arena_printf(x->a, "%s/%s", x->cf->download_dir, file->name), md5));
		file->signature = sig;
		file->url = arena_printf(
		    x->a, "%s/%s", x->cf->download_url, file->name);
	}
	return OK;
}

static enum err copy_files(struct cmd_ctx *x, const struct version *v)
{
	for (size_t i = 0; i < v->n; i++) {
		const char *to = arena_printf(
		    x->a, "%s/%s", x->cf->download_dir, v->files[i].name);

		if (!fs_exists(to))
			TRY(fs_copy(v->from[i], to, 0644, x->f));
		ctx_progress(x, "copied", "%s (%lld bytes)", v->files[i].name,
		    (long long)v->files[i].nbytes);
	}
	return OK;
}

enum err version_keys_load(struct cmd_ctx *x, struct version *v, const char *key)
{
	const char *own = arena_printf(x->a, "%s/code_sign_private", x->cf->key_dir);
	const char *public = arena_printf(x->a, "%s/code_sign_public", x->cf->key_dir);

	if (!fs_exists(public))
		return FAIL(x->f, E_CONFIG,
		    "%s does not exist: make the code signing keys on a machine without a network (locus key make DIR), and install the public one (locus create --code-sign-public FILE)",
		    public);
	if (key_rotation_began(x->a, x->cf))
		return FAIL(x->f, E_CONFIG,
		    "a rotation of the code signing key was interrupted; to complete it, run: %s",
		    locus_command(x->a, x->cf, "key rotate code-sign"));
	TRY(key_read_public(public, &v->public, x->f));
	key = key == NULL && fs_exists(own) ? own : key;
	return key == NULL ? OK : key_read_private(key, &v->private, x->f);
}

static enum err fail_version_taken(struct cmd_ctx *x, const struct version *v)
{
	return FAIL(x->f, E_RACE, "version %s of %s for %s%s%s exists already", v->text,
	    v->app->name, v->platform->name, v->class[0] == '\0' ? "" : ":", v->class);
}

/* The insertion finds out, too, but after files were copied. */
static enum err check_version_taken(struct cmd_ctx *x, const struct version *v)
{
	struct app_version *had;
	size_t n;

	TRY(app_versions_of(x->db, x->a, v->app->id, &had, &n, x->f));
	for (size_t i = 0; i < n; i++)
		if (had[i].version_num == v->num &&
		    had[i].platformid == v->platform->id &&
		    strcmp(had[i].plan_class, v->class) == 0)
			return fail_version_taken(x, v);
	return OK;
}

enum err version_insert(
    struct cmd_ctx *x, const struct version *v, const char *api_version)
{
	struct app_version row = { .create_time = clock_now(),
		.appid = v->app->id,
		.version_num = v->num,
		.platformid = v->platform->id,
		.plan_class = arena_strdup(x->a, v->class),
		.beta = v->beta };
	enum err e;

	TRY(blob_app_version(x->a, v->app->name, v->num, api_version, v->files, v->n,
	    &row.xml_doc, x->f));
	if (v->more != NULL) {
		/* Adds elements at the end of <app_version>. */
		static const char end[] = "</app_version>\n";

		row.xml_doc = arena_printf(x->a, "%.*s%s%s",
		    (int)(strlen(row.xml_doc) - (sizeof(end) - 1)), row.xml_doc,
		    v->more, end);
	}
	e = copy_files(x, v);
	if (e == OK)
		e = app_version_insert(x->db, &row, x->f);
	return e == E_RACE ? fail_version_taken(x, v) : e;
}

/* Refuses an unknown class: its versions would never be sent. */
static enum err check_class(struct cmd_ctx *x, const char *class, bool any)
{
	const char *why = NULL;
	enum err e = ctx_conf(x);

	if (e == OK)
		e = plan_class_known(x, class, &why);
	if (e != OK || why == NULL)
		return e;
	if (!any)
		return FAIL(x->f, E_BADREQ,
		    "plan class %s: %.250s; add the class there, or give --any-class",
		    class, why);
	ctx_progress(x, "to do", "plan class %s: %s", class, why);
	return OK;
}

/* A number that is too high cannot be taken back: hosts get nothing below it. */
static enum err check_number(struct cmd_ctx *x, const struct version *v, bool force)
{
	struct app_version *all = NULL;
	int32_t highest = 0;
	size_t n = 0;
	const char *why;

	TRY(app_versions_of(x->db, x->a, v->app->id, &all, &n, x->f));
	for (size_t i = 0; i < n; i++)
		if (!all[i].deprecated && all[i].version_num > highest)
			highest = all[i].version_num;
	why = version_senseless(x->a, v->num, highest);
	if (why == NULL || force)
		return OK;
	return ctx_usage(x, "version %s: %s; add --force if it is meant", v->text, why);
}

static enum err version_add_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct version_opts *o = opts;
	char *platform = arena_strdup(x->a, args[2]), *colon = strchr(platform, ':');
	struct version v = { .class = colon == NULL ? "" : colon + 1, .text = args[1] };
	struct catalog *c;

	TRY(version_num_parse(x, args[1], &v.num));
	if (colon != NULL)
		*colon = '\0';
	if (strspn(v.class, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_-.") != strlen(v.class))
		return ctx_usage(
		    x, "plan class \"%s\": letters, digits and _ - . only", v.class);
	TRY(check_class(x, v.class, o->any_class));
	TRY(ctx_alone(x));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &v.app));
	TRY(tools_platform(x, c, platform, &v.platform));
	TRY(check_number(x, &v, o->force));
	if (o->wrap && (n != 4 || o->main != NULL))
		return ctx_usage(x, "--wrap: give one program, and no --main");
	TRY(o->wrap ? version_name_wrapped(x, &v, args[3]) :
		      version_name_files(x, &v, args + 3, n - 3, o->main));
	v.signatures = o->signatures;
	TRY(version_keys_load(x, &v, o->key));
	TRY(version_sign(x, &v));
	TRY(check_version_taken(x, &v));
	if (o->dry_run) {
		ctx_progress(x, "would add", "version %s of %s for %s", v.text,
		    v.app->name, args[2]);
		return OK;
	}
	TRY(version_insert(x, &v, o->api_version));
	ctx_progress(
	    x, "created", "version %s of %s for %s", v.text, v.app->name, args[2]);
	return ctx_reread(x);
}

const struct cmd cmd_version_add = { .name = "version add",
	.args = "APP VERSION PLATFORM[:CLASS] FILE ...",
	.min_args = 4,
	.max_args = -1,
	.purpose = "add a build of an app",
	.about =
	    "Copies the files to the download directory, signs them and registers the version. A\n"
	    "version never changes: a new build needs a new version number. CLASS is a plan class\n"
	    "of plan_class_spec.xml.",
	.opts = version_options,
	.opts_size = sizeof(struct version_opts),
	.run = version_add_run };

/* locus version deprecate, undeprecate: which builds of an app are sent. */

struct deprecate_opts {
	bool dry_run;
};

static const struct field deprecate_options[] = {
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

static bool version_is_chosen(
    const struct version_choice *c, const struct app_version *v)
{
	return v->version_num == c->num &&
	       (c->platform == NULL || v->platformid == c->platform->id) &&
	       (c->class == NULL || strcmp(v->plan_class, c->class) == 0);
}

static enum err version_choice_of(struct cmd_ctx *x, const struct catalog *c,
    char **args, size_t n, struct version_choice *q)
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
static enum err no_such_version(struct cmd_ctx *x, const struct version_choice *q,
    char **args, const struct app_version *v, size_t n)
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
static void warn_of_gap(const struct catalog *c, const struct version_choice *q,
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
static enum err tell_of_tasks(struct cmd_ctx *x, const struct version_choice *q,
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

static enum err deprecate_versions(
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
		const struct platform *p = catalog_platform(c, v[i].platformid);

		if (!version_is_chosen(&q, &v[i]))
			continue;
		print_cells(l, v[i].id, q.app->name,
		    version_num_text(x->a, v[i].version_num), p == NULL ? "" : p->name,
		    v[i].plan_class, off, (v[i].deprecated != 0) != off);
	}
	print_end(l);
	if (off)
		warn_of_gap(c, &q, v, nv);
	if (off)
		TRY(tell_of_tasks(x, &q, v, nv));
	return o->dry_run ? OK : ctx_reread(x);
}

static enum err version_deprecate_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	return deprecate_versions(x, opts, args, n, true);
}

static enum err version_undeprecate_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	return deprecate_versions(x, opts, args, n, false);
}

const struct cmd cmd_version_deprecate = { .name = "version deprecate",
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
const struct cmd cmd_version_undeprecate = { .name = "version undeprecate",
	.args = "APP VERSION [PLATFORM[:CLASS]]",
	.min_args = 2,
	.max_args = 3,
	.purpose = "send a withdrawn build again",
	.about = "Takes back locus version deprecate.",
	.opts = deprecate_options,
	.opts_size = sizeof(struct deprecate_opts),
	.columns = deprecate_columns,
	.run = version_undeprecate_run };
const struct cmd cmd_version_withdraw = { .name = "version withdraw",
	.args = "APP VERSION [PLATFORM[:CLASS]]",
	.min_args = 2,
	.max_args = 3,
	.purpose = "withdraw a build of an app",
	.about =
	    "The same as locus version deprecate, under the name that many look for.",
	.opts = deprecate_options,
	.opts_size = sizeof(struct deprecate_opts),
	.columns = deprecate_columns,
	.run = version_deprecate_run };
