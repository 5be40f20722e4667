/* SPDX-License-Identifier: Apache-2.0 */
/* Handles a project that is not at its noted location: moved, or a copy of another
 * project. */
#ifndef TOOLS_RELOCATE_H
#define TOOLS_RELOCATE_H

#include "tools/cmd.h"

/*
 * Called at start: notes the location of a project that has no note yet, and adapts a
 * moved project after reporting it. ctx_conf() has refused all other cases.
 */
enum err relocate_settle(struct cmd_ctx *);

#endif
