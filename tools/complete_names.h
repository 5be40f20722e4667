/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the project's apps, files, accounts and so on, for completion. */
#ifndef TOOLS_COMPLETE_NAMES_H
#define TOOLS_COMPLETE_NAMES_H

#include "tools/cmd.h"

/*
 * What an argument names, as a key of complete_names(): "app", "file", "option".  n:
 * how many arguments come before it.  NULL: nothing that has names.
 */
const char *complete_noun_of_arg(struct arena *, const struct cmd *, size_t n);
/* The same for the value of an option, without its dashes. */
const char *complete_noun_of_option(const char *option);
/*
 * Prints the names that begin like this, a line for each, at most 200.  Connects to the
 * project's database if the names are there.
 */
enum err complete_names(struct cmd_ctx *, const char *noun, const char *begun);

#endif
