/* SPDX-License-Identifier: Apache-2.0 */
/* locus config check, show, sample and man. */
#include <stdio.h>
#include <string.h>
#include "lib/fs.h"
#include "model/identity.h"
#include "proto/project_text.h"
#include "tools/cmd.h"
#include "tools/probe.h"
#include "tools/service.h"
#include "tools/state.h"
#include "tools/upstream.h"
#include "tools/web_fit.h"
#include "lib/banned.h"

static enum err
config_path(struct cmd_ctx *x, char **args, size_t n, char **path)
{
	char *dir;
	enum err e = OK;

	if (n > 0) {
		*path = args[0];
		return OK;
	}
	e = conf_find_project(x->a, x->project, &dir, x->f);
	if (e == OK)
		*path = arena_printf(x->a, "%s/config.xml", dir);
	return e;
}

/* Reports daemons whose program cannot be found. */
static size_t
check_programs(struct cmd_ctx *x, const struct conf *cf)
{
	struct service *s;
	size_t n, bad = 0;

	if (services_of(x->a, cf, &s, &n, x->f) != OK) {
		printf("%s: error: %s\n", cf->path, x->f->detail);
		return 1;
	}
	for (size_t i = 0; i < n; i++)
		if (s[i].argv == NULL) {
			printf("%s: error: %s: %s\n", cf->path, s[i].name, s[i].why);
			bad++;
		}
	return bad;
}

/* Reports how daemons of a BOINC config.xml are run. */
static void
warn_upstream(struct cmd_ctx *x, const struct conf *cf)
{
	struct fail f = { 0 };
	char **lines;
	size_t n;

	if (upstream_says(x->a, cf, &lines, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		printf("%s: warning: %s\n", cf->path, lines[i]);
}

/* Checks the files that are copied into replies; a faulty one would be left out. */
static size_t
check_texts(struct cmd_ctx *x, const struct conf *cf)
{
	size_t bad = 0, n;
	char *in, *out;

	for (enum project_text i = 0; i < PROJECT_TEXTS; i++) {
		const char *path = project_path(x->a, cf, project_text_file(i));
		struct fail f = { 0 };
		enum err e = fs_read(x->a, path, PROJECT_TEXT_MAX, &in, &n, &f);

		if (e == E_NOTFOUND)
			continue;
		if (e == OK)
			e = project_text_check(x->a, i, in, n, &out, &f);
		if (e != OK) {
			printf("%s: error: %s\n", path, f.detail);
			bad++;
		}
	}
	return bad;
}

/* Reports changes that wait for a restart of the running project. */
static void
warn_restart(struct cmd_ctx *x, const struct conf *cf)
{
	const char *text = NULL;
	struct state s;

	if (state_read(x->a, cf, &s, NULL) == OK)
		text = state_restart_text(x->a, cf, &s);
	if (text != NULL)
		printf("%s: warning: %s\n", cf->path, text);
}

/*
 * Sends a request to a running project: a valid configuration may still lead nowhere.
 */
static size_t
check_serving(struct cmd_ctx *x, struct conf *cf)
{
	struct conf *before = x->cf;
	struct probe p;

	if (!state_supervised(x->a, cf))
		return 0;
	x->cf = cf;
	p = probe_project(x, x->a);
	x->cf = before;
	if (p.why == NULL)
		return 0;
	printf("%s: error: the project runs but does not serve: %s; %s\n", cf->path,
	    p.why, p.mend);
	return 1;
}

static enum err
config_check_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct conf_remark *r;
	struct fail f = { 0 };
	size_t nr, errors = 0;
	struct conf *cf;
	char *path;
	enum err e = config_path(x, args, n, &path);

	(void)opts;
	if (e == OK)
		e = conf_load(x->a, path, &cf, &r, &nr, x->f);
	if (e != OK)
		return e;
	for (size_t i = 0; i < nr; i++) {
		printf("%s:%d: %s: %s\n", path, r[i].line,
		    r[i].error ? "error" : "warning", r[i].text);
		errors += r[i].error;
	}
	warn_upstream(x, cf);
	errors += check_programs(x, cf) + check_texts(x, cf);
	if (n == 0)
		errors += check_serving(x, cf);
	if (n == 0 && identity_check(x->a, cf, &f) != OK) {
		printf("%s: error: %s\n", path, f.detail);
		errors++;
	}
	web_fit_check(x, cf);
	if (n == 0)
		warn_restart(x, cf);
	if (errors > 0)
		return FAIL(x->f, E_CONFIG, "%zu error%s in %s", errors,
		    errors == 1 ? "" : "s", path);
	printf("%s: good\n", path);
	return OK;
}

const struct cmd cmd_config_check = { .name = "config check",
	.args = "[FILE]",
	.max_args = 1,
	.purpose = "check config.xml",
	.about =
	    "Reports unknown options with their line and the nearest name, options without\n"
	    "effect, invalid values, daemons whose program is missing, and mistakes in\n"
	    "gui_urls.xml and project_files.xml. Warns if apache/httpd.conf, apache/site.conf\n"
	    "or nginx/site.conf of the project does not lead to its sockets or has other limits\n"
	    "than config.xml. Reports which changes wait for a restart of a running project; all others take effect at\n"
	    "once, see config.xml(5). Exits with 78 if there is an error.",
	.run = config_check_run };

struct show_opts {
	bool all;
};

static const struct opt show_options[] = {
	{ "all", OPT_FLAG, offsetof(struct show_opts, all), NULL,
	    "Also show options that have their default." },
	{ 0 },
};

static enum err
config_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct show_opts *o = opts;
	enum err e = ctx_conf(x);
	size_t shown = 0;

	if (e != OK)
		return e;
	for (size_t i = 0; i < conf_nopts; i++) {
		const struct conf_opt *c = &conf_opts[i];
		const char *v = conf_value(x->a, x->cf, c);

		if (n > 0 ? strcmp(args[0], c->name) != 0 :
			    !o->all && strcmp(v, c->def) == 0)
			continue;
		if (n > 0)
			printf("%s\n", v);
		else
			printf("%s = %s\n", c->name,
			    strcmp(c->name, "db_passwd") == 0 ? "(hidden)" : v);
		shown++;
	}
	if (n > 0 && shown == 0) {
		const struct conf_opt *near = conf_nearest(args[0]);

		return ctx_usage(x, "there is no option %s%s%s", args[0],
		    near == NULL ? "" : "; did you mean ",
		    near == NULL ? "" : near->name);
	}
	return OK;
}

const struct cmd cmd_config_show = { .name = "config show",
	.args = "[OPTION]",
	.max_args = 1,
	.purpose = "show the configuration",
	.about =
	    "Shows the options that differ from their defaults, or the value of one option.",
	.opts = show_options,
	.opts_size = sizeof(struct show_opts),
	.anywhere = true,
	.run = config_show_run };

static enum err
config_sample_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)x, (void)opts, (void)args, (void)n;
	conf_print_sample();
	return OK;
}

const struct cmd cmd_config_sample = { .name = "config sample",
	.args = "",
	.purpose = "print a config.xml with all options",
	.about =
	    "Prints a config.xml with every option at its default, and an explanation of each.",
	.run = config_sample_run };

static enum err
config_man_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)x, (void)opts, (void)args, (void)n;
	conf_print_man();
	return OK;
}

const struct cmd cmd_config_man = { .name = "config man",
	.args = "",
	.purpose = "print the manual page config.xml(5)",
	.about = "Prints the manual page of config.xml.",
	.run = config_man_run };
