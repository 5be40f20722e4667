/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file compressed with gzip, as a stream. */
#ifndef LIB_GZIP_H
#define LIB_GZIP_H

#include <stddef.h>
#include "lib/err.h"

struct gzip;
/*
 * Creates or empties the file, mode 0644 whatever the umask.  Release *g even on
 * failure.
 */
enum err gzip_create(const char *path, struct gzip **g, struct fail *);
enum err gzip_put(struct gzip *, const void *, size_t n, struct fail *);
/* Writes the end, and waits until the disk has the file. */
enum err gzip_end(struct gzip *, struct fail *);
/* Releases it; without gzip_end() before, the file is a partial one.  NULL is allowed.
 */
void gzip_free(struct gzip *);
/*
 * Makes a compressed copy of a file, with this mode and the file's time. The name `to`
 * has all of it or does not exist.
 */
enum err gzip_file(const char *from, const char *to, unsigned mode, struct fail *);

#endif
