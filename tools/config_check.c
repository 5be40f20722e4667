/* SPDX-License-Identifier: Apache-2.0 */
/* locus config check, and what other commands ask of it. */
#include <stdio.h>
#include <string.h>
#include "model/identity.h"
#include "tools/config_key.h"
#include "tools/fault_list.h"
#include "tools/foreign.h"
#include "tools/probe.h"
#include "tools/same_work.h"
#include "tools/service.h"
#include "tools/state.h"
#include "tools/upstream.h"
#include "tools/web_fit.h"
#include "lib/banned.h"

static void
fault_add(struct cmd_ctx *x, struct config_faults *all, bool error, const char *path,
    const char *text)
{
	PUSH(x->a, all->v, all->n, all->cap) = (struct config_fault){ 0, error, path,
		text };
}

/* Reports daemons whose program cannot be found. */
static void
check_programs(struct cmd_ctx *x, const struct conf *cf, struct config_faults *all)
{
	struct fail f = { 0 };
	struct service *s;
	size_t n;

	if (services_of(x->a, cf, &s, &n, &f) != OK) {
		fault_add(x, all, true, cf->path, arena_strdup(x->a, f.detail));
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (s[i].argv == NULL)
			fault_add(x, all, true, cf->path,
			    arena_printf(x->a, "%s: %s", s[i].name, s[i].why));
}

/* Reports how daemons of a BOINC config.xml are run. */
static void
check_upstream(struct cmd_ctx *x, const struct conf *cf, struct config_faults *all)
{
	struct fail f = { 0 };
	char **lines;
	size_t n;

	if (upstream_says(x->a, cf, &lines, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		fault_add(x, all, false, cf->path, lines[i]);
	if (foreign_says(x->a, cf, &lines, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		fault_add(x, all, false, cf->path, lines[i]);
}

static void
check_same_work(struct cmd_ctx *x, const struct conf *cf, struct config_faults *all)
{
	char **lines;
	size_t n;

	same_work_says(x->a, cf, &lines, &n);
	for (size_t i = 0; i < n; i++)
		fault_add(x, all, false, cf->path, lines[i]);
}

void
config_faults_find(struct cmd_ctx *x, const struct conf *cf,
    const struct conf_remark *r, size_t nremarks, struct config_faults *all)
{
	*all = (struct config_faults){ 0 };
	for (size_t i = 0; i < nremarks; i++) {
		fault_add(x, all, r[i].error, cf->path, r[i].text);
		all->v[i].line = r[i].line;
	}
	check_upstream(x, cf, all);
	check_programs(x, cf, all);
	check_same_work(x, cf, all);
	config_files_check(x, cf, all);
}

/* Reports changes that wait for a restart of the running project. */
static void
warn_restart(struct cmd_ctx *x, const struct conf *cf, struct fault_list *out)
{
	const char *text = NULL;
	struct state s;

	if (state_read(x->a, cf, &s, NULL) == OK)
		text = state_restart_text(x->a, cf, &s);
	if (text != NULL)
		fault_put(out, cf->path, 0, FAULT_WARNING, "%s", text);
}

/*
 * Sends a request to a running project: a valid configuration may still lead nowhere.
 */
static void
check_serving(struct cmd_ctx *x, struct conf *cf, struct fault_list *out)
{
	struct conf *before = x->cf;
	struct probe p;

	if (!state_supervised(x->a, cf))
		return;
	x->cf = cf;
	p = probe_project(x, x->a);
	x->cf = before;
	if (p.why != NULL)
		fault_put(out, cf->path, 0, FAULT_ERROR,
		    "the project runs but does not serve: %s; %s", p.why, p.mend);
}

/* All that is wrong with a file that cannot be used. */
static enum err
report_remarks(
    struct cmd_ctx *x, const char *path, const struct conf_remark *r, size_t n)
{
	struct fault_list out = fault_list_begin(x);

	*x->f = (struct fail){ 0 };
	for (size_t i = 0; i < n; i++)
		fault_put(&out, path, r[i].line,
		    r[i].error ? FAULT_ERROR : FAULT_WARNING, "%s", r[i].text);
	return fault_list_end(&out, path);
}

static enum err
config_check_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct config_faults all;
	struct fault_list out;
	struct conf_remark *r = NULL;
	struct fail f = { 0 };
	struct conf *cf;
	size_t nr = 0;
	char *path;
	enum err e;

	(void)opts;
	TRY(config_path(x, n > 0 ? args[0] : NULL, &path));
	e = conf_load(x->a, path, &cf, &r, &nr, x->f);
	if (e != OK && nr > 0)
		return report_remarks(x, path, r, nr);
	TRY(e);
	config_faults_find(x, cf, r, nr, &all);
	out = fault_list_begin(x);
	for (size_t i = 0; i < all.n; i++)
		fault_put(&out, all.v[i].path, all.v[i].line,
		    all.v[i].error ? FAULT_ERROR : FAULT_WARNING, "%s", all.v[i].text);
	if (n == 0)
		check_serving(x, cf, &out);
	if (n == 0 && identity_check(x->a, cf, &f) != OK)
		fault_put(&out, path, 0, FAULT_ERROR, "%s", f.detail);
	web_fit_check(x, cf, &out);
	if (n == 0)
		warn_restart(x, cf, &out);
	TRY(fault_list_end(&out, path));
	if (x->format == FORMAT_TABLE)
		printf("%s: good\n", path);
	return OK;
}

const struct cmd cmd_config_check = { .name = "config check",
	.args = "[FILE]",
	.max_args = 1,
	.purpose = "check config.xml",
	.about =
	    "Reports unknown options with their line and the nearest name, options without effect,\n"
	    "invalid values, daemons whose program is missing or that do the same work, and what\n"
	    "plan_class_spec.xml, config_aux.xml, gui_urls.xml and project_files.xml lose by\n"
	    "mistakes. Reports which changes wait for a restart of a running project; all others\n"
	    "take effect at once, see config.xml(5). Exits with 78 if there is an error.",
	.details =
	    "Warns if apache/httpd.conf, apache/site.conf or nginx/site.conf of the project does\n"
	    "not lead to its sockets or has other limits than config.xml.",
	.columns = fault_columns,
	.run = config_check_run };
