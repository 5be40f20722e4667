/* SPDX-License-Identifier: Apache-2.0 */
/* Single services of a project: found by name, and started, stopped or replaced. */
#ifndef TOOLS_SERVICE_PICK_H
#define TOOLS_SERVICE_PICK_H

#include "tools/cmd.h"
#include "tools/service.h"

struct picked {
	const struct service **v;
	size_t n;
};

/*
 * Picks the project's services of that name: one service, or for a program with several
 * processes on one socket all of them. E_NOTFOUND suggests the nearest name.
 */
enum err service_pick(struct cmd_ctx *, const char *name, struct picked *);

enum service_order { ORDER_START, ORDER_STOP, ORDER_RESTART };
/*
 * Lets the project's supervisor start, stop or replace the services of that name, and
 * waits at most wait_s for it; all others stay as they are. What was
 * stopped so stays stopped until it is started by its name, or the project is stopped.
 * E_NOTFOUND: there is no such service, or the project does not run.
 */
enum err service_order(
    struct cmd_ctx *, const char *name, enum service_order, int64_t wait_s);

#endif
