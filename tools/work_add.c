/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus work add: makes one workunit, for generators of one's own. The transitioner
 * makes its results.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/words.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "tools/catalog.h"
#include "tools/stuck.h"
#include "tools/target.h"
#include "tools/template.h"
#include "lib/banned.h"

enum { FILES_MOST = 1000 };

struct work_opts {
	const char *file, *name, *arguments, *from, *to, *in, *out;
	int64_t priority;
	struct conf_list input;
	struct target_opts target;
};

#define FIELD(name) offsetof(struct work_opts, name)
static const struct opt work_options[] = {
	{ "file", OPT_TEXT, FIELD(file), "FILE",
	    "The large file or set of files, as named by \"locus file add\"." },
	{ "input", OPT_TEXTS, FIELD(input), "PATH",
	    "An ordinary input file, which is copied; may be repeated." },
	{ "name", OPT_TEXT, FIELD(name), "NAME",
	    "Name of the workunit; without a \"__\" it is appended to FILE__." },
	{ "arguments", OPT_TEXT, FIELD(arguments), "TEXT",
	    "Replaces the template's command line." },
	{ "from", OPT_TEXT, FIELD(from), "A", "Replaces %FROM% in the template." },
	{ "to", OPT_TEXT, FIELD(to), "B",
	    "Replaces %TO% in the template; the workunit is named FILE__A_B." },
	{ "input-template", OPT_TEXT, FIELD(in), "NAME",
	    "Template in templates/; default APP_in.xml." },
	{ "output-template", OPT_TEXT, FIELD(out), "NAME",
	    "Template in templates/; default APP_out.xml." },
	{ "priority", OPT_NUMBER, FIELD(priority), "N",
	    "Among jobs without a large file, higher priorities are sent first; default 0." },
	TARGET_OPTIONS(struct work_opts),
	{ 0 },
};

struct new_work { /* the workunit being made */
	const struct app *app;
	struct fileset *set; /* the set of its large files, NULL = none */
	struct input_file *inputs;
	size_t ninputs;
	struct workunit wu;
	char *xml_doc;
	struct target_of target;
};

/* Names the workunit: a job of a large file is called FILE__something (locality.md 1.1
 * (L2)). */
static enum err
name_workunit(struct cmd_ctx *x, const struct work_opts *o, struct new_work *w)
{
	const char *tail = o->name;
	char random[9];

	if (tail == NULL && o->from != NULL && o->to != NULL)
		tail = arena_printf(x->a, "%s_%s", o->from, o->to);
	if (tail == NULL) {
		random_hex(random, 8);
		tail = arena_printf(x->a, "%lld_%s", (long long)clock_now(), random);
	}
	if (w->set != NULL && strstr(tail, "__") == NULL)
		w->wu.name = arena_printf(x->a, "%s__%s", w->set->name, tail);
	else if (w->set != NULL || o->name != NULL)
		w->wu.name = arena_strdup(x->a, tail);
	else
		w->wu.name = arena_printf(x->a, "%s_%s", w->app->name, tail);
	return wu_name_check(
	    x->a, w->wu.name, w->set == NULL ? NULL : w->set->name, x->f);
}

/*
 * Explains that there is no set of that name; the file may be in sets of other names.
 */
static enum err
fail_no_own_set(struct cmd_ctx *x, const char *name)
{
	struct file *file;
	enum err e = file_by_name(x->db, x->a, name, &file, x->f);

	if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no file %s; add it by locus file add", name);
	if (e != OK)
		return e;
	return FAIL(x->f, E_BADREQ,
	    "file %s is only in sets; name one of them, or add the file without --set",
	    name);
}

static enum err
find_file(struct cmd_ctx *x, const struct work_opts *o, struct new_work *w)
{
	enum err e;

	if (o->file == NULL && w->app->locality_scheduling != 0 && o->input.n == 0)
		return ctx_usage(x,
		    "--file FILE is required: app %s uses locality scheduling",
		    w->app->name);
	if (o->file == NULL)
		return OK;
	e = fileset_by_name(x->db, x->a, o->file, &w->set, x->f);
	if (e == E_NOTFOUND)
		return fail_no_own_set(x, o->file);
	if (e == OK && w->set->appid != w->app->id)
		return FAIL(
		    x->f, E_BADREQ, "file %s was added for another app", o->file);
	return e;
}

/* Copies an ordinary input file to its place below the download directory. */
static enum err
stage_input(struct cmd_ctx *x, const char *path, struct input_file *in)
{
	const char *name = text_base_name(path);
	char *to = download_path(x->a, x->cf, name), *dir = arena_strdup(x->a, to);
	char md5[MD5_HEX], have[MD5_HEX];
	int64_t nbytes, n;
	enum err e = file_name_check(name, x->f);

	if (e == OK)
		e = md5_file(path, md5, &nbytes, x->f);
	if (e != OK)
		return e;
	if (fs_exists(to)) {
		e = md5_file(to, have, &n, x->f);
		if (e == OK && strcmp(have, md5) != 0)
			return FAIL(x->f, E_BADREQ,
			    "%s exists with different content; give this file another name",
			    to);
	} else {
		*strrchr(dir, '/') = '\0';
		e = fs_mkdirs(dir, 0755, x->f);
		if (e == OK)
			e = fs_copy(path, to, 0644, x->f);
	}
	*in = (struct input_file){ name, download_url(x->a, x->cf, name),
		arena_strdup(x->a, md5), nbytes };
	return e;
}

static enum err
large_input(struct cmd_ctx *x, const char *name, struct input_file *in)
{
	struct file *file;
	enum err e = file_by_name(x->db, x->a, name, &file, x->f);

	if (e == OK)
		*in = (struct input_file){ file->name,
			download_url(x->a, x->cf, file->name), file->md5sum,
			(int64_t)file->size };
	return e;
}

/* Collects the input files: the large ones first, sorted by name, as templates number
 * them. */
static enum err
gather_inputs(struct cmd_ctx *x, const struct work_opts *o, struct new_work *w)
{
	struct row_member *large = NULL;
	size_t nlarge = 0;
	enum err e = OK;

	if (o->input.n > FILES_MOST)
		return ctx_usage(x, "at most %d input files", FILES_MOST);
	if (w->set != NULL)
		e = fileset_files(x->db, x->a, w->set->id, &large, &nlarge, x->f);
	if (e != OK)
		return e;
	w->inputs = NEWN(x->a, struct input_file, nlarge + o->input.n + 1);
	for (size_t i = 0; i < nlarge && e == OK; i++)
		e = large_input(x, large[i].name, &w->inputs[w->ninputs++]);
	for (size_t i = 0; i < o->input.n && e == OK; i++)
		e = stage_input(x, o->input.v[i], &w->inputs[w->ninputs++]);
	return e;
}

static char *
template_path(struct cmd_ctx *x, const char *given, const char *app, const char *kind)
{
	return tmpl_path(
	    x->a, given != NULL ? given : arena_printf(x->a, "%s_%s.xml", app, kind));
}

static enum err
fill_templates(struct cmd_ctx *x, const struct work_opts *o, struct new_work *w)
{
	char *in = template_path(x, o->in, w->app->name, "in"), *text;
	char *out = template_path(x, o->out, w->app->name, "out");
	const struct word words[] = { { "%FILE%", w->set == NULL ? "" : w->set->name },
		{ "%FROM%", o->from == NULL ? "%FROM%" : o->from },
		{ "%TO%", o->to == NULL ? "%TO%" : o->to } };
	enum err e = tmpl_path_check(out, x->f);

	if (e == OK)
		e = fs_read(x->a, project_path(x->a, x->cf, out), TMPL_BYTES_MAX, &text,
		    NULL, x->f);
	if (e == OK)
		e = template_check_out(x, out, text);
	if (e == OK)
		e = fs_read(x->a, project_path(x->a, x->cf, in), TMPL_BYTES_MAX, &text,
		    NULL, x->f);
	if (e != OK)
		return e;
	w->wu.result_template_file = out;
	if (blob_workunit(x->a, words_fill(x->a, text, words, N(words)), w->inputs,
		w->ninputs, o->arguments, &w->wu, &w->xml_doc, x->f) != OK ||
	    blob_large_files(x->a, w->xml_doc, w->ninputs - o->input.n, x->f) != OK)
		return FAIL(x->f, E_BADREQ, "%s: %.300s", in, x->f->detail);
	return blob_adaptive(w->app, &w->wu, x->f);
}

static enum err
insert_work(struct cmd_ctx *x, void *arg)
{
	struct new_work *w = arg;

	w->wu.create_time = w->wu.transition_time = clock_now();
	enum err e = workunit_insert(x->db, &w->wu, w->xml_doc, x->f);

	if (e == OK && w->target.given)
		e = assignment_add(x->db, x->a, &w->wu, w->target.kind, w->target.id,
		    w->target.multi, w->wu.create_time, x->f);
	return e;
}

static enum err
work_add_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct work_opts *o = opts;
	struct new_work w = { .wu = { .size_class = -1 } };
	struct catalog *c;
	enum err e;

	(void)n;
	if ((o->from == NULL) != (o->to == NULL))
		return ctx_usage(x, "--from and --to must be given together");
	if (o->priority > 1000000)
		return ctx_usage(x, "--priority must be at most 1000000");
	e = tools_catalog(x, &c);
	if (e == OK)
		e = tools_app(x, c, args[0], &w.app);
	if (e == OK)
		e = target_find(x, &o->target, &w.target);
	if (e == OK)
		e = find_file(x, o, &w);
	if (e == OK)
		e = name_workunit(x, o, &w);
	if (e == OK)
		e = gather_inputs(x, o, &w);
	if (e == OK)
		e = fill_templates(x, o, &w);
	if (e != OK)
		return e;
	w.wu.appid = w.app->id;
	w.wu.fileset_id = w.set == NULL ? 0 : w.set->id;
	w.wu.priority = (int32_t)o->priority;
	e = tools_transaction(x, insert_work, &w);
	if (e == E_RACE) { /* not an error: a generator may repeat itself */
		ctx_progress(x, "known", "workunit %s; nothing was changed", w.wu.name);
		return OK;
	}
	if (e == OK)
		ctx_progress(x, "created", "workunit %s", w.wu.name);
	if (e == OK)
		target_hint(x, &w.target);
	return e == OK ? stuck_hint(x, &w.wu) : e;
}

const struct cmd cmd_work_add = { .name = "work add",
	.args = "APP",
	.min_args = 1,
	.max_args = 1,
	.purpose = "create a workunit",
	.about =
	    "Creates one workunit from the app's templates; the transitioner makes its results. A\n"
	    "workunit of a large file must be named FILE__*. An existing workunit is left\n"
	    "unchanged. The <file_info> of a large file in the template must contain <sticky/>\n"
	    "and <report_on_rpc/>.",
	.opts = work_options,
	.opts_size = sizeof(struct work_opts),
	.run = work_add_run };
