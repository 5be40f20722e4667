/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts. Nothing of a project runs as root, and what root's commands do below a
 * project they do as the account that owns it: a process of root becomes that account,
 * for good or, in the few commands that also write root's own files, until it needs
 * those. No capability is kept either way, nor the controlling terminal.
 */
#ifndef LIB_PRIVILEGE_H
#define LIB_PRIVILEGE_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"

struct account {
	uid_t uid;
	gid_t gid;
	char *name;
};

/* Finds an account by name; NULL stands for www-data, or else nobody. E_CONFIG if there
 * is none. */
enum err account_find(
    struct arena *, const char *name, struct account *, struct fail *);
enum err account_by_uid(struct arena *, uid_t, struct account *, struct fail *);

bool privilege_is_root(void);
/* Becomes that account for good, with its groups and without capabilities. Only for
 * root. */
enum err privilege_become(const struct account *, struct fail *);
/*
 * Becomes that account until privilege_resume(): whatever this process opens meanwhile
 * is opened with the account's rights, and programs that it starts are the account's
 * for good. Only for root.
 */
enum err privilege_suspend(const struct account *, struct fail *);
/* Root again, after privilege_suspend(). */
enum err privilege_resume(struct fail *);
/*
 * From now on PATH is the system's while this process is root, and the shell's while it
 * is an account: root runs no program that the working directory or a directory of
 * somebody else offers.
 */
void privilege_guard_path(void);
/*
 * The directory that keeps this process from reaching the directory or file, which is
 * that itself or one above it; NULL = it reaches it.
 */
const char *privilege_closed(struct arena *, const char *path);

#endif
