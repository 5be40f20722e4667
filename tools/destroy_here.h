/* SPDX-License-Identifier: Apache-2.0 */
/* locus destroy of a project that is all in one directory. */
#ifndef TOOLS_DESTROY_HERE_H
#define TOOLS_DESTROY_HERE_H

#include "tools/cmd.h"

/*
 * What create --here has made in the project's directory, a name per line; directories
 * end with "/". Written last, when the project is complete.
 */
#define CREATED_FILE ".locus-created"

struct destroy_opts {
	const char *yes;
	bool dry_run;
};
/*
 * Removes the project in x->cf, which is called name. E_CONFIG: nothing says what
 * create made, or the name is not the project's.
 */
enum err destroy_here(struct cmd_ctx *x, const char *name, const struct destroy_opts *);

#endif
