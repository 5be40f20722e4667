/* SPDX-License-Identifier: Apache-2.0 */
/* What a work generator is about to make, parsed from the output of its command. */
#ifndef DAEMONS_PLAN_H
#define DAEMONS_PLAN_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"

struct planned { /* one workunit, FILE__suffix, with its command line */
	char *suffix, *arguments;
};
/*
 * Parses the output of a generator command: lines SUFFIX<TAB>ARGUMENTS, and a line
 * "exhausted" if no more can be made for the file.  E_BADREQ names the line: a suffix
 * is 1 to 100 letters, digits, . _ + -; arguments may not contain control bytes or <.
 */
enum err plan_parse(struct arena *, const char *text, struct planned **, size_t *n,
    bool *exhausted, struct fail *);
/* The same for one workunit that did not come as text. */
enum err planned_check(const struct planned *, struct fail *);

#endif
