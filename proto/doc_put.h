/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of documents for programs of others: pure ASCII, whatever bytes the database
 * has. Each is a line with an indent; web_docs.c.
 */
#ifndef PROTO_DOC_PUT_H
#define PROTO_DOC_PUT_H

#include "lib/buf.h"

void doc_put_str(struct buf *, const char *indent, const char *tag, const char *text);
void doc_put_int(struct buf *, const char *indent, const char *tag, int64_t);
void doc_put_f64(struct buf *, const char *indent, const char *tag, double); /* "%f" */

#endif
