/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing here runs as root: Apache and MariaDB refuse to, and files made by root would
 * get in the way of the daemons. So a process started by root irrevocably becomes the
 * project's account.
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

/* Finds an account by name; NULL stands for www-data, or else nobody. E_CONFIG if there
 * is none. */
enum err account_find(
    struct arena *, const char *name, struct account *, struct fail *);
enum err account_by_uid(struct arena *, uid_t, struct account *, struct fail *);

bool privilege_is_root(void);
/*
 * Becomes that account, with its groups, and keeps two capabilities: to read and write
 * any file (CAP_DAC_OVERRIDE), as the admin may name files that only root can read, and
 * to leave a file to its owner when it is replaced (CAP_CHOWN), as config.xml is
 * root's. Programs that it starts do not inherit the capability. Only for root.
 */
enum err privilege_become(const struct account *, struct fail *);
bool privilege_kept(void); /* true if this process has that capability */
/*
 * True if this process could enter the directory or run the file without capabilities.
 */
bool privilege_reaches(const char *path);
/* Lets programs started from now on inherit the capability (as an ambient one). */
enum err privilege_lend(struct fail *);
/* Gives up the capability, for this process and all programs that it starts. */
void privilege_drop(void);

#endif
