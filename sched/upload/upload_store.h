/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file side of uploads.  While it arrives a file is NAME.part; it becomes NAME by
 * rename when all its bytes are there and its MD5 fits, so no one ever takes a part for
 * the whole.  One upload of a file at a time holds the lock of its part.  No path
 * outside upload_dir is ever made.
 */
#ifndef SCHED_UPLOAD_UPLOAD_STORE_H
#define SCHED_UPLOAD_UPLOAD_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"
#include "proto/upload.h"

/* E_BADREQ with the reason: empty, over 255 bytes, "/", "..", control bytes, a leading
 * dot,
 * ".part" at the end. */
enum err store_name_check(const char *name, struct fail *);

/* E_CONFIG if fuh_set_initial_permission or fuh_set_completed_permission is no mode. */
enum err store_modes_check(const struct conf *, struct fail *);

/*
 * Bytes of the file's part; 0 if there is none, or if the whole is here: whether it is
 * the same one shows when it comes.  For a part that has all its bytes but not yet its
 * name it is one less, so that its client does not take the upload for done.
 */
int64_t store_size(struct arena *, const struct conf *, const char *name);

/* Has the volume of upload_dir less free than upload_min_free_bytes? */
bool store_is_full(const struct conf *);

struct store_file {
	int fd; /* of the part, locked; -1: nothing is to be written */
	char *path, *part;
	int64_t at;     /* where the next byte goes */
	int64_t nbytes; /* of the whole file */
	unsigned mode;  /* when it is whole */
	bool whole;     /* the same file is here already: success without action */
};

/*
 * Gets ready to take the bytes from offset on.  E_BADREQ: another file of this name,
 * with another size or MD5, is here, and nothing can take its place.  E_RACE: another
 * upload of it is under way; E_RETRY: the part ends before offset; E_SYS, E_DISK_FULL:
 * directory or file cannot be made.
 */
enum err store_open(struct arena *, const struct conf *, const struct upload *,
    struct store_file *, struct fail *);

/* Writes n bytes; what goes beyond nbytes is ignored.  E_DISK_FULL, E_SYS: what was
 * written stays. */
enum err store_write(struct store_file *, const void *, size_t n, struct fail *);

/*
 * If the file is whole it gets its name, durably.  md5 (NULL or "": not given) other
 * than the file's is E_RACE and the part is emptied; bytes missing: E_RETRY, the part
 * stays; E_DISK_FULL, E_SYS: it is not flushed, the part is emptied or stays.
 */
enum err store_finish(struct store_file *, const char *md5, struct fail *);

void store_close(struct store_file *);

#endif
