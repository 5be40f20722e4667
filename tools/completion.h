/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus completion: the scripts for bash and zsh. They ask locus itself for what may
 * follow, so they never differ from the table of commands, and offer what is in the
 * project.
 */
#ifndef TOOLS_COMPLETION_H
#define TOOLS_COMPLETION_H

#include "tools/cmd.h"

/*
 * Prints the names that begin like this, a line for each, at most 200.  Connects to the
 * project's database if the names are there.
 */
enum err complete_names(struct cmd_ctx *, const char *noun, const char *begun);

#endif
