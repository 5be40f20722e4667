/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of at most so many bytes as sent: clients measure before they decode, and what
 * is too long is lost to them (protocol.md 0.3).
 */
#ifndef PROTO_REPLY_TEXT_H
#define PROTO_REPLY_TEXT_H

#include "lib/buf.h"

enum {
	NAME_MAX_SENT = 255, /* names, platforms, URLs */
	CPID_MAX_SENT = 63,  /* hashes and cross-project ids */
	MESSAGE_MAX = 1023,
};

/*
 * Escaped as clients escape (lib/buf.h) if that fits; else with the bytes >= 128 as
 * they are, which clients take too, and cut between two characters.
 */
void reply_text(struct buf *, const char *text, size_t max);
/* One "<tag>text</tag>\n" line of it; NULL is "". */
void reply_tag(struct buf *, const char *tag, const char *text, size_t max);

#endif
