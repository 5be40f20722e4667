/* SPDX-License-Identifier: Apache-2.0 */
/* The project's own choice of files for the working set (locus-handlers(7), choose). */
#ifndef DAEMONS_FILE_CHOOSER_H
#define DAEMONS_FILE_CHOOSER_H

#include "daemons/loop.h"
#include "rules/daemon/daemon_rules.h"

/*
 * Asks the handler which of the files that may be in the set of an app come first, and
 * sets their places.  A handler that fails or cannot say now leaves the choice to the
 * rule, and a trouble; E_RETRY: the daemon is to stop.
 */
enum err file_chooser_ask(struct daemon_ctx *, const char *app, struct ws_file *,
    size_t n, int64_t hosts, size_t wanted);

#endif
