/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbells between the processes of a machine: a file of counters, mapped into memory,
 * with a futex in each.  Whoever has made work for a process rings its bell; the
 * process sleeps until its counter changes.  A ring carries no message and may be lost:
 * a process that is rung looks for work, and looks now and then without a ring, too.
 *
 * File: 16 bytes (magic), then one 32-bit counter per bell, up to 4,096 bytes.  Only
 * the account that owns its directory may write it.
 */
#ifndef LIB_BELLS_H
#define LIB_BELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/err.h"

enum { BELLS_MOST = 64 };

struct bells_file;
struct bells { /* zero: not open */
	int fd;
	struct bells_file *map;
};

/*
 * Opens the file in dir.  If create is set and this process runs as the account that
 * owns dir, a file that is absent is made, with its space reserved on disk, mode 0600.
 * E_NOTFOUND: there is no file, so nobody listens.  E_DENIED: the file is not the
 * regular file of dir's owner that only the owner may write, or this account may not
 * write it.
 */
enum err bells_open(struct bells *, const char *dir, bool create, struct fail *);
void bells_close(struct bells *);
/* Has the file been removed or truncated?  Then close it and open it again. */
bool bells_gone(const struct bells *);

/* Wakes all that wait for the bell.  E_NOTFOUND: bells_gone(). */
enum err bells_ring(struct bells *, size_t bell, struct fail *);
/* Returns the bell's counter; 0 if the file is not open or gone. */
uint32_t bells_count(const struct bells *, size_t bell);
/*
 * Waits until the counter differs from seen, at most ms; a signal may end the wait
 * early.  Returns whether it differs.  Without the file only the time passes.
 */
bool bells_wait(const struct bells *, size_t bell, uint32_t seen, int ms);

#endif
