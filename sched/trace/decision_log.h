/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision records that locus explain reads: run_dir/decisions/ring-N, one file for
 * each process that serves, which its workers share.  What goes wrong with them is
 * logged once and hurts no RPC.
 */
#ifndef SCHED_TRACE_DECISION_LOG_H
#define SCHED_TRACE_DECISION_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/ring.h"

struct rpc;
struct record;
struct decision_log {         /* of one process */
	pthread_mutex_t lock; /* of what follows */
	struct ring ring;
	int64_t size, count; /* decision_ring_bytes and decision_rings as opened */
	char dir[4096];      /* and where */
	int64_t retry_at;    /* after a failure */
	bool failed;         /* logged */
};

void decision_log_begin(struct decision_log *);
/* The record of an RPC that was served, or refused by a step. */
struct record *decision_log_record(const struct rpc *);
/* Keeps it, if the project wants that (decision_rings); any thread may call. */
void decision_log_keep(struct decision_log *, const struct rpc *);
void decision_log_close(struct decision_log *);

#endif
