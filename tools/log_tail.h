/* SPDX-License-Identifier: Apache-2.0 */
/* Why a program ended, from its log. */
#ifndef TOOLS_LOG_TAIL_H
#define TOOLS_LOG_TAIL_H

#include "lib/arena.h"

/* The last bytes of a log, from the beginning of a line; "" if there is none. */
char *log_tail(struct arena *, const char *path);
/* The first line with "[ERROR]" near its end, at most 250 bytes; else its tail. */
char *log_why(struct arena *, const char *path);

#endif
