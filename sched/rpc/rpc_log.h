/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the log line of an RPC: who asked for what, what was sent, and why not more.
 */
#ifndef SCHED_RPC_RPC_LOG_H
#define SCHED_RPC_RPC_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/counters.h"

struct rpc;
struct counts { /* of one process; all 0 initially */
	struct counters counters;
	int64_t retry_at; /* after a failure */
	bool failed;      /* logged */
	bool full;        /* logged: a metric has no place in the file */
};

/* Counts an RPC that was answered, whatever the reply. */
void counts_keep(struct counts *, const struct rpc *);
void counts_close(struct counts *);

#endif
