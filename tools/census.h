/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a project: what its tables and trigger directories hold. */
#ifndef TOOLS_CENSUS_H
#define TOOLS_CENSUS_H

#include "db/db.h"
#include "model/snapshot.h"
#include "tools/ledger_view.h"

enum { FILE_STATES = FILE_DEAD + 1 };

struct census {
	struct row_wu_counts wus;
	struct row_result_counts results;
	struct row_without without;
	struct row_ledger sent, today; /* ever, and since midnight UTC */
	struct drain work, set;        /* of all files, of the working set */
	int64_t files[FILE_STATES];    /* of file sets by derived state */
	int64_t paused, draining;      /* file sets that the admin holds back */
	struct row_demand demand;      /* for work that was still to be made */
	int64_t hosts, active; /* active: asked lately, see locality_active_host_days */
	int64_t working_set, need_work, claims, no_work_available, files_no_work;
};

/* Reads each table once; x has a connection. */
enum err census_take(struct cmd_ctx *, struct census *);
/* The triggers alone; if they are directories, x needs no connection. */
enum err census_triggers(struct cmd_ctx *, struct census *);

#endif
