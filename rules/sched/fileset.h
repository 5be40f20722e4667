/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a file set, and whose its results are (locality.md 2). */
#ifndef RULES_SCHED_FILESET_H
#define RULES_SCHED_FILESET_H

#include "model/conf.h"
#include "model/decision.h"
#include "model/snapshot.h"

/* The state of one file from its row facts (locality.md 2). wait_period_s 0:
 * never DRAINING. */
enum file_state fileset_state(const struct conf *, const struct snap_file *);

/* May the generator be asked for more of it? */
bool fileset_may_be_made(const struct conf *, const struct snap_file *);
/*
 * For one account results of a file go out in increasing id (L16), so that the copies
 * of a workunit meet soon.  One that was passed over is for others, until that is long
 * enough ago.
 */
bool fileset_in_order(const struct snap_file *, const struct job *, int64_t last_id);

#endif
