/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole reads, atomic writes, directories, locks. */
#ifndef LIB_FS_H
#define LIB_FS_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

/* Whole file, NUL behind it; *n (may be NULL) its length.  E_NOTFOUND if absent, E_BADREQ over max. */
enum err fs_read(struct arena *, const char *path, size_t max, char **p, size_t *n, struct fail *);
/* Temporary file in the same directory, fsync, rename: the name holds old or new, never half. */
enum err fs_write(const char *path, const void *, size_t n, unsigned mode, struct fail *);
enum err fs_copy(const char *from, const char *to, unsigned mode, struct fail *); /* atomic too */
enum err fs_touch(const char *path, struct fail *); /* create empty if absent, else leave */
enum err fs_unlink(const char *path, struct fail *); /* absent is OK */
enum err fs_rename(const char *from, const char *to, struct fail *); /* E_NOTFOUND if from is gone */
enum err fs_mkdirs(const char *path, unsigned mode, struct fail *); /* like mkdir -p */
bool fs_exists(const char *path);
int64_t fs_size(const char *path);  /* -1 if absent */
int64_t fs_mtime(const char *path); /* -1 if absent */
/* Names in a directory (no . and ..), sorted bytewise, at most max.  An absent directory is E_NOTFOUND. */
enum err fs_list(struct arena *, const char *dir, size_t max, char ***names, size_t *n, struct fail *);
/* Removes a tree below and including path; absent is OK. */
enum err fs_rmtree(const char *path, struct fail *);
/*
 * Takes an exclusive lock on path (created if absent), not blocking; *fd keeps it until closed or the
 * process ends.  E_RACE if another process has it.
 */
enum err fs_lock(const char *path, int *fd, struct fail *);
bool fs_locked(const char *path); /* does some process hold it?  never creates the file */
int64_t fs_free_bytes(const char *path); /* free to us on that volume, -1 on error */

#endif
