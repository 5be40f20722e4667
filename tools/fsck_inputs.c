/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the counts of ordinary input files (db/file.h) with the workunits that
 * are counted, as of one moment: the project may be at work.  A repair adds the
 * difference, so what has happened meanwhile stays counted.  Then looks whether the
 * files are there, and those of the versions that are sent.
 */
#include <string.h>
#include "db/id_walk.h"
#include "db/file.h"
#include "db/stmts.h"
#include "lib/fs.h"
#include "lib/names.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/fsck.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { INPUTS_AT_ONCE = 1000 };

struct input_needs {
	struct arena a; /* of the names */
	struct names of;
	struct input_need {
		char *name;
		int64_t needed; /* by workunits */
		int64_t counted;
		struct blob_file file; /* as a workunit describes it */
		char *path;            /* of the download; NULL = it is not ours */
	} * v;
	size_t n, cap;
};

static struct input_need *
need_of(struct input_needs *s, const char *name)
{
	size_t at;

	if (names_find(&s->of, name, &at))
		return &s->v[at];
	PUSH(&s->a, s->v, s->n,
	    s->cap) = (struct input_need){ .name = arena_strdup(&s->a, name) };
	names_put(&s->a, &s->of, s->v[s->n - 1].name, s->n - 1);
	return &s->v[s->n - 1];
}

static void
need_files(struct fsck *k, struct input_needs *s, const char *xml_doc)
{
	struct blob_file *files;
	size_t n;

	/* A document that cannot be parsed names no files. */
	if (blob_files(&k->round, xml_doc, &files, &n, NULL) != OK)
		return;
	for (size_t i = 0; i < n; i++) {
		struct input_need *need;

		/* A large file has a row, which fsck_files() compares. */
		if (files[i].sticky && files[i].report_on_rpc)
			continue;
		need = need_of(s, files[i].name);
		need->needed += blob_is_own_input(&files[i]);
		if (need->path != NULL)
			continue;
		need->file = (struct blob_file){ .name = need->name,
			.nbytes = files[i].nbytes,
			.sticky = files[i].sticky,
			.no_delete = files[i].no_delete };
		if (files[i].md5_cksum != NULL)
			need->file.md5_cksum = arena_strdup(&s->a, files[i].md5_cksum);
		need->path = path_of_url(&s->a, k->x->cf, files[i].url);
	}
}

static enum err
read_needed(struct fsck *k, struct input_needs *s)
{
	struct cmd_ctx *x = k->x;
	struct progress bar = progress_begin("checking input files", 0);
	int64_t seen = 0;
	enum err e = OK;

	for (int64_t from = IDS_BEGIN, to = from; to < IDS_END && e == OK; from = to) {
		struct row_text *docs = NULL;
		size_t n = 0;

		arena_reset(&k->round);
		e = ids_ahead(x->db, IDS_WORKUNITS, from, INPUTS_AT_ONCE, &to, x->f);
		if (e == OK)
			e = db_query(x->db, &k->round, x->f, &docs, &n, WU_COUNTED_DOCS,
			    .from = from, .to = to);
		for (size_t i = 0; e == OK && i < n; i++)
			need_files(k, s, docs[i].s);
		progress_set(&bar, seen += (int64_t)n);
	}
	progress_end(&bar);
	return e;
}

static enum err
read_input_uses(struct fsck *k, struct input_needs *s)
{
	char *after = arena_strdup(&s->a, "");
	struct row_input_use *rows;
	size_t n = INPUTS_AT_ONCE;

	while (n == INPUTS_AT_ONCE) {
		arena_reset(&k->round);
		rows = NULL;
		TRY(db_query(k->x->db, &k->round, k->x->f, &rows, &n, INPUT_USES,
		    .after = after, .max = INPUTS_AT_ONCE));
		for (size_t i = 0; i < n; i++) {
			struct input_need *need = need_of(s, rows[i].name);

			need->counted = rows[i].uses;
			after = need->name;
		}
	}
	return OK;
}

static enum err
correct_in_tx(struct cmd_ctx *x, void *arg)
{
	const struct input_need *need = arg;

	return input_correct(x->db, need->name, need->needed - need->counted, x->f);
}

static enum err
check_input(struct fsck *k, const struct input_need *need)
{
	bool needed = true;

	arena_reset(&k->round);
	if (need->path == NULL)
		return OK;
	/* Its workunit may have ended since, and the file gone with it. */
	if (blob_is_own_input(&need->file) && !fs_exists(need->path))
		TRY(inputs_counted(
		    k->x->db, &k->round, &need->name, 1, &needed, k->x->f));
	return needed ? fsck_download(k, need->path, &need->file) : OK;
}

/* The files of the versions that are sent: without one, all that the version gets
 * fails. */
static enum err
check_version_files(struct fsck *k)
{
	struct arena a = { 0 };
	struct app_version *v = NULL;
	size_t n = 0;
	enum err e = db_query(k->x->db, &a, k->x->f, &v, &n, APP_VERSIONS);

	for (size_t i = 0; e == OK && i < n; i++) {
		struct input_needs files = { 0 };

		arena_reset(&k->round);
		if (!v[i].deprecated)
			need_files(k, &files, v[i].xml_doc);
		for (size_t j = 0; e == OK && j < files.n; j++)
			if (files.v[j].path != NULL)
				e = fsck_download(k, files.v[j].path, &files.v[j].file);
		arena_free(&files.a);
	}
	arena_free(&a);
	return e;
}

enum err
fsck_inputs(struct fsck *k)
{
	struct input_needs s = { 0 };
	enum err e;

	TRY(db_begin_snapshot(k->x->db, k->x->f));
	e = read_needed(k, &s);
	if (e == OK)
		e = read_input_uses(k, &s);
	db_rollback(k->x->db);
	for (size_t i = 0; e == OK && i < s.n; i++) {
		struct input_need *need = &s.v[i];

		e = check_input(k, need);
		if (e != OK || need->needed == need->counted)
			continue;
		if (k->repair)
			e = tools_transaction(k->x, correct_in_tx, need);
		if (e == OK)
			fsck_found(k, FSCK_INPUT_USES, need->name,
			    arena_printf(&k->round, "counted %lld, needed by %lld",
				(long long)need->counted, (long long)need->needed),
			    k->repair);
	}
	arena_free(&s.a);
	return e == OK ? check_version_files(k) : e;
}
