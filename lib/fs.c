/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files appear whole: they are written under a hidden temporary name in the same
 * directory, flushed and renamed. Listings of directories that other programs watch
 * must therefore skip names that begin with a dot.
 */
#include "lib/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "lib/clock.h"

enum {
	CHUNK = 64 << 10,
	LOCK_TRIES = 4,
	LOCK_LOOK_MS = 50,
	FLUSH_ONCE = 8 /* fewer files are flushed one by one */
};

/* E_NOTFOUND if errno says that the file does not exist, else as FAIL_ERRNO(). */
static enum err fail_open(struct fail *f, const char *what, const char *path)
{
	if (errno == ENOENT || errno == ENOTDIR)
		return FAIL(f, E_NOTFOUND, "%s %s: no such file", what, path);
	return FAIL_ERRNO(f, "%s %s", what, path);
}

static ssize_t fd_read(int fd, void *p, size_t n)
{
	ssize_t got;

	do
		got = read(fd, p, n);
	while (got < 0 && errno == EINTR);
	return got;
}

static bool fd_write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, p, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		p += put;
		n -= (size_t)put;
	}
	return true;
}

enum err fs_read_fd(struct arena *a, int fd, const char *path, size_t max, char **p,
    size_t *n, struct fail *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (st.st_size > 0 && (size_t)st.st_size > max)
		return FAIL(f, E_BADREQ, "%s: larger than %zu bytes", path, max);
	/* Reads to the end of fd; the size from stat() is only a first guess. */
	size_t guess = (size_t)st.st_size;
	size_t cap = guess + 2, got = 0;
	char *text = arena_alloc(a, cap);
	ssize_t more;

	while ((more = fd_read(fd, text + got, cap - 1 - got)) > 0) {
		got += (size_t)more;
		if (got > max)
			return FAIL(
			    f, E_BADREQ, "%s: larger than %zu bytes", path, max);
		if (got == cap - 1)
			text = arena_grow(a, text, cap, &cap, 1);
	}
	if (more < 0)
		return FAIL_ERRNO(f, "reading %s", path);
	text[got] = '\0';
	*p = text;
	if (n != NULL)
		*n = got;
	return OK;
}

enum err fs_read(
    struct arena *a, const char *path, size_t max, char **p, size_t *n, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum err e;

	if (fd < 0)
		return fail_open(f, "opening", path);
	e = fs_read_fd(a, fd, path, max, p, n, f);
	close(fd);
	return e;
}

/* A file being written; ends with tmp_commit() or tmp_drop(). */
struct tmp {
	char name[PATH_MAX];
	int fd;
};

static enum err tmp_open(struct tmp *t, const char *path, struct fail *f)
{
	const char *slash = strrchr(path, '/'),
		   *base = slash == NULL ? path : slash + 1;
	int n;

	t->fd = -1;
	n = snprintf(t->name, sizeof(t->name), "%.*s.tmp-%.100s-XXXXXX",
	    (int)(base - path), path, base);
	if (n < 0 || (size_t)n >= sizeof(t->name))
		return FAIL(f, E_BADREQ, "path of %zu bytes is too long", strlen(path));
	t->fd = mkostemp(t->name, O_CLOEXEC);
	if (t->fd < 0)
		return FAIL_ERRNO(f, "making a temporary file for %s", path);
	return OK;
}

static enum err tmp_drop(
    struct tmp *t, const char *what, const char *path, struct fail *f)
{
	enum err e = FAIL_ERRNO(f, "%s %s", what, path);

	if (t->fd >= 0)
		close(t->fd);
	unlink(t->name);
	return e;
}

enum err fs_sync_dir(const char *path, struct fail *f)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	enum err e = OK;
	int fd;

	if (slash != NULL &&
	    (size_t)snprintf(dir, sizeof(dir), "%.*s",
		slash == path ? 1 : (int)(slash - path), path) >= sizeof(dir))
		return FAIL(f, E_BADREQ, "path of %zu bytes is too long", strlen(path));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return FAIL_ERRNO(f, "opening %s", dir);
	if (fsync(fd) < 0)
		e = FAIL_ERRNO(f, "flushing %s", dir);
	close(fd);
	return e;
}

/* Closes a file whose content and mode need not be on disk yet. */
static enum err tmp_close(
    struct tmp *t, const char *path, unsigned mode, struct fail *f)
{
	int closed;

	if (fchmod(t->fd, mode) < 0)
		return tmp_drop(t, "setting the mode of", path, f);
	closed = close(t->fd);
	t->fd = -1;
	return closed == 0 ? OK : tmp_drop(t, "closing", path, f);
}

static enum err tmp_flush(
    struct tmp *t, const char *path, unsigned mode, struct fail *f)
{
	if (fchmod(t->fd, mode) < 0)
		return tmp_drop(t, "setting the mode of", path, f);
	if (fsync(t->fd) < 0)
		return tmp_drop(t, "flushing", path, f);
	return tmp_close(t, path, mode, f);
}

static enum err tmp_commit(
    struct tmp *t, const char *path, unsigned mode, struct fail *f)
{
	TRY(tmp_flush(t, path, mode, f));
	if (rename(t->name, path) < 0)
		return tmp_drop(t, "renaming to", path, f);
	/*
	 * Makes the directory entry durable. Without it the file is whole either way.
	 */
	fs_sync_dir(path, NULL);
	return OK;
}

enum err fs_write(
    const char *path, const void *p, size_t n, unsigned mode, struct fail *f)
{
	struct tmp t;

	TRY(tmp_open(&t, path, f));
	if (!fd_write_all(t.fd, p, n))
		return tmp_drop(&t, "writing", path, f);
	return tmp_commit(&t, path, mode, f);
}

/*
 * Writes a file of another owner. It has no name while it is ours, so that no other
 * process of this account can open it.
 */
static enum err replace_of_other(
    const char *path, const void *p, size_t n, const struct stat *old, struct fail *f)
{
	char dir[PATH_MAX], fd_name[64];
	const char *slash = strrchr(path, '/');
	struct tmp t;

	snprintf(dir, sizeof(dir), "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
	    slash == NULL ? "." : path);
	snprintf(t.name, sizeof(t.name), "%.*s.tmp-%.100s-%d",
	    slash == NULL ? 0 : (int)(slash - path) + 1, path,
	    slash == NULL ? path : slash + 1, (int)getpid());
	t.fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (t.fd < 0)
		return FAIL_ERRNO(f, "making a temporary file for %s", path);
	if (!fd_write_all(t.fd, p, n) || fchmod(t.fd, old->st_mode & 07777) < 0 ||
	    fsync(t.fd) < 0)
		return tmp_drop(&t, "writing", path, f);
	if (fchown(t.fd, old->st_uid, old->st_gid) < 0)
		return tmp_drop(&t, "giving its owner to", path, f);
	snprintf(fd_name, sizeof(fd_name), "/proc/self/fd/%d", t.fd);
	unlink(t.name); /* of a process that was killed */
	if (linkat(AT_FDCWD, fd_name, AT_FDCWD, t.name, AT_SYMLINK_FOLLOW) < 0)
		return tmp_drop(&t, "naming", path, f);
	close(t.fd);
	t.fd = -1;
	if (rename(t.name, path) < 0)
		return tmp_drop(&t, "renaming to", path, f);
	fs_sync_dir(path, NULL);
	return OK;
}

enum err fs_replace(const char *path, const void *p, size_t n, struct fail *f)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (geteuid() != 0)
		return fs_write(path, p, n, st.st_mode & 07777, f);
	return replace_of_other(path, p, n, &st, f);
}

static enum err fd_append(
    int fd, const char *path, const void *p, size_t n, struct fail *f)
{
	struct stat st;
	enum err e;

	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return FAIL_ERRNO(f, "locking %s", path);
	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (fd_write_all(fd, p, n) && fsync(fd) == 0)
		return OK;
	e = FAIL_ERRNO(f, "adding to %s", path);
	if (ftruncate(fd, st.st_size) < 0)
		return FAIL_ERRNO(f, "%s ends with a partial record", path);
	return e;
}

enum err fs_append(
    const char *path, const void *p, size_t n, unsigned mode, struct fail *f)
{
	int fd = open(path,
	    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
	enum err e;

	if (fd < 0)
		return FAIL_ERRNO(f, "opening %s", path);
	e = fd_append(fd, path, p, n, f);
	close(fd);
	return e;
}

/* Copies into a temporary file beside to. */
static enum err fd_copy(
    int from, const char *from_path, const char *to, struct tmp *t, struct fail *f)
{
	char chunk[CHUNK];
	ssize_t n;

	TRY(tmp_open(t, to, f));
	while ((n = fd_read(from, chunk, sizeof(chunk))) > 0)
		if (!fd_write_all(t->fd, chunk, (size_t)n))
			return tmp_drop(t, "writing", to, f);
	return n == 0 ? OK : tmp_drop(t, "reading", from_path, f);
}

static enum err tmp_copy(
    const char *from, const char *to, struct tmp *t, struct fail *f)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	enum err e;

	if (fd < 0)
		return fail_open(f, "opening", from);
	e = fd_copy(fd, from, to, t, f);
	close(fd);
	return e;
}

enum err fs_copy(const char *from, const char *to, unsigned mode, struct fail *f)
{
	struct tmp t;

	TRY(tmp_copy(from, to, &t, f));
	return tmp_commit(&t, to, mode, f);
}

enum err fs_copy_new(const char *from, const char *to, unsigned mode, struct fail *f)
{
	struct tmp t;
	enum err e;

	TRY(tmp_copy(from, to, &t, f));
	TRY(tmp_flush(&t, to, mode, f));
	e = fs_rename_new(t.name, to, f);
	if (e == OK)
		fs_sync_dir(to, NULL);
	else
		unlink(t.name);
	return e;
}

/* Flushes all that was written to the file system of a file. */
static enum err sync_all(const char *path, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum err e = OK;

	if (fd < 0)
		return FAIL_ERRNO(f, "opening %s", path);
	if (syncfs(fd) < 0)
		e = FAIL_ERRNO(f, "flushing the file system of %s", path);
	close(fd);
	return e;
}

/* Copies all, and names them when their contents are on disk. names: of temporary
 * files that are left. */
static enum err copy_and_name(struct arena *a, struct fs_pair *v, size_t n,
    unsigned mode, char **names, struct fail *f)
{
	for (size_t i = 0; i < n; i++) {
		struct tmp t;

		TRY(tmp_copy(v[i].from, v[i].to, &t, f));
		TRY(tmp_close(&t, v[i].to, mode, f));
		names[i] = arena_strdup(a, t.name);
	}
	TRY(sync_all(names[0], f));
	for (size_t i = 0; i < n; i++) {
		enum err e = fs_rename_new(names[i], v[i].to, f);

		if (e != OK && e != E_RACE)
			return e;
		v[i].copied = e == OK;
		if (v[i].copied)
			names[i] = NULL;
	}
	return sync_all(v[0].to, f);
}

enum err fs_copy_all(
    struct arena *a, struct fs_pair *v, size_t n, unsigned mode, struct fail *f)
{
	char **names = NEWN(a, char *, n + 1);
	enum err e = OK;

	if (n >= FLUSH_ONCE)
		e = copy_and_name(a, v, n, mode, names, f);
	for (size_t i = 0; n < FLUSH_ONCE && i < n && e == OK; i++) {
		e = fs_copy_new(v[i].from, v[i].to, mode, f);
		v[i].copied = e == OK;
		e = e == E_RACE ? OK : e;
	}
	for (size_t i = 0; i < n; i++)
		if (names[i] != NULL)
			unlink(names[i]);
	return e;
}

enum err fs_open_file(const char *path, int *fd, struct fail *f)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0 && errno == ELOOP)
		return FAIL(f, E_BADREQ, "%s is a link", path);
	if (*fd < 0)
		return fail_open(f, "opening", path);
	if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
		return OK;
	close(*fd);
	*fd = -1;
	return FAIL(f, E_BADREQ, "%s is not a file", path);
}

enum err fs_read_regular(
    struct arena *a, const char *path, size_t max, char **p, size_t *n, struct fail *f)
{
	enum err e;
	int fd;

	TRY(fs_open_file(path, &fd, f));
	e = fs_read_fd(a, fd, path, max, p, n, f);
	close(fd);
	return e;
}

enum err fs_touch(const char *path, struct fail *f)
{
	/* The web server and the daemons may be two users of one group. */
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0664);

	if (fd < 0)
		return FAIL_ERRNO(f, "creating %s", path);
	close(fd);
	return OK;
}

enum err fs_unlink(const char *path, struct fail *f)
{
	if (unlink(path) < 0 && errno != ENOENT)
		return FAIL_ERRNO(f, "removing %s", path);
	return OK;
}

enum err fs_rename(const char *from, const char *to, struct fail *f)
{
	if (rename(from, to) == 0)
		return OK;
	if (errno == ENOENT && !fs_exists(from))
		return FAIL(f, E_NOTFOUND, "renaming %s: no such file", from);
	return FAIL_ERRNO(f, "renaming %s to %s", from, to);
}

enum err fs_rename_new(const char *from, const char *to, struct fail *f)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return OK;
	if (errno == EEXIST)
		return FAIL(f, E_RACE, "%s exists already", to);
	/* Some file systems, NFS among them, cannot check and rename in one step. */
	if (errno == EINVAL || errno == ENOSYS)
		return fs_exists(to) ? FAIL(f, E_RACE, "%s exists already", to) :
		                       fs_rename(from, to, f);
	if (errno == ENOENT && !fs_exists(from))
		return FAIL(f, E_NOTFOUND, "renaming %s: no such file", from);
	return FAIL_ERRNO(f, "renaming %s to %s", from, to);
}

enum err fs_mkdirs(const char *path, unsigned mode, struct fail *f)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	struct stat st;

	if (n == 0 || n >= sizeof(part))
		return FAIL(
		    f, E_BADREQ, "directory path of %zu bytes: empty or too long", n);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return FAIL_ERRNO(f, "making directory %s", part);
	}
	if (stat(path, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (!S_ISDIR(st.st_mode))
		return FAIL(f, E_SYS, "%s exists and is not a directory", path);
	return OK;
}

bool fs_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

enum err fs_check_change(const char *path, struct fail *f)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	do {
		char *slash = strrchr(dir, '/');

		if (slash != NULL)
			slash[slash == dir] = '\0';
		else
			snprintf(dir, sizeof(dir), ".");
	} while (strcmp(dir, "/") != 0 && strcmp(dir, ".") != 0 && !fs_exists(dir));
	/* The effective rights count: access() goes by the real account. */
	if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
		return FAIL_ERRNO(f, "changing %s", path);
	return OK;
}

enum err fs_check_exists(const char *path, bool *there, struct fail *f)
{
	struct stat st;

	*there = lstat(path, &st) == 0;
	if (*there || errno == ENOENT || errno == ENOTDIR)
		return OK;
	return FAIL(f, E_SYS, "%s: %s", path, strerror(errno));
}

bool fs_is_file(const char *path, int fd)
{
	struct stat named, ours;

	return stat(path, &named) == 0 && fstat(fd, &ours) == 0 &&
	       named.st_ino == ours.st_ino && named.st_dev == ours.st_dev;
}

int64_t fs_size(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

int64_t fs_mtime(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? clock_of_file(st.st_mtime) : -1;
}

bool fs_changed(const char *path, struct fs_seen *seen)
{
	struct stat st;
	struct fs_seen was = *seen, now = { .looked = true };

	if (stat(path, &st) == 0)
		now = (struct fs_seen){ .looked = true,
			.there = true,
			.fresh = clock_now() <= clock_of_file(st.st_mtim.tv_sec),
			.mtime_s = st.st_mtim.tv_sec,
			.mtime_ns = st.st_mtim.tv_nsec,
			.size = st.st_size,
			.inode = st.st_ino };
	else
		now.link = lstat(path, &st) == 0;
	*seen = now;
	return !was.looked || was.there != now.there || (was.fresh && !now.fresh) ||
	       was.mtime_s != now.mtime_s || was.mtime_ns != now.mtime_ns ||
	       was.size != now.size || was.inode != now.inode;
}

static int compare_names(const void *x, const void *y)
{
	const char *const *a = x, *const *b = y;

	return strcmp(*a, *b);
}

enum err fs_list(struct arena *a, const char *dir, size_t max, char ***names, size_t *n,
    struct fail *f)
{
	DIR *d = opendir(dir);
	size_t cap = 0, got = 0;
	struct dirent *de = NULL;
	char **list = NULL;

	if (d == NULL)
		return fail_open(f, "listing", dir);
	/* cppcheck-suppress readdirCalled; glibc's is safe for a stream of our own */
	while (got < max && (errno = 0, de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		PUSH(a, list, got, cap) = arena_strdup(a, de->d_name);
	}
	if (got < max && errno != 0) {
		enum err e = FAIL_ERRNO(f, "listing %s", dir);
		closedir(d);
		return e;
	}
	closedir(d);
	if (got > 1)
		qsort(list, got, sizeof(list[0]), compare_names);
	*names = list;
	*n = got;
	return OK;
}

void fs_close_to_others(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && (st.st_mode & S_IRWXO) != 0 &&
	    st.st_uid == geteuid())
		(void)fchmod(fd, st.st_mode & 07770); /* the lock holds all the same */
}

enum lock_kind { LOCK_FILE = O_RDWR | O_CREAT | O_NOFOLLOW, LOCK_CONTENT = O_RDONLY };

/*
 * Opens and locks path without retrying; how is LOCK_EX or LOCK_SH. -1 with errno
 * EWOULDBLOCK if another process holds the lock.
 */
static int lock_try(const char *path, enum lock_kind kind, int how)
{
	int fd = open(path, (int)kind | O_CLOEXEC, 0660), why;
	struct stat named, ours;

	if (fd < 0)
		return -1;
	if (kind == LOCK_FILE)
		fs_close_to_others(fd);
	if (flock(fd, how | LOCK_NB) == 0) {
		/* A lock on a file that was removed meanwhile would exclude nobody. */
		if (fstat(fd, &ours) == 0 && stat(path, &named) == 0 &&
		    ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
			return fd;
		errno = EWOULDBLOCK;
	}
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

static enum err lock_take(
    const char *path, enum lock_kind kind, int how, int *fd, struct fail *f)
{
	/*
	 * Retries, because fs_locked() of another process holds the lock for a moment.
	 */
	for (int i = 0; i < LOCK_TRIES; i++) {
		*fd = lock_try(path, kind, how);
		if (*fd >= 0)
			return OK;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return FAIL_ERRNO(f, "locking %s", path);
		if (i + 1 < LOCK_TRIES)
			clock_nap_ms(1);
	}
	return FAIL(f, E_RACE, "%s is locked by another process", path);
}

enum err fs_lock(const char *path, int *fd, struct fail *f)
{
	return lock_take(path, LOCK_FILE, LOCK_EX, fd, f);
}

static enum err lock_wait(
    const char *path, enum lock_kind kind, int64_t wait_ms, int *fd, struct fail *f)
{
	int64_t end = clock_mono_ms() + wait_ms;
	enum err e;

	while ((e = lock_take(path, kind, LOCK_EX, fd, f)) == E_RACE &&
	       clock_mono_ms() < end)
		clock_nap_ms(LOCK_LOOK_MS);
	return e;
}

enum err fs_lock_wait(const char *path, int64_t wait_ms, int *fd, struct fail *f)
{
	return lock_wait(path, LOCK_FILE, wait_ms, fd, f);
}

enum err fs_lock_content(const char *path, int64_t wait_ms, int *fd, struct fail *f)
{
	return lock_wait(path, LOCK_CONTENT, wait_ms, fd, f);
}

enum err fs_lock_shared(const char *path, int *fd, struct fail *f)
{
	return lock_take(path, LOCK_FILE, LOCK_SH, fd, f);
}

bool fs_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool held;

	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return held;
}

bool fs_locked_shared(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool held;

	if (fd < 0)
		return false;
	held = flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return held;
}

int64_t fs_free_bytes(const char *path)
{
	struct statvfs v;

	if (statvfs(path, &v) < 0)
		return -1;
	return (int64_t)v.f_bavail * (int64_t)v.f_frsize;
}
