/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus batch results: collects the output files of canonical results, in a directory
 * or an archive. A file of a directory appears complete or not at all, so a run that
 * was killed is completed by the next one; an archive gets its name when it is whole.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/job_batch.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/tar.h"
#include "lib/text.h"
#include "model/decision.h"
#include "proto/blob.h"
#include "proto/template.h"
#include "tools/batch/batch.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { STEP = 500, BLOCK = 256 << 10, MISSING_SHOWN = 20 };

struct batch_results_opts {
	bool dry_run;
};

static const struct opt batch_results_options[] = {
	DRY_RUN_OPTION(struct batch_results_opts),
	{ 0 },
};

static const struct print_column batch_results_columns[] = {
	{ "workunits", "jobs that are done", PRINT_NUMBER, "with a canonical result" },
	{ "files", "output files", PRINT_NUMBER, NULL },
	{ "bytes", "size", PRINT_BYTES, NULL },
	{ "copied", "copied", PRINT_NUMBER, "files; 0 in a dry run" },
	{ "known", "there already", PRINT_NUMBER, "files that the directory had" },
	{ "missing", "missing", PRINT_NUMBER, "files that the project has no more" },
	{ 0 },
};

struct collecting {
	struct cmd_ctx *x;
	const char *to;         /* directory; NULL = archive */
	struct tar_writer *tar; /* NULL in a dry run */
	const char
	    *assimilated; /* directory of the assimilator's copies; NULL = none */
	char *block;
	bool dry;
	struct arena step;
	int64_t workunits, files, bytes, copied, known, missing;
};

/* The project's copy of an output: in the upload directory, else the assimilator's. */
static const char *
find_output(struct collecting *c, const struct blob_file *file, const char *name)
{
	const char *path = upload_path(&c->step, c->x->cf, file->name);

	if (fs_exists(path))
		return path;
	if (c->assimilated == NULL)
		return NULL;
	path = arena_printf(&c->step, "%s/%s", c->assimilated, name);
	return fs_exists(path) ? path : NULL;
}

static enum err
put_in_archive(struct collecting *c, int fd, const char *path, const char *name)
{
	struct fail *f = c->x->f;
	struct tar_entry t = { .name = name, .kind = TAR_FILE, .mode = 0644 };
	struct stat st;
	int64_t left;

	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	t.size = st.st_size;
	t.mtime = st.st_mtime;
	TRY(tar_begin(c->tar, &t, f));
	for (left = t.size; left > 0;) {
		ssize_t got = read(fd, c->block, left < BLOCK ? (size_t)left : BLOCK);

		if (got < 0)
			return FAIL_ERRNO(f, "reading %s", path);
		if (got == 0)
			return FAIL(f, E_RACE,
			    "%s became shorter while it was read; try again", path);
		TRY(tar_write(c->tar, c->block, (size_t)got, f));
		left -= got;
	}
	return OK;
}

static enum err
collect_file(struct collecting *c, const char *path, const char *name)
{
	struct fail *f = c->x->f;
	int64_t size = fs_size(path);
	const char *to;
	enum err e;
	int fd;

	c->files++;
	c->bytes += size > 0 ? size : 0;
	if (c->to == NULL) {
		if (c->tar == NULL)
			return OK;
		TRY(fs_open_file(path, &fd, f));
		e = put_in_archive(c, fd, path, name);
		close(fd);
		c->copied += e == OK;
		return e;
	}
	to = arena_printf(&c->step, "%s/%s", c->to, name);
	if (fs_exists(to) && fs_size(to) == size && fs_mtime(to) >= fs_mtime(path)) {
		c->known++;
		return OK;
	}
	if (c->dry)
		return OK;
	c->copied++;
	return fs_copy(path, to, 0644, f);
}

static void
output_missing(
    struct collecting *c, const struct row_canonical *w, const struct blob_file *file)
{
	if (c->missing++ < MISSING_SHOWN)
		fprintf(stderr, "locus: %s: output %s is not there: %s\n", w->name,
		    file->name,
		    w->file_delete_state > 0 ?
			"the file deleter has removed it; a <no_delete/> in the output template keeps it" :
			"it was not uploaded, or was removed by hand");
}

/* An output is named by its workunit; if there are several, with their numbers. */
static enum err
collect_workunit(struct collecting *c, const struct row_canonical *w)
{
	struct blob_file *files;
	size_t n;

	c->workunits++;
	if (blob_files(&c->step, w->xml_doc_in, &files, &n, c->x->f) != OK)
		return FAIL(c->x->f, E_BADREQ, "%s: result %" PRId64 ": %.200s",
		    w->name, w->resultid, c->x->f->detail);
	for (size_t i = 0; i < n; i++) {
		const char *name = n == 1 ?
		                       w->name :
		                       arena_printf(&c->step, "%s_%zu", w->name, i);
		const char *path = find_output(c, &files[i], name);

		if (path != NULL)
			TRY(collect_file(c, path, name));
		else if (!files[i].optional)
			output_missing(c, w, &files[i]);
	}
	return OK;
}

static enum err
collect_all(struct collecting *c, const struct batch_view *v)
{
	struct progress p = progress_begin("collecting results", v->tally.done);
	struct row_canonical *rows = NULL;
	struct cmd_ctx *x = c->x;
	int64_t after = 0;
	size_t n = STEP;
	enum err e = OK;

	while (e == OK && n == STEP) {
		arena_reset(&c->step);
		e = job_batch_canonicals(
		    x->db, &c->step, v->row.id, after, STEP, &rows, &n, x->f);
		for (size_t i = 0; e == OK && i < n; i++) {
			after = rows[i].id;
			e = collect_workunit(c, &rows[i]);
			progress_set(&p, c->workunits);
		}
	}
	progress_end(&p);
	arena_free(&c->step);
	return e;
}

/* Writes the archive beside its place, and renames it when it is whole. */
static enum err
collect_archive(struct collecting *c, const struct batch_view *v, const char *path)
{
	const char *part = arena_printf(c->x->a, "%s.part", path);
	struct fail *f = c->x->f;
	enum err e;
	int fd;

	if (fs_exists(path))
		return FAIL(
		    f, E_BADREQ, "%s exists; remove it, or choose another name", path);
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return FAIL_ERRNO(f, "creating %s", part);
	e = tar_create(fd, &c->tar, f);
	if (e == OK)
		e = collect_all(c, v);
	if (e == OK)
		e = tar_end(c->tar, f);
	tar_free(c->tar);
	c->tar = NULL;
	if (e == OK && fsync(fd) < 0)
		e = FAIL_ERRNO(f, "writing %s", part);
	close(fd);
	if (e == OK)
		e = fs_rename_new(part, path, f);
	if (e != OK)
		fs_unlink(part, NULL);
	return e;
}

/* Where the app's assimilator copies outputs to. */
static enum err
find_copies(struct cmd_ctx *x, const struct row_job_batch *row, const char **dir)
{
	const struct app *app;
	const char *copy_to;
	struct catalog *c;

	TRY(catalog_load(x->db, x->a, &c, x->f));
	app = catalog_app(c, row->app_id);
	if (app == NULL)
		return OK;
	copy_to = daemon_option(x->a, x->cf, "assimilator", app->name, "copy_to");
	*dir = project_path(x->a, x->cf, copy_to == NULL ? "results" : copy_to);
	return OK;
}

static enum err
batch_results_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct batch_results_opts *o = opts;
	bool archive = text_ends_with(args[1], ".tar.zst");
	struct collecting c = { .x = x, .dry = o->dry_run };
	struct row_job_batch *row;
	struct batch_view v;

	(void)n;
	TRY(ctx_db_report(x));
	TRY(batch_find(x, args[0], &row));
	TRY(batch_count(x, row, false, &v));
	if (v.tally.done == 0)
		return ctx_not_found(x, "no job of batch %s is done yet", row->name);
	TRY(find_copies(x, row, &c.assimilated));
	c.block = arena_alloc(x->a, BLOCK);
	c.to = archive ? NULL : args[1];
	umask(x->owner.umask);
	if (c.to != NULL && !c.dry)
		TRY(fs_mkdirs(c.to, 0755, x->f));
	TRY(archive && !c.dry ? collect_archive(&c, &v, args[1]) : collect_all(&c, &v));
	print_record(x, batch_results_columns, c.workunits, c.files, c.bytes, c.copied,
	    c.known, c.missing);
	if (c.missing > MISSING_SHOWN)
		fprintf(stderr, "locus: %" PRId64 " more are missing\n",
		    c.missing - MISSING_SHOWN);
	if (c.missing > 0)
		x->status = EXIT_DECLINED;
	return OK;
}

const struct cmd cmd_batch_results = { .name = "batch results",
	.args = "BATCH DIR|FILE.tar.zst",
	.min_args = 2,
	.max_args = 2,
	.purpose = "collect the output files of a batch",
	.about =
	    "Copies the output files of all canonical results of the batch to a directory, or into\n"
	    "an archive if the name ends in .tar.zst. A file is named by its workunit; if there are\n"
	    "several, _0, _1 and so on follow. Files that the directory has already are not copied\n"
	    "again, so the command may be repeated while the batch is running, and after it was\n"
	    "interrupted.\n"
	    "\n"
	    "Exit status 1: some outputs are missing; 3: there are none.",
	.details =
	    "An archive is complete or not there. Outputs are taken from the upload directory, and\n"
	    "once the file deleter has removed them from the copies that the app's assimilator\n"
	    "made.",
	.opts = batch_results_options,
	.opts_size = sizeof(struct batch_results_opts),
	.columns = batch_results_columns,
	.run = batch_results_run };
