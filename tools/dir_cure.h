/* SPDX-License-Identifier: Apache-2.0 */
/* What mends a file or directory, by the cause, as who asks can carry it out. */
#ifndef TOOLS_DIR_CURE_H
#define TOOLS_DIR_CURE_H

#include "tools/cmd.h"

/*
 * Returns a command. why: the error of the attempt by that account, a name or a number;
 * E_DISK_FULL is a file system without bytes or without inodes, or a quota. A directory
 * that is absent, another kind of file, or on a read-only file system is told apart by
 * looking at it. Root, if it is to carry the cure out, follows no name of the account.
 */
char *dir_cure(struct arena *, const struct cmd_ctx *, const char *dir,
    const char *account, enum err why);
/* The same for a file that the account cannot read. */
char *file_cure(
    struct arena *, const struct cmd_ctx *, const char *path, const char *account);
/* The same for a mode, in chmod's words, that a file or directory should have. */
char *mode_cure(
    struct arena *, const struct cmd_ctx *, const char *mode, const char *path);
/* Returns the command that puts a file of the project back from a backup, with this
 * mode. Root reads the backup, and the project's account writes. */
char *restore_cure(
    struct arena *, const struct owner *, const char *path, const char *mode);
/* Returns the command, a simple one, as root has the project's account carry it out;
 * unchanged for the account itself. */
char *owner_command(struct arena *, const struct owner *, const char *command);
/* Returns "locus -p PROJECT WORDS". */
char *locus_command(struct arena *, const struct conf *, const char *words);
/* Returns the command that lists the largest files of the directory's file system. */
char *room_cure(struct arena *, const char *dir);
/* Returns the command that lists the directories with the most files. */
char *inode_cure(struct arena *, const char *dir);

#endif
