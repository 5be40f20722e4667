/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds unknown files in the download directory. Files without a row are collected
 * first, then those that versions or workunits name are taken out; workunits are read
 * only if any are left by then.
 */
#include <stdbool.h>
#include <string.h>
#include "db/entity.h"
#include "db/id_walk.h"
#include "db/stmts.h"
#include "lib/fs.h"
#include "lib/names.h"
#include "proto/blob.h"
#include "tools/fsck.h"
#include "lib/banned.h"

enum { STRANGERS_MOST = 100000, DOCS_AT_ONCE = 1000, HOUR_S = 3600 };

struct stranger {
	char *path;
	char *name, *base; /* base: without ".md5", ".gz" or ".sig" */
	bool misplaced;    /* the file has a row, but lies in the wrong place */
};
struct strangers {
	struct arena *a;
	struct stranger *v;
	size_t n, cap;
	struct names known;
};

/* NAME.md5, NAME.gz and NAME.sig belong to NAME: returns the length of NAME. */
static size_t
base_length(const char *name)
{
	static const char *const ends[] = { ".md5", ".gz", ".sig" };
	size_t n = strlen(name);

	for (size_t i = 0; i < N(ends); i++) {
		size_t m = strlen(ends[i]);

		if (n > m && strcmp(name + n - m, ends[i]) == 0)
			return n - m;
	}
	return n;
}

/* Looks up the row of the file `base`; E_NOTFOUND if there is none. *placed: the path
 * is where the file, or the companion beside it, belongs. */
static enum err
has_row(struct fsck *k, const char *path, const struct stranger *at, const char *base,
    bool *placed)
{
	const char *place = download_path(&k->round, k->x->cf, base);
	struct file *file;

	place = arena_printf(&k->round, "%s%s", place, at->name + strlen(base));
	*placed = strcmp(path, place) == 0;
	return file_by_name(k->x->db, &k->round, base, &file, k->x->f);
}

static enum err
collect_stranger(struct fsck *k, void *arg, const char *path, const char *name)
{
	struct strangers *s = arg;
	struct stranger at = { 0 };
	bool placed;
	enum err e;

	arena_reset(&k->round);
	at.name = arena_strdup(&k->round, name);
	at.base = arena_strdup(&k->round, name);
	e = has_row(k, path, &at, name, &placed);
	at.base[base_length(name)] = '\0';
	if (e == E_NOTFOUND && base_length(name) < strlen(name))
		e = has_row(k, path, &at, at.base, &placed);
	at.misplaced = e == OK && !placed;
	if (e != OK && e != E_NOTFOUND)
		return e;
	/* A file is copied before its row is inserted: ignore new files. */
	if ((e == E_NOTFOUND || at.misplaced) && s->n < STRANGERS_MOST &&
	    fs_mtime(path) < k->now - HOUR_S) {
		at.path = arena_strdup(s->a, path);
		at.name = arena_strdup(s->a, at.name);
		at.base = arena_strdup(s->a, at.base);
		PUSH(s->a, s->v, s->n, s->cap) = at;
	}
	return OK;
}

static void
add_known_files(
    struct fsck *k, struct strangers *s, const struct row_text *docs, size_t n)
{
	struct blob_file *files;
	size_t nfiles;

	for (size_t i = 0; i < n; i++) {
		/* A blob that cannot be parsed names no files. */
		if (blob_files(&k->round, docs[i].s, &files, &nfiles, NULL) != OK)
			continue;
		for (size_t j = 0; j < nfiles; j++)
			if (!names_has(&s->known, files[j].name))
				names_put(s->a, &s->known,
				    arena_strdup(s->a, files[j].name), 0);
	}
}

static enum err
add_version_files(struct fsck *k, struct strangers *s)
{
	struct row_text *rows = NULL;
	size_t n;

	arena_reset(&k->round);
	TRY(db_query(k->x->db, &k->round, k->x->f, &rows, &n, VERSION_DOCS));
	add_known_files(k, s, rows, n);
	return OK;
}

static enum err
add_workunit_files(struct fsck *k, struct strangers *s)
{
	struct cmd_ctx *x = k->x;
	struct row_text *rows = NULL;
	size_t n;

	for (int64_t from = IDS_BEGIN, to = from; to < IDS_END; from = to) {
		arena_reset(&k->round);
		TRY(ids_ahead(x->db, IDS_WORKUNITS, from, DOCS_AT_ONCE, &to, x->f));
		TRY(db_query(x->db, &k->round, x->f, &rows, &n, WU_DOCS, .from = from,
		    .to = to));
		add_known_files(k, s, rows, n);
	}
	return OK;
}

static void
drop_known(struct strangers *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].misplaced || (!names_has(&s->known, s->v[i].name) &&
					     !names_has(&s->known, s->v[i].base)))
			s->v[n++] = s->v[i];
	s->n = n;
}

enum err
fsck_downloads(struct fsck *k)
{
	struct arena a = { 0 };
	struct strangers s = { .a = &a };
	enum err e = fsck_tree(k, k->x->cf->download_dir, collect_stranger, &s);

	if (e == OK && s.n > 0) {
		e = add_version_files(k, &s);
		drop_known(&s);
	}
	if (e == OK && s.n > 0) {
		e = add_workunit_files(k, &s);
		drop_known(&s);
	}
	for (size_t i = 0; e == OK && i < s.n; i++)
		if (fs_exists(s.v[i].path))
			fsck_found(
			    k, FSCK_DOWNLOAD_STRANGER, s.v[i].name, s.v[i].path, false);
	arena_free(&a);
	return e;
}
