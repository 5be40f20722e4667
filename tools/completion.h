/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus completion: the scripts for bash and zsh. They ask locus itself for what may
 * follow, so they never differ from the table of commands, and offer what is in the
 * project.
 */
#ifndef TOOLS_COMPLETION_H
#define TOOLS_COMPLETION_H

#include "tools/cmd.h"

#endif
