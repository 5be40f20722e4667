/* SPDX-License-Identifier: Apache-2.0 */
/* locus purge: archives and removes finished workunits now, as db_purge does in time.
 */
#include <stdio.h>
#include <string.h>
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "proto/archive.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/input_count.h"
#include "tools/human.h"
#include "tools/print/print.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { CHUNK = 32 }; /* workunits per transaction */

struct purge_opts {
	const char *older_than, *archive, *app;
	bool no_archive, dry_run, yes;
};

#define PURGE_OPT(field) offsetof(struct purge_opts, field)
static const struct opt purge_options[] = {
	{ "older-than", OPT_TEXT, PURGE_OPT(older_than), "SPAN",
	    "Only workunits that have not changed for this time, such as 30d. Required." },
	{ "app", OPT_TEXT, PURGE_OPT(app), "NAME", "Only workunits of this app." },
	{ "archive", OPT_TEXT, PURGE_OPT(archive), "DIR",
	    "Writes the archive to this directory, below the project unless it begins with a slash; archives by default." },
	{ "no-archive", OPT_FLAG, PURGE_OPT(no_archive), NULL,
	    "Removes without archiving." },
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

static enum err
purge_count(struct purging *p, struct arena *a, struct workunit *const *wus, size_t n)
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

static enum err
purge_unit(struct cmd_ctx *x, void *arg)
{
	const struct purge_chunk *c = arg;

	TRY(inputs_uncount(x, c->a, c->wus, c->n));
	return workunits_purge(x->db, c->a, c->wus, c->n, x->f);
}

static enum err
purge_chunk(struct purging *p, struct arena *a, struct workunit *const *wus, size_t n)
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
static enum err
purge_remove(struct purging *p, struct arena *a, struct workunit *const *wus, size_t n)
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

static size_t
only_of_app(struct workunit **wus, struct workunit *v, size_t n, int64_t appid)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (appid == 0 || v[i].appid == appid)
			wus[kept++] = &v[i];
	return kept;
}

/* Calls each() for all workunits that are due. */
static enum err
purge_walk(struct purging *p, purge_each each, const char *what, int64_t total)
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
		if (e == OK)
			n = only_of_app(wus, found, n, p->appid);
		for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX)
			e = each(
			    p, &a, wus + i, n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX);
		arena_reset(&a);
	}
	progress_end(&p->bar);
	arena_free(&a);
	return e;
}

static void
purge_print(const struct purging *p, bool dry)
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

static enum err
purge_options_read(struct purging *p, const struct purge_opts *o)
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

static enum err
purge_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
