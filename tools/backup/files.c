/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a backup: the project's directory, and the directories beside it. */
#include "tools/backup/files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "tools/service.h"
#include "lib/banned.h"

enum { DEPTH_MOST = 100, SKIPS_MOST = 16 };

struct walk {
	struct backup_out *b;
	char path[PATH_MAX];    /* of the file at hand */
	size_t top;             /* length of the directory's path in it */
	const char *prefix;     /* name of the directory in the archive */
	char *skip[SKIPS_MOST]; /* paths that are left out */
	size_t nskip;
};

static bool
is_skipped(const struct walk *w, const char *name)
{
	if (strncmp(name, ".tmp-", strlen(".tmp-")) == 0 || strcmp(name, FS_MARK) == 0)
		return true;
	for (size_t i = 0; i < w->nskip; i++)
		if (strcmp(w->skip[i], w->path) == 0)
			return true;
	return false;
}

static enum err
put_at(struct walk *w, struct fail *f)
{
	char name[PATH_MAX + 16];

	snprintf(name, sizeof(name), "%s%s", w->prefix, w->path + w->top);
	return backup_put_path(w->b, name, w->path, f);
}

/* Puts what is in the directory w->path. A directory that vanishes is none. */
static enum err
files_walk_dir(struct walk *w, int depth, struct fail *f)
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
static enum err
files_walk_begin(struct walk *w, struct backup_out *b, const char *prefix,
    const char *dir, struct fail *f)
{
	*w = (struct walk){ .b = b, .prefix = prefix };
	if (realpath(dir, w->path) == NULL)
		return errno == ENOENT ? E_NOTFOUND :
		                         FAIL_ERRNO(f, "looking at %s", dir);
	w->top = strlen(w->path);
	return OK;
}

static void
skip(struct walk *w, const char *path)
{
	char real[PATH_MAX];

	if (realpath(path, real) != NULL)
		w->skip[w->nskip++] = arena_strdup(w->b->x->a, real);
}

static enum err
put_tree(struct walk *w, struct fail *f)
{
	TRY(put_at(w, f));
	return files_walk_dir(w, 0, f);
}

enum err
files_put_config(struct backup_out *b, struct fail *f)
{
	static const char *const names[] = FILES_CONFIG;
	const char *path = b->x->cf->path;
	int n = (int)(strrchr(path, '/') - path);

	for (size_t i = 0; i < N(names); i++)
		TRY(backup_put_path(b,
		    arena_printf(b->x->a, BACKUP_CONFIG "%s", names[i]),
		    arena_printf(b->x->a, "%.*s/%s", n, path, names[i]), f));
	return OK;
}

enum err
files_put_dir(struct backup_out *b, const char *prefix, const char *dir, struct fail *f)
{
	struct walk w;
	enum err e = files_walk_begin(&w, b, prefix, dir, f);

	return e == E_NOTFOUND ? OK : e == OK ? put_tree(&w, f) : e;
}

enum err
files_put_triggers(struct backup_out *b, struct fail *f)
{
	return files_put_dir(b, "project/" FILES_TRIGGERS,
	    project_path(b->x->a, b->x->cf, FILES_TRIGGERS), f);
}

enum err
files_put_project(struct backup_out *b, struct fail *f)
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
