/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of RPCs for the admin: copies of all requests and replies in
 * debug_req_reply_dir, TIME-RPC-RANDOM.request.xml and .reply.xml, and recordings of
 * some hosts (recording.h), recordings/HOST-NUMBER-RPC.recording.  RPC is rpc= in the
 * log.  No part of a name comes from the client; RANDOM keeps the files of processes
 * apart.
 */
#ifndef SCHED_TRACE_RPC_DUMP_H
#define SCHED_TRACE_RPC_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct rpc;

struct dump_dir {
	int64_t
	    held_bytes; /* of all files there, by the last count and our writes since */
	int until_count;   /* RPCs until the next count */
	bool full, failed; /* logged */
};

/* Lives as long as the process; zero at the start. */
struct rpc_dump {
	struct dump_dir copies, recordings;
};

/*
 * Writes the files that are wanted of an RPC that has its reply.  A directory gets no
 * more files while it holds debug_req_reply_max_bytes, or while the disk has less than
 * upload_min_free_bytes free.  Failures are logged and hurt no RPC.
 */
void rpc_dump_keep(struct rpc_dump *, struct rpc *);

#endif
