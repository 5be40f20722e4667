/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes in the database that a scheduler process serves, and learns whether an admin
 * has drained its node or the project (locus drain).  All workers of a process share
 * one.
 */
#ifndef SCHED_SERVE_HEARTBEAT_H
#define SCHED_SERVE_HEARTBEAT_H

#include <stdatomic.h>
#include "db/db.h"
#include "model/conf.h"

struct heartbeat {
	_Atomic int64_t next_ms; /* when to note it again, monotonic */
	atomic_bool drained, noted;
	/* has an admin drained the whole project (db/project.h)?  known: it was read */
	atomic_bool project_drained, known;
};

/*
 * At most every 5 s: notes the process, and reads whether the node or the project is
 * drained.  What fails is tried again 5 s later; the state of draining is harmless when
 * stale, but a process that has just started waits until it is known.
 */
void heartbeat_keep(struct heartbeat *, const struct conf *, struct db *);

#endif
