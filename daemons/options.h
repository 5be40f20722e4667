/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of a daemon: one table of common options and one of its own.
 * Options take one dash or two, with - or _ between words, because admins' scripts
 * write --one_pass, -one_pass and --one-pass.
 */
#ifndef DAEMONS_OPTIONS_H
#define DAEMONS_OPTIONS_H

#include "daemons/loop.h"

struct daemon_common {
	char *project, *name, *log;
	int64_t debug;
	int64_t mod[2];
	double sleep_s;
	bool one_pass, dry_run, no_lease;
	char *work; /* name of the share of the work, whatever the instance is called */
};

/*
 * Fills common and own, defaults first. Returns -1 to go on; otherwise the exit status,
 * after printing what was asked for, or which option is wrong and what it takes.
 */
int options_read(struct arena *, const struct daemon *, struct daemon_common *,
    void *own, int argc, char **argv);

#endif
