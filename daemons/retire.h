/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retires large files: removes those of a file set from the download directory and from
 * the tables, and tells the hosts that hold them to delete them: when nothing has
 * needed the set for retain_days, or when an admin has ordered it and no work needs the
 * set. A file that another set needs stays.
 */
#ifndef DAEMONS_RETIRE_H
#define DAEMONS_RETIRE_H

#include "daemons/loop.h"

struct retiring {        /* all zero at first */
	int64_t after;   /* the next slice of sets begins behind this one */
	int64_t next_at; /* when the next round begins */
};

/* Looks at the next sets, if a round is due; a round takes as many steps as needed. */
enum err retire_some(struct daemon_ctx *, struct retiring *);

#endif
