/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that the processes of a program share: a file of fixed size, mapped into
 * memory.  Each has a name, takes a place in the file when it is first counted, and
 * keeps it: what was counted outlives the processes and new versions of the program.
 *
 * File: 16 bytes (magic, places), then places of a name and a number of 64 bits.
 */
#ifndef LIB_COUNTERS_H
#define LIB_COUNTERS_H

#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

enum { COUNTERS_PLACES = 512, COUNTERS_NAME = 88 }; /* bytes, with the NUL */

struct counters_file;
struct counters { /* zero: not open */
	int fd;
	struct counters_file *map;
};

/* Makes the file if it is absent, with all its room on disk; what is no such file is
 * made anew. */
enum err counters_open(struct counters *, const char *path, struct fail *);
void counters_close(struct counters *);
/* E_BADREQ: the name is too long, or no place is left.  E_NOTFOUND: the file was
 * removed or cut under us: close, and open again. */
enum err counters_add(struct counters *, const char *name, uint64_t by, struct fail *);

/* Calls each for every counter, in the order of places.  E_BADREQ: it is no such file.
 */
enum err counters_read(struct arena *, const char *path,
    void (*each)(void *ctx, const char *name, uint64_t value), void *ctx,
    struct fail *);

#endif
