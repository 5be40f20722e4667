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
	bool one_pass, dry_run, no_lease, help, version;
	char *work; /* name of the share of the work, whatever the instance is called */
};

enum options_what {
	OPTIONS_RUN,
	OPTIONS_SHOWN, /* help or version, on stdout */
	OPTIONS_WRONG
};

/*
 * Fills common and own, defaults first.  OPTIONS_WRONG: f names the option and says
 * what it takes.
 */
enum options_what options_read(struct arena *, const struct daemon *,
    struct daemon_common *, void *own, int argc, char **argv, struct fail *);

#endif
