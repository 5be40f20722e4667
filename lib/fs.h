/* SPDX-License-Identifier: Apache-2.0 */
/* Files: whole reads, atomic writes, directories, locks. */
#ifndef LIB_FS_H
#define LIB_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"

/*
 * Reads a whole file and appends a NUL; *n (may be NULL) is its length. E_NOTFOUND;
 * E_BADREQ if it has more than max bytes.
 */
enum err fs_read(
    struct arena *, const char *path, size_t max, char **p, size_t *n, struct fail *);
/* The same from an open file, whose path is for messages. */
enum err fs_read_fd(struct arena *, int fd, const char *path, size_t max, char **p,
    size_t *n, struct fail *);
/* The same from a regular file, opened as by fs_open_file(). */
enum err fs_read_regular(
    struct arena *, const char *path, size_t max, char **p, size_t *n, struct fail *);
/*
 * Writes a file atomically, through a file ".tmp-NAME-..." in the same directory, fsync
 * and rename: the name holds the old content or the new, never half. mode is set
 * exactly, without umask.
 */
enum err fs_write(
    const char *path, const void *, size_t n, unsigned mode, struct fail *);
/*
 * The same for a file that exists and keeps its mode and, if root replaces it, its
 * owner and group.
 */
enum err fs_replace(const char *path, const void *, size_t n, struct fail *);
/*
 * Appends to a file (created with mode; umask applies) and flushes it, excluding other
 * callers meanwhile. All or nothing: what a full disk cut short is truncated away.
 * Follows no link.
 */
enum err fs_append(
    const char *path, const void *, size_t n, unsigned mode, struct fail *);
/* As atomic as fs_write(). E_NOTFOUND if from is absent. */
enum err fs_copy(const char *from, const char *to, unsigned mode, struct fail *);
/* The same, but replaces nothing: E_RACE if to is there by then. */
enum err fs_copy_new(const char *from, const char *to, unsigned mode, struct fail *);
/*
 * Copies files of which each gets its name when the contents of all are on disk: many
 * with two flushes of the file system, to which all of them go. A file that is there by
 * then stays as it is. After an error some may be copied.
 */
struct fs_pair {
	const char *from, *to;
	bool copied; /* set by the call; false: another file has the name */
};
enum err fs_copy_all(
    struct arena *, struct fs_pair *, size_t n, unsigned mode, struct fail *);
/*
 * Opens a regular file for reading; follows no link and waits for no pipe. E_NOTFOUND
 * if it is absent, E_BADREQ if it is anything else.
 */
enum err fs_open_file(const char *path, int *fd, struct fail *);
/* Creates an empty file if absent; an existing file keeps its content and time. */
enum err fs_touch(const char *path, struct fail *);
/* An absent file is OK. */
enum err fs_unlink(const char *path, struct fail *);
/* E_NOTFOUND if from is absent. */
enum err fs_rename(const char *from, const char *to, struct fail *);
/* Like fs_rename(), but replaces nothing: E_RACE if to exists. */
enum err fs_rename_new(const char *from, const char *to, struct fail *);
/* Makes the directory entry of path durable, by flushing its directory. */
enum err fs_sync_dir(const char *path, struct fail *);
/* Like mkdir -p; umask applies to mode. */
enum err fs_mkdirs(const char *path, unsigned mode, struct fail *);
bool fs_exists(const char *path); /* true for a link even if its target is absent */
/* The same, but E_SYS if a directory on the way or the disk cannot be read. */
enum err fs_check_exists(const char *path, bool *there, struct fail *);
/* Is fd the file that path names now? Not if that was renamed or replaced. */
bool fs_is_file(const char *path, int fd);
/*
 * May this process make, replace or remove the file now? Looks at its directory or, if
 * that is to be made, at the nearest one that exists. For dry runs.
 */
enum err fs_check_change(const char *path, struct fail *);
int64_t fs_size(const char *path);  /* -1 if absent */
int64_t fs_mtime(const char *path); /* -1 if absent */
struct fs_seen { /* the state of a file at the last look; all 0 = never looked at */
	bool looked, there;
	bool link; /* absent, but the name is a dangling link */
	/* written in the second of the look: further writes may share its time */
	bool fresh;
	int64_t mtime_s, mtime_ns, size;
	uint64_t inode;
};
/*
 * Has the file been replaced, changed, created or removed since the last look? True at
 * the first look. A file that changed in the second of the look counts as changed once
 * more afterwards, because not all file systems store fractions of a second.
 */
bool fs_changed(const char *path, struct fs_seen *);
/*
 * Lists the names in a directory (without . and .., with hidden ones), sorted bytewise,
 * at most max of them. E_NOTFOUND if there is no such directory.
 */
enum err fs_list(struct arena *, const char *dir, size_t max, char ***names, size_t *n,
    struct fail *);

/* --- fs_tree.c: fs walk: root's way to a directory that it was named --- */
/*
 * Opens a directory; every one on the way is opened by its name in the one above, and
 * root follows a link only if nobody else can have put it there (else E_DENIED). Unless
 * mode is 0, missing ones are made (umask applies). *of_root (may be NULL): all of them
 * are root's, and nobody else may write to them.
 */
enum err fs_open_dir(
    const char *path, unsigned mode, int *fd, bool *of_root, struct fail *);
#define FS_RULED_BY_MANY ((uid_t)-1)
/*
 * Who but root decides what a path leads to, as far as it exists: the owner of the
 * first directory, link or file on the way that is not root's; FS_RULED_BY_MANY if that
 * is a directory of root in which others may replace names; 0 if nobody does.
 */
enum err fs_ruler(const char *path, uid_t *uid, struct fail *);
/* Removes an empty directory in the same way; absent is OK. */
enum err fs_remove_empty(const char *path, struct fail *);

/* --- fs_tree.c: directories that may be removed with everything in them --- */
#define FS_MARK ".made-by-locus"
/*
 * Makes a directory (but no parents; umask applies to mode) and puts the mark in it. OK
 * if a marked directory exists already; E_DENIED if an unmarked one does.
 */
enum err fs_make_own(const char *path, unsigned mode, struct fail *);
/* Marks a directory that the caller has made. */
enum err fs_mark_own(const char *path, struct fail *);
/*
 * Removes the mark, so that fs_rmtree() refuses the directory from now on; no mark is
 * OK.
 */
enum err fs_unmark_own(const char *path, struct fail *);
bool fs_is_own(const char *path); /* a marked directory of this account */
/*
 * Removes the directory path with everything below it if it, or its parent directory,
 * carries the mark; else touches nothing and returns E_DENIED. Follows no links and
 * enters no mounts. Absent is OK.
 */
enum err fs_rmtree(const char *path, struct fail *);

/*
 * Takes an exclusive lock on path (created if absent) without blocking. The lock lasts
 * until *fd is closed or the process ends. E_RACE if another process holds it. Only
 * owner and group may open the file: whoever may read it may lock it. Follows no link.
 */
enum err fs_lock(const char *path, int *fd, struct fail *);
/* The same, but waits up to wait_ms for the process that holds it. */
enum err fs_lock_wait(const char *path, int64_t wait_ms, int *fd, struct fail *f);
/*
 * The same for a file that holds something, whose mode stays, that may be a link, and
 * that is replaced under the lock: whoever waited locks the new one.
 */
enum err fs_lock_content(const char *path, int64_t wait_ms, int *fd, struct fail *f);
/* Takes all rights to a file of this account from accounts beside owner and group. */
void fs_close_to_others(int fd);
/*
 * The same as fs_lock(), but shared: several processes may hold it, and none while
 * another has the exclusive lock.
 */
enum err fs_lock_shared(const char *path, int *fd, struct fail *);
/* Does some process hold the lock, shared or not? Never creates the file. */
bool fs_locked_shared(const char *path);
/* Does some process hold the exclusive lock? Never creates the file. */
bool fs_locked(const char *path);
/* Bytes available to us on the volume of path, -1 on error. */
int64_t fs_free_bytes(const char *path);

#endif
