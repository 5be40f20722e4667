/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/gzip.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/fs.h"
#include "lib/text.h"

enum { BLOCK = 64 << 10 };

struct unpack {
	struct archive *from;
	const char *damage;
	int fd; /* of unpack_fopen(), to be closed; else -1 */
};

bool unpack_named(const char *path)
{
	static const char *const endings[] = { ".gz", ".xz", ".bz2", ".zst" };

	for (size_t i = 0; i < N(endings); i++)
		if (text_ends_with(path, endings[i]))
			return true;
	return false;
}

/* The "archive" is a single stream without a name. */
struct unpack *unpack_begin(int fd)
{
	struct unpack *u = calloc(1, sizeof(*u));
	struct archive_entry *e;

	assert(u != NULL);
	u->fd = -1;
	u->from = archive_read_new();
	assert(u->from != NULL);
	archive_read_support_filter_all(u->from);
	archive_read_support_format_raw(u->from);
	archive_read_support_format_empty(u->from);
	if (archive_read_open_fd(u->from, fd, BLOCK) != ARCHIVE_OK ||
	    archive_read_next_header(u->from, &e) < ARCHIVE_WARN)
		u->damage = archive_error_string(u->from);
	return u;
}

ssize_t unpack_read(struct unpack *u, void *to, size_t room)
{
	ssize_t n = u->damage != NULL ? -1 : archive_read_data(u->from, to, room);

	if (n < 0 && u->damage == NULL)
		u->damage = archive_error_string(u->from);
	if (n < 0 && u->damage == NULL)
		u->damage = "unknown error";
	return n < 0 ? -1 : n;
}

const char *unpack_damage(const struct unpack *u)
{
	return u->damage;
}

void unpack_end(struct unpack *u)
{
	if (u == NULL)
		return;
	archive_read_free(u->from);
	if (u->fd >= 0)
		close(u->fd);
	free(u);
}

static ssize_t cookie_read(void *cookie, char *to, size_t room)
{
	ssize_t n = unpack_read(cookie, to, room);

	if (n < 0)
		errno = EIO;
	return n;
}

static int cookie_close(void *cookie)
{
	unpack_end(cookie);
	return 0;
}

FILE *unpack_fopen(const char *path)
{
	static const cookie_io_functions_t calls = { .read = cookie_read,
		.close = cookie_close };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unpack *u;
	FILE *file;

	if (fd < 0)
		return NULL;
	u = unpack_begin(fd);
	u->fd = fd;
	file = fopencookie(u, "r", calls);
	if (file == NULL)
		unpack_end(u);
	return file;
}

struct gzip {
	struct archive *to;
	int fd;
};

/* libarchive's own error numbers are negative; errno's say why the disk refused. */
static enum err gzip_failed(struct gzip *g, struct fail *f)
{
	const char *why = archive_error_string(g->to);

	errno = archive_errno(g->to);
	if (errno > 0)
		return FAIL_ERRNO(f, "writing a compressed file");
	return FAIL(f, E_SYS, "writing a compressed file: %s",
	    why == NULL ? "unknown error" : why);
}

enum err gzip_create(const char *path, struct gzip **out, struct fail *f)
{
	struct gzip *g = calloc(1, sizeof(*g));
	struct archive_entry *e;
	int rc;

	assert(g != NULL);
	*out = g;
	g->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (g->fd < 0 || fchmod(g->fd, 0644) < 0)
		return FAIL_ERRNO(f, "creating %s", path);
	g->to = archive_write_new();
	assert(g->to != NULL);
	/* The "archive" is a single stream without a name. */
	if (archive_write_add_filter_gzip(g->to) < ARCHIVE_WARN ||
	    archive_write_set_format_raw(g->to) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(g->to, 1) != ARCHIVE_OK ||
	    archive_write_open_fd(g->to, g->fd) != ARCHIVE_OK)
		return gzip_failed(g, f);
	e = archive_entry_new();
	archive_entry_set_filetype(e, AE_IFREG);
	rc = archive_write_header(g->to, e);
	archive_entry_free(e);
	return rc >= ARCHIVE_WARN ? OK : gzip_failed(g, f);
}

enum err gzip_put(struct gzip *g, const void *p, size_t n, struct fail *f)
{
	la_ssize_t put = n == 0 ? 0 : archive_write_data(g->to, p, n);

	return put >= 0 && (size_t)put == n ? OK : gzip_failed(g, f);
}

enum err gzip_end(struct gzip *g, struct fail *f)
{
	if (archive_write_close(g->to) != ARCHIVE_OK)
		return gzip_failed(g, f);
	return fsync(g->fd) == 0 ? OK : FAIL_ERRNO(f, "writing a compressed file");
}

void gzip_free(struct gzip *g)
{
	if (g == NULL)
		return;
	if (g->to != NULL)
		archive_write_free(g->to);
	if (g->fd >= 0)
		close(g->fd);
	free(g);
}

/* The mode is set before any data is there. */
static enum err gzip_copy(
    struct gzip *g, int from, const char *path, unsigned mode, struct fail *f)
{
	char chunk[64 << 10];
	struct stat st;
	ssize_t n;

	if (fchmod(g->fd, mode) < 0 || fstat(from, &st) < 0)
		return FAIL_ERRNO(f, "compressing %s", path);
	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		TRY(gzip_put(g, chunk, (size_t)n, f));
	if (n < 0)
		return FAIL_ERRNO(f, "reading %s", path);
	TRY(gzip_end(g, f));
	if (futimens(g->fd, (struct timespec[]){ st.st_atim, st.st_mtim }) < 0)
		return FAIL_ERRNO(f, "compressing %s", path);
	return OK;
}

/* Gives the complete file its name, also on disk. */
static enum err gzip_name(const char *part, const char *to, struct fail *f)
{
	TRY(fs_rename_new(part, to, f));
	return fs_sync_dir(to, f);
}

enum err gzip_file(const char *from, const char *to, unsigned mode, struct fail *f)
{
	char part[PATH_MAX];
	struct gzip *g;
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	enum err e;

	if (fd < 0)
		return FAIL_ERRNO(f, "opening %s", from);
	if (snprintf(part, sizeof(part), "%s.part", to) >= (int)sizeof(part)) {
		close(fd);
		return FAIL(f, E_SYS, "the path %s is too long", to);
	}
	e = gzip_create(part, &g, f);
	if (e == OK)
		e = gzip_copy(g, fd, from, mode, f);
	gzip_free(g);
	close(fd);
	if (e == OK)
		e = gzip_name(part, to, f);
	if (e != OK)
		unlink(part);
	return e;
}
