/* SPDX-License-Identifier: Apache-2.0 */
/* What mends a directory that cannot be written, by the cause. */
#ifndef TOOLS_DIR_CURE_H
#define TOOLS_DIR_CURE_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"

/*
 * Returns a command. why: the error of the attempt by that account, a name or a number;
 * E_DISK_FULL is a file system without bytes or without inodes, or a quota. A directory
 * that is absent, another kind of file, or on a read-only file system is told apart by
 * looking at it. by_root: root will carry it out, and follows no name of the account.
 */
char *dir_cure(
    struct arena *, const char *dir, const char *account, bool by_root, enum err why);
/* The same for a file that the account cannot read. */
char *file_cure(struct arena *, const char *path, const char *account, bool by_root);
/* Returns the command that lists the largest files of the directory's file system. */
char *room_cure(struct arena *, const char *dir);
/* Returns the command that lists the directories with the most files. */
char *inode_cure(struct arena *, const char *dir);

#endif
