/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of job templates, before any job is made from them. */
#ifndef TOOLS_TEMPLATE_H
#define TOOLS_TEMPLATE_H

#include "tools/cmd.h"

/* Is the first input file of the jobs a large one?  PERHAPS: if it cannot be, that is
 * said on stderr, and no error. */
enum template_large { LARGE_NONE, LARGE_PERHAPS, LARGE_FIRST };

/* file is for messages.  E_BADREQ: what is wrong, with line and element. */
enum err template_check_in(
    struct cmd_ctx *, const char *file, const char *text, enum template_large);
enum err template_check_out(struct cmd_ctx *, const char *file, const char *text);

#endif
