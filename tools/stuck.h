/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what never makes progress without the admin, for locus fsck and locus status:
 * workunits that lack results, file sets that no work can be named after, and work that
 * no host may get.
 */
#ifndef TOOLS_STUCK_H
#define TOOLS_STUCK_H

#include "model/rows.h"
#include "tools/fsck.h"

/* Receives each finding. */
struct stuck_listener {
	void (*found)(void *arg, const struct fsck_finding *);
	void *arg;
};

enum stuck_depth {
	STUCK_QUEUED, /* the first unsent results of each app: bounded however many
	                 there are */
	STUCK_ALL     /* every workunit, slice by slice */
};

/* Needs a connection. lacking: also look for workunits that lack results. */
enum err stuck_find(
    struct cmd_ctx *, enum stuck_depth, bool lacking, const struct stuck_listener *);

/*
 * Returns the largest quorum among the first unsent workunits of each app, 0 = there
 * are none, and the number of active accounts.
 */
enum err stuck_quorum(struct cmd_ctx *, int32_t *quorum, int64_t *accounts);
/* True if no host may get some of the work that waits. */
enum err stuck_work(struct cmd_ctx *, bool *some);
/* Returns why no host may get a workunit's jobs, sentences without "it"; *n = 0 if some
 * may. Its delay_bound must be above 0. */
enum err stuck_reasons(
    struct cmd_ctx *, const struct workunit *, const char ***, size_t *n);
/* Explains on standard error why no host may get the work that was just made, if so;
 * its delay_bound must be above 0. */
enum err stuck_hint(struct cmd_ctx *, const struct workunit *);

#endif
