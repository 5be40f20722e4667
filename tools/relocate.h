/* SPDX-License-Identifier: Apache-2.0 */
/* A project in another place than was noted: moved, or a copy of another one. */
#ifndef TOOLS_RELOCATE_H
#define TOOLS_RELOCATE_H

#include "tools/cmd.h"

/*
 * At start: notes the place of a project that has no note yet, and takes a project that
 * was moved for what it is, after saying so.  ctx_conf() has refused all others.
 */
enum err relocate_settle(struct cmd_ctx *);

#endif
