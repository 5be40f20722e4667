/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files beside config.xml that a running project reads. One table, for config
 * check, doctor and status; each file goes through the parser that serves with it.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "proto/template_check.h"
#include "proto/plan_class.h"
#include "proto/project_text.h"
#include "tools/conf_edit.h"
#include "lib/banned.h"

struct file_check {
	struct cmd_ctx *x;
	const char *path;
	struct config_faults *all;
};

static void file_fault(struct file_check *c, int line, bool error, const char *text)
{
	PUSH(c->x->a, c->all->v, c->all->n, c->all->cap) = (struct config_fault){ line,
		error, c->path, text };
}

/* What keeps the whole file from being read: "PATH:3: why" or why. */
static void file_unusable(struct file_check *c, const struct fail *f)
{
	size_t n = strlen(c->path);
	const char *why = f->detail;
	char *end;
	int line = 0;

	if (strncmp(why, c->path, n) == 0 && why[n] == ':') {
		why += n + 1;
		line = (int)strtol(why, &end, 10);
		why = end + (*end == ':') + strspn(end + (*end == ':'), " ");
	}
	file_fault(c, line, true, arena_strdup(c->x->a, why));
}

static void file_classes(struct file_check *c, int which)
{
	struct plan_classes *all;
	struct fail f = { 0 };
	struct pc_remark *r;
	size_t n;

	(void)which;
	if (plan_classes_load(c->x->a, c->path, &all, &r, &n, &f) != OK)
		file_unusable(c, &f);
	for (size_t i = 0; i < n; i++)
		file_fault(c, r[i].line, r[i].lost,
		    r[i].class[0] == '\0' ?
			r[i].text :
			arena_printf(c->x->a, "%s: %s%s", r[i].class, r[i].text,
			    r[i].out ? "; the class is left out" : ""));
}

static void file_limits(struct file_check *c, int which)
{
	struct limits_read l;
	struct fail f = { 0 };

	(void)which;
	if (job_limits_load(c->x->a, c->path, &l, &f) != OK)
		file_unusable(c, &f);
	for (size_t i = 0; i < l.n; i++)
		file_fault(c, l.remarks[i].line, true, l.remarks[i].text);
}

/* A file that is copied into replies; a faulty one is left out of them. */
static void file_text(struct file_check *c, int which)
{
	struct fail f = { 0 };
	char *in, *out;
	size_t n;
	enum err e = fs_read(c->x->a, c->path, PROJECT_TEXT_MAX, &in, &n, &f);

	if (e == OK)
		e = project_text_check(
		    c->x->a, (enum project_text)which, in, n, &out, &f);
	if (e != OK)
		file_fault(c, 0, true, arena_strdup(c->x->a, f.detail));
}

void config_files_check(
    struct cmd_ctx *x, const struct conf *cf, struct config_faults *all)
{
	const struct {
		const char *name;
		void (*check)(struct file_check *, int which);
		int which;
	} files[] = {
		{ PLAN_CLASS_FILE, file_classes, 0 },
		{ JOB_LIMITS_FILE, file_limits, 0 },
		{ project_text_file(TEXT_GUI_URLS), file_text, TEXT_GUI_URLS },
		{ project_text_file(TEXT_PROJECT_FILES), file_text,
		    TEXT_PROJECT_FILES },
	};

	for (size_t i = 0; i < N(files); i++) {
		struct file_check c = { x, project_path(x->a, cf, files[i].name), all };

		if (fs_exists(c.path))
			files[i].check(&c, files[i].which);
	}
}

void config_errors_find(struct cmd_ctx *x, struct config_faults *all)
{
	struct config_faults found = { 0 };
	struct conf_remark *r = NULL;
	struct fail f = { 0 };
	struct conf *cf;
	size_t n = 0;

	*all = (struct config_faults){ 0 };
	if (conf_load(x->a, x->cf->path, &cf, &r, &n, &f) != OK)
		file_unusable(&(struct file_check){ x, x->cf->path, &found }, &f);
	for (size_t i = 0; i < n; i++)
		file_fault(&(struct file_check){ x, x->cf->path, &found }, r[i].line,
		    r[i].error, r[i].text);
	config_files_check(x, x->cf, &found);
	for (size_t i = 0; i < found.n; i++)
		if (found.v[i].error)
			PUSH(x->a, all->v, all->n, all->cap) = found.v[i];
}

char *config_fault_text(struct arena *a, const struct config_fault *v)
{
	return v->line > 0 ? arena_printf(a, "%s:%d: %s", v->path, v->line, v->text) :
	                     arena_printf(a, "%s: %s", v->path, v->text);
}
