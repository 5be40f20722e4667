/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the traces of the latest decisions for locus explain in
 * run_dir/decisions/ring-N, one file per serving process, shared by its workers.
 * Failures are logged once and do not affect the RPC.
 */
#ifndef SCHED_TRACE_DECISION_LOG_H
#define SCHED_TRACE_DECISION_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/ring.h"

struct rpc;
struct buf;
struct decision_log {         /* of one process */
	pthread_mutex_t lock; /* protects the members below */
	struct ring ring;
	/* decision_ring_bytes and decision_rings when the ring was opened */
	int64_t size, count;
	char dir[4096];   /* of the open ring */
	int64_t retry_at; /* after a failure */
	bool failed;      /* the failure was logged */
};

/* Initialises the log; the first write opens the ring. */
void decision_log_begin(struct decision_log *);
/* Appends the trace of an RPC, served or refused by a step, to the buffer. */
void decision_log_format(struct buf *, const struct rpc *);
/* Writes the RPC's trace to the ring unless decision_rings is 0. Thread-safe. */
void decision_log_write(struct decision_log *, const struct rpc *);
/* Releases the ring. */
void decision_log_close(struct decision_log *);

#endif
