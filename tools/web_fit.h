/* SPDX-License-Identifier: Apache-2.0 */
/* What the project's config.xml needs of its Apache, and whether that has it. */
#ifndef TOOLS_WEB_FIT_H
#define TOOLS_WEB_FIT_H

#include "tools/cmd.h"

/* Processes: of all scheduler processes at most a quarter may wait for work. */
int64_t web_processes(const struct conf *);
/* Seconds for which Apache waits for a byte of a reply: the wait for work, and then
 * some for the rest of the request. */
int64_t web_io_timeout_s(const struct conf *);
/* Prints a warning for every line of the project's Apache configuration with a lower
 * number, and where a needed one is not given at all; files that are not there need
 * none. */
void web_fit_check(struct ctx *, const struct conf *);

#endif
