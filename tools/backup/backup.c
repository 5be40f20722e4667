/* SPDX-License-Identifier: Apache-2.0 */
/* locus backup: one archive of a running project. */
#include "tools/backup/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config.h"
#include "db/project.h"
#include "db/schema.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "model/identity.h"
#include "tools/backup/files.h"
#include "lib/banned.h"

enum { HOLD_MOST_MS = 300000 };

struct backup_opts {
	bool no_files, no_keys;
};

static const struct opt backup_options[] = {
	{ "no-files", OPT_FLAG, offsetof(struct backup_opts, no_files), NULL,
	    "Leaves out the files of the download and upload directories." },
	{ "no-keys", OPT_FLAG, offsetof(struct backup_opts, no_keys), NULL,
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
static enum err
target_dir(struct cmd_ctx *x, const char *path, struct backup_target *t)
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

static enum err
target_open(struct cmd_ctx *x, struct backup_target *t)
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

static enum err
target_finish(struct cmd_ctx *x, const struct backup_target *t)
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
static enum err
target_close(struct cmd_ctx *x, struct backup_target *t, enum err e)
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
static enum err
hold_deletions(struct cmd_ctx *x, int *lock)
{
	const char *path = backup_lock_path(x->a, x->cf);
	enum err e = fs_lock_wait(path, HOLD_MOST_MS, lock, x->f);

	if (e == E_RACE)
		return FAIL(x->f, E_RACE,
		    "another backup of this project is running: it holds %s", path);
	return e;
}

static enum err
put_backup_head(struct backup_out *b, const struct backup_opts *o, struct fail *f)
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
static enum err
put_all(struct backup_out *b, const struct backup_opts *o, struct fail *f)
{
	const struct conf *cf = b->x->cf;
	struct dump_count rows = { .a = b->x->a };
	json_t *end;

	TRY(put_backup_head(b, o, f));
	TRY(files_put_config(b, f));
	if (!o->no_keys)
		TRY(files_put_dir(b, "keys", cf->key_dir, f));
	TRY(files_put_triggers(b, f));
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

/* Writes the archive to the target, which is opened here unless root has opened it. */
static enum err
backup_work(struct cmd_ctx *x, void *arg)
{
	const struct backing_up *w = arg;
	struct backup_target *t = w->t;
	struct backup_out b = { 0 };
	int lock = -1;
	bool opens = t->fd < 0;
	/* The backup before an upgrade: the packages are often new already. */
	enum err e = ctx_db_any_schema(x);

	proc_signals();
	if (e == OK && opens)
		e = target_open(x, t);
	if (e == OK)
		e = hold_deletions(x, &lock);
	if (e == OK)
		e = backup_out_begin(x, t->fd, &b, x->f);
	if (e == OK)
		e = put_all(&b, w->o, x->f);
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
static enum err
note_backup(struct cmd_ctx *x, void *begun)
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

static enum err
backup_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
