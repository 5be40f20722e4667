/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file compressed with gzip, as a stream. */
#ifndef LIB_GZIP_H
#define LIB_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>
#include "lib/err.h"

/* Reads a file that may be compressed (gzip, xz, bzip2 or zstd), as a stream. */

/* Does the name say that the file is compressed: .gz, .xz, .bz2 or .zst? */
bool unpack_named(const char *path);

struct unpack;
struct unpack *unpack_begin(int fd); /* fd stays the caller's */
/* Returns the number of bytes, 0 at the end, -1 if the rest cannot be read. */
ssize_t unpack_read(struct unpack *, void *, size_t);
const char *unpack_damage(const struct unpack *); /* why; NULL = nothing was wrong */
void unpack_end(struct unpack *);                 /* NULL is allowed */

/* A file as it was before it was compressed, or as it is; NULL with errno. ferror() is
 * set at its end if it is damaged. */
FILE *unpack_fopen(const char *path);

struct gzip;
/*
 * Creates or empties the file, mode 0644 whatever the umask. Release *g even on
 * failure.
 */
enum err gzip_create(const char *path, struct gzip **g, struct fail *);
enum err gzip_put(struct gzip *, const void *, size_t n, struct fail *);
/* Writes the end, and waits until the disk has the file. */
enum err gzip_end(struct gzip *, struct fail *);
/* Releases it; without gzip_end() before, the file is a partial one. NULL is allowed.
 */
void gzip_free(struct gzip *);
/*
 * Makes a compressed copy of a file, with this mode and the file's time. The name `to`
 * has all of it or does not exist.
 */
enum err gzip_file(const char *from, const char *to, unsigned mode, struct fail *);

#endif
