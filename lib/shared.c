/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { MAGIC_MOST = 16, OPEN_TRIES = 5, LOCK_LOOK_MS = 2 };
static const off_t form_byte = (off_t)1 << 40; /* locked while the form is looked at */

enum err shared_lock(struct shared *s, off_t byte, int wait_ms, struct fail *f)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};
	int64_t end = clock_mono_ms() + wait_ms;

	while (fcntl(s->fd, F_OFD_SETLK, &l) < 0) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return FAIL_ERRNO(f, "locking a shared file");
		if (clock_mono_ms() >= end)
			return FAIL(f, E_RACE, "a shared file is locked");
		clock_nap_ms(LOCK_LOOK_MS);
	}
	return OK;
}

void shared_unlock(struct shared *s, off_t byte)
{
	struct flock l = {
		.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
	};

	(void)fcntl(s->fd, F_OFD_SETLK, &l);
}

bool shared_gone(const struct shared *s)
{
	struct stat st;

	return s->bytes == 0 || fstat(s->fd, &st) < 0 || st.st_nlink == 0 ||
	       st.st_size != (off_t)s->bytes;
}

void shared_close(struct shared *s)
{
	if (s->map != NULL)
		munmap(s->map, s->bytes);
	if (s->bytes != 0)
		close(s->fd);
	*s = (struct shared){ 0 };
}

/* Is the file one that no other account can have made or can change? */
static enum err shared_check(int fd, const char *path, const struct shared_form *form,
    const struct stat *dir, struct fail *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
		return FAIL(f, E_DENIED, "%s is not a regular file; remove it", path);
	if ((st.st_uid != dir->st_uid &&
		(dir->st_uid != 0 || st.st_uid != geteuid())) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH) & ~form->mode) != 0)
		return FAIL(f, E_DENIED,
		    "%s may be written by others than the owner of its directory; remove it",
		    path);
	return OK;
}

/* Makes an empty file one of the form; on failure it is empty again. */
static enum err shared_fill(
    int fd, const char *path, const struct shared_form *form, struct fail *f)
{
	ssize_t n = (ssize_t)strlen(form->magic);
	enum err e;
	int rc = posix_fallocate(fd, 0, (off_t)form->bytes);

	if (rc == 0 && pwrite(fd, form->magic, (size_t)n, 0) == n)
		return OK;
	if (rc != 0)
		errno = rc;
	e = FAIL_ERRNO(f, "reserving room for %s", path);
	if (ftruncate(fd, 0) < 0)
		return FAIL_ERRNO(f, "emptying %s", path);
	return e;
}

/*
 * Sees to the form. E_RETRY: the file was of another form, or another process found it
 * so, and it has been removed.
 */
static enum err shared_make_valid(
    int fd, const char *path, const struct shared_form *form, bool make, struct fail *f)
{
	ssize_t n = (ssize_t)strlen(form->magic);
	char magic[MAGIC_MOST];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	if (st.st_nlink == 0)
		return E_RETRY;
	if (st.st_size == (off_t)form->bytes && pread(fd, magic, (size_t)n, 0) == n &&
	    memcmp(magic, form->magic, (size_t)n) == 0)
		return OK;
	if (!make)
		return FAIL(f, E_NOTFOUND, "%s is being made", path);
	if (st.st_size == 0)
		return shared_fill(fd, path, form, f);
	TRY(fs_unlink(path, f));
	return E_RETRY;
}

static enum err shared_begin(struct shared *s, const char *path,
    const struct shared_form *form, const struct stat *dir, bool make, struct fail *f)
{
	void *map;

	TRY(shared_check(s->fd, path, form, dir, f));
	fs_close_to_others(s->fd);
	if (!form->found_only)
		TRY(shared_lock(s, form_byte, form->wait_ms, f));
	TRY(shared_make_valid(s->fd, path, form, make, f));
	map = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (map == MAP_FAILED)
		return FAIL_ERRNO(f, "mapping %s", path);
	s->map = map;
	if (!form->alone)
		shared_unlock(s, form_byte);
	return OK;
}

static enum err shared_try(struct shared *s, const char *path,
    const struct shared_form *form, const struct stat *dir, struct fail *f)
{
	bool make = !form->found_only && (dir->st_uid == geteuid() || dir->st_uid == 0);
	enum err e;
	int fd = open(path,
	    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (make ? O_CREAT : 0),
	    form->mode);

	if (fd < 0 && errno == ELOOP)
		return FAIL(f, E_DENIED, "%s is a link; remove it", path);
	if (fd < 0 && errno == ENOENT)
		return FAIL(f, E_NOTFOUND, "nobody has made %s", path);
	if (fd < 0)
		return FAIL_ERRNO(f, "opening %s", path);
	*s = (struct shared){ .fd = fd, .bytes = form->bytes };
	e = shared_begin(s, path, form, dir, make, f);
	if (e != OK)
		shared_close(s);
	return e;
}

enum err shared_open(
    struct shared *s, const char *path, const struct shared_form *form, struct fail *f)
{
	char at[PATH_MAX];
	struct stat dir;
	enum err e = E_RETRY;

	*s = (struct shared){ 0 };
	snprintf(at, sizeof(at), "%s", path);
	if (stat(dirname(at), &dir) < 0)
		return FAIL_ERRNO(f, "looking at the directory of %s", path);
	for (int i = 0; i < OPEN_TRIES && e == E_RETRY; i++)
		e = shared_try(s, path, form, &dir, f);
	return e == E_RETRY ? FAIL(f, E_SYS, "%s is replaced all the time", path) : e;
}

enum err shared_reopen(
    struct shared *s, const char *path, const struct shared_form *form, struct fail *f)
{
	struct shared new;
	void *map;

	TRY(shared_open(&new, path, form, f));
	map = mmap(s->map, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
	    new.fd, 0);
	if (map == MAP_FAILED || dup3(new.fd, s->fd, O_CLOEXEC) < 0) {
		enum err e = FAIL_ERRNO(f, "mapping %s", path);

		shared_close(&new);
		return e;
	}
	shared_close(&new); /* its locks stay with the other descriptor */
	return OK;
}
