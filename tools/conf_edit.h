/* SPDX-License-Identifier: Apache-2.0 */
/* Edits config.xml without disturbing the admin's text and comments. */
#ifndef TOOLS_CONF_EDIT_H
#define TOOLS_CONF_EDIT_H

#include "tools/cmd.h"

/*
 * A file that is being changed, and the lock that excludes other commands that change
 * it. begin() reads it; end() writes the text, if it is another one than before and
 * write is set, atomically with owner and mode kept, and releases the lock. After an
 * error of begin() nothing is locked. E_RETRY: another command keeps the lock for 10 s.
 */
struct conf_edit {
	const char *path;
	char *before, *text;
	int lock;
};
enum err conf_edit_begin(struct cmd_ctx *, const char *path, struct conf_edit *);
enum err conf_edit_end(struct cmd_ctx *, struct conf_edit *, bool write);
/*
 * Gives an option these values in d->text, none if n is 0 (conf_text.h). E_CONFIG: the
 * text is not XML, or cannot hold the value.
 */
enum err conf_edit_set(struct cmd_ctx *, struct conf_edit *, const char *name,
    const char *const *values, size_t n);

struct new_daemon {
	const char *name, *cmd;
};
/*
 * Adds <daemon> elements at the end of <daemons>. The new file is checked before it
 * replaces the old one. E_CONFIG: a daemon of that name exists, or the file has to be
 * edited by hand; the message says why.
 */
enum err conf_add_daemons(struct cmd_ctx *, const struct new_daemon *, size_t n);
/* May daemons of these names be added? E_CONFIG: one exists, or two have the same
 * name. */
enum err conf_check_new_daemons(struct cmd_ctx *, const struct new_daemon *, size_t n);

/*
 * Removes daemons of config.xml that have this name and this command and are not
 * changed otherwise. Sets gone[i] for those that were removed, or would be without
 * write; the others stay.
 */
enum err conf_remove_daemons(
    struct cmd_ctx *, const struct new_daemon *, size_t n, bool write, bool *gone);

struct conf_change {
	const char *old,
	    *new; /* a text and its replacement; for options: name and value */
};
/* Sets options of config.xml, in place or at the end of <config>. E_CONFIG: the file
 * has to be edited by hand; the message says why. */
enum err conf_set_options(struct cmd_ctx *, const struct conf_change *, size_t n);
/*
 * Replaces paths, addresses and URLs in a file, wherever old is not the beginning of a
 * longer name. Sets *changed if it replaced any; a missing file is OK.
 */
enum err conf_replace_texts(struct arena *, const char *path,
    const struct conf_change *, size_t n, bool *changed, struct fail *);

#endif
