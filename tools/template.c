/* SPDX-License-Identifier: Apache-2.0 */
/* locus template check: makes a job from the templates and throws it away. */
#include "tools/template.h"

#include <stdio.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/words.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "lib/banned.h"

enum { FILES_MOST = 1000 };

static size_t
count_text(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what))
		n++;
	return n;
}

/* Checks that the first file of a job has what a large file needs (locality.md 1.1
 * (L3)). */
static enum err
check_large(
    struct cmd_ctx *x, const char *file, const char *xml, enum template_large large)
{
	struct fail f = { 0 };

	if (large == LARGE_NONE || blob_large_files(x->a, xml, 1, &f) == OK)
		return OK;
	if (large == LARGE_FIRST)
		return FAIL(x->f, E_BADREQ, "%s: %.300s", file, f.detail);
	fprintf(stderr,
	    "locus: %s: its first <file_info> lacks <sticky/> or <report_on_rpc/>: it cannot be used for jobs with large files\n",
	    file);
	return OK;
}

enum err
template_check_in(
    struct cmd_ctx *x, const char *file, const char *text, enum template_large large)
{
	static const struct word words[] = { { "%FROM%", "0" }, { "%TO%", "1" },
		{ "%PART%", "0000" }, { "%FILE%", "file" } };
	size_t n = count_text(text, "<file_info>");
	struct workunit wu = { .name = arena_strdup(x->a, "file__0000") };
	struct input_file *files;
	char *xml;

	if (n > FILES_MOST)
		return FAIL(x->f, E_BADREQ,
		    "%s: %zu input files, but the maximum is %d", file, n, FILES_MOST);
	files = NEWN(x->a, struct input_file, n + 1);
	for (size_t i = 0; i < n; i++)
		files[i] = (struct input_file){ arena_printf(x->a, "file%zu", i),
			"http://localhost/", "0123456789abcdef0123456789abcdef", 1 };
	if (blob_workunit(x->a, words_fill(x->a, text, words, N(words)), files, n, NULL,
		&wu, &xml, x->f) != OK)
		return FAIL(x->f, E_BADREQ, "%s: %.300s", file, x->f->detail);
	return n == 0 ? OK : check_large(x, file, xml, large);
}

enum err
template_check_out(struct cmd_ctx *x, const char *file, const char *text)
{
	if (blob_check_output(x->a, text, x->f) != OK)
		return FAIL(x->f, E_BADREQ, "%s: %.300s", file, x->f->detail);
	return OK;
}

static enum err
template_check_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	char *text;
	enum err e = OK;

	(void)opts;
	for (size_t i = 0; i < n && e == OK; i++) {
		e = fs_read(x->a, args[i], TMPL_BYTES_MAX, &text, NULL, x->f);
		if (e == OK)
			e = i == 0 ?
			        template_check_in(x, args[i], text, LARGE_PERHAPS) :
			        template_check_out(x, args[i], text);
		if (e == OK)
			ctx_progress(x, "good", "%s", args[i]);
	}
	return e;
}

const struct cmd cmd_template_check = { .name = "template check",
	.args = "IN OUT",
	.min_args = 2,
	.max_args = 2,
	.purpose = "check an input template and an output template",
	.about =
	    "Makes a job from the templates and throws it away; reports errors with line and\n"
	    "element, and whether the templates can be used for jobs with large files. Needs no\n"
	    "project.",
	.run = template_check_run };
