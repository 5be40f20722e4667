/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole reads, atomic writes, directories, locks. */
#ifndef LIB_FS_H
#define LIB_FS_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

/* Whole file, NUL behind it; *n (may be NULL) its length.  E_NOTFOUND, E_BADREQ over
 * max. */
enum err fs_read(
    struct arena *, const char *path, size_t max, char **p, size_t *n, struct fail *);
/*
 * By way of a file ".tmp-..." in the same directory, fsync and rename: the name holds
 * old or new, never half.  mode is set as it is, without umask.
 */
enum err fs_write(
    const char *path, const void *, size_t n, unsigned mode, struct fail *);
/*
 * Adds to the end of a file (created with mode, umask applies) and flushes; others that
 * append wait meanwhile.  All of it or nothing: what a full disk cut off is taken back.
 */
enum err fs_append(
    const char *path, const void *, size_t n, unsigned mode, struct fail *);
/* As atomic as fs_write().  E_NOTFOUND if from is absent. */
enum err fs_copy(const char *from, const char *to, unsigned mode, struct fail *);
/*
 * Opens a file to read, and nothing else: no link is followed, no pipe waited for.
 * E_NOTFOUND if it is absent, E_BADREQ if it is something else.
 */
enum err fs_open_file(const char *path, int *fd, struct fail *);
/* Creates an empty file if absent; one that is there keeps content and time. */
enum err fs_touch(const char *path, struct fail *);
/* Absent is OK. */
enum err fs_unlink(const char *path, struct fail *);
/* E_NOTFOUND if from is gone. */
enum err fs_rename(const char *from, const char *to, struct fail *);
/* The same, but nothing is replaced: E_RACE if to is there. */
enum err fs_rename_new(const char *from, const char *to, struct fail *);
/* Makes the name path durable: flushes the directory that holds it. */
enum err fs_sync_dir(const char *path, struct fail *);
/* Like mkdir -p; umask applies to mode. */
enum err fs_mkdirs(const char *path, unsigned mode, struct fail *);
bool fs_exists(const char *path); /* a link counts even if it leads nowhere */
/* The same, and E_SYS if it cannot be told: a directory on the way, or the disk, cannot
 * be read. */
enum err fs_check_exists(const char *path, bool *there, struct fail *);
int64_t fs_size(const char *path);  /* -1 if absent */
int64_t fs_mtime(const char *path); /* -1 if absent */
struct fs_seen { /* of a file, at the last look; all 0 = it was never looked at */
	bool looked, there;
	bool link;  /* it is not there, but a link to it is */
	bool fresh; /* written in that very second: maybe not for the last time */
	int64_t mtime_s, mtime_ns, size;
	uint64_t inode;
};
/*
 * Is the file another one than at the last look, has it come or gone?  True at the
 * first look.  A file that was looked at in the second of its change counts once more
 * as changed when that is over: not all file systems know fractions of a second.
 */
bool fs_changed(const char *path, struct fs_seen *);
/*
 * Names in a directory (no . and .., but hidden ones too), sorted bytewise, at most max
 * of them.  E_NOTFOUND if there is no such directory.
 */
enum err fs_list(struct arena *, const char *dir, size_t max, char ***names, size_t *n,
    struct fail *);

/* --- fs_tree.c: directories that we may remove with all that is in them --- */
#define FS_MARK ".made-by-locus"
/*
 * Makes a directory (not those above it; umask applies to mode) and puts the mark in
 * it.  OK if one with the mark is there already; E_DENIED if one without is.
 */
enum err fs_make_own(const char *path, unsigned mode, struct fail *);
/* Marks a directory that the caller has made himself. */
enum err fs_mark_own(const char *path, struct fail *);
/* From now on nothing removes it; absent is OK. */
enum err fs_unmark_own(const char *path, struct fail *);
bool fs_is_own(const char *path); /* a directory of this account's, with the mark */
/*
 * Removes the directory path with all below it, if it or the one that it is in carries
 * the mark; else E_DENIED and nothing is touched.  Follows no links and enters no
 * mounts.  Absent is OK.
 */
enum err fs_rmtree(const char *path, struct fail *);

/*
 * Takes an exclusive lock on path (created if absent), not blocking; *fd keeps it until
 * it is closed or the process ends.  E_RACE if another process has it.
 */
enum err fs_lock(const char *path, int *fd, struct fail *);
/* Does some process hold the lock?  Never creates the file. */
bool fs_locked(const char *path);
/* Bytes free to us on the volume of path, -1 on error. */
int64_t fs_free_bytes(const char *path);

#endif
