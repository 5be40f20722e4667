/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of every reply: versions, delay, messages (protocol.md 2.1). */
#ifndef PROTO_REPLY_HEAD_H
#define PROTO_REPLY_HEAD_H

#include "proto/reply.h"

enum {
	DCF_UNUSED_VERSION = 70028, /* clients that understand <dont_use_dcf/> */
};
struct reply_head {
	const struct conf *conf;
	int32_t client_version; /* 0 = unknown: treated as a current client */
	double request_delay;   /* s, 0 = none */
	const struct dec_message *messages;
	size_t nmessages;
	int64_t send_time_stats_log; /* from that time on; 0 = not wanted */
	bool project_is_down;
	bool no_work_deadlines; /* set only if the client understands it */
};
/* Writes everything from <scheduler_reply> to the end of the header. */
void reply_head(struct buf *, const struct reply_head *);

#endif
