/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the processes of a machine share, mapped into memory. Their space is
 * reserved on disk, because writing to a hole of a mapped file on a full disk ends the
 * process. So does touching what a truncated file no longer has: whoever keeps a map
 * asks shared_gone() before each use.
 */
#ifndef LIB_SHARED_H
#define LIB_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "lib/err.h"

enum { SHARED_WAIT_MS = 2000 }; /* longest wait for a lock held for system calls */

struct shared_form {
	const char *magic; /* the file begins with it; "": with anything */
	size_t bytes;
	unsigned mode;   /* of a new file, umask applies; others never get any right */
	bool found_only; /* a file that is absent or of another form is not made */
	bool alone;      /* locked while it is open: one opening at a time */
	int wait_ms;     /* for other openings that make or lock it */
};
struct shared { /* zero: not open */
	int fd;
	void *map;
	size_t bytes; /* 0 = not open */
};

/*
 * Opens and maps the file. It is made if this process runs as the account that owns
 * its directory, or if that is root's. A file of another form is removed and made
 * again; whoever maps it keeps it.
 *
 * E_NOTFOUND: there is no such file, and this call may not make it. E_DENIED: it is a
 * link, not a regular file, or one that an account other than the maker may have made
 * or may write. E_RACE: other processes have locked it for wait_ms. E_DISK_FULL.
 */
enum err shared_open(
    struct shared *, const char *path, const struct shared_form *, struct fail *);
/*
 * Opens the file again, after shared_gone(), at the same address: other threads of the
 * process may go on. On failure nothing has changed.
 */
enum err shared_reopen(
    struct shared *, const char *path, const struct shared_form *, struct fail *);
/* Releases its locks, too. */
void shared_close(struct shared *);
/* Has the file been removed or truncated, or is it not open? */
bool shared_gone(const struct shared *);

/*
 * Locks a byte, which need not exist, until shared_unlock(), shared_close(), or the end
 * of the process. Excludes other openings of the file, but no threads that use this
 * one. E_RACE: still locked after wait_ms.
 */
enum err shared_lock(struct shared *, off_t byte, int wait_ms, struct fail *);
void shared_unlock(struct shared *, off_t byte);

#endif
