/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive of purged workunits, archives/purged-DATE.xml: rows as XML text, one
 * element per column, from the row's column table. When the day is over the file is
 * compressed: purged-DATE.xml.gz.
 */
#ifndef PROTO_ARCHIVE_H
#define PROTO_ARCHIVE_H

#include <stdbool.h>
#include "lib/buf.h"
#include "model/purged.h"

/* The directory below the project in which the archive is by default. */
#define ARCHIVE_DIR "archives"

/* Appends <workunit_archive>, with a <result_archive> for each result. */
void archive_put(struct buf *, const struct purged *);
/* The file of the archive in a directory for what is purged at this time, s UTC. */
char *archive_path(struct arena *, const char *dir, int64_t now);

/* Is it the name of a file of the archive? *packed: compressed. */
bool archive_named(const char *name, bool *packed);
/*
 * May a file of this name, last changed at mtime, be compressed: nobody appends to it
 * any more? Times are s UTC.
 */
bool archive_is_over(const char *name, int64_t mtime, int64_t now);
/* The i-th name that its compressed file may have, i = 0, 1, ...; there are several if
 * compression was interrupted. */
char *archive_packed_path(struct arena *, const char *path, int i);

#endif
