/* SPDX-License-Identifier: Apache-2.0 */
/* A view that is repeated until ^C: one screen on a terminal, else plain text. */
#ifndef TOOLS_SCREEN_H
#define TOOLS_SCREEN_H

#include "tools/cmd.h"

/*
 * Calls look() every so many seconds, or less often if it takes long, and shows what it
 * printed to standard output: on a terminal in place, cut to its size, without flicker;
 * else with an empty line between two looks. Ends with OK at SIGINT, SIGTERM or SIGHUP,
 * the terminal restored, with the error of look(), or when nobody reads the output any
 * more. During look() x->a is an arena of that look.
 */
enum err screen_repeat(struct cmd_ctx *, int64_t every_s,
    enum err (*look)(struct cmd_ctx *, void *), void *arg);

#endif
