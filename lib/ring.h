/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last records of a process, in a file of fixed size: what comes newest takes the
 * place of what is oldest.  A record is one write into room that is reserved, and no
 * sync: what a process wrote before it was killed is there, and what a crash of the
 * machine tore is known by its checksum and left out.
 *
 * File: a head of 64 bytes (magic, size, key), then frames, each at a multiple of 8:
 * magic, bytes, number, checksum, record.  The checksum is keyed, so that no record can
 * be made to hold bytes that look like another one once it is half overwritten.
 */
#ifndef LIB_RING_H
#define LIB_RING_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

struct ring { /* zero: not open */
	int fd;
	bool open;
	size_t bytes;         /* of the file */
	size_t at;            /* where the next frame goes */
	uint64_t key, number; /* of the file, and of the next frame */
};

/*
 * Takes the first of the files dir/ring-0 ... dir/ring-(most - 1) that no living
 * process has, made or resized to so many bytes if need be; its records stay, unless
 * the size is another one.  The directory is made if absent.  E_RACE: all are taken.
 * E_DISK_FULL: there is no room; the whole file is reserved here, so that later writes
 * need none.
 */
enum err ring_open(
    struct ring *, const char *dir, int64_t most, size_t bytes, struct fail *);
void ring_close(struct ring *);

/* E_BADREQ: it is larger than a quarter of the file.  E_NOTFOUND: the file was removed
 * or cut under us: close the ring, open it again. */
enum err ring_put(struct ring *, const void *, size_t n, struct fail *);

/* Calls each for every whole record, in no special order; a NUL stands behind p[n].
 * E_BADREQ: it is no such file. */
enum err ring_read(const char *path,
    void (*each)(void *ctx, uint64_t number, const char *p, size_t n), void *ctx,
    struct fail *);

#endif
