/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out from its log why a program ended. */
#ifndef TOOLS_LOG_TAIL_H
#define TOOLS_LOG_TAIL_H

#include "lib/arena.h"

/*
 * Returns the last bytes of a log, from the beginning of a line; "" if there is none.
 */
char *log_tail(struct arena *, const char *path);
/* Returns the first line with "[ERROR]" near the log's end, at most 250 bytes; else its
 * tail. */
char *log_find_error(struct arena *, const char *path);

#endif
