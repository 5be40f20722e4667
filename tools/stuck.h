/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What never gets on without somebody's hand, for locus fsck and locus status:
 * workunits that lack results, file sets that no work can be named after, and work that
 * no host may get.
 */
#ifndef TOOLS_STUCK_H
#define TOOLS_STUCK_H

#include "model/rows.h"
#include "tools/fsck.h"

/* Is given each finding: its name, and more about it, "" if there is none. */
struct stuck_listener {
	void (*found)(void *arg, enum fsck_code, const char *name, const char *more);
	void *arg;
};

enum stuck_depth {
	STUCK_QUEUED, /* of each app the first unsent results; a project with a million
	               */
	STUCK_ALL     /* every workunit, slice by slice */
};

/* Needs a connection.  lacking: workunits that may lack results are looked for. */
enum err stuck_look(
    struct cmd_ctx *, enum stuck_depth, bool lacking, const struct stuck_listener *);

/* Says on standard error why no host may get work that was just made; its delay_bound
 * is above 0. */
enum err stuck_hint(struct cmd_ctx *, const struct workunit *);

#endif
