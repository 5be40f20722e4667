/* SPDX-License-Identifier: Apache-2.0 */
/* locus backup: one archive of a running project. */
#include "tools/backup/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config.h"
#include "db/project.h"
#include "db/schema.h"
#include "db/stmts.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "model/identity.h"
#include "tools/service.h"
#include "lib/banned.h"

/* The files of a backup: the project's directory, and the directories beside it. */

enum { DEPTH_MOST = 100, SKIPS_MOST = 16 };

struct walk {
	struct backup_out *b;
	char path[PATH_MAX];    /* of the file at hand */
	size_t top;             /* length of the directory's path in it */
	const char *prefix;     /* name of the directory in the archive */
	char *skip[SKIPS_MOST]; /* paths that are left out */
	size_t nskip;
};

static bool is_skipped(const struct walk *w, const char *name)
{
	if (strncmp(name, ".tmp-", strlen(".tmp-")) == 0 || strcmp(name, FS_MARK) == 0)
		return true;
	for (size_t i = 0; i < w->nskip; i++)
		if (strcmp(w->skip[i], w->path) == 0)
			return true;
	return false;
}

static enum err put_at(struct walk *w, struct fail *f)
{
	char name[PATH_MAX + 16];

	snprintf(name, sizeof(name), "%s%s", w->prefix, w->path + w->top);
	return backup_put_path(w->b, name, w->path, f);
}

/* Puts what is in the directory w->path. A directory that vanishes is none. */
static enum err files_walk_dir(struct walk *w, int depth, struct fail *f)
{
	size_t n = strlen(w->path);
	DIR *d = opendir(w->path);
	struct dirent *t;
	enum err e = OK;

	if (d == NULL && errno == ENOENT)
		return OK;
	if (d == NULL)
		return FAIL_ERRNO(f, "reading the directory %s", w->path);
	while (e == OK && (errno = 0, t = readdir(d)) != NULL) {
		size_t m = strlen(t->d_name);

		if (strcmp(t->d_name, ".") == 0 || strcmp(t->d_name, "..") == 0)
			continue;
		if (n + m + 2 > sizeof(w->path) || depth == DEPTH_MOST) {
			e = FAIL(f, E_SYS, "%.200s: the path is too long", w->path);
			break;
		}
		w->path[n] = '/';
		memcpy(w->path + n + 1, t->d_name, m + 1);
		if (!is_skipped(w, t->d_name)) {
			e = put_at(w, f);
			if (e == OK && t->d_type == DT_DIR)
				e = files_walk_dir(w, depth + 1, f);
		}
		w->path[n] = '\0';
	}
	if (e == OK && errno != 0)
		e = FAIL_ERRNO(f, "reading the directory %s", w->path);
	closedir(d);
	return e;
}

/* Begins at dir, without links in its path, so that skipped paths are recognised. */
static enum err files_walk_begin(struct walk *w, struct backup_out *b,
    const char *prefix, const char *dir, struct fail *f)
{
	*w = (struct walk){ .b = b, .prefix = prefix };
	if (realpath(dir, w->path) == NULL)
		return errno == ENOENT ? E_NOTFOUND :
		                         FAIL_ERRNO(f, "looking at %s", dir);
	w->top = strlen(w->path);
	return OK;
}

static void skip(struct walk *w, const char *path)
{
	char real[PATH_MAX];

	if (realpath(path, real) != NULL)
		w->skip[w->nskip++] = arena_strdup(w->b->x->a, real);
}

static enum err put_tree(struct walk *w, struct fail *f)
{
	TRY(put_at(w, f));
	return files_walk_dir(w, 0, f);
}

/* Puts a directory and all in it under the name prefix; an absent one is OK. */
static enum err files_put_dir(
    struct backup_out *b, const char *prefix, const char *dir, struct fail *f)
{
	struct walk w;
	enum err e = files_walk_begin(&w, b, prefix, dir, f);

	return e == E_NOTFOUND ? OK : e == OK ? put_tree(&w, f) : e;
}

/* Puts the project's directory without what the archive has elsewhere. */
static enum err files_put_project(struct backup_out *b, struct fail *f)
{
	static const char *const names[] = FILES_CONFIG, *const made[] = FILES_MADE;
	const struct conf *cf = b->x->cf;
	const char *const dirs[] = { cf->key_dir, cf->download_dir, cf->upload_dir,
		cf->log_dir, cf->run_dir, database_socket_dir(b->x->a, cf),
		cf->debug_req_reply_dir };
	int n = (int)(strrchr(cf->path, '/') - cf->path);
	struct walk w;

	TRY(files_walk_begin(&w, b, "project", cf->project_dir, f));
	for (size_t i = 0; i < N(dirs); i++)
		if (dirs[i][0] != '\0')
			skip(&w, dirs[i]);
	for (size_t i = 0; i < N(made); i++)
		skip(&w, project_path(b->x->a, cf, made[i]));
	for (size_t i = 0; i < N(names); i++)
		skip(&w, arena_printf(b->x->a, "%.*s/%s", n, cf->path, names[i]));
	return put_tree(&w, f);
}

/*
 * Reads a backup. For each entry the line is written that its list must have; when the
 * list arrives it must be equal, but for files that it calls torn.
 */

enum { HEAD_MOST = 1 << 20, LIST_MOST = 64 << 20, CHUNK_BYTES = 256 << 10 };

const char *backup_text(const json_t *root, const char *key)
{
	const char *s = json_string_value(json_object_get(root, key));

	return s == NULL ? "" : s;
}

void backup_in_free(struct backup_in *b)
{
	tar_close(b->tar);
	b->tar = NULL;
	json_decref(b->head);
	json_decref(b->end);
	arena_free(&b->list_arena);
}

enum err backup_read(struct backup_in *b, void *p, size_t max, size_t *n)
{
	TRY(tar_read(b->tar, p, max, n, b->f));
	sha256_add(b->entry, p, *n);
	b->left -= (int64_t)*n;
	if (*n == 0 && b->left != 0)
		return FAIL(
		    b->f, E_BADREQ, "%.200s in the archive is cut short", b->now.name);
	return OK;
}

enum err backup_read_all(
    struct backup_in *b, struct arena *a, size_t max, char **p, size_t *n)
{
	if (b->now.size < 0 || (size_t)b->now.size > max)
		return FAIL(
		    b->f, E_BADREQ, "%.200s in the archive is too large", b->now.name);
	*p = arena_alloc(a, (size_t)b->now.size + 1);
	*n = 0;
	for (;;) {
		size_t got;

		TRY(backup_read(b, *p + *n, (size_t)b->now.size - *n, &got));
		*n += got;
		if (got == 0 || *n == (size_t)b->now.size)
			return OK;
	}
}

/* Reads what the caller has left of the current entry. */
static enum err skip_rest(struct backup_in *b)
{
	char chunk[CHUNK_BYTES];
	size_t n = 0;

	if (b->now.name == NULL || b->now.kind != TAR_FILE)
		return OK;
	do
		TRY(backup_read(b, chunk, sizeof(chunk), &n));
	while (n > 0);
	return OK;
}

/* Keeps the name at the end of a line (list_add()). */
static void keep_torn(struct backup_in *b, const char *line, size_t n)
{
	const char *end = line + n - 1, *p = line;
	struct buf name = buf_new(b->a);

	for (int blanks = 0; p < end && blanks < 4; p++)
		blanks += *p == ' ';
	for (; p < end; p++) {
		char hex[3] = { 0 };

		if (*p != '%' || end - p < 3) {
			buf_put(&name, p, 1);
			continue;
		}
		memcpy(hex, p + 1, 2);
		hex[0] = (char)strtol(hex, NULL, 16);
		buf_put(&name, hex, 1);
		p += 2;
	}
	PUSH(b->a, b->torn, b->ntorn, b->torn_cap) = name.p;
}

/* Lines are equal, or differ only in that theirs says "torn". */
static bool same_line(
    struct backup_in *b, const char *ours, const char *theirs, size_t n)
{
	if (memcmp(ours, theirs, n) == 0)
		return true;
	if (ours[0] != 'f' || theirs[0] != 't' ||
	    memcmp(ours + 1, theirs + 1, n - 1) != 0)
		return false;
	keep_torn(b, theirs, n);
	return true;
}

static enum err compare_lists(struct backup_in *b, const char *list, size_t n)
{
	const char *ours = b->list.p, *theirs = list;

	while (*ours != '\0') {
		size_t m = strcspn(ours, "\n") + 1;

		if ((size_t)(theirs - list) + m > n || !same_line(b, ours, theirs, m))
			return FAIL(b->f, E_BADREQ,
			    "the archive is damaged: its list of digests does not have the line \"%.*s\"",
			    (int)(m < 200 ? m - 1 : 200), ours);
		ours += m;
		theirs += m;
	}
	if ((size_t)(theirs - list) != n)
		return FAIL(b->f, E_BADREQ,
		    "the archive is damaged: it lacks an entry that its list of digests has: %.200s",
		    theirs);
	return OK;
}

static enum err take_list(struct backup_in *b)
{
	struct arena a = { 0 };
	char *list;
	size_t n;
	enum err e = backup_read_all(b, &a, LIST_MOST, &list, &n);
	char unused[SHA256_HEX];

	sha256_end(b->entry, unused);
	if (e == OK)
		e = compare_lists(b, list, n);
	if (e == OK)
		sha256_add(b->lists, list, n);
	arena_free(&a);
	arena_reset(&b->list_arena);
	b->list = buf_new(&b->list_arena);
	return e;
}

static enum err take_json(struct backup_in *b, json_t **root)
{
	struct arena a = { 0 };
	char *text, unused[SHA256_HEX];
	size_t n;
	enum err e = backup_read_all(b, &a, HEAD_MOST, &text, &n);

	sha256_end(b->entry, unused);
	if (e == OK) {
		*root = json_loadb(text, n, 0, NULL);
		if (*root == NULL)
			e = FAIL(b->f, E_BADREQ, "%s in the archive is malformed",
			    b->now.name);
	}
	arena_free(&a);
	return e;
}

static int64_t number_of(const json_t *root, const char *key)
{
	return json_integer_value(json_object_get(root, key));
}

/* Compares the archive with what its end says of it. */
static enum err take_end(struct backup_in *b)
{
	char digest[SHA256_HEX];
	struct tar_entry none;

	TRY(take_json(b, &b->end));
	sha256_end(b->lists, digest);
	if (b->list.n > 0 || number_of(b->end, "entries") != b->entries ||
	    number_of(b->end, "bytes") != b->bytes ||
	    strcmp(backup_text(b->end, "sha256_of_lists"), digest) != 0)
		return FAIL(b->f, E_BADREQ,
		    "the archive is damaged: it has %lld entries with %lld bytes, but its end says %lld with %lld",
		    (long long)b->entries, (long long)b->bytes,
		    (long long)number_of(b->end, "entries"),
		    (long long)number_of(b->end, "bytes"));
	TRY(tar_next(b->tar, &none, b->f));
	return FAIL(b->f, E_BADREQ, "the archive goes on after its end");
}

enum err backup_next(struct backup_in *b)
{
	bool listed = strcmp(b->now.name, BACKUP_HEAD) != 0;

	TRY(skip_rest(b));
	if (listed) {
		if (b->now.kind == TAR_LINK)
			sha256_add(b->entry, b->now.target, strlen(b->now.target));
		b->entries++;
		b->bytes += b->now.kind == TAR_FILE ? b->now.size : 0;
		list_add(&b->list, &b->now, false, b->entry);
	}
	for (;;) {
		enum err e;

		/* Goes to the next entry of the archive. */
		b->now.name = NULL;
		e = tar_next(b->tar, &b->now, b->f);
		if (e == E_NOTFOUND)
			return FAIL(b->f, E_BADREQ,
			    "the archive is a partial one: it has no %s; the backup was interrupted, or the copy is not complete",
			    BACKUP_END);
		b->left = b->now.size;
		TRY(e);
		if (strcmp(b->now.name, BACKUP_END) == 0)
			return take_end(b);
		if (strncmp(b->now.name, LIST_PREFIX, strlen(LIST_PREFIX)) != 0)
			return OK;
		TRY(take_list(b));
	}
}

enum err backup_in_begin(struct arena *a, int fd, struct backup_in *b, struct fail *f)
{
	enum err e;

	*b = (struct backup_in){ .a = a, .f = f };
	b->list = buf_new(&b->list_arena);
	b->entry = sha256_new(a);
	b->lists = sha256_new(a);
	e = tar_open(fd, &b->tar, f);
	if (e == OK)
		e = tar_next(b->tar, &b->now, f);
	if (e == E_BADREQ)
		return FAIL(f, E_BADREQ,
		    "this is not a backup, or its beginning is lost: %.250s",
		    f->detail);
	if (e == E_NOTFOUND || (e == OK && strcmp(b->now.name, BACKUP_HEAD) != 0))
		return FAIL(f, E_BADREQ,
		    "this is not a backup made by locus: it does not begin with %s",
		    BACKUP_HEAD);
	if (e != OK)
		return e;
	b->left = b->now.size;
	TRY(take_json(b, &b->head));
	if (number_of(b->head, "format") != BACKUP_FORMAT)
		return FAIL(f, E_BADREQ,
		    "the backup has format %lld, this program knows %d; use a newer Locus",
		    (long long)number_of(b->head, "format"), (int)BACKUP_FORMAT);
	return OK;
}

enum { HOLD_MOST_MS = 300000 };

struct backup_opts {
	bool no_files, no_keys;
};

static const struct field backup_options[] = {
	{ "no-files", FIELD_OF(struct backup_opts, no_files), NULL,
	    "Leaves out the files of the download and upload directories." },
	{ "no-keys", FIELD_OF(struct backup_opts, no_keys), NULL,
	    "Leaves out the keys." },
	{ 0 },
};

struct backup_target { /* where the archive goes */
	const char *path;
	const char *name, *part; /* in dir */
	int dir, fd;             /* dir: AT_FDCWD, or an open directory of root */
	bool is_stdout;
};

/*
 * Root's process opens the file only in a directory that nobody but root can change;
 * elsewhere the project's account does, once this process has become it.
 */
static enum err target_dir(struct cmd_ctx *x, const char *path, struct backup_target *t)
{
	const char *slash = strrchr(path, '/');
	bool of_root;

	*t = (struct backup_target){
		.path = path, .name = path, .dir = AT_FDCWD, .fd = -1
	};
	/* A word such as "list" was meant for a verb: the archive has all keys. */
	if (strcmp(path, "-") != 0 && strpbrk(path, "./") == NULL)
		return ctx_usage(x,
		    "backup has no verb \"%s\": it writes an archive; give a file name such as ./%s.tar.zst",
		    path, path);
	if (!privilege_is_root() || strcmp(path, "-") == 0)
		return OK;
	TRY(fs_open_dir(
	    slash == NULL ? "." :
	    slash == path ? "/" :
			    arena_memdup(x->a, path, (size_t)(slash - path)),
	    0, &t->dir, &of_root, x->f));
	if (of_root) {
		t->name = slash == NULL ? path : slash + 1;
		return OK;
	}
	close(t->dir);
	t->dir = AT_FDCWD;
	return OK;
}

static enum err target_open(struct cmd_ctx *x, struct backup_target *t)
{
	struct stat st;

	if (strcmp(t->path, "-") == 0) {
		t->is_stdout = true;
		t->fd = STDOUT_FILENO;
		if (isatty(t->fd))
			return ctx_usage(x, "the archive does not go to a terminal");
		return OK;
	}
	t->part = arena_printf(x->a, "%s.part", t->name);
	if (fstatat(t->dir, t->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return FAIL(
		    x->f, E_SYS, "%s exists already and is not replaced", t->path);
	t->fd = openat(t->dir, t->part,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (t->fd < 0 && errno == EEXIST)
		return FAIL(x->f, E_SYS,
		    "%s.part exists: another backup is writing it, or one was interrupted; remove it if none runs",
		    t->path);
	return t->fd < 0 ? FAIL_ERRNO(x->f, "creating %s.part", t->path) : OK;
}

static enum err target_finish(struct cmd_ctx *x, const struct backup_target *t)
{
	if (t->dir == AT_FDCWD) {
		TRY(fs_rename_new(t->part, t->path, x->f));
		return fs_sync_dir(t->path, x->f);
	}
	if (renameat2(t->dir, t->part, t->dir, t->name, RENAME_NOREPLACE) < 0)
		return FAIL_ERRNO(x->f, "renaming to %s", t->path);
	return fsync(t->dir) < 0 ?
	           FAIL_ERRNO(x->f, "flushing the directory of %s", t->path) :
	           OK;
}

/* Gives a complete archive its name, or removes what failed. */
static enum err target_close(struct cmd_ctx *x, struct backup_target *t, enum err e)
{
	if (t->is_stdout || t->fd < 0)
		return e;
	if (e == OK && fsync(t->fd) < 0)
		e = FAIL_ERRNO(x->f, "writing %s", t->part);
	if (close(t->fd) < 0 && e == OK)
		e = FAIL_ERRNO(x->f, "writing %s", t->part);
	if (e == OK)
		e = target_finish(x, t);
	if (e != OK)
		unlinkat(t->dir, t->part, 0);
	return e;
}

/* Takes the lock that keeps files from being deleted. Who deletes shares it for a
 * moment only. */
static enum err hold_deletions(struct cmd_ctx *x, int *lock)
{
	const char *path = backup_lock_path(x->a, x->cf);
	enum err e = fs_lock_wait(path, HOLD_MOST_MS, lock, x->f);

	if (e == E_RACE)
		return FAIL(x->f, E_RACE,
		    "another backup of this project is running: it holds %s", path);
	return e;
}

static enum err put_backup_head(
    struct backup_out *b, const struct backup_opts *o, struct fail *f)
{
	struct cmd_ctx *x = b->x;
	struct row_text *server;
	struct identity id;
	int64_t schema;
	int64_t now = clock_now();
	char when[21];
	json_t *head;

	TRY(schema_version(x->db, &schema, f));
	if (schema == 0)
		return FAIL(f, E_CONFIG,
		    "database %s has no tables of Locus; its own dump program can save it",
		    x->cf->db_name);
	TRY(db_row(x->db, x->a, f, &server, SESSION_VERSION));
	TRY(identity_now(x->a, x->cf, &id, f));
	head = json_pack("{s:i s:s s:I s:I s:s s:s s:s s:s s:b s:b}", "format",
	    (int)BACKUP_FORMAT, "locus", PACKAGE_VERSION, "schema", (json_int_t)schema,
	    "time", (json_int_t)now, "time_utc", clock_text(now, when), "master_url",
	    x->cf->master_url, "directory", id.dir, "database", server->s, "files",
	    !o->no_files, "keys", !o->no_keys);
	if (head == NULL)
		return FAIL(
		    f, E_CONFIG, "the master URL or the directory is not UTF-8");
	return backup_put_json(b, BACKUP_HEAD, head, f);
}

/*
 * The order makes the archive consistent: nothing is deleted from now on; what the
 * snapshot of the database names was there before it, so it is there to be copied
 * after it. Triggers are older than the snapshot: one that says "no more work" must not
 * speak of work that the snapshot does not have.
 */
static enum err put_all(
    struct backup_out *b, const struct backup_opts *o, struct fail *f)
{
	const struct conf *cf = b->x->cf;
	struct dump_count rows = { .a = b->x->a };
	json_t *end;
	static const char *const names[] = FILES_CONFIG;

	TRY(put_backup_head(b, o, f));
	/* Puts config.xml and the identity beside it. */
	const char *path = b->x->cf->path;
	int n = (int)(strrchr(path, '/') - path);

	for (size_t i = 0; i < N(names); i++)
		TRY(backup_put_path(b,
		    arena_printf(b->x->a, BACKUP_CONFIG "%s", names[i]),
		    arena_printf(b->x->a, "%.*s/%s", n, path, names[i]), f));

	if (!o->no_keys)
		TRY(files_put_dir(b, "keys", cf->key_dir, f));
	/* Puts the directories of triggers. */
	TRY(files_put_dir(b, "project/" FILES_TRIGGERS,
	    project_path(b->x->a, b->x->cf, FILES_TRIGGERS), f));
	TRY(dump_put(b, &rows, f));
	TRY(files_put_project(b, f));
	if (!o->no_files) {
		TRY(files_put_dir(b, "upload", cf->upload_dir, f));
		TRY(files_put_dir(b, "download", cf->download_dir, f));
	}
	end = json_object();
	json_object_set_new(end, "rows", dump_counts(&rows));
	json_object_set_new(end, "torn", json_integer(b->torn));
	return backup_out_end(b, end, f);
}

struct backing_up {
	const struct backup_opts *o;
	struct backup_target *t;
};

static enum err backup_put(struct cmd_ctx *x, const struct backing_up *w, bool opens,
    struct backup_out *b, int *lock)
{
	/* The backup before an upgrade: the packages are often new already. */
	TRY(ctx_db_any_schema(x));
	if (opens)
		TRY(target_open(x, w->t));
	TRY(hold_deletions(x, lock));
	TRY(backup_out_begin(x, w->t->fd, b, x->f));
	return put_all(b, w->o, x->f);
}

/* Writes the archive to the target, which is opened here unless root has opened it. */
static enum err backup_work(struct cmd_ctx *x, void *arg)
{
	const struct backing_up *w = arg;
	struct backup_target *t = w->t;
	struct backup_out b = { 0 };
	int lock = -1;
	bool opens = t->fd < 0;
	enum err e;

	proc_signals();
	e = backup_put(x, w, opens, &b, &lock);
	backup_out_free(&b);
	if (lock >= 0)
		close(lock);
	if (opens)
		e = target_close(x, t, e);
	if (e == OK)
		fprintf(t->is_stdout ? stderr : stdout,
		    "backup    %s: %lld entries, %lld bytes%s\n",
		    t->is_stdout ? "written to standard output" : t->path,
		    (long long)b.entries, (long long)b.bytes,
		    w->o->no_files ? ", without the files of hosts" : "");
	return e;
}

/* locus doctor and the metrics tell how old the newest backup is. An older schema has
 * no place for it, nor has a database that is only read; the archive is complete
 * all the same. */
static enum err note_backup(struct cmd_ctx *x, void *begun)
{
	struct fail f = { 0 };
	int64_t schema;

	TRY(ctx_db_any_schema(x));
	if (schema_version(x->db, &schema, &f) == OK && schema >= SCHEMA_VERSION &&
	    project_set_backed_up(x->db, *(int64_t *)begun, &f) != OK)
		log_warn(
		    "the backup is complete, but the database cannot note that there is one: %s",
		    f.detail);
	return OK;
}

static enum err backup_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct backup_target t;
	struct backing_up w = { opts, &t };
	int64_t begun = clock_now();
	enum err e;

	(void)n;
	TRY(target_dir(x, args[0], &t));
	if (t.dir == AT_FDCWD) {
		TRY(backup_work(x, &w));
		return note_backup(x, &begun);
	}
	e = target_open(x, &t);
	if (e == OK)
		e = target_close(x, &t, ctx_fork(x, backup_work, &w));
	close(t.dir);
	return e == OK ? ctx_fork(x, note_backup, &begun) : e;
}

const struct cmd cmd_backup = { .name = "backup",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.purpose = "save the running project in one archive",
	.about =
	    "Writes one consistent snapshot of the database, config.xml, keys, apps, templates,\n"
	    "plan classes, triggers and the files of hosts to FILE, a tar archive compressed with\n"
	    "zstd; \"-\" is standard output, and a name needs a dot or a slash. The project goes on\n"
	    "meanwhile; only its file_deleter waits. Writes FILE.part and renames it at the end,\n"
	    "and never replaces a file. locus-backup(7) has the whole story.",
	.details = "The database may still have the schema of an older release.",
	.opts = backup_options,
	.opts_size = sizeof(struct backup_opts),
	.run = backup_run };
