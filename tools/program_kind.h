/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of program a file is, by its first bytes. */
#ifndef TOOLS_PROGRAM_KIND_H
#define TOOLS_PROGRAM_KIND_H

#include "lib/arena.h"

/*
 * Returns why hosts of the platform could not start the file as a program: one for
 * another processor or system, a text without "#!", or a first line with the line end
 * of Windows. NULL if they can, or if it cannot be told.
 */
char *program_misfit(struct arena *, const char *path, const char *platform);

#endif
