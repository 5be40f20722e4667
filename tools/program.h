/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds programs and data files: beside this program (installed or in the build tree),
 * where they were meant to be installed, in the project's bin, and in the system's
 * directories.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

/* What kind of program a file is, by its first bytes. */

/*
 * Returns why hosts of the platform could not start the file as a program: one for
 * another processor or system, a text without "#!", or a first line with the line end
 * of Windows. NULL if they can, or if it cannot be told.
 */
char *program_misfit(struct arena *, const char *path, const char *platform);

/*
 * Finds one of our programs, or one of the project if cf is given; returns its absolute
 * path, or NULL. A plain name means ours if we have it, whatever the project's bin
 * contains, else the project's, else a program on PATH; a path such as bin/validator
 * means the project's.
 */
char *program_find(struct arena *, const struct conf *cf, const char *name);
/* Is it the name of a program of ours? In a project's bin it is a foreign one. */
bool program_is_own_name(const char *name);
/* Returns the absolute path of the running program. */
char *program_self(struct arena *);
/* Finds a system program in PATH or the sbin directories; names ends with NULL. */
char *program_system(struct arena *, const char *const *names);
/*
 * Finds a file of pkgdatadir, such as "apache-private.conf.in"; NULL if there is none.
 */
char *program_data(struct arena *, const char *name);

/* Returns the name of the platform of this machine. */
const char *program_platform(void);

#endif
