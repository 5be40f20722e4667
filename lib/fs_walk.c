/* SPDX-License-Identifier: Apache-2.0 */
/* Ways through directories that other accounts may change at the same time. */
#include "lib/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/banned.h"

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
static bool
only_root_writes(const struct stat *st, bool on_the_way)
{
	return st->st_uid == 0 &&
	       ((on_the_way && (st->st_mode & S_ISVTX) != 0) ||
		   ((st->st_mode & S_IWOTH) == 0 &&
		       ((st->st_mode & S_IWGRP) == 0 || st->st_gid == 0)));
}

static void
way_ruled_by(struct way *w, const struct stat *st)
{
	if (w->ruler == 0)
		w->ruler = st->st_uid == 0 ? FS_RULED_BY_MANY : st->st_uid;
}

static enum err
way_begin(struct way *w, const char *path, struct fail *f)
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

static void
way_end(struct way *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
}

static void
way_to(struct way *w, int fd)
{
	way_end(w);
	w->fd = fd;
}

/* Puts the text of a link in front of what is left to go. */
static enum err
way_link(struct way *w, const char *name, struct fail *f)
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
static void
way_name(struct way *w, char name[PATH_MAX])
{
	size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/");

	memcpy(name, w->rest + skip, n);
	name[n] = '\0';
	memmove(w->rest, w->rest + skip + n, strlen(w->rest + skip + n) + 1);
}

/* Looks at the directory reached and at what has this name in it; *mode = 0: nothing.
 */
static enum err
way_look(struct way *w, const char *name, mode_t *mode, struct fail *f)
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
static enum err
way_step(struct way *w, const char *name, unsigned mode, struct fail *f)
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

enum err
fs_open_dir(const char *path, unsigned mode, int *fd, bool *of_root, struct fail *f)
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

enum err
fs_ruler(const char *path, uid_t *uid, struct fail *f)
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

enum err
fs_remove_empty(const char *path, struct fail *f)
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
