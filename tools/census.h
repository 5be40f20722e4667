/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a project: the contents of its tables and trigger directories. */
#ifndef TOOLS_CENSUS_H
#define TOOLS_CENSUS_H

#include "db/db.h"
#include "db/work_tally.h"
#include "model/decision.h"
#include "tools/cmd.h"
#include "tools/limits_view.h"
#include "tools/work_pick.h"

enum { FILE_STATES = FILE_DEAD + 1 };

struct census {
	struct row_wu_counts wus;
	int64_t wus_live; /* workunits with an unsent result or one in progress */
	struct result_counts results;
	struct row_without without;
	struct row_ledger sent, today; /* in total, and since midnight UTC */
	struct drain work, set;        /* left of all files, and of the working set */
	int64_t files[FILE_STATES];    /* number of file sets by derived state */
	int64_t paused, draining; /* number of file sets that the admin holds back */
	struct row_demand demand; /* requests for work that had not been made yet */
	int64_t hosts,
	    active; /* active: made a request lately, see locality_active_host_days */
	int64_t drained_since; /* of the whole project, s UTC; 0 = it is not */
	int64_t working_set, need_work, claims, no_work_available, files_no_work;
};

/*
 * Reads counts that are kept, and tables that do not grow with the work; needs a
 * connection.
 */
enum err census_take(struct cmd_ctx *, struct census *);
/* Counts only the triggers; needs no connection if they are directories. */
enum err census_triggers(struct cmd_ctx *, struct census *);

/* Workunits by state, from the counts that the transitioner keeps (db/work_tally.h). */

struct tally_states {
	int64_t id; /* of an app, a batch or a file set; 0 = of none */
	int64_t n[PICK_STATES];
};
/*
 * Counts the workunits of one id (0 = of each id of the kind), by id. Which of them
 * are in progress is asked of the hosts, with a bar. Needs a connection.
 */
enum err tally_states_read(
    struct cmd_ctx *, enum tally_kind, int64_t id, struct tally_states **, size_t *n);
/* The place of the first row of an id, or where it would be. */
size_t tally_first(const struct work_tallies *, int64_t id);
/* Tells the admin if the transitioner is so far behind that counts are not exact. */
void tally_note(const struct cmd_ctx *, bool behind);

#endif
