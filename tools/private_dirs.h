/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other accounts of the machine have no business with: the directories of a
 * project that hold data about people (addresses, names of hosts, output), and the
 * sockets of its services. Directories are closed, so the modes of files in them do not
 * matter.
 */
#ifndef TOOLS_PRIVATE_DIRS_H
#define TOOLS_PRIVATE_DIRS_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "model/conf.h"

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

/* Is the directory one of those that are closed to other accounts? */
bool private_is_closed(struct arena *, const struct conf *, const char *dir);

/*
 * Closes the directories that are loose, for those of an earlier release, and logs it;
 * opens the web server's way through run_dir if there is none.
 * Not those of an adopted project, which other programs may read.
 */
void private_close(struct arena *, const struct conf *);

#endif
