/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a backup's lists of digests; the writer and the reader make the same. */
#ifndef TOOLS_BACKUP_LIST_H
#define TOOLS_BACKUP_LIST_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/tar.h"

#define LIST_PREFIX "digests/"

/*
 * Appends "KIND MODE SIZE SHA256 NAME\n": KIND is f (file), t (torn file), d or l
 * (directory, link; the digest of a link is its target's). In NAME, control characters,
 * blanks and "%" are written as %XX. Ends the digest of the entry's data.
 */
void list_add(struct buf *, const struct tar_entry *, bool torn, struct sha256 *);

#endif
