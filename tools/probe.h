/* SPDX-License-Identifier: Apache-2.0 */
/* Does the project answer?  One scheduler request through the web server, as a client
 * would make it. */
#ifndef TOOLS_PROBE_H
#define TOOLS_PROBE_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/conf.h"

/* True if a scheduler_reply came; else *why is what came instead. */
bool probe_scheduler(struct arena *, const struct conf *, char **why);

#endif
