/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision records that locus explain reads: run_dir/decisions/ring-N, one file for
 * each process that serves at the same time.  What goes wrong with them is logged once
 * and hurts no RPC.
 */
#ifndef SCHED_RINGS_H
#define SCHED_RINGS_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/ring.h"

struct rpc;
struct record;
struct rings { /* of one process; zero at its start */
	struct ring ring;
	int64_t size, retry_at; /* decision_ring_bytes as opened; after a failure */
	bool failed;            /* logged */
};

/* The record of an RPC that was served, or refused by a step. */
struct record *rings_record(const struct rpc *);
/* Keeps it, if the project wants that (decision_rings). */
void rings_keep(struct rings *, const struct rpc *);
void rings_close(struct rings *);

#endif
