/* SPDX-License-Identifier: Apache-2.0 */
/* Checks job templates before any job is made from them. */
#ifndef TOOLS_TEMPLATE_H
#define TOOLS_TEMPLATE_H

#include "tools/cmd.h"

/*
 * Whether the first input file of the jobs is a large one. PERHAPS: if it cannot be,
 * warns on stderr without failing. RANGES: it is, and the built-in generator divides
 * ranges by the template's command line.
 */
enum template_large { LARGE_NONE, LARGE_PERHAPS, LARGE_FIRST, LARGE_RANGES };

/*
 * Check the text of a template; file is its name for messages. Print all faults but the
 * first error on stderr; E_BADREQ with that one's line and element.
 */
enum err template_check_out(struct cmd_ctx *, const char *file, const char *text);

#endif
