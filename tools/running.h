/* SPDX-License-Identifier: Apache-2.0 */
/* What runs of a project, as the supervisor's state file and /proc tell it. */
#ifndef TOOLS_RUNNING_H
#define TOOLS_RUNNING_H

#include <stdbool.h>
#include "tools/cmd.h"
#include "tools/state.h"

enum running {
	RUNNING_ALL,  /* a supervisor, and every service runs */
	RUNNING_NONE, /* neither supervisor nor service */
	RUNNING_PART  /* something in between */
};

/*
 * Asks no server.  Every service is in *s, in the order of starting, with the state
 * that it has now: one that outlived its supervisor runs, one of a stopped project is
 * down.
 */
enum err running_look(struct cmd_ctx *, struct state *s, enum running *);
const char *running_name(enum running); /* "running" */
int running_exit(enum running);         /* 0, 3 or 4 */

#endif
