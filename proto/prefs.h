/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads preferences, as accounts store and clients send them, for one venue
 * (protocol.md 1.4): the block of the host's venue if there is one, else the text
 * outside all blocks.
 */
#ifndef PROTO_PREFS_H
#define PROTO_PREFS_H

#include "lib/arena.h"
#include "model/request.h"

/*
 * Both functions accept any bytes: NULL, "" and unreadable texts choose nothing. venue
 * NULL or "": the default venue.
 */
struct project_prefs prefs_project(struct arena *, const char *text, const char *venue);
/* The elements that apply at the venue, well-formed, without a root; NULL: none. */
char *prefs_global_text(struct arena *, const char *text, const char *venue);
/* mod_time is read outside the venues and is at most now (s UTC). */
struct rq_prefs prefs_global(
    struct arena *, const char *text, const char *venue, int64_t now);

#endif
