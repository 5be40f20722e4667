/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives as streams: tar (pax) compressed with zstd, by libarchive. Neither side ever
 * holds more of an archive in memory than some blocks.
 */
#ifndef LIB_TAR_H
#define LIB_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"

enum tar_kind { TAR_FILE, TAR_DIR, TAR_LINK };

struct tar_entry {
	const char *name; /* relative path, without a slash at its end */
	enum tar_kind kind;
	const char *target; /* TAR_LINK: where it leads */
	int64_t size;       /* TAR_FILE: bytes */
	int64_t mtime;      /* seconds UTC */
	unsigned mode;      /* permission bits */
};

struct tar_writer;
/* Writes an archive to fd, which stays the caller's. Release *w even on failure. */
enum err tar_create(int fd, struct tar_writer **, struct fail *);
/* Begins an entry; the data of a file follow by tar_write(), exactly size bytes. */
enum err tar_begin(struct tar_writer *, const struct tar_entry *, struct fail *);
enum err tar_write(struct tar_writer *, const void *, size_t n, struct fail *);
/* Writes the end of the archive. */
enum err tar_end(struct tar_writer *, struct fail *);
/* Releases the writer. Without tar_end() before it the archive is a partial one. */
void tar_free(struct tar_writer *);

struct tar_reader;
/* Reads an archive from fd, which stays the caller's. Close *r even on failure. */
enum err tar_open(int fd, struct tar_reader **, struct fail *);
/*
 * Goes to the next entry, which lives until the next call. E_NOTFOUND at the end;
 * E_BADREQ if this is no such archive, or it is damaged or cut short.
 */
enum err tar_next(struct tar_reader *, struct tar_entry *, struct fail *);
/* Reads at most max bytes of the entry's data; *n is 0 at their end. E_BADREQ. */
enum err tar_read(struct tar_reader *, void *, size_t max, size_t *n, struct fail *);
void tar_close(struct tar_reader *);

#endif
