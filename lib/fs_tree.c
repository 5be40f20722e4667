/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes whole trees: only a directory that carries our mark, or one right below such
 * a directory, is ever removed with its content. Every step goes through descriptors:
 * no link is followed, not even one that replaces a directory meanwhile, and no mount
 * is entered.
 */
#include "lib/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
static bool
has_mark(int dir)
{
	struct stat st;

	return fstatat(dir, FS_MARK, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

/* Two bind mounts of one device differ in nothing but the mount's number. */
static uint64_t
mount_of(int fd)
{
	struct statx st = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0)
		return 0;
	return (st.stx_mask & STATX_MNT_ID) != 0 ?
	           st.stx_mnt_id :
	           (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
}

static int
open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static enum err
removal_failed(const struct removal *r, const char *name)
{
	return FAIL_ERRNO(r->f, "removing %s, at %.200s", r->path, name);
}

static enum err empty_dir(struct removal *r, int fd, int depth);

static enum err
remove_dir(struct removal *r, int dir, const char *name, int depth)
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

static enum err
remove_at(struct removal *r, int dir, const char *name, int depth)
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
static enum err
empty_once(struct removal *r, DIR *d, int depth, size_t *n)
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
static enum err
empty_dir(struct removal *r, int fd, int depth)
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

/* Removes name from the open directory dir if either of the two is marked. */
static enum err
remove_top(int dir, const char *name, const char *path, struct fail *f)
{
	struct removal r = { .top = open_dir(dir, name), .path = path, .f = f };
	enum err e = OK;
	int fd;

	if (r.top < 0)
		return errno == ENOENT ? OK :
		                         FAIL_ERRNO(f, "opening %s to remove it", path);
	r.mount = mount_of(r.top);
	if (r.mount != mount_of(dir))
		e = FAIL(
		    f, E_DENIED, "%s is a mount point, which is not removed", path);
	else if (!has_mark(r.top) && !has_mark(dir))
		e = FAIL(f, E_DENIED,
		    "%s is not removed: it holds no file %s, so we did not make it",
		    path, FS_MARK);
	fd = e == OK ? fcntl(r.top, F_DUPFD_CLOEXEC, 0) : -1;
	if (e == OK)
		e = fd < 0 ? removal_failed(&r, path) : empty_dir(&r, fd, 0);
	if (e == OK && unlinkat(r.top, FS_MARK, 0) < 0 && errno != ENOENT)
		e = removal_failed(&r, FS_MARK);
	close(r.top);
	if (e == OK && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		e = removal_failed(&r, path);
	return e;
}

enum err
fs_rmtree(const char *path, struct fail *f)
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

bool
fs_is_own(const char *path)
{
	int fd = open_dir(AT_FDCWD, path);
	bool yes = fd >= 0 && has_mark(fd);

	if (fd >= 0)
		close(fd);
	return yes;
}

enum err
fs_mark_own(const char *path, struct fail *f)
{
	char mark[PATH_MAX];

	if ((size_t)snprintf(mark, sizeof(mark), "%s/" FS_MARK, path) >= sizeof(mark))
		return FAIL(f, E_BADREQ, "path of %zu bytes is too long", strlen(path));
	return fs_write(mark, mark_text, strlen(mark_text), 0644, f);
}

enum err
fs_make_own(const char *path, unsigned mode, struct fail *f)
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

enum err
fs_unmark_own(const char *path, struct fail *f)
{
	char mark[PATH_MAX];

	if ((size_t)snprintf(mark, sizeof(mark), "%s/" FS_MARK, path) >= sizeof(mark))
		return FAIL(f, E_BADREQ, "path of %zu bytes is too long", strlen(path));
	return fs_unlink(mark, f);
}
