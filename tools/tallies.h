/* SPDX-License-Identifier: Apache-2.0 */
/* Workunits by state, from the counts that the transitioner keeps (db/work_tally.h). */
#ifndef TOOLS_TALLIES_H
#define TOOLS_TALLIES_H

#include "db/work_tally.h"
#include "tools/cmd.h"
#include "tools/work_pick.h"

struct tally_states {
	int64_t id; /* of an app, a batch or a file set; 0 = of none */
	int64_t n[PICK_STATES];
};
/*
 * Counts the workunits of one id (0 = of each id of the kind), by id.  Which of them
 * are in progress is asked of the hosts, with a bar.  Needs a connection.
 */
enum err tally_states_read(
    struct cmd_ctx *, enum tally_kind, int64_t id, struct tally_states **, size_t *n);
/* The place of the first row of an id, or where it would be. */
size_t tally_first(const struct work_tallies *, int64_t id);
/* Tells the admin if the transitioner is so far behind that counts are not exact. */
void tally_note(const struct cmd_ctx *, bool behind);

#endif
