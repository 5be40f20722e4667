/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/gzip.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/fs.h"

struct gzip {
	struct archive *to;
	int fd;
};

/* libarchive's own error numbers are negative; errno's say why the disk refused. */
static enum err
gzip_failed(struct gzip *g, struct fail *f)
{
	const char *why = archive_error_string(g->to);

	errno = archive_errno(g->to);
	if (errno > 0)
		return FAIL_ERRNO(f, "writing a compressed file");
	return FAIL(f, E_SYS, "writing a compressed file: %s",
	    why == NULL ? "unknown error" : why);
}

/* The "archive" is a single stream without a name. */
static enum err
gzip_begin(struct gzip *g, struct fail *f)
{
	struct archive_entry *e;
	int rc;

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

enum err
gzip_create(const char *path, struct gzip **out, struct fail *f)
{
	struct gzip *g = calloc(1, sizeof(*g));

	assert(g != NULL);
	*out = g;
	g->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (g->fd < 0 || fchmod(g->fd, 0644) < 0)
		return FAIL_ERRNO(f, "creating %s", path);
	g->to = archive_write_new();
	assert(g->to != NULL);
	return gzip_begin(g, f);
}

enum err
gzip_put(struct gzip *g, const void *p, size_t n, struct fail *f)
{
	la_ssize_t put = n == 0 ? 0 : archive_write_data(g->to, p, n);

	return put >= 0 && (size_t)put == n ? OK : gzip_failed(g, f);
}

enum err
gzip_end(struct gzip *g, struct fail *f)
{
	if (archive_write_close(g->to) != ARCHIVE_OK)
		return gzip_failed(g, f);
	return fsync(g->fd) == 0 ? OK : FAIL_ERRNO(f, "writing a compressed file");
}

void
gzip_free(struct gzip *g)
{
	if (g == NULL)
		return;
	if (g->to != NULL)
		archive_write_free(g->to);
	if (g->fd >= 0)
		close(g->fd);
	free(g);
}

static enum err
put_contents(struct gzip *g, int fd, const char *from, struct fail *f)
{
	enum { CHUNK = 1 << 16 };
	char buf[CHUNK];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		TRY(gzip_put(g, buf, (size_t)n, f));
	return n < 0 ? FAIL_ERRNO(f, "reading %s", from) : gzip_end(g, f);
}

enum err
gzip_file(const char *from, const char *to, struct fail *f)
{
	struct arena a = { 0 };
	char *part = arena_printf(&a, "%s.part", to);
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	struct gzip *g = NULL;
	enum err e;

	if (fd < 0) {
		arena_free(&a);
		return FAIL_ERRNO(f, "opening %s", from);
	}
	e = gzip_create(part, &g, f);
	if (e == OK)
		e = put_contents(g, fd, from, f);
	gzip_free(g);
	close(fd);
	if (e == OK)
		e = fs_rename(part, to, f);
	if (e != OK)
		unlink(part);
	arena_free(&a);
	return e;
}
