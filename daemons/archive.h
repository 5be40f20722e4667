/* SPDX-License-Identifier: Apache-2.0 */
/* Purged rows as XML text: one element per column, from the row's column table. */
#ifndef DAEMONS_ARCHIVE_H
#define DAEMONS_ARCHIVE_H

#include "lib/buf.h"
#include "model/rows.h"

/*
 * Opens <workunit_archive> and writes the workunit; its results follow, then
 * archive_end() closes the element.
 */
void archive_workunit(struct buf *, const struct workunit *, const char *xml_doc);
void archive_result(struct buf *, const struct result *, const char *xml_doc_in,
    const char *xml_doc_out, const char *stderr_out);
void archive_end(struct buf *);

#endif
