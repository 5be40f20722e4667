/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of RPCs for the admin: copies of all requests and replies
 * (debug_req_reply_dir), TIME-RPC-RANDOM.request.xml and .reply.xml, and recordings of
 * some hosts (recording.h), recordings/HOST-NUMBER-RPC.recording.  RPC is what the log
 * shows as rpc=.  Nothing of a name comes from the client, and RANDOM keeps processes
 * from each other's files.
 */
#ifndef SCHED_TRACE_RPC_DUMP_H
#define SCHED_TRACE_RPC_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct rpc;

struct dump_dir {
	int64_t
	    held_bytes;  /* of all files there: counted now and then, plus ours since */
	int until_count; /* RPCs until the next count */
	bool full, failed; /* logged */
};

/* Process lifetime; zero at the start. */
struct rpc_dump {
	struct dump_dir copies, recordings;
};

/*
 * Keeps what is wanted of an RPC that has its reply.  While a directory holds
 * debug_req_reply_max_bytes, or the disk has less than upload_min_free_bytes free, it
 * gets nothing.  Failures are logged and hurt no RPC.
 */
void rpc_dump_keep(struct rpc_dump *, struct rpc *);

#endif
