/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The archive of purged workunits, archives/purged-DATE.xml: rows as XML text, one
 * element per column, from the row's column table.
 */
#ifndef PROTO_ARCHIVE_H
#define PROTO_ARCHIVE_H

#include "lib/buf.h"
#include "model/purged.h"

/* The directory below the project in which the archive is by default. */
#define ARCHIVE_DIR "archives"

/* Appends <workunit_archive>, with a <result_archive> for each result. */
void archive_put(struct buf *, const struct purged *);
/* The file of the archive in a directory for what is purged at this time, s UTC. */
char *archive_path(struct arena *, const char *dir, int64_t now);

#endif
