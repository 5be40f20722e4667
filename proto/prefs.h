/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of preferences, as accounts store and clients send them, at one venue
 * (protocol.md 1.4): the block of the host's venue if there is one, else what stands
 * outside all blocks.
 */
#ifndef PROTO_PREFS_H
#define PROTO_PREFS_H

#include "lib/arena.h"
#include "model/prefs.h"

/*
 * Both take any bytes: NULL, "" and what cannot be read choose nothing.  venue NULL or
 * "": the default venue.
 */
struct project_prefs prefs_project(struct arena *, const char *text, const char *venue);
/* mod_time stands outside the venues and is at most now (s UTC). */
struct rq_prefs prefs_global(
    struct arena *, const char *text, const char *venue, int64_t now);

#endif
