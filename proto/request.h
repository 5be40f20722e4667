/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler requests: bytes <-> struct request (protocol.md 1, 10). */
#ifndef PROTO_REQUEST_H
#define PROTO_REQUEST_H

#include "lib/buf.h"
#include "lib/err.h"
#include "model/request.h"

/*
 * The one way in: raw regions are cut out, stray & and < escaped, control bytes
 * dropped, then SAX over field tables.  in is not changed.  E_BADREQ only when there is
 * no <scheduler_request> start or end tag.  Strings that were not sent are "", except
 * those that the struct says are NULL; logs and client_opaque are NULL too.  Of several
 * reports of one name the first counts; lists are cut at sane lengths.
 */
enum err request_parse(
    struct arena *, const char *in, size_t n, struct request **, struct fail *);
/* The client's side: as a 7.20.5 client writes it. */
void request_render(struct buf *, const struct request *);

#endif
