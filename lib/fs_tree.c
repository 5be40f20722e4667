/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes whole trees: only a directory that carries our mark, or one right below such
 * a directory, is ever removed with its content. Every step goes through descriptors:
 * no link is followed, not even one that replaces a directory meanwhile, and no mount
 * is entered.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/banned.h"

/* Ways through directories that other accounts may change at the same time. */

enum {
	DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	LINKS_MOST = 40 /* as the kernel */
};

/* A way down from the root directory; each directory is opened through no link. */
struct way {
	const char *path;
	char rest[PATH_MAX]; /* what is left to go */
	int fd;              /* the directory reached */
	int links;
	uid_t ruler; /* see fs_ruler() */
};

/* on_the_way: in a sticky directory nobody else replaces root's own. */
static bool only_root_writes(const struct stat *st, bool on_the_way)
{
	return st->st_uid == 0 &&
	       ((on_the_way && (st->st_mode & S_ISVTX) != 0) ||
		   ((st->st_mode & S_IWOTH) == 0 &&
		       ((st->st_mode & S_IWGRP) == 0 || st->st_gid == 0)));
}

static void way_ruled_by(struct way *w, const struct stat *st)
{
	if (w->ruler == 0)
		w->ruler = st->st_uid == 0 ? FS_RULED_BY_MANY : st->st_uid;
}

static enum err way_begin(struct way *w, const char *path, struct fail *f)
{
	char here[PATH_MAX] = "";
	int n;

	*w = (struct way){ .path = path, .fd = -1 };
	if (path[0] != '/' && getcwd(here, sizeof(here)) == NULL)
		return FAIL_ERRNO(f, "looking at the current directory");
	n = snprintf(w->rest, sizeof(w->rest), "%s/%s", here, path);
	if (path[0] == '\0' || n < 0 || (size_t)n >= sizeof(w->rest))
		return FAIL(
		    f, E_BADREQ, "path of %zu bytes: empty or too long", strlen(path));
	w->fd = open("/", DIR_FLAGS);
	return w->fd < 0 ? FAIL_ERRNO(f, "opening /") : OK;
}

static void way_end(struct way *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

static void way_to(struct way *w, int fd)
{
	way_end(w);
	w->fd = fd;
}

/* Puts the text of a link in front of what is left to go. */
static enum err way_link(struct way *w, const char *name, struct fail *f)
{
	char text[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlinkat(w->fd, name, text, sizeof(text) - 1);

	if (n < 0)
		return FAIL_ERRNO(f, "reading the link %s of %s", name, w->path);
	text[n] = '\0';
	memcpy(rest, w->rest, sizeof(rest));
	if (++w->links > LINKS_MOST || snprintf(w->rest, sizeof(w->rest), "%s/%s", text,
					   rest) >= (int)sizeof(w->rest))
		return FAIL(f, E_BADREQ, "%s leads through too many links", w->path);
	if (text[0] == '/')
		way_to(w, open("/", DIR_FLAGS));
	return w->fd < 0 ? FAIL_ERRNO(f, "opening /") : OK;
}

/* Takes the next name off what is left; "" = there is none. */
static void way_name(struct way *w, char name[PATH_MAX])
{
	size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");

	memcpy(name, w->rest + skip, n);
	name[n] = '\0';
	memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
}

/* Looks at the directory reached and at what has this name in it; *mode = 0: nothing.
 */
static enum err way_look(struct way *w, const char *name, mode_t *mode, struct fail *f)
{
	struct stat dir, st;

	*mode = 0;
	if (fstat(w->fd, &dir) < 0)
		return FAIL_ERRNO(f, "looking at %s", w->path);
	if (!only_root_writes(&dir, true))
		way_ruled_by(w, &dir);
	if (fstatat(w->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? OK : FAIL_ERRNO(f, "looking at %s", w->path);
	*mode = st.st_mode;
	if (S_ISLNK(st.st_mode) && st.st_uid != 0)
		way_ruled_by(w, &st);
	return OK;
}

/* Goes one name down; a link leads root on only if nobody but root can have put it. */
static enum err way_step(struct way *w, const char *name, unsigned mode, struct fail *f)
{
	mode_t is;
	int next;

	TRY(way_look(w, name, &is, f));
	if (S_ISLNK(is) && w->ruler != 0 && geteuid() == 0)
		return FAIL(f, E_DENIED,
		    "%s of %s is a link of another account, which root does not follow",
		    name, w->path);
	if (S_ISLNK(is))
		return way_link(w, name, f);
	if (mode != 0 && mkdirat(w->fd, name, mode) < 0 && errno != EEXIST)
		return FAIL_ERRNO(f, "making %s of %s", name, w->path);
	next = openat(w->fd, name, DIR_FLAGS);
	if (next < 0)
		return FAIL_ERRNO(f, "opening %s of %s", name, w->path);
	way_to(w, next);
	return OK;
}

enum err fs_open_dir(
    const char *path, unsigned mode, int *fd, bool *of_root, struct fail *f)
{
	char name[PATH_MAX];
	struct stat st = { 0 };
	struct way w;
	enum err e = way_begin(&w, path, f);

	for (; e == OK; e = way_step(&w, name, mode, f)) {
		way_name(&w, name);
		if (name[0] == '\0')
			break;
	}
	if (e == OK && fstat(w.fd, &st) < 0)
		e = FAIL_ERRNO(f, "looking at %s", path);
	if (of_root != NULL)
		*of_root = w.ruler == 0 && only_root_writes(&st, false);
	if (e != OK)
		way_end(&w);
	*fd = w.fd;
	return e;
}

enum err fs_ruler(const char *path, uid_t *uid, struct fail *f)
{
	char name[PATH_MAX];
	struct way w;
	mode_t is;
	enum err e = way_begin(&w, path, f);

	while (e == OK) {
		way_name(&w, name);
		e = way_look(&w, name, &is, f);
		if (e != OK || w.ruler != 0 || !(S_ISDIR(is) || S_ISLNK(is)))
			break;
		e = way_step(&w, name, 0, f);
	}
	way_end(&w);
	*uid = w.ruler;
	return e;
}

enum err fs_remove_empty(const char *path, struct fail *f)
{
	char above[PATH_MAX], *slash;
	enum err e = OK;
	int fd;

	if (realpath(path, above) == NULL)
		return errno == ENOENT ? OK : FAIL_ERRNO(f, "looking at %s", path);
	slash = strrchr(above, '/');
	*slash = '\0';
	TRY(fs_open_dir(slash == above ? "/" : above, 0, &fd, NULL, f));
	if (unlinkat(fd, slash + 1, AT_REMOVEDIR) < 0 && errno != ENOENT)
		e = FAIL_ERRNO(f, "removing %s", path);
	close(fd);
	return e;
}

enum {
	/* one descriptor each; deeper directories are moved to the top */
	DEPTH_MOST = 64,
	PASSES_MOST = 10000
};

static const char mark_text[] =
    "Locus made this directory and removes it with all that is in it.\n"
    "Keep nothing of your own here.\n";

struct removal {
	int top;          /* the directory to remove */
	uint64_t mount;   /* mount that it is on */
	int hoisted;      /* directories moved to the top so far */
	const char *path; /* for messages */
	struct fail *f;
};

/* A link to a mark, or a mark that another account owns, does not count. */
static bool has_mark(int dir)
{
	struct stat st;

	return fstatat(dir, FS_MARK, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

/* Two bind mounts of one device differ in nothing but the mount's number. */
static uint64_t mount_of(int fd)
{
	struct statx st = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0)
		return 0;
	return (st.stx_mask & STATX_MNT_ID) != 0 ?
	           st.stx_mnt_id :
	           (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
}

static int open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static enum err removal_failed(const struct removal *r, const char *name)
{
	return FAIL_ERRNO(r->f, "removing %s, at %.200s", r->path, name);
}

static enum err empty_dir(struct removal *r, int fd, int depth);

static enum err remove_dir(struct removal *r, int dir, const char *name, int depth)
{
	char moved[32];
	int fd;

	if (depth == DEPTH_MOST) {
		snprintf(moved, sizeof(moved), ".deep-%d", r->hoisted++);
		return renameat(dir, name, r->top, moved) == 0 ?
		           OK :
		           removal_failed(r, name);
	}
	fd = open_dir(dir, name);
	if (fd < 0)
		return removal_failed(r, name);
	if (mount_of(fd) != r->mount) {
		close(fd);
		return FAIL(r->f, E_DENIED,
		    "%s: %.200s in it is a mount point, which is not removed", r->path,
		    name);
	}
	TRY(empty_dir(r, fd, depth + 1));
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return removal_failed(r, name);
	return OK;
}

static enum err remove_at(struct removal *r, int dir, const char *name, int depth)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? OK : removal_failed(r, name);
	if (!S_ISDIR(st.st_mode))
		return unlinkat(dir, name, 0) == 0 || errno == ENOENT ?
		           OK :
		           removal_failed(r, name);
	/*
	 * A program may have made its own directories inaccessible. If this fails, so
	 * does the removal below.
	 */
	if ((st.st_mode & S_IRWXU) != S_IRWXU &&
	    fchmodat(dir, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return OK;
	return remove_dir(r, dir, name, depth);
}

/* Makes one pass; *n = entries found. The mark of the top directory is removed last. */
static enum err empty_once(struct removal *r, DIR *d, int depth, size_t *n)
{
	struct dirent *de;
	enum err e = OK;

	*n = 0;
	rewinddir(d);
	while (e == OK && (de = readdir(d)) != NULL) {
		const char *name = de->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    (depth == 0 && strcmp(name, FS_MARK) == 0))
			continue;
		(*n)++;
		e = remove_at(r, dirfd(d), name, depth);
	}
	return e;
}

/* Closes fd. */
static enum err empty_dir(struct removal *r, int fd, int depth)
{
	DIR *d = fdopendir(fd);
	enum err e = OK;
	size_t n = 1;

	if (d == NULL) {
		close(fd);
		return removal_failed(r, "a directory");
	}
	for (int i = 0; n > 0 && e == OK; i++)
		e = i < PASSES_MOST ?
		        empty_once(r, d, depth, &n) :
		        FAIL(r->f, E_SYS, "%s: files are added faster than removed",
			    r->path);
	closedir(d);
	return e;
}

/* Empties the directory if it, or the open directory dir that holds it, is marked. */
static enum err empty_marked(struct removal *r, int dir)
{
	int fd;

	r->mount = mount_of(r->top);
	if (r->mount != mount_of(dir))
		return FAIL(r->f, E_DENIED, "%s is a mount point, which is not removed",
		    r->path);
	if (!has_mark(r->top) && !has_mark(dir))
		return FAIL(r->f, E_DENIED,
		    "%s is not removed: it holds no file %s, so we did not make it",
		    r->path, FS_MARK);
	fd = fcntl(r->top, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return removal_failed(r, r->path);
	TRY(empty_dir(r, fd, 0));
	if (unlinkat(r->top, FS_MARK, 0) < 0 && errno != ENOENT)
		return removal_failed(r, FS_MARK);
	return OK;
}

/* Removes name from the open directory dir if either of the two is marked. */
static enum err remove_top(int dir, const char *name, const char *path, struct fail *f)
{
	struct removal r = { .top = open_dir(dir, name), .path = path, .f = f };
	enum err e;

	if (r.top < 0)
		return errno == ENOENT ? OK :
		                         FAIL_ERRNO(f, "opening %s to remove it", path);
	e = empty_marked(&r, dir);
	close(r.top);
	if (e == OK && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		e = removal_failed(&r, path);
	return e;
}

enum err fs_rmtree(const char *path, struct fail *f)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];
	enum err e;
	int dir;

	if (strlen(path) >= sizeof(above))
		return FAIL(f, E_BADREQ, "path of %zu bytes is too long", strlen(path));
	snprintf(above, sizeof(above), "%.*s",
	    slash == NULL ? 1 : (int)(slash - path) + 1, slash == NULL ? "." : path);
	dir = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? OK : FAIL_ERRNO(f, "opening %s", above);
	e = remove_top(dir, slash == NULL ? path : slash + 1, path, f);
	close(dir);
	return e;
}

bool fs_is_own(const char *path)
{
	int fd = open_dir(AT_FDCWD, path);
	bool yes = fd >= 0 && has_mark(fd);

	if (fd >= 0)
		close(fd);
	return yes;
}

enum err fs_mark_own(const char *path, struct fail *f)
{
	char mark[PATH_MAX];

	if ((size_t)snprintf(mark, sizeof(mark), "%s/" FS_MARK, path) >= sizeof(mark))
		return FAIL(f, E_BADREQ, "path of %zu bytes is too long", strlen(path));
	return fs_write(mark, mark_text, strlen(mark_text), 0644, f);
}

enum err fs_make_own(const char *path, unsigned mode, struct fail *f)
{
	enum err e;

	if (mkdir(path, mode) == 0) {
		e = fs_mark_own(path, f);
		if (e != OK)
			rmdir(path);
		return e;
	}
	if (errno != EEXIST)
		return FAIL_ERRNO(f, "making directory %s", path);
	if (fs_is_own(path))
		return OK;
	return FAIL(f, E_DENIED, "%s exists and is not ours: it holds no file %s", path,
	    FS_MARK);
}

enum err fs_unmark_own(const char *path, struct fail *f)
{
	char mark[PATH_MAX];

	if ((size_t)snprintf(mark, sizeof(mark), "%s/" FS_MARK, path) >= sizeof(mark))
		return FAIL(f, E_BADREQ, "path of %zu bytes is too long", strlen(path));
	return fs_unlink(mark, f);
}
