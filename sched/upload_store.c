/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of uploads on disk: lock, append, check, rename. */
#include "sched/upload_store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { NAME_MAX_BYTES = 240 };
static const char part_suffix[] = ".part";

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

enum err
store_name_check(const char *name, struct fail *f)
{
	if (name == NULL || name[0] == '\0')
		return FAIL(f, E_BADREQ, "Missing name");
	if (strlen(name) > NAME_MAX_BYTES)
		return FAIL(f, E_BADREQ, "file name is over %d bytes", NAME_MAX_BYTES);
	for (const char *p = name; *p != '\0'; p++)
		if ((unsigned char)*p < 32 || *p == 127 || *p == '/')
			return FAIL(f, E_BADREQ,
			    "file name has a slash or a control character");
	if (name[0] == '.' || strstr(name, "..") != NULL)
		return FAIL(f, E_BADREQ, "file name starts with a dot or has \"..\"");
	if (ends_with(name, part_suffix))
		return FAIL(f, E_BADREQ, "file name ends with %s", part_suffix);
	return OK;
}

static char *
part_path(struct arena *a, const char *path)
{
	return arena_printf(a, "%s%s", path, part_suffix);
}

int64_t
store_size(struct arena *a, const struct conf *cf, const char *name)
{
	const char *path = upload_path(a, cf, name);
	int64_t n = fs_size(path);

	if (n < 0)
		n = fs_size(part_path(a, path));
	return n < 0 ? 0 : n;
}

bool
store_is_full(const struct conf *cf)
{
	int64_t left = fs_free_bytes(cf->upload_dir);

	return left >= 0 && left < cf->upload_min_free_bytes;
}

/* Is the open, locked file still the one that its path names?  Its upload may just have
 * ended. */
static bool
is_named(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && stat(path, &named) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

static enum err
open_part(struct store_file *s, struct fail *f)
{
	s->fd = open(s->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
	if (s->fd < 0)
		return FAIL_ERRNO(f, "opening %s", s->part);
	if (flock(s->fd, LOCK_EX | LOCK_NB) < 0 || !is_named(s->fd, s->part)) {
		store_close(s);
		return FAIL(f, E_RACE, "the file is locked by another upload of it");
	}
	return OK;
}

static enum err
make_directory(struct arena *a, const char *path, struct fail *f)
{
	const char *slash = strrchr(path, '/');
	char *dir = arena_memdup(a, path, (size_t)(slash - path));

	return fs_mkdirs(dir, 0775, f);
}

enum err
store_open(struct arena *a, const struct conf *cf, const struct upload *u,
    struct store_file *s, struct fail *f)
{
	struct stat st;
	enum err e;

	*s = (struct store_file){ .fd = -1, .at = u->offset, .nbytes = u->nbytes };
	s->path = upload_path(a, cf, u->name);
	s->part = part_path(a, s->path);
	if (fs_exists(s->path)) {
		s->whole = true;
		return OK;
	}
	e = make_directory(a, s->path, f);
	if (e == OK)
		e = open_part(s, f);
	if (e != OK)
		return e;
	if (fstat(s->fd, &st) == 0 && st.st_size >= u->offset)
		return OK;
	store_close(s);
	return FAIL(f, E_RETRY, "the server has less of the file than offset %lld",
	    (long long)u->offset);
}

enum err
store_write(struct store_file *s, const void *p, size_t n, struct fail *f)
{
	const char *c = p;
	int64_t room = s->nbytes - s->at;

	if (room < 0)
		room = 0;
	if ((int64_t)n > room)
		n = (size_t)room;
	while (n > 0) {
		ssize_t done = pwrite(s->fd, c, n, s->at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return FAIL_ERRNO(f, "writing %s", s->part);
		c += done;
		n -= (size_t)done;
		s->at += done;
	}
	return OK;
}

static enum err
check_md5(struct store_file *s, const char *md5, struct fail *f)
{
	char have[MD5_HEX];
	enum err e;

	if (md5 == NULL || md5[0] == '\0')
		return OK;
	e = md5_file(s->part, have, NULL, f);
	if (e != OK || strcasecmp(have, md5) == 0)
		return e;
	if (ftruncate(s->fd, 0) < 0)
		return FAIL_ERRNO(f, "emptying %s", s->part);
	return FAIL(f, E_RACE, "MD5 of the uploaded file is wrong; it starts again");
}

enum err
store_finish(struct store_file *s, const char *md5, struct fail *f)
{
	struct stat st;
	enum err e;

	if (fstat(s->fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", s->part);
	if (st.st_size < s->nbytes || s->at < s->nbytes)
		return FAIL(f, E_RETRY, "%lld of %lld bytes have arrived",
		    (long long)st.st_size, (long long)s->nbytes);
	if (st.st_size > s->nbytes && ftruncate(s->fd, s->nbytes) < 0)
		return FAIL_ERRNO(f, "cutting %s", s->part);
	e = check_md5(s, md5, f);
	/* The client deletes its copy when it hears that the upload is done. */
	if (e == OK && fsync(s->fd) < 0)
		e = FAIL_ERRNO(f, "writing %s to disk", s->part);
	return e == OK ? fs_rename(s->part, s->path, f) : e;
}

void
store_close(struct store_file *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
