/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where programs and data files are: beside this program (installed or in the build
 * tree), where they were to be installed, the project's bin, and the system's.
 */
#ifndef TOOLS_PROGRAM_H
#define TOOLS_PROGRAM_H

#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

/*
 * A program of ours, or of the project if cf is given: absolute path; NULL if there is
 * none.  A plain name means ours if we have it, whatever is in the project's bin; a
 * path such as bin/validator means the project's.
 */
char *program_find(struct arena *, const struct conf *cf, const char *name);
/* A program of the system in PATH and the sbin directories; names ends with NULL. */
char *program_system(struct arena *, const char *const *names);
/* A file of pkgdatadir, such as "apache-private.conf.in"; NULL if there is none. */
char *program_data(struct arena *, const char *name);

#endif
