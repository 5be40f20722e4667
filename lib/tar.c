/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10 };

struct tar_writer {
	struct archive *to;
	int fd;
};
struct tar_reader {
	struct archive *from;
	char *name; /* of the current entry */
};

/* --- writing --- */

/* libarchive's own error numbers are negative; errno's say why the disk refused. */
static enum err tar_write_failed(struct archive *w, const char *what, struct fail *f)
{
	const char *why = archive_error_string(w);

	errno = archive_errno(w);
	if (errno > 0)
		return FAIL_ERRNO(f, "writing %.150s to the archive", what);
	return FAIL(f, E_SYS, "writing %.150s to the archive: %s", what,
	    why == NULL ? "unknown error" : why);
}

/* Writes a block of the archive, or the first part of it. */
static la_ssize_t tar_put_block(struct archive *to, void *arg, const void *p, size_t n)
{
	const struct tar_writer *w = arg;
	ssize_t put;

	do
		put = write(w->fd, p, n);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		archive_set_error(to, errno, "writing");
	return put;
}

enum err tar_create(int fd, struct tar_writer **out, struct fail *f)
{
	struct tar_writer *w = calloc(1, sizeof(*w));

	assert(w != NULL);
	w->fd = fd;
	w->to = archive_write_new();
	assert(w->to != NULL);
	*out = w;
	if (archive_write_add_filter_zstd(w->to) < ARCHIVE_WARN ||
	    archive_write_set_format_pax_restricted(w->to) != ARCHIVE_OK ||
	    /* No padding: zstd's own end is the end of the archive. */
	    archive_write_set_bytes_in_last_block(w->to, 1) != ARCHIVE_OK ||
	    archive_write_open(w->to, w, NULL, tar_put_block, NULL) != ARCHIVE_OK)
		return tar_write_failed(w->to, "the head", f);
	return OK;
}

enum err tar_begin(struct tar_writer *w, const struct tar_entry *t, struct fail *f)
{
	static const unsigned types[] = {
		[TAR_FILE] = AE_IFREG, [TAR_DIR] = AE_IFDIR, [TAR_LINK] = AE_IFLNK
	};
	struct archive_entry *e = archive_entry_new();
	int rc;

	archive_entry_set_pathname(e, t->name);
	archive_entry_set_filetype(e, types[t->kind]);
	archive_entry_set_perm(e, t->mode);
	archive_entry_set_mtime(e, t->mtime, 0);
	archive_entry_set_size(e, t->kind == TAR_FILE ? t->size : 0);
	if (t->kind == TAR_LINK)
		archive_entry_set_symlink(e, t->target);
	rc = archive_write_header(w->to, e);
	archive_entry_free(e);
	/* It warns of names that are not ASCII, and stores their bytes. */
	return rc >= ARCHIVE_WARN ? OK : tar_write_failed(w->to, t->name, f);
}

enum err tar_write(struct tar_writer *w, const void *p, size_t n, struct fail *f)
{
	la_ssize_t put = n == 0 ? 0 : archive_write_data(w->to, p, n);

	if (put < 0 || (size_t)put != n)
		return tar_write_failed(w->to, "data", f);
	return OK;
}

enum err tar_end(struct tar_writer *w, struct fail *f)
{
	return archive_write_close(w->to) == ARCHIVE_OK ?
	           OK :
	           tar_write_failed(w->to, "the end", f);
}

void tar_free(struct tar_writer *w)
{
	if (w == NULL)
		return;
	/* Otherwise libarchive would write an end to a partial archive. */
	archive_write_fail(w->to);
	archive_write_free(w->to);
	free(w);
}

/* --- reading --- */

static enum err tar_read_failed(struct archive *r, struct fail *f)
{
	const char *why = archive_error_string(r);

	return FAIL(f, E_BADREQ, "the archive is damaged or cut short: %s",
	    why == NULL ? "unknown error" : why);
}

enum err tar_open(int fd, struct tar_reader **out, struct fail *f)
{
	struct tar_reader *r = calloc(1, sizeof(*r));

	assert(r != NULL);
	r->from = archive_read_new();
	assert(r->from != NULL);
	*out = r;
	if (archive_read_support_filter_zstd(r->from) < ARCHIVE_WARN ||
	    archive_read_support_format_tar(r->from) != ARCHIVE_OK ||
	    archive_read_open_fd(r->from, fd, READ_BYTES) != ARCHIVE_OK)
		return tar_read_failed(r->from, f);
	return OK;
}

/* Keeps the entry's name without the slash that ends a directory's name. */
static const char *tar_keep_name(struct tar_reader *r, const char *name)
{
	size_t n = name == NULL ? 0 : strlen(name);

	free(r->name);
	while (n > 1 && name[n - 1] == '/')
		n--;
	r->name = strndup(name == NULL ? "" : name, n);
	assert(r->name != NULL);
	return r->name;
}

enum err tar_next(struct tar_reader *r, struct tar_entry *t, struct fail *f)
{
	struct archive_entry *e;
	int rc = archive_read_next_header(r->from, &e);
	mode_t type;

	if (rc == ARCHIVE_EOF)
		return FAIL(f, E_NOTFOUND, "the archive has ended");
	if (rc < ARCHIVE_WARN)
		return tar_read_failed(r->from, f);
	type = archive_entry_filetype(e);
	*t = (struct tar_entry){ .name = tar_keep_name(r, archive_entry_pathname(e)),
		.kind = type == AE_IFDIR ? TAR_DIR :
		        type == AE_IFLNK ? TAR_LINK :
		                           TAR_FILE,
		.target = archive_entry_symlink(e),
		.size = archive_entry_size(e),
		.mtime = archive_entry_mtime(e),
		.mode = archive_entry_perm(e) & 0777 };
	if (type != AE_IFREG && t->kind == TAR_FILE)
		return FAIL(f, E_BADREQ,
		    "%.200s in the archive is neither a file, a directory nor a link",
		    t->name);
	return OK;
}

enum err tar_read(struct tar_reader *r, void *p, size_t max, size_t *n, struct fail *f)
{
	la_ssize_t got = archive_read_data(r->from, p, max);

	if (got < 0)
		return tar_read_failed(r->from, f);
	*n = (size_t)got;
	return OK;
}

void tar_close(struct tar_reader *r)
{
	if (r == NULL)
		return;
	archive_read_free(r->from);
	free(r->name);
	free(r);
}
