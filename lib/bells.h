/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbells between the processes of a machine: a file of counters, mapped into memory,
 * with a futex in each. Whoever has made work for a process rings its bell; the
 * process sleeps until its counter changes. A ring carries no message and may be lost:
 * a process that is rung looks for work, and looks now and then without a ring, too.
 *
 * File: 16 bytes (magic), then one 32-bit counter per bell, up to 4,096 bytes.
 */
#ifndef LIB_BELLS_H
#define LIB_BELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/err.h"
#include "lib/shared.h"

enum { BELLS_MOST = 64 };

/*
 * Opens the file in dir, and makes it if create is set; else E_NOTFOUND tells that
 * nobody listens. Other errors as of shared_open().
 */
enum err bells_open(struct shared *, const char *dir, bool create, struct fail *);

/* Wakes all that wait for the bell. E_NOTFOUND: shared_gone(). */
enum err bells_ring(struct shared *, size_t bell, struct fail *);
/* Returns the bell's counter; 0 if the file is not open or gone. */
uint32_t bells_count(const struct shared *, size_t bell);
/*
 * Waits until the counter differs from seen, at most ms; a signal may end the wait
 * early. Returns whether it differs. Without the file only the time passes.
 */
bool bells_wait(const struct shared *, size_t bell, uint32_t seen, int ms);

#endif
