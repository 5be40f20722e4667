/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file that may be compressed (gzip, xz, bzip2 or zstd), as a stream. */
#ifndef LIB_UNPACK_H
#define LIB_UNPACK_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

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

#endif
