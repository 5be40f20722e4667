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

#endif
