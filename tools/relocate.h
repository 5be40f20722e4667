/* SPDX-License-Identifier: Apache-2.0 */
/* Handles a project that is not at its noted location: moved, or a copy of another
 * project. */
#ifndef TOOLS_RELOCATE_H
#define TOOLS_RELOCATE_H

#include "tools/cmd.h"

/*
 * Called at start: notes the location of a project that has no note yet, and adapts a
 * moved project after reporting it. ctx_conf() has refused all other cases.
 */
enum err relocate_settle(struct cmd_ctx *);

/*
 * Makes a restored backup in x->cf a project of its own with this master URL, which
 * must end with "/NAME/" like the original's; port is its Apache's, 0 = a free one.
 */
enum err relocate_copy(struct cmd_ctx *, const char *url, int64_t port);

/* Changes what stored work has of one URL, "http://old/", to another. */
enum err relocate_readdress(
    struct cmd_ctx *, const struct conf *, const char *from_url, const char *to_url);

#endif
