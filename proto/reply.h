/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduler replies: decision -> bytes (server), bytes -> struct reply (client)
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
#include "model/snapshot.h"
#include "proto/project_text.h"

struct reply_keys { /* texts and signatures that replies carry; process lifetime */
	char *code_sign_public; /* trimmed */
	/* signature of code_sign_public by the old key equal to the client's; NULL =
	 * unknown key */
	const char *(*old_key_signature)(
	    void *ctx, const char *client_key, int32_t client_version);
	void *ctx;
};

/* What a reply is made of; all but conf may be NULL in a refusal. */
struct reply_in {
	const struct conf *conf;
	const struct request *req;
	const struct snapshot *snap;
	const struct decision *dec;
	const struct reply_keys *keys;
	const char *const *texts; /* PROJECT_TEXTS checked ones, each may be NULL */
	int64_t hostid;           /* of the host row after the commit */
	bool trickles_stored;
};
void reply_render(struct buf *, const struct reply_in *);
/*
 * A header-only reply: one message (notice or low), a delay in s (0 = none), and
 * project_is_down if so (protocol.md 2.10).  client_version 0 = unknown.
 */
void reply_render_refusal(struct buf *, const struct conf *, int32_t client_version,
    const char *text, bool notice, double delay_s, bool project_is_down);

/*
 * Stored blobs are not guaranteed well-formed; what cannot be read is skipped.
 * E_BADREQ: no start or end tag.  NULL if not sent: the reply's own strings (an empty
 * host_venue is not an absent one), md5_cksum and signatures of files.  Other strings
 * of rows are "".  Signatures end with a line feed, as sign_text makes them.
 */
enum err reply_parse(
    struct arena *, const char *in, size_t n, struct reply **, struct fail *);

#endif
