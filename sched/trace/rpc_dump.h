/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of requests and replies, for the admin who asked for them
 * (debug_req_reply_dir): TIME-RPC-RANDOM.request.xml and .reply.xml, where RPC is what
 * the log shows as rpc=.  Nothing of a name comes from the client, and RANDOM keeps
 * processes from each other's files.
 */
#ifndef SCHED_TRACE_RPC_DUMP_H
#define SCHED_TRACE_RPC_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct rpc;

/* Process lifetime; zero at the start. */
struct rpc_dump {
	int64_t held_bytes; /* of all files there, when last counted and ours since */
	int until_count;    /* RPCs until they are counted again */
	bool full, failed;  /* the log was told */
};

/*
 * Keeps an RPC that has its reply; conf may say that nothing is kept.  While the
 * directory holds debug_req_reply_max_bytes, or the disk has less than
 * upload_min_free_bytes free, it keeps nothing.  What fails goes to the log and changes
 * nothing else.
 */
void rpc_dump_keep(struct rpc_dump *, const struct rpc *);

#endif
