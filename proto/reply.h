/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduler replies: decision to bytes (server), and bytes to struct reply (client)
 * (protocol.md 2).
 */
#ifndef PROTO_REPLY_H
#define PROTO_REPLY_H

#include "lib/buf.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/decision.h"
#include "model/reply.h"
#include "model/request.h"
#include "proto/project_text.h"

/*
 * Text limited to a number of bytes as sent: clients measure before they decode, and
 * drop texts that are too long (protocol.md 0.3).
 */

enum {
	NAME_MAX_SENT = 255, /* names, platforms, URLs */
	CPID_MAX_SENT = 63,  /* hashes and cross-project ids */
	MESSAGE_MAX = 1023,
};

struct reply_keys { /* keys and signatures for replies; live as long as the process */
	char *code_sign_public; /* trimmed */
	/*
	 * Returns the signature of code_sign_public by the old key that equals the
	 * client's; NULL = unknown key.
	 */
	const char *(*old_key_signature)(
	    void *ctx, const char *client_key, int32_t client_version);
	void *ctx;
};

/* The input of a reply; in a refusal, everything but conf may be NULL. */
struct reply_in {
	const struct conf *conf;
	const struct request *req;
	const struct snapshot *snap;
	const struct decision *dec;
	const struct reply_keys *keys;
	/* PROJECT_TEXTS checked texts, each of which may be NULL */
	const char *const *texts;
	int64_t hostid; /* of the host row, after the commit */
	bool trickles_stored;
};
void reply_render(struct buf *, const struct reply_in *);
/*
 * Renders a reply of header only: one message (notice or low), a delay in s (0 = none),
 * and optionally project_is_down (protocol.md 2.10). client_version 0 = unknown.
 */
void reply_render_refusal(struct buf *, const struct conf *, int32_t client_version,
    const char *text, bool notice, double delay_s, bool project_is_down);

/*
 * Parses a reply. Stored blobs may be malformed; unreadable parts are skipped.
 * E_BADREQ: no start or end tag. Strings of the reply itself (an empty host_venue
 * differs from an absent one), md5_cksum and signatures of files are NULL if not sent;
 * other strings of rows are "". Signatures end with a line feed, as from sign_text().
 */
enum err reply_parse(
    struct arena *, const char *in, size_t n, struct reply **, struct fail *);

/* The beginning of every reply: versions, delay, messages (protocol.md 2.1). */

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

#endif
