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
enum err conf_add_daemons(struct ctx *, const struct conf_pair *, size_t n);

#endif
