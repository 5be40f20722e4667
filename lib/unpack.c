/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/text.h"

enum { BLOCK = 64 << 10 };

struct unpack {
	struct archive *from;
	const char *damage;
	int fd; /* of unpack_fopen(), to be closed; else -1 */
};

bool
unpack_named(const char *path)
{
	static const char *const endings[] = { ".gz", ".xz", ".bz2", ".zst" };

	for (size_t i = 0; i < N(endings); i++)
		if (text_ends_with(path, endings[i]))
			return true;
	return false;
}

/* The "archive" is a single stream without a name. */
struct unpack *
unpack_begin(int fd)
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

ssize_t
unpack_read(struct unpack *u, void *to, size_t room)
{
	ssize_t n = u->damage != NULL ? -1 : archive_read_data(u->from, to, room);

	if (n < 0 && u->damage == NULL)
		u->damage = archive_error_string(u->from);
	if (n < 0 && u->damage == NULL)
		u->damage = "unknown error";
	return n < 0 ? -1 : n;
}

const char *
unpack_damage(const struct unpack *u)
{
	return u->damage;
}

void
unpack_end(struct unpack *u)
{
	if (u == NULL)
		return;
	archive_read_free(u->from);
	if (u->fd >= 0)
		close(u->fd);
	free(u);
}

static ssize_t
cookie_read(void *cookie, char *to, size_t room)
{
	ssize_t n = unpack_read(cookie, to, room);

	if (n < 0)
		errno = EIO;
	return n;
}

static int
cookie_close(void *cookie)
{
	unpack_end(cookie);
	return 0;
}

FILE *
unpack_fopen(const char *path)
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
