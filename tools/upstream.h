/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the commands of daemons and tasks of a config.xml written for BOINC.
 * BOINC's programs and ours share some names and one database, so a program must never
 * be chosen by what happens to lie in the project's bin.
 */
#ifndef TOOLS_UPSTREAM_H
#define TOOLS_UPSTREAM_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

struct upstream {    /* translation of a daemon's command */
	bool theirs; /* it names a BOINC program */
	char *
	    *argv; /* our command instead, argv[0] a plain name; NULL = it is not run */
	char *say; /* remark, "feeder is not run: ..."; NULL = the command is used as
	              written */
};

/* Pure. argv ends with NULL. */
struct upstream upstream_command(struct arena *, char **argv);
/* Returns the remarks about all daemons and tasks of the project, each one once. */
enum err upstream_says(
    struct arena *, const struct conf *, char ***lines, size_t *n, struct fail *);

#endif
