/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what was answered and why (model/metrics.def), in run_dir/counters, which the
 * schedulers of a machine share.  What goes wrong is logged once and hurts no RPC.
 */
#ifndef SCHED_RPC_COUNTS_H
#define SCHED_RPC_COUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/counters.h"

struct rpc;
struct counts { /* of one process; zero at its start */
	struct counters counters;
	int64_t retry_at; /* after a failure */
	bool failed;      /* logged */
};

/* An RPC that was answered, whatever with. */
void counts_keep(struct counts *, const struct rpc *);
void counts_close(struct counts *);

#endif
