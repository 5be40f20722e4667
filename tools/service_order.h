/* SPDX-License-Identifier: Apache-2.0 */
/* Single services of a project: found by name, and started, stopped or replaced. */
#ifndef TOOLS_SERVICE_ORDER_H
#define TOOLS_SERVICE_ORDER_H

#include "tools/cmd.h"

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
