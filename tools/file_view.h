/* SPDX-License-Identifier: Apache-2.0 */
/* A large file with its derived state and the counts of its results. */
#ifndef TOOLS_FILE_VIEW_H
#define TOOLS_FILE_VIEW_H

#include "model/decision.h"
#include "tools/limits_view.h"

struct file_view {
	struct row_file_info info;
	struct row_tally tally;
	struct row_ledger sent;
	enum file_state state;
};

/* Builds the view of one row and the counts of its results; no_work: no more work can
 * be made (no_work_available). */
struct file_view file_view_of(struct cmd_ctx *, const struct row_file_info *,
    const struct row_tally *, bool no_work);
const char *file_view_held_back(
    const struct file_view *); /* "paused", "draining", "" */

#endif
