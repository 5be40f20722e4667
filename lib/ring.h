/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last records of a process, in a file of fixed size: the newest record overwrites
 * the oldest. A record is one write into reserved space, without a sync: records
 * survive when the process is killed, and a record torn by a crash of the machine is
 * recognised by its checksum and skipped.
 *
 * File: a head of 64 bytes (magic, size, key), then frames, each at a multiple of 8:
 * magic, bytes, number, checksum, record. The checksum is keyed, so that no record can
 * hold bytes that look like another record once it is half overwritten.
 */
#ifndef LIB_RING_H
#define LIB_RING_H

#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/shared.h"

struct ring {                 /* zero: not open; shared_close() of file closes it */
	struct shared file;   /* not mapped: each process would hold all of it */
	size_t at;            /* offset of the next frame */
	uint64_t key, number; /* of the file; number of the next frame */
};

/*
 * Takes the first of the files dir/ring-0 ... dir/ring-(most - 1) that no living
 * process holds, and makes it if it has not this many bytes; else its records survive.
 * Creates the directory if absent. E_RACE: all files are taken. Other errors as of
 * shared_open().
 */
enum err ring_open(
    struct ring *, const char *dir, int64_t most, size_t bytes, struct fail *);

/*
 * E_BADREQ: the record is larger than a quarter of the file. E_NOTFOUND:
 * shared_gone(); close the ring and open it again.
 */
enum err ring_put(struct ring *, const void *, size_t n, struct fail *);

/*
 * Calls each for every complete record, in no particular order; p[n] is a NUL.
 * E_BADREQ: not a ring file.
 */
enum err ring_read(const char *path,
    void (*each)(void *ctx, uint64_t number, const char *p, size_t n), void *ctx,
    struct fail *);

#endif
