/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus template check: reports all faults of templates, and if there are none, makes a
 * job from them and throws it away.
 */
#include "tools/template.h"

#include <stdio.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "proto/template_check.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { FILES_MOST = 1000 };

static void
fault_push(struct cmd_ctx *x, struct tmpl_faults *all, const char *why)
{
	PUSH(x->a, all->v, all->n, all->cap) = (struct tmpl_fault){
		.line = 1, .error = true, .text = arena_strdup(x->a, why)
	};
}

/* What only shows when a job is made: the size of its XML, for example. */
static void
try_input(struct cmd_ctx *x, const char *text, size_t n, struct tmpl_faults *all)
{
	static const struct word words[] = { { "%FROM%", "0" }, { "%TO%", "1" },
		{ "%PART%", "0000" }, { "%FILE%", "file" } };
	struct workunit wu = { .name = arena_strdup(x->a, "file__0000") };
	struct input_file *files;
	struct fail f = { 0 };
	char *xml;

	if (n > FILES_MOST) {
		fault_push(x, all,
		    arena_printf(
			x->a, "%zu input files, but the maximum is %d", n, FILES_MOST));
		return;
	}
	files = NEWN(x->a, struct input_file, n + 1);
	for (size_t i = 0; i < n; i++)
		files[i] = (struct input_file){ arena_printf(x->a, "file%zu", i),
			"http://localhost/", "0123456789abcdef0123456789abcdef", 1, 1 };
	/* A constant file has the name that the template says. */
	if (strstr(text, "<physical_name>") == NULL &&
	    blob_workunit(x->a, words_fill(x->a, text, words, N(words)), files, n, NULL,
		&wu, &xml, &f) != OK)
		fault_push(x, all, f.detail);
}

static bool
has_errors(const struct tmpl_faults *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].error)
			return true;
	return false;
}

static void
find_input_faults(struct cmd_ctx *x, const char *text, enum template_large large,
    struct tmpl_faults *all)
{
	const struct tmpl_use use = { .large = large >= LARGE_FIRST,
		.perhaps_large = large == LARGE_PERHAPS,
		.ranges = large == LARGE_RANGES };
	size_t n = tmpl_check_input(x->a, text, use, all);

	if (!has_errors(all))
		try_input(x, text, n, all);
}

static void
find_output_faults(struct cmd_ctx *x, const char *text, struct tmpl_faults *all)
{
	struct fail f = { 0 };

	tmpl_check_output(x->a, text, all);
	if (!has_errors(all) && blob_check_output(x->a, text, &f) != OK)
		fault_push(x, all, f.detail);
}

/* --- for commands that install or use a template --- */

static enum err
judge_template(struct cmd_ctx *x, const char *file, const struct tmpl_faults *all)
{
	const struct tmpl_fault *first = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct tmpl_fault *v = &all->v[i];

		if (first == NULL && v->error)
			first = v;
		else
			fprintf(stderr, "locus: %s:%d: %s: %s\n", file, v->line,
			    v->error ? "error" : "warning", v->text);
	}
	if (first == NULL)
		return OK;
	return FAIL(x->f, E_BADREQ, "%s:%d: %.300s; see locus-template(5)", file,
	    first->line, first->text);
}

enum err
template_check_in(
    struct cmd_ctx *x, const char *file, const char *text, enum template_large large)
{
	struct tmpl_faults all;

	find_input_faults(x, text, large, &all);
	return judge_template(x, file, &all);
}

enum err
template_check_out(struct cmd_ctx *x, const char *file, const char *text)
{
	struct tmpl_faults all;

	find_output_faults(x, text, &all);
	return judge_template(x, file, &all);
}

/* --- the command --- */

struct check_opts {
	bool large, ranges;
};

static const struct opt check_options[] = {
	{ "large", OPT_FLAG, offsetof(struct check_opts, large), NULL,
	    "For jobs with a large file, which is the first input file." },
	{ "ranges", OPT_FLAG, offsetof(struct check_opts, ranges), NULL,
	    "For the built-in generator, which divides a range by the command line; implies --large." },
	{ 0 },
};

static const struct print_column check_columns[] = {
	{ "file", NULL, PRINT_TEXT, NULL },
	{ "line", NULL, PRINT_NUMBER, NULL },
	{ "level", NULL, PRINT_TEXT, "error or warning" },
	{ "text", NULL, PRINT_TEXT, NULL },
	{ 0 },
};

static size_t
print_faults(
    struct cmd_ctx *x, struct print *l, const char *file, const struct tmpl_faults *all)
{
	size_t errors = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct tmpl_fault *v = &all->v[i];
		const char *level = v->error ? "error" : "warning";

		errors += v->error;
		print_cells(l, file, v->line, level, v->text);
		print_line(l, NULL, "%s:%d: %s: %s", file, v->line, level, v->text);
	}
	if (x->format == FORMAT_TABLE && errors == 0)
		ctx_progress(x, "good", "%s", file);
	return errors;
}

static enum err
template_check_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct check_opts *o = opts;
	enum template_large large = o->ranges ? LARGE_RANGES :
	                            o->large  ? LARGE_FIRST :
	                                        LARGE_PERHAPS;
	struct tmpl_faults all[2];
	struct print *l;
	size_t errors = 0;
	char *text;

	for (size_t i = 0; i < n; i++) {
		TRY(fs_read(x->a, args[i], TMPL_BYTES_MAX, &text, NULL, x->f));
		if (i == 0)
			find_input_faults(x, text, large, &all[i]);
		else
			find_output_faults(x, text, &all[i]);
	}
	l = print_list(x, check_columns);
	for (size_t i = 0; i < n; i++)
		errors += print_faults(x, l, args[i], &all[i]);
	print_end(l);
	if (errors == 0)
		return OK;
	return FAIL(x->f, E_BADREQ, "%zu error%s; locus-template(5) has every element",
	    errors, errors == 1 ? "" : "s");
}

const struct cmd cmd_template_check = { .name = "template check",
	.args = "IN [OUT]",
	.min_args = 1,
	.max_args = 2,
	.purpose = "check an input template and an output template",
	.about =
	    "Reports every problem of an input template and an output template with its line, and\n"
	    "what was probably meant; if there is no error, makes a job from them and throws it\n"
	    "away. Needs no project.",
	.opts = check_options,
	.opts_size = sizeof(struct check_opts),
	.columns = check_columns,
	.run = template_check_run };
