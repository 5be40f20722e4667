/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of a config.xml that was written for BOINC.  Its programs and ours share
 * some names and one database, so that a program is never chosen by what happens to lie
 * in the project's bin.
 */
#ifndef TOOLS_UPSTREAM_H
#define TOOLS_UPSTREAM_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

struct upstream {    /* what becomes of a daemon's command */
	bool theirs; /* it names a program of BOINC's */
	char **argv; /* ours instead, argv[0] its plain name; NULL = it is not run */
	char *say;   /* "feeder is not run: ..."; NULL = it is as it was written */
};

/* Pure.  argv ends with NULL. */
struct upstream upstream_command(struct arena *, char **argv);
/* What is to be said of all daemons of the project, one line each. */
enum err upstream_says(
    struct arena *, const struct conf *, char ***lines, size_t *n, struct fail *);

#endif
