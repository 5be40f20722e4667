/* SPDX-License-Identifier: Apache-2.0 */
/* Stores uploads on disk as parts: lock, append, check, rename. */
#include "sched/upload/upload_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

/*
 * A client that is told that all bytes are here considers its upload done (protocol.md
 * 6.1). So this bit, which has no other meaning on a file, marks a part from before
 * its last byte is written until the rename, and a marked part is reported as one byte
 * shorter: after a crash or an error in between, the client still has something to
 * send.
 */
enum { ALL_HERE = S_ISVTX, NAME_MAX_BYTES = 255, MODE_DEFAULT = 0664 };
static const char part_suffix[] = ".part";

enum err store_name_check(const char *name, struct fail *f)
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
	if (text_ends_with(name, part_suffix))
		return FAIL(f, E_BADREQ, "file name ends with %s", part_suffix);
	return OK;
}

/*
 * Returns the path of a file's part. A name without room for the suffix is replaced by
 * its MD5.
 */
static char *store_part_path(struct arena *a, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	char md5[MD5_HEX];

	if (strlen(name) + sizeof(part_suffix) - 1 <= NAME_MAX_BYTES)
		return arena_printf(a, "%s%s", path, part_suffix);
	md5_text(name, md5);
	return arena_printf(a, "%.*s%s%s", (int)(name - path), path, md5, part_suffix);
}

/* Does not follow links, so nothing outside the upload directory is ever examined. */
static bool is_file(const char *path, struct stat *st)
{
	return lstat(path, st) == 0 && S_ISREG(st->st_mode);
}

int64_t store_size(struct arena *a, const struct conf *cf, const char *name)
{
	const char *path = upload_path(a, cf, name);
	struct stat st;

	/*
	 * Only whole files have this name, checked by their MD5. A client whose reply
	 * was lost learns here that its upload is done (protocol.md 6.1).
	 */
	if (is_file(path, &st))
		return st.st_size;
	if (!is_file(store_part_path(a, path), &st))
		return 0;
	return (st.st_mode & ALL_HERE) != 0 && st.st_size > 0 ? st.st_size - 1 :
	                                                        st.st_size;
}

/* Parses an octal mode of config.xml; returns false if none is set. */
static bool mode_of(const char *text, mode_t *mode, bool *good)
{
	char *end;
	long m = strtol(text, &end, 8);

	*good = true;
	if (text[0] == '\0' || strcmp(text, "-1") == 0)
		return false;
	*good = *end == '\0' && m >= 0 && m <= 0777;
	*mode = (mode_t)m;
	return *good;
}

enum err store_modes_check(const struct conf *cf, struct fail *f)
{
	const char *text[] = { cf->fuh_set_initial_permission,
		cf->fuh_set_completed_permission };
	mode_t mode;
	bool good;

	for (size_t i = 0; i < N(text); i++) {
		mode_of(text[i], &mode, &good);
		if (!good)
			return FAIL(f, E_CONFIG,
			    "%s: fuh_set_%s_permission is \"%s\"; it must be an octal number from 0 to 777, such as 664",
			    cf->path, i == 0 ? "initial" : "completed", text[i]);
	}
	return OK;
}

bool store_is_full(const struct conf *cf)
{
	int64_t left = fs_free_bytes(cf->upload_dir);

	return left >= 0 && left < cf->upload_min_free_bytes;
}

static enum err open_part(const struct conf *cf, struct store_file *s, struct fail *f)
{
	mode_t mode;
	bool good;

	s->fd = open(s->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
	    MODE_DEFAULT);
	if (s->fd < 0)
		return FAIL_ERRNO(f, "opening %s", s->part);
	/* The upload that had the lock may have just finished, and taken the file. */
	if (flock(s->fd, LOCK_EX | LOCK_NB) < 0 || !fs_is_file(s->part, s->fd)) {
		store_close(s);
		return FAIL(f, E_RACE, "the file is locked by another upload of it");
	}
	if (mode_of(cf->fuh_set_initial_permission, &mode, &good) &&
	    fchmod(s->fd, mode & 0666) < 0)
		return FAIL_ERRNO(f, "setting the mode of %s", s->part);
	return OK;
}

/* Makes the directory of a file below upload_dir, which is not made: what is gone may
 * be a file system that is not mounted. */
static enum err make_directory(
    struct arena *a, const struct conf *cf, const char *path, struct fail *f)
{
	const char *slash = strrchr(path, '/');
	char *dir = arena_memdup(a, path, (size_t)(slash - path));
	enum err e;

	if (fs_exists(dir))
		return OK;
	if (!fs_exists(cf->upload_dir))
		return FAIL(f, E_SYS, "%s does not exist", cf->upload_dir);
	e = fs_mkdirs(dir, 0775, f);
	if (e == E_BADREQ) /* not the client's fault */
		return f->code = E_SYS;
	return e == OK ? fs_sync_dir(dir, f) : e;
}

static bool has_md5(const struct upload *u)
{
	return u->md5_cksum != NULL && u->md5_cksum[0] != '\0';
}

/*
 * Prepares the part for more bytes. If no MD5 will follow, existing bytes of another
 * attempt must not be mixed in, so they are cut off.
 */
static enum err continue_part(
    const struct upload *u, struct store_file *s, struct fail *f)
{
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", s->part);
	if (st.st_size < u->offset)
		return FAIL(f, E_RETRY,
		    "the server has fewer bytes of the file than offset %lld",
		    (long long)u->offset);
	if (!has_md5(u) && st.st_size > u->offset && ftruncate(s->fd, u->offset) < 0)
		return FAIL_ERRNO(f, "truncating %s", s->part);
	s->mode = st.st_mode & 0777;
	return OK;
}

/* Makes the MD5 of the complete file. Only one process at a time reads it. */
static enum err whole_md5(const struct store_file *s, char md5[MD5_HEX], struct fail *f)
{
	int fd;
	enum err e = fs_open_file(s->path, &fd, f);

	if (e == E_SYS || e == E_DENIED)
		return e;
	if (e != OK)
		return FAIL(f, E_RACE, "the file is being deleted");
	e = flock(fd, LOCK_EX | LOCK_NB) < 0 ?
	        FAIL(f, E_RACE, "the file is locked by another upload of it") :
	        md5_fd(fd, s->path, md5, NULL, f);
	close(fd);
	return e;
}

/* Compares the complete file that exists with the client's. */
static enum err compare_whole(
    const struct upload *u, struct store_file *s, int64_t size, struct fail *f)
{
	char md5[MD5_HEX] = "";

	if (size == u->nbytes && has_md5(u))
		TRY(whole_md5(s, md5, f));
	if (size != u->nbytes || (has_md5(u) && strcasecmp(md5, u->md5_cksum) != 0))
		return FAIL(f, E_BADREQ,
		    "another file of this name exists already, with %lld bytes",
		    (long long)size);
	s->whole = true;
	return OK;
}

/* Opens the part to write to it, unless the file is complete by now. */
static enum err open_to_write(struct arena *a, const struct conf *cf,
    const struct upload *u, struct store_file *s, struct fail *f)
{
	struct stat st;
	bool good;

	TRY(make_directory(a, cf, s->path, f));
	TRY(open_part(cf, s, f));
	if (is_file(s->path, &st)) { /* before we had the lock */
		unlink(s->part);
		store_close(s);
		return compare_whole(u, s, st.st_size, f);
	}
	TRY(continue_part(u, s, f));
	if (!mode_of(cf->fuh_set_completed_permission, &s->mode, &good))
		s->mode &= 0666;
	return OK;
}

enum err store_open(struct arena *a, const struct conf *cf, const struct upload *u,
    struct store_file *s, struct fail *f)
{
	struct stat st;
	enum err e;

	*s = (struct store_file){ .fd = -1, .at = u->offset, .nbytes = u->nbytes };
	s->path = upload_path(a, cf, u->name);
	s->part = store_part_path(a, s->path);
	if (is_file(s->path, &st))
		return compare_whole(u, s, st.st_size, f);
	e = open_to_write(a, cf, u, s, f);
	if (e != OK)
		store_close(s);
	return e;
}

enum err store_write(struct store_file *s, const void *p, size_t n, struct fail *f)
{
	const char *c = p;
	int64_t room = s->nbytes - s->at;

	if (room < 0)
		room = 0;
	if ((int64_t)n > room)
		n = (size_t)room;
	if ((int64_t)n == room && fchmod(s->fd, (s->mode & 0666) | ALL_HERE) < 0)
		return FAIL_ERRNO(f, "marking %s", s->part);
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

static enum err check_md5(struct store_file *s, const char *md5, struct fail *f)
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
	return FAIL(
	    f, E_RACE, "MD5 of the uploaded file is wrong; the upload starts again");
}

/*
 * The client deletes its copy once the upload is done. Data that could not be flushed
 * may be lost even if it still reads well, and a second fsync() would not report it, so
 * the upload starts again.
 */
static enum err part_flush(struct store_file *s, struct fail *f)
{
	enum err e;

	if (fsync(s->fd) == 0)
		return OK;
	e = FAIL_ERRNO(f, "writing %s to disk", s->part);
	(void)!ftruncate(s->fd, 0);
	return e;
}

enum err store_finish(struct store_file *s, const char *md5, struct fail *f)
{
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", s->part);
	if (st.st_size < s->nbytes || s->at < s->nbytes)
		return FAIL(f, E_RETRY, "%lld of %lld bytes have arrived",
		    (long long)st.st_size, (long long)s->nbytes);
	if (st.st_size > s->nbytes && ftruncate(s->fd, s->nbytes) < 0)
		return FAIL_ERRNO(f, "cutting %s", s->part);
	TRY(check_md5(s, md5, f));
	TRY(part_flush(s, f));
	TRY(fs_rename(s->part, s->path, f));
	TRY(fs_sync_dir(s->path, f));
	if (fchmod(s->fd, s->mode) < 0)
		return FAIL_ERRNO(f, "setting the mode of %s", s->path);
	return OK;
}

void store_close(struct store_file *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
