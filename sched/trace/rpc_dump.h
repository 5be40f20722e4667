/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes files about RPCs for the admin: copies of all requests and replies in
 * debug_req_reply_dir, named TIME-RPC-RANDOM.request.xml and .reply.xml, and
 * recordings of some hosts (recording.h), named
 * recordings/HOST-NUMBER-RPC.recording. RPC is rpc= in the log. No part of a name
 * comes from the client; RANDOM keeps the files of several processes apart.
 */
#ifndef SCHED_TRACE_RPC_DUMP_H
#define SCHED_TRACE_RPC_DUMP_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
