/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores uploads as files. While a file arrives it is called NAME.part; it is renamed
 * to NAME once all its bytes are there and its MD5 is correct, so nobody mistakes a
 * part for the whole. An upload holds the lock of its part, so there is one per file
 * at a time. No path outside upload_dir is ever created.
 */
#ifndef SCHED_UPLOAD_UPLOAD_STORE_H
#define SCHED_UPLOAD_UPLOAD_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"
#include "proto/upload.h"

/*
 * Checks a file name. E_BADREQ with the reason: empty, over 255 bytes, "/", "..",
 * control bytes, a leading dot, ".part" at the end.
 */
enum err store_name_check(const char *name, struct fail *);

/*
 * E_CONFIG if fuh_set_initial_permission or fuh_set_completed_permission is not a mode.
 */
enum err store_modes_check(const struct conf *, struct fail *);

/*
 * Returns the size of the file, or of its part; 0 if there is neither. For a part with
 * all its bytes that is not yet renamed, returns one byte less, so that the client does
 * not consider its upload done.
 */
int64_t store_size(struct arena *, const struct conf *, const char *name);

/* Is less space free on the volume of upload_dir than upload_min_free_bytes? */
bool store_is_full(const struct conf *);

struct store_file {
	int fd; /* of the part, locked; -1 = nothing is to be written */
	char *path, *part;
	int64_t at;     /* offset of the next byte */
	int64_t nbytes; /* size of the whole file */
	unsigned mode;  /* mode of the whole file */
	bool whole;     /* the same file exists already: success without action */
};

/*
 * Prepares to write the bytes from offset on. E_BADREQ: a different file of this name,
 * with another size or MD5, exists and is never replaced. E_RACE: another upload of
 * the file is running. E_RETRY: the part ends before offset. E_SYS, E_DISK_FULL: the
 * directory or file cannot be created.
 */
enum err store_open(struct arena *, const struct conf *, const struct upload *,
    struct store_file *, struct fail *);

/*
 * Writes n bytes, ignoring those beyond nbytes. E_DISK_FULL, E_SYS: the bytes already
 * written stay.
 */
enum err store_write(struct store_file *, const void *, size_t n, struct fail *);

/*
 * Gives a complete file its name, durably. If md5 (NULL or "" = not given) differs
 * from the file's, returns E_RACE and empties the part. E_RETRY: bytes are missing and
 * the part stays. E_DISK_FULL, E_SYS: the file could not be flushed; the part is
 * emptied or stays.
 */
enum err store_finish(struct store_file *, const char *md5, struct fail *);

void store_close(struct store_file *);

#endif
