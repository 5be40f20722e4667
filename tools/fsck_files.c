/* SPDX-License-Identifier: Apache-2.0 */
/* Checks downloads against what the database says of them, and uploads against their
 * results. */
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include "db/entity.h"
#include "db/file.h"
#include "db/id_walk.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/names.h"
#include "proto/blob.h"
#include "proto/upload.h"
#include "tools/catalog.h"
#include "tools/fsck.h"
#include "tools/terminal.h"
#include "lib/banned.h"

enum { FILES_AT_ONCE = 1000, DAY_S = 86400 };

static void download_differs(struct fsck *k, enum fsck_code code, const char *name,
    const char *path, const char *how)
{
	fsck_report_finding(
	    k, &(const struct fsck_finding){
		   .code = code, .name = name, .more = how, .path = path });
}

static enum err fsck_download(
    struct fsck *k, const char *path, const struct blob_file *file)
{
	struct arena *a = &k->round;
	int64_t size = fs_size(path);
	char md5[MD5_HEX];

	if (size < 0) {
		download_differs(k, FSCK_FILE_MISSING, file->name, path, path);
		return OK;
	}
	if (file->nbytes > 0 && size != (int64_t)file->nbytes) {
		download_differs(k, FSCK_FILE_SIZE, file->name, path,
		    arena_printf(a, "%lld bytes, in the database %.0f", (long long)size,
			file->nbytes));
		return OK;
	}
	if (!k->deep || file->md5_cksum == NULL)
		return OK;
	TRY(md5_file(path, md5, NULL, k->x->f));
	if (strcmp(md5, file->md5_cksum) != 0)
		download_differs(k, FSCK_FILE_MD5, file->name, path,
		    arena_printf(
			a, "MD5 %s, in the database %s", md5, file->md5_cksum));
	return OK;
}

static enum err check_large_file(struct fsck *k, const struct file *file)
{
	struct fail f = { 0 };

	if (file_name_check(file->name, &f) != OK)
		fsck_found(k, FSCK_FILE_NAME, file->name, f.detail, false);
	return fsck_download(k, download_path(&k->round, k->x->cf, file->name),
	    &(const struct blob_file){
		.name = file->name, .md5_cksum = file->md5sum, .nbytes = file->size });
}

enum err fsck_files(struct fsck *k)
{
	int64_t last = 0;
	size_t n = 1;
	enum err e = OK;

	while (n > 0 && e == OK) {
		struct file *files = NULL;

		arena_reset(&k->round);
		e = db_query(k->x->db, &k->round, k->x->f, &files, &n, FILES_AFTER,
		    .after = last, .max = FILES_AT_ONCE);
		for (size_t i = 0; e == OK && i < n; i++) {
			last = files[i].id;
			e = check_large_file(k, &files[i]);
		}
	}
	return e;
}

/*
 * Looks the result up by key. A file that has vanished meanwhile is not a finding:
 * results are purged after their files.
 */
static enum err check_upload(
    struct fsck *k, void *arg, const char *path, const char *name)
{
	struct arena *a = &k->round;
	struct upload_name u;
	struct result *r;
	bool named;
	enum err e;

	(void)arg;
	arena_reset(a);
	named = upload_name_parse(a, name, &u);
	if (u.part) {
		if (fs_mtime(path) < k->now - DAY_S && fs_exists(path))
			fsck_found(k, FSCK_UPLOAD_PART, name, path, false);
		return OK;
	}
	e = E_NOTFOUND;
	if (named && strcmp(path, upload_path(a, k->x->cf, name)) == 0)
		e = result_by_name(k->x->db, a, u.result, &r, k->x->f);
	if (e == E_NOTFOUND && fs_exists(path))
		fsck_found(k, FSCK_UPLOAD_STRANGER, name, path, false);
	return e == E_NOTFOUND ? OK : e;
}

enum err fsck_uploads(struct fsck *k)
{
	return fsck_tree(k, k->x->cf->upload_dir, check_upload, NULL);
}

/* Walks a directory whose files are spread over subdirectories. */

enum { NAMES_MOST = 1000000 };

struct walk {
	enum err (*visit)(struct fsck *, void *, const char *, const char *);
	void *arg;
};

static enum err walk_dir(
    struct fsck *k, const struct walk *w, const char *dir, bool deeper)
{
	struct arena here = { 0 };
	struct stat st;
	char **names;
	size_t n = 0;
	enum err e = fs_list(&here, dir, NAMES_MOST, &names, &n, k->x->f);

	if (e == E_NOTFOUND)
		e = OK;
	for (size_t i = 0; i < n && e == OK; i++) {
		const char *path = arena_printf(&here, "%s/%s", dir, names[i]);

		if (names[i][0] == '.' || lstat(path, &st) < 0)
			continue;
		if (!S_ISDIR(st.st_mode))
			e = w->visit(k, w->arg, path, names[i]);
		else if (deeper)
			e = walk_dir(k, w, path, false);
	}
	arena_free(&here);
	return e;
}

enum err fsck_tree(struct fsck *k, const char *root,
    enum err (*visit)(struct fsck *, void *arg, const char *path, const char *name),
    void *arg)
{
	const struct walk w = { visit, arg };

	return walk_dir(k, &w, root, true);
}

/*
 * Finds unknown files in the download directory. Files without a row are collected
 * first, then those that versions or workunits name are taken out; workunits are read
 * only if any are left by then.
 */

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
static size_t base_length(const char *name)
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
static enum err has_row(struct fsck *k, const char *path, const struct stranger *at,
    const char *base, bool *placed)
{
	const char *place = download_path(&k->round, k->x->cf, base);
	struct file *file;

	place = arena_printf(&k->round, "%s%s", place, at->name + strlen(base));
	*placed = strcmp(path, place) == 0;
	return file_by_name(k->x->db, &k->round, base, &file, k->x->f);
}

static enum err collect_stranger(
    struct fsck *k, void *arg, const char *path, const char *name)
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

static void add_known_files(
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

static enum err add_version_files(struct fsck *k, struct strangers *s)
{
	struct row_text *rows = NULL;
	size_t n;

	arena_reset(&k->round);
	TRY(db_query(k->x->db, &k->round, k->x->f, &rows, &n, VERSION_DOCS));
	add_known_files(k, s, rows, n);
	return OK;
}

static enum err add_workunit_files(struct fsck *k, struct strangers *s)
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

static void drop_known(struct strangers *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].misplaced || (!names_has(&s->known, s->v[i].name) &&
					     !names_has(&s->known, s->v[i].base)))
			s->v[n++] = s->v[i];
	s->n = n;
}

enum err fsck_downloads(struct fsck *k)
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

/*
 * Compares the counts of ordinary input files (db/file.h) with the workunits that
 * are counted, as of one moment: the project may be at work. A repair adds the
 * difference, so what has happened meanwhile stays counted. Then looks whether the
 * files are there, and those of the versions that are sent.
 */

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

static struct input_need *need_of(struct input_needs *s, const char *name)
{
	size_t at;

	if (names_find(&s->of, name, &at))
		return &s->v[at];
	PUSH(&s->a, s->v, s->n,
	    s->cap) = (struct input_need){ .name = arena_strdup(&s->a, name) };
	names_put(&s->a, &s->of, s->v[s->n - 1].name, s->n - 1);
	return &s->v[s->n - 1];
}

static void need_files(struct fsck *k, struct input_needs *s, const char *xml_doc)
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

static enum err read_needed(struct fsck *k, struct input_needs *s)
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

static enum err read_input_uses(struct fsck *k, struct input_needs *s)
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

static enum err correct_in_tx(struct cmd_ctx *x, void *arg)
{
	const struct input_need *need = arg;

	return input_correct(x->db, need->name, need->needed - need->counted, x->f);
}

static enum err check_input(struct fsck *k, const struct input_need *need)
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
static enum err check_version_files(struct fsck *k)
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

enum err fsck_inputs(struct fsck *k)
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

/*
 * Checks the triggers: names that are not file sets, and triggers that nobody serves.
 */

enum { VAIN_S = 60, WAITS_S = 600 };

/* Sets *fs to NULL if there is no file set of that name. */
static enum err find_fileset(struct fsck *k, const char *name, struct fileset **fs)
{
	enum err e = fileset_by_name(k->x->db, k->x->a, name, fs, k->x->f);

	if (e == E_NOTFOUND)
		*fs = NULL;
	return e == E_NOTFOUND ? OK : e;
}

static enum err check_claim(struct fsck *k, const struct claim *c)
{
	const struct triggers t = triggers_of(k->x->cf, k->x->db, c->owner);
	struct fileset *fs;
	enum err e = find_fileset(k, c->name, &fs);

	if (e != OK || c->age_s < CLAIM_STALE_S)
		return e;
	/* Raises the trigger before the claim is removed, so that the demand is never
	 * lost. */
	if (k->repair && fs != NULL)
		e = trigger_raise(&t, TRIGGER_NEED_WORK, c->name, k->x->f);
	if (k->repair && e == OK)
		e = trigger_claim_done(&t, c->name, k->x->f);
	if (e == OK)
		fsck_found(k, fs == NULL ? FSCK_CLAIM_STRANGER : FSCK_CLAIM_STALE,
		    c->name, c->owner, k->repair);
	return e;
}

static enum err check_need_work(
    struct fsck *k, const char *name, const struct fileset *fs)
{
	const struct triggers t = triggers_of(k->x->cf, k->x->db, NULL);
	int64_t age = -1, no_work = -1;

	TRY(trigger_age(&t, TRIGGER_NEED_WORK, name, k->now, &age, k->x->f));
	TRY(trigger_age(
	    &t, TRIGGER_NO_WORK_AVAILABLE, name, k->now, &no_work, k->x->f));
	if (age > VAIN_S && fs->gen_next >= fs->gen_parts && no_work >= 0)
		fsck_found(k, FSCK_NEED_WORK_VAIN, name, "", false);
	else if (age > WAITS_S && k->running && fs->paused == 0)
		fsck_found(k, FSCK_NEED_WORK_WAITS, name, "", false);
	return OK;
}

static enum err check_trigger_dir(
    struct fsck *k, enum trigger dir, enum fsck_code stranger)
{
	const struct triggers t = triggers_of(k->x->cf, k->x->db, NULL);
	struct fileset *fs;
	char **names;
	size_t n;
	enum err e = trigger_list(&t, k->x->a, dir, &names, &n, k->x->f);

	for (size_t i = 0; e == OK && i < n; i++) {
		e = find_fileset(k, names[i], &fs);
		if (e != OK)
			continue;
		if (fs == NULL) {
			if (k->repair)
				e = trigger_clear(&t, dir, names[i], k->x->f);
			if (e == OK)
				fsck_found(k, stranger, names[i], "", k->repair);
		} else if (dir == TRIGGER_NEED_WORK) {
			e = check_need_work(k, names[i], fs);
		}
	}
	return e;
}

enum err fsck_triggers(struct fsck *k)
{
	static const struct {
		enum trigger dir;
		enum fsck_code stranger;
	} dirs[] = {
		{ TRIGGER_NEED_WORK, FSCK_NEED_WORK_STRANGER },
		{ TRIGGER_NO_WORK_AVAILABLE, FSCK_NO_WORK_STRANGER },
		{ TRIGGER_WORKING_SET, FSCK_WORKING_SET_STRANGER },
		{ TRIGGER_FILES_NO_WORK, FSCK_FILES_NO_WORK_STRANGER },
	};
	const struct triggers t = triggers_of(k->x->cf, k->x->db, NULL);
	struct claim *claims;
	size_t n;

	TRY(trigger_claims(&t, k->x->a, k->now, &claims, &n, k->x->f));
	for (size_t i = 0; i < n; i++)
		TRY(check_claim(k, &claims[i]));
	for (size_t i = 0; i < N(dirs); i++)
		TRY(check_trigger_dir(k, dirs[i].dir, dirs[i].stranger));
	return OK;
}
