/* SPDX-License-Identifier: Apache-2.0 */
/* States of a file set, and who may get its results (locality.md 2). */
#ifndef RULES_SCHED_FILESET_H
#define RULES_SCHED_FILESET_H

#include "model/conf.h"
#include "model/decision.h"
#include "model/snapshot.h"

/*
 * Derives the state of a file from facts in its row (locality.md 2). Without a wait
 * period, it is never DRAINING.
 */
enum file_state fileset_state(const struct conf *, const struct snap_file *);

/* May the generator be asked for more of it? */
bool fileset_may_be_made(const struct conf *, const struct snap_file *);
/*
 * May the account get this job? It gets the results of a file by increasing id (L16),
 * so that the copies of a workunit meet soon. Results that it was passed over with are
 * for others, until enough time has passed.
 */
bool fileset_in_order(const struct snap_file *, const struct job *, int64_t last_id);

#endif
