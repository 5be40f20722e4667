/* SPDX-License-Identifier: Apache-2.0 */
/* locus log: the lines of all of the project's logs, merged by time. */
#ifndef TOOLS_LOG_H
#define TOOLS_LOG_H

#include "lib/arena.h"
#include "model/conf.h"

#define LOG_ROTATION_FILE "logrotate.conf" /* of a project with --here */

/*
 * Text for log_dir. account: the account of an installed project, for which root runs
 * logrotate; NULL for a project of one directory, whose account runs it.
 */
char *log_rotation_text(
    struct arena *, const struct conf *, const char *name, const char *account);

#endif
