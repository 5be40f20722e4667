/* SPDX-License-Identifier: Apache-2.0 */
/* locus work set: lowers what open work asks of hosts. */
#ifndef TOOLS_WORK_SET_H
#define TOOLS_WORK_SET_H

#include "tools/work_pick.h"

struct work_cancel_counts {
	int64_t matched;             /* workunits */
	int64_t over;                /* those of them that were over already */
	int64_t unsent, in_progress; /* results of the open ones */
	int64_t cancelled;           /* workunits */
};
/*
 * Cancels all open workunits that match, in transactions of a few, and counts what was
 * done, all but matched and over. expected: their number, for the bar; 0 = not known.
 */
enum err work_cancel(struct cmd_ctx *, const struct work_pick_opts *, int64_t expected,
    struct work_cancel_counts *);

#endif
