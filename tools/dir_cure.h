/* SPDX-License-Identifier: Apache-2.0 */
/* What mends a file or directory, by the cause, as who asks can carry it out. */
#ifndef TOOLS_DIR_CURE_H
#define TOOLS_DIR_CURE_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "model/conf.h"
#include "tools/cmd.h"

/*
 * What other accounts of the machine have no business with: the directories of a
 * project that hold data about people (addresses, names of hosts, output), and the
 * sockets of its services. Directories are closed, so the modes of files in them do not
 * matter.
 */

struct loose_path {
	const char *path;
	mode_t mode;   /* as it is */
	mode_t excess; /* bits of it that let other accounts in */
};

/*
 * The mode of run_dir: a web server of another account passes through it to the
 * sockets.
 */
unsigned private_run_mode(const struct conf *);

/* Lists what other accounts can enter, read or connect to; v has room for PRIVATE_MOST.
 */
enum { PRIVATE_MOST = 16 };
size_t private_loose(struct arena *, const struct conf *, struct loose_path *v);

/*
 * Closes the directories that are loose, for those of an earlier release, and logs it;
 * opens the web server's way through run_dir if there is none.
 * Not those of an adopted project, which other programs may read.
 */
void private_close(struct arena *, const struct conf *);

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
