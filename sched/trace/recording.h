/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of the RPCs of some hosts (locus record): traces from which locus
 * replay decides again. The file run_dir/recording/HOSTID contains the time until
 * which a host is recorded.
 */
#ifndef SCHED_TRACE_RECORDING_H
#define SCHED_TRACE_RECORDING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/ring.h"
#include "sched/rpc/rpc.h"

/*
 * Writes files about RPCs for the admin: copies of all requests and replies in
 * debug_req_reply_dir, named TIME-RPC-RANDOM.request.xml and .reply.xml, and
 * recordings of some hosts (recording.h), named
 * recordings/HOST-NUMBER-RPC.recording. RPC is rpc= in the log. No part of a name
 * comes from the client; RANDOM keeps the files of several processes apart.
 */

struct rpc;

struct dump_dir {
	/* bytes of all files there: the last count plus our writes since */
	int64_t held_bytes;
	int until_count;   /* RPCs until the next count */
	bool full, failed; /* the warning was logged */
};

/* Lives as long as the process; zeroed at the start. */
struct rpc_dump {
	struct dump_dir copies, recordings;
};

/*
 * Writes the files that are wanted of an RPC with a reply. A directory gets no more
 * files while it holds debug_req_reply_max_bytes, or while the disk has less than
 * upload_min_free_bytes free. Failures are logged and do not affect the RPC.
 */
void rpc_dump_write(struct rpc_dump *, struct rpc *);

/* Called after load: sets x->recorded if this host is recorded now. */
void recording_begin(struct rpc *);
/* Called before the commit, which changes rows: begins x->recording with the rows
 * that the decision used. */
void recording_rows(struct rpc *);

/*
 * Keeps the traces of the latest decisions for locus explain in
 * run_dir/decisions/ring-N, one file per serving process, shared by its workers.
 * Failures are logged once and do not affect the RPC.
 */

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
