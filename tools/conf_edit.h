/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of config.xml that leave the admin's text and comments as they are. */
#ifndef TOOLS_CONF_EDIT_H
#define TOOLS_CONF_EDIT_H

#include "tools/cmd.h"

/*
 * Adds <daemon> elements, name and command by turns in pairs, at the end of <daemons>.
 * The new file is checked before it takes the old one's place.  E_CONFIG: a name is
 * there already, or the file has to be edited by hand, and why.
 */
struct conf_pair {
	const char *name, *cmd;
};
enum err conf_add_daemons(struct cmd_ctx *, const struct conf_pair *, size_t n);

struct conf_text {
	const char *old, *new; /* of an option: its name and value */
};
/* Options of config.xml get these values, in their places or at the end of <config>.
 * E_CONFIG: the file has to be edited by hand, and why. */
enum err conf_set_options(struct cmd_ctx *, const struct conf_text *, size_t n);
/*
 * Paths, addresses and URLs in a file: where old is not followed by more of the same
 * name.  *changed: something was.  An absent file is OK.
 */
enum err conf_replace_texts(struct arena *, const char *path, const struct conf_text *,
    size_t n, bool *changed, struct fail *);

#endif
