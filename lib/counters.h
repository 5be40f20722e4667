/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters shared by the processes of a program: a file of fixed size, mapped into
 * memory. A counter gets its entry when it is first counted and keeps it, so its value
 * survives restarts and new versions of the program.
 *
 * File: 16 bytes (magic, number of entries), then entries of a name and a 64-bit
 * number.
 */
#ifndef LIB_COUNTERS_H
#define LIB_COUNTERS_H

#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/shared.h"

enum { COUNTERS_PLACES = 512, COUNTERS_NAME = 88 }; /* bytes, with the NUL */
enum { COUNTERS_HINTS = 1024 };                     /* a power of two */

struct counters { /* zero: not open; shared_close() of file closes them */
	struct shared file;
	uint16_t hint[COUNTERS_HINTS]; /* by hash of a name: its place + 1, or 0 */
};

/* Errors as of shared_open(). */
enum err counters_open(struct counters *, const char *path, struct fail *);
/*
 * E_BADREQ: the name is too long, or the file is full. E_NOTFOUND: shared_gone(); close
 * the file and open it again.
 */
enum err counters_add(struct counters *, const char *name, uint64_t by, struct fail *);
/* The same for a value that does not only grow, such as a time. */
enum err counters_set(
    struct counters *, const char *name, uint64_t value, struct fail *);

/* Calls each for every counter, in file order. E_BADREQ: not a file of counters. */
enum err counters_read(struct arena *, const char *path,
    void (*each)(void *ctx, const char *name, uint64_t value), void *ctx,
    struct fail *);

#endif
