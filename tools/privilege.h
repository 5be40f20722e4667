/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root does not work as root here: Apache and MariaDB refuse to serve as root, and
 * files that root made would be in the way of the daemons.  So a process of root's
 * becomes the project's account, for good.
 */
#ifndef TOOLS_PRIVILEGE_H
#define TOOLS_PRIVILEGE_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"

struct account {
	uid_t uid;
	gid_t gid;
	char *name;
};

/* By name; NULL is www-data, else nobody.  E_CONFIG if there is no such account. */
enum err account_find(
    struct arena *, const char *name, struct account *, struct fail *);
enum err account_by_uid(struct arena *, uid_t, struct account *, struct fail *);

bool privilege_is_root(void);
/*
 * Becomes that account with its groups and keeps the one capability to read and write
 * any file (CAP_DAC_OVERRIDE), as the admin may name files that only root can read.
 * Programs that are started do not get it.  For root only.
 */
enum err privilege_become(const struct account *, struct fail *);
bool privilege_kept(void); /* do we have that capability? */
/* Can we, without capabilities, enter this directory or run this file? */
bool privilege_reaches(const char *path);
/* Programs that are started from now on have that capability too (ambient). */
enum err privilege_lend(struct fail *);
/* Gives the capability up, for this process and all that it starts. */
void privilege_drop(void);

#endif
