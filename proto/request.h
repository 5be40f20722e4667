/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler requests: bytes to struct request and back (protocol.md 1, 10). */
#ifndef PROTO_REQUEST_H
#define PROTO_REQUEST_H

#include "lib/buf.h"
#include "lib/err.h"
#include "model/request.h"

/*
 * Parses a request: raw regions are cut out, stray & and < escaped, control bytes
 * dropped, then SAX runs over field tables. in is not changed. E_BADREQ only if there
 * is no <scheduler_request> start or end tag. Strings that were not sent are "", except
 * where the struct says NULL; logs and client_opaque are NULL, too. Of several reports
 * with one name the first counts; lists are limited to sane lengths.
 */
enum err request_parse(
    struct arena *, const char *in, size_t n, struct request **, struct fail *);
/* Renders a request as a 7.20.5 client writes it; for our own client. */
void request_render(struct buf *, const struct request *);

#endif
