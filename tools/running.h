/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which services of a project run, by the supervisor's state file and /proc.
 */
#ifndef TOOLS_RUNNING_H
#define TOOLS_RUNNING_H

#include <stdbool.h>
#include "tools/cmd.h"
#include "tools/state.h"

enum running {
	RUNNING_ALL,  /* the supervisor and every service run */
	RUNNING_NONE, /* neither the supervisor nor any service runs */
	RUNNING_PART  /* something in between */
};

/*
 * Contacts no server. *s lists every service, in the order of starting, with its
 * present life: a service that outlived its supervisor is running, a service of a
 * stopped project is down.
 */
enum err running_read(struct cmd_ctx *, struct state *s, enum running *);
const char *running_name(enum running); /* "running" */
int running_exit(enum running);         /* 0, 3 or 4 */

#endif
