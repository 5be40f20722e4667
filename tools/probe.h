/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the project serve?  A request through the web server, as a client would make it,
 * that must come back as work or as a reason, be found in the decision log, and have
 * written to every directory that requests write to (sched/rpc/probe.h).  It changes no
 * row and no figure.
 */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

#include <stdbool.h>
#include "tools/cmd.h"

struct probe {
	char *why;    /* what is the matter; NULL = it serves */
	char *mend;   /* the command, or what to do */
	bool lasts;   /* waiting does not help */
	char *reason; /* "WORK", "NO_WORK", ...: what the request came back with */
};

/* Asks the page of the project, its scheduler and its upload handler.  The answer lives
 * in the arena. */
struct probe probe_project(struct cmd_ctx *, struct arena *);

#endif
