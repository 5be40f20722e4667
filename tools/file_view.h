/* SPDX-License-Identifier: Apache-2.0 */
/* A large file with its derived state and the counts of its results. */
#ifndef TOOLS_FILE_VIEW_H
#define TOOLS_FILE_VIEW_H

#include <jansson.h>
#include "model/snapshot.h"
#include "tools/ledger_view.h"

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
json_t *file_view_json(const struct file_view *);
/* "3 of 5": parts that the built-in generator has made; "" if it does not work on the
 * file. */
char *file_view_parts(struct arena *, const struct file_view *);
const char *file_view_held_back(
    const struct file_view *); /* "paused", "draining", "" */

struct row_demand file_view_demand(const struct file_view *);

/* "3 requests for work that had to be made, ...": for one file or for all. */
char *demand_text(struct arena *, const struct row_demand *, int64_t now);
/* Adds the member "demand" to a JSON object. */
void demand_json(json_t *, const struct row_demand *);

#endif
