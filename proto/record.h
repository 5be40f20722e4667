/* SPDX-License-Identifier: Apache-2.0 */
/* The decision record as text, a line for each of its parts (row_text.h). */
#ifndef PROTO_RECORD_H
#define PROTO_RECORD_H

#include "lib/buf.h"
#include "lib/err.h"
#include "model/record.h"

void record_put(struct buf *, const struct record *);
/* text is changed, and must live as long as the record.  Columns and kinds that this
 * program does not know are left out.  E_BADREQ: it is no record. */
enum err record_read(struct arena *, char *text, struct record **, struct fail *);

#endif
