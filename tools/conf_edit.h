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

/*
 * What the commands of config.xml share: the names that their arguments may have, and
 * the check of a whole configuration.
 */

/* An option, or an element of a daemon or task: "daemon.NAME.cmd". */
struct config_key {
	const char *name;            /* as given */
	const struct field *opt;     /* NULL: an element */
	const struct conf_item *sub; /* NULL: an option */
	const char *of;              /* name of that daemon or task */
};
/*
 * Reads a name. E_BADREQ with EXIT_USAGE, and the nearest name or the form, if there is
 * none such.
 */
enum err config_key_read(struct cmd_ctx *, const char *name, struct config_key *);
/*
 * The position of the key's daemon or task among those of its kind. E_NOTFOUND with
 * EXIT_NOTHING: there is none of that name.
 */
enum err config_key_item(
    struct cmd_ctx *, const struct conf *, const struct config_key *, size_t *number);
/* The value in force; "" if an element is absent. The key's item must exist. */
const char *config_key_value(
    struct arena *, const struct conf *, const struct config_key *, size_t number);
bool config_key_secret(const struct config_key *);
/*
 * Who reads the option, and when a running project adopts a change: "scheduler", "at
 * once".
 */
const char *config_readers(const struct config_key *);
const char *config_when(const struct conf *, const struct config_key *);

/* Path of config.xml: given, or that of the project. */
enum err config_path(struct cmd_ctx *, const char *given, char **path);

/* --- config_check.c --- */
struct config_fault {
	int line; /* 0 = none */
	bool error;
	const char *path, *text;
};
struct config_faults {
	struct config_fault *v;
	size_t n, cap;
};
/*
 * Everything that locus config check reports about a configuration by itself, without
 * asking services: its remarks, programs of daemons that are missing, and files that
 * are copied into replies.
 */
void config_faults_find(struct cmd_ctx *, const struct conf *,
    const struct conf_remark *, size_t nremarks, struct config_faults *);

/* --- config_judge.c --- */
/* May the config.xml at path change from old to new? E_CONFIG if the project would not
 * survive it as it is; the message says what to do instead. */
enum err config_judge(
    struct cmd_ctx *, const char *path, struct conf *old, const struct conf *new);

/* --- config_files.c --- */
/* Adds what is wrong with plan_class_spec.xml and its like in a project. */
void config_files_check(struct cmd_ctx *, const struct conf *, struct config_faults *);
/* The errors of the project's config.xml, read anew, and of those files. */
void config_errors_find(struct cmd_ctx *, struct config_faults *);
/* "/p/config.xml:3: text" */
char *config_fault_text(struct arena *, const struct config_fault *);

#endif
