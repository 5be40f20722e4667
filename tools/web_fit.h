/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that Apache's configuration fits config.xml. */
#ifndef TOOLS_WEB_FIT_H
#define TOOLS_WEB_FIT_H

#include "tools/fsck_rows.h"

/* Returns the name below project_dir of the file that the web server of this machine
 * reads for a project that is not installed. */
const char *web_conf_name(struct cmd_ctx *);
/* Returns the port of "http://127.0.0.1:PORT/NAME/", at which private servers answer
 * without another server before them; 0 for any other URL. */
int64_t loopback_port(const char *url);
/*
 * Returns what is wrong with such a file, or one of an installed project; NULL if
 * nothing is known to be. service: "scheduler", "web" or "upload", to which it should
 * lead; NULL = none. An edit counts, although it may be right: ask for it only where
 * something fails.
 */
char *web_fit_fault(struct cmd_ctx *, const char *path, const char *service);
/* The same of a file that leads to no service itself. */
char *web_edit_fault(struct cmd_ctx *, const char *path);
/* Prints a warning for each socket of the project that Apache does not lead to, and for
 * each limit that differs from config.xml. */
void web_fit_check(struct cmd_ctx *, const struct conf *, struct fault_list *);

#endif
