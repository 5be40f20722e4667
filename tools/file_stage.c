/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus file stage: copies files to where clients download them, without registering
 * them; locus file path: where a file of that name is.
 */
#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/confirm.h"
#include "tools/files/files.h"
#include "tools/jobs/jobs.h"
#include "tools/print/print.h"
#include "lib/banned.h"

struct stage_opts {
	bool gzip, dry_run;
};

static const struct opt stage_options[] = {
	{ "gzip", OPT_FLAG, offsetof(struct stage_opts, gzip), NULL,
	    "Makes a compressed copy beside each file; hosts fetch it if the input template has <gzip/>." },
	DRY_RUN_OPTION(struct stage_opts),
	{ 0 },
};

static const struct print_column stage_columns[] = {
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "url", "URL", PRINT_TEXT, NULL },
	{ "md5", "MD5", PRINT_TEXT, NULL },
	{ "bytes", "SIZE", PRINT_BYTES, NULL },
	{ "path", NULL, PRINT_TEXT, "its place in the download directory" },
	{ "known", NULL, PRINT_FLAG, "it was there already" },
	{ "gzipped_bytes", NULL, PRINT_BYTES, "of its compressed copy; 0 = none" },
	{ 0 },
};

/* What the tools of BOINC projects expect beside a staged file (protocol.md 5.4). */
static enum err
note_digest(struct cmd_ctx *x, const struct job_input *in)
{
	const char *text = arena_printf(
	    x->a, "%s %lld\n", in->file.md5, (long long)in->file.nbytes);

	return fs_write(
	    arena_printf(x->a, "%s.md5", in->to), text, strlen(text), 0644, x->f);
}

static enum err
file_stage_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct stage_opts *o = opts;
	struct job_inputs in = { .x = x };
	struct print *l;
	size_t place;
	bool *known;

	TRY(ctx_conf(x));
	for (size_t i = 0; i < n; i++)
		TRY(job_input_find(&in, args[i], &place));
	known = NEWN(x->a, bool, in.ninputs + 1);
	for (size_t i = 0; i < in.ninputs; i++)
		known[i] = in.inputs[i].there;
	if (!o->dry_run)
		TRY(job_inputs_copy(&in));
	l = print_list(x, stage_columns);
	for (size_t i = 0; i < in.ninputs; i++) {
		const struct job_input *input = &in.inputs[i];

		if (!o->dry_run)
			TRY(note_digest(x, input));
		if (!o->dry_run && o->gzip)
			TRY(file_gzip(x, input->to));
		print_cells(l, input->file.name, input->file.url, input->file.md5,
		    input->file.nbytes, input->to, known[i], gzipped_bytes(input->to));
	}
	print_end(l);
	return OK;
}

const struct cmd cmd_file_stage = { .name = "file stage",
	.args = "PATH ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "copy files to the download directory",
	.about =
	    "Copies ordinary input files to where clients download them, without making large\n"
	    "files of them, and prints their URLs and digests. \"work add --input\" does the same\n"
	    "for the files of one job. A file that is there with the same content is left as it\n"
	    "is; one with another content is refused, as hosts may hold it.",
	.opts = stage_options,
	.opts_size = sizeof(struct stage_opts),
	.columns = stage_columns,
	.run = file_stage_run };

/* --- path --- */

struct path_opts {
	bool upload;
};

static const struct opt path_options[] = {
	{ "upload", OPT_FLAG, offsetof(struct path_opts, upload), NULL,
	    "In the upload directory instead, for the name of an output file." },
	{ 0 },
};

static const struct print_column path_columns[] = {
	{ "path", "path", PRINT_TEXT, NULL },
	{ "url", "URL", PRINT_TEXT, "null for an output file" },
	{ "there", "is there", PRINT_FLAG, NULL },
	{ "bytes", "size", PRINT_BYTES, NULL },
	{ 0 },
};

static enum err
file_path_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct path_opts *o = opts;
	const char *path;
	int64_t size;

	(void)n;
	if (args[0][0] == '\0' || strchr(args[0], '/') != NULL)
		return ctx_usage(
		    x, "the name of a file is needed, not a path: %s", args[0]);
	TRY(ctx_conf(x));
	path = o->upload ? upload_path(x->a, x->cf, args[0]) :
	                   download_path(x->a, x->cf, args[0]);
	size = fs_size(path);
	print_record(x, path_columns, path,
	    o->upload ? NULL : download_url(x->a, x->cf, args[0]), size >= 0,
	    print_unless(size < 0, size));
	if (size < 0)
		x->status = EXIT_NOTHING;
	return OK;
}

const struct cmd cmd_file_path = { .name = "file path",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show where a file is in the download directory",
	.about =
	    "Files are spread over subdirectories by a digest of their names. Prints where a file\n"
	    "of this name is or would be, and the URL that clients use.\n"
	    "\n"
	    "Exit status 3: there is no such file.",
	.opts = path_options,
	.opts_size = sizeof(struct path_opts),
	.columns = path_columns,
	.run = file_path_run };
