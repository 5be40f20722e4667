/* SPDX-License-Identifier: Apache-2.0 */
/* Is a plan class one that versions may have? */
#ifndef TOOLS_PLAN_CLASS_H
#define TOOLS_PLAN_CLASS_H

#include "tools/cmd.h"

/*
 * *why tells, with its place, what keeps versions of that class from being sent; NULL
 * if nothing does.  "" is always known.
 */
enum err plan_class_known(struct cmd_ctx *, const char *class, const char **why);

#endif
