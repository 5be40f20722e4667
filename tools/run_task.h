/* SPDX-License-Identifier: Apache-2.0 */
/* locus run-task: runs a task of config.xml once, never twice at the same time. */
#ifndef TOOLS_RUN_TASK_H
#define TOOLS_RUN_TASK_H

#include "lib/arena.h"

/* The command line that runs argv with its output appended to log, also after rotation;
 * self: the path of locus. The process keeps its pid and becomes argv[0]. */
char **run_logged_command(
    struct arena *, const char *self, const char *log, char *const *argv);

#endif
