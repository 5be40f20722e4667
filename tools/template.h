/* SPDX-License-Identifier: Apache-2.0 */
/* Checks job templates before any job is made from them. */
#ifndef TOOLS_TEMPLATE_H
#define TOOLS_TEMPLATE_H

#include "tools/cmd.h"

/* Whether the first input file of the jobs is a large one. PERHAPS: if it cannot be,
 * warns on stderr without failing. */
enum template_large { LARGE_NONE, LARGE_PERHAPS, LARGE_FIRST };

/* Check the text of a template; file is its name for messages. E_BADREQ with line and
 * element. */
enum err template_check_in(
    struct cmd_ctx *, const char *file, const char *text, enum template_large);
enum err template_check_out(struct cmd_ctx *, const char *file, const char *text);

#endif
