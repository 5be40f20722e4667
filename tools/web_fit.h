/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that Apache's configuration fits config.xml. */
#ifndef TOOLS_WEB_FIT_H
#define TOOLS_WEB_FIT_H

#include "tools/fault_list.h"

/* Prints a warning for each socket of the project that Apache does not lead to, and for
 * each limit that differs from config.xml. */
void web_fit_check(struct cmd_ctx *, const struct conf *, struct fault_list *);

#endif
