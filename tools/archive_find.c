/* SPDX-License-Identifier: Apache-2.0 */
/* locus archive find: prints purged workunits from the archive. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/gzip.h"
#include "proto/archive.h"
#include "tools/catalog.h"
#include "tools/cmd.h"
#include "lib/human.h"
#include "tools/upload_expire.h"
#include "tools/print/print.h"
#include "tools/terminal.h"
#include "lib/banned.h"

enum { FILES_MOST = 100000, LINE_MAX_BYTES = 4096 };

struct archive_opts {
	const char *archive;
};

static const struct field archive_options[] = {
	{ "archive", FIELD_OF(struct archive_opts, archive), "DIR",
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
static enum err search_file(struct archive_search *s, const char *path)
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

static bool is_archive(const char *name)
{
	bool packed;

	return archive_named(name, &packed);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum err archive_find_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

/* locus purge: archives and removes finished workunits now, as db_purge does in time.
 */

enum { CHUNK = 32 }; /* workunits per transaction */

struct purge_opts {
	const char *older_than, *archive, *app;
	bool no_archive, dry_run, yes;
};

#define PURGE_OPT(field) FIELD_OF(struct purge_opts, field)
static const struct field purge_options[] = {
	{ "older-than", PURGE_OPT(older_than), "SPAN",
	    "Only workunits that have not changed for this time, such as 30d. Required." },
	{ "app", PURGE_OPT(app), "NAME", "Only workunits of this app." },
	{ "archive", PURGE_OPT(archive), "DIR",
	    "Writes the archive to this directory, below the project unless it begins with a slash; archives by default." },
	{ "no-archive", PURGE_OPT(no_archive), NULL, "Removes without archiving." },
	DRY_RUN_OPTION(struct purge_opts),
	YES_OPTION(struct purge_opts),
	{ 0 },
};

static const struct print_column purge_columns[] = {
	{ "matched", "matched", PRINT_NUMBER, "workunits that are due" },
	{ "results", "results", PRINT_NUMBER, "their results" },
	{ "purged", "purged", PRINT_NUMBER, "workunits removed" },
	{ "changed", "changed", PRINT_NUMBER,
	    "not removed, as they changed meanwhile" },
	{ "before", "before", PRINT_DATE, "unchanged since" },
	{ "archive", "archive", PRINT_TEXT, "file of the archive" },
	{ "dry_run", "dry run", PRINT_FLAG, NULL },
	{ 0 },
};

struct purging {
	struct cmd_ctx *x;
	int64_t before, appid;  /* appid 0 = all apps */
	const char *dir, *file; /* of the archive, now; NULL = none */
	int64_t matched, results, purged, changed;
	struct progress bar;
};

/* What is done with workunits that are due, at most DB_LIST_MAX, by id. */
typedef enum err (*purge_each)(
    struct purging *, struct arena *, struct workunit *const *, size_t n);

static enum err purge_count(
    struct purging *p, struct arena *a, struct workunit *const *wus, size_t n)
{
	struct purged *v;

	TRY(purge_load(p->x->db, a, wus, n, false, &v, p->x->f));
	p->matched += (int64_t)n;
	for (size_t i = 0; i < n; i++)
		p->results += (int64_t)v[i].nresults;
	progress_set(&p->bar, p->matched);
	return OK;
}

struct purge_chunk {
	struct arena *a;
	struct workunit *const *wus;
	size_t n;
};

static enum err purge_unit(struct cmd_ctx *x, void *arg)
{
	const struct purge_chunk *c = arg;

	TRY(inputs_uncount(x, c->a, c->wus, c->n));
	return workunits_purge(x->db, c->a, c->wus, c->n, x->f);
}

static enum err purge_chunk(
    struct purging *p, struct arena *a, struct workunit *const *wus, size_t n)
{
	struct purge_chunk c = { a, wus, n };
	struct buf b = buf_new(a);
	struct purged *v;

	if (p->file != NULL) {
		TRY(purge_load(p->x->db, a, wus, n, true, &v, p->x->f));
		for (size_t i = 0; i < n; i++)
			archive_put(&b, &v[i]);
		/* Yesterday's file may be compressed already. */
		TRY(fs_append(
		    archive_path(a, p->dir, clock_now()), b.p, b.n, 0640, p->x->f));
	}
	TRY(tools_transaction(p->x, purge_unit, &c));
	p->purged += (int64_t)n;
	return OK;
}

/* One that has changed does not keep the others of its chunk. */
static enum err purge_remove(
    struct purging *p, struct arena *a, struct workunit *const *wus, size_t n)
{
	for (size_t i = 0; i < n; i += CHUNK) {
		size_t m = n - i < CHUNK ? n - i : CHUNK;
		enum err e = purge_chunk(p, a, wus + i, m);

		for (size_t k = 0; k < m && e == E_RACE; k++) {
			enum err of_one = purge_chunk(p, a, wus + i + k, 1);

			p->changed += of_one == E_RACE;
			if (of_one != OK && of_one != E_RACE)
				return of_one;
		}
		if (e != OK && e != E_RACE)
			return e;
		progress_set(&p->bar, p->purged);
	}
	return OK;
}

/* Calls each() for all workunits that are due. */
static enum err purge_walk(
    struct purging *p, purge_each each, const char *what, int64_t total)
{
	struct purge_range r = { .share = { 1, 0 }, .before = p->before };
	struct arena a = { 0 };
	enum err e = OK;

	p->bar = progress_begin(what, total);
	while (e == OK && !r.end) {
		struct workunit *found, **wus;
		size_t n = 0;

		e = purge_find(p->x->db, &a, &r, &found, &n, p->x->f);
		wus = NEWN(&a, struct workunit *, n + 1);
		if (e == OK) {
			size_t kept = 0;

			for (size_t i = 0; i < n; i++)
				if (p->appid == 0 || found[i].appid == p->appid)
					wus[kept++] = &found[i];
			n = kept;
		}
		for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX)
			e = each(
			    p, &a, wus + i, n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX);
		arena_reset(&a);
	}
	progress_end(&p->bar);
	arena_free(&a);
	return e;
}

static void purge_print(const struct purging *p, bool dry)
{
	struct cmd_ctx *x = p->x;
	char before[21];

	if (x->format == FORMAT_TABLE) {
		ctx_progress(x, dry ? "would" : "purged",
		    "%s%lld workunits with %lld results, unchanged since %s",
		    dry ? "purge: " : "", (long long)(dry ? p->matched : p->purged),
		    (long long)p->results, clock_text(p->before, before));
		if (!dry && p->file != NULL && p->purged > 0)
			ctx_progress(x, "archive", "%s", p->file);
		if (p->changed > 0)
			ctx_progress(
			    x, "kept", "%lld that changed", (long long)p->changed);
		return;
	}
	print_record(x, purge_columns, p->matched, p->results, p->purged, p->changed,
	    p->before, p->file, dry);
}

static enum err purge_options_read(struct purging *p, const struct purge_opts *o)
{
	struct cmd_ctx *x = p->x;
	const char *dir = o->archive == NULL ? ARCHIVE_DIR : o->archive;
	const struct app *app;
	struct catalog *cat;
	int64_t span;

	if (o->older_than == NULL)
		return ctx_usage(x,
		    "--older-than SPAN is required, such as --older-than 30d: younger workunits stay");
	if (!human_span_parse(o->older_than, &span))
		return ctx_usage(x,
		    "--older-than %.60s: must be a time such as 30d or 12h",
		    o->older_than);
	if (o->archive != NULL && o->no_archive)
		return ctx_usage(x, "--archive and --no-archive exclude each other");
	p->before = clock_now() - span;
	TRY(ctx_db(x));
	if (!o->no_archive) {
		p->dir = project_path(x->a, x->cf, dir);
		p->file = archive_path(x->a, p->dir, clock_now());
	}
	if (o->app == NULL)
		return OK;
	TRY(tools_catalog(x, &cat));
	TRY(tools_app(x, cat, o->app, &app));
	p->appid = app->id;
	return OK;
}

static enum err purge_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct purge_opts *o = opts;
	struct purging p = { .x = x };
	int64_t counted;

	(void)args, (void)n;
	TRY(purge_options_read(&p, o));
	TRY(purge_walk(&p, purge_count, "counting workunits", 0));
	counted = p.matched;
	if (counted == 0)
		x->status = EXIT_NOTHING;
	if (counted == 0 || o->dry_run) {
		purge_print(&p, o->dry_run);
		return OK;
	}
	TRY(confirm(x, o->yes, "remove %lld workunits with %lld results, %s%s",
	    (long long)counted, (long long)p.results,
	    p.file == NULL ? "without an archive" : "archived in ",
	    p.file == NULL ? "" : p.file));
	if (p.file != NULL)
		TRY(fs_mkdirs(p.dir, 0750, x->f));
	TRY(purge_walk(&p, purge_remove, "purging workunits", counted));
	purge_print(&p, false);
	return OK;
}

const struct cmd cmd_purge = { .name = "purge",
	.args = "",
	.purpose = "archive and remove finished workunits",
	.about =
	    "Removes workunits that are assimilated, whose files are deleted and that have not\n"
	    "changed for the given time, with their results, as db_purge does by itself. Each is\n"
	    "first written to DIR/purged-DATE.xml; locus archive find NAME prints it from there,\n"
	    "also when db_purge has compressed the file. Exit status 3: no workunit is due.",
	.details =
	    "Workunits are kept until all their jobs that used large files are in the ledger. An\n"
	    "interrupted purge leaves only whole workunits; run it again.",
	.opts = purge_options,
	.opts_size = sizeof(struct purge_opts),
	.columns = purge_columns,
	.run = purge_run };
