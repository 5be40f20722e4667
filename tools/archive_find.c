/* SPDX-License-Identifier: Apache-2.0 */
/* locus archive find: prints purged workunits from the archive. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/gzip.h"
#include "proto/archive.h"
#include "tools/cmd.h"
#include "tools/print/print.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { FILES_MOST = 100000, LINE_MAX_BYTES = 4096 };

struct archive_opts {
	const char *archive;
};

static const struct opt archive_options[] = {
	{ "archive", OPT_TEXT, offsetof(struct archive_opts, archive), "DIR",
	    "The directory of the archive, as in locus purge." },
	{ 0 },
};

static const struct print_column archive_columns[] = {
	{ "file", "FILE", PRINT_TEXT, "file of the archive" },
	{ "xml", "XML", PRINT_TEXT, "the workunit with its results" },
	{ 0 },
};

struct archive_search {
	struct cmd_ctx *x;
	const char *wanted; /* the line with the name of a workunit or result */
	struct print *list;
	size_t found;
	bool damaged;
	int64_t bytes; /* read, before compression */
	struct progress bar;
};

/* Reads line by line: an archive may be larger than the memory. */
static enum err
search_file(struct archive_search *s, const char *path)
{
	FILE *file = unpack_fopen(path);
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	char line[LINE_MAX_BYTES];
	bool hit = false, begins = true; /* longer lines come in pieces */

	if (file == NULL)
		return FAIL_ERRNO(s->x->f, "reading %s", path);
	while (fgets(line, sizeof(line), file) != NULL) {
		size_t n = strlen(line);

		if (begins && strcmp(line, "<workunit_archive>\n") == 0) {
			arena_reset(&a);
			b = buf_new(&a);
			hit = false;
		}
		buf_put(&b, line, n);
		hit = hit || (begins && strcmp(line, s->wanted) == 0);
		if (hit && begins && strcmp(line, "</workunit_archive>\n") == 0) {
			s->found++;
			if (s->x->format == FORMAT_TABLE)
				fwrite(b.p, 1, b.n, stdout);
			else
				print_cells(s->list, path, b.p);
		}
		begins = n > 0 && line[n - 1] == '\n';
		s->bytes += (int64_t)n;
		progress_set(&s->bar, s->bytes);
	}
	if (ferror(file))
		fprintf(
		    stderr, "%s is damaged: what follows in it cannot be read\n", path);
	s->damaged |= ferror(file) != 0;
	fclose(file);
	arena_free(&a);
	return OK;
}

static bool
is_archive(const char *name)
{
	bool packed;

	return archive_named(name, &packed);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum err
archive_find_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct archive_opts *o = opts;
	struct archive_search s = { .x = x };
	struct buf wanted = buf_new(x->a);
	int64_t total = 0;
	const char *dir;
	char **names;
	size_t nnames;
	enum err e = OK;

	(void)n;
	TRY(ctx_conf(x));
	dir = project_path(x->a, x->cf, o->archive == NULL ? ARCHIVE_DIR : o->archive);
	if (!fs_exists(dir))
		return ctx_not_found(
		    x, "there is no archive %s: nothing was purged yet", dir);
	TRY(fs_list(x->a, dir, FILES_MOST, &names, &nnames, x->f));
	qsort(names, nnames, sizeof(*names), by_name);
	for (size_t i = 0; i < nnames; i++)
		if (is_archive(names[i]))
			total += fs_size(arena_printf(x->a, "%s/%s", dir, names[i]));
	buf_tag(&wanted, "name", args[0]);
	s.wanted = wanted.p;
	s.bar = progress_begin_bytes("reading the archive", total);
	if (x->format != FORMAT_TABLE)
		s.list = print_list(x, archive_columns);
	for (size_t i = 0; i < nnames && e == OK; i++)
		if (is_archive(names[i]))
			e = search_file(&s, arena_printf(x->a, "%s/%s", dir, names[i]));
	progress_end(&s.bar);
	if (s.list != NULL)
		print_end(s.list);
	if (e != OK)
		return e;
	if (s.damaged)
		x->status = err_exit(E_SYS);
	return s.found > 0 || s.damaged ?
	           OK :
	           ctx_not_found(
		       x, "%s has no workunit or result named %.100s", dir, args[0]);
}

const struct cmd cmd_archive_find = { .name = "archive find",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "print a purged workunit from the archive",
	.about =
	    "Prints the workunit of that name, or of a result of that name, with all its results as\n"
	    "the archive has them: the columns of their rows and their texts.",
	.details =
	    "It may be there twice if a purge was interrupted. Compressed files are read, too; one\n"
	    "that is damaged is named, and the exit status is 1.",
	.opts = archive_options,
	.opts_size = sizeof(struct archive_opts),
	.columns = archive_columns,
	.run = archive_find_run };
