/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether versions may have a plan class. */
#ifndef TOOLS_PLAN_CLASS_H
#define TOOLS_PLAN_CLASS_H

#include "tools/cmd.h"

/*
 * Sets *why to the reason, with file and line, why versions of the class would not be
 * sent; NULL if nothing prevents it. "" is always known.
 */
enum err plan_class_known(struct cmd_ctx *, const char *class, const char **why);

#endif
