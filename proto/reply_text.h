/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text limited to a number of bytes as sent: clients measure before they decode, and
 * drop texts that are too long (protocol.md 0.3).
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
 * Writes text, escaped as clients escape it (lib/buf.h) if that fits max bytes;
 * otherwise leaves the bytes >= 128 as they are, which clients accept, too, and cuts
 * between two characters.
 */
void reply_text(struct buf *, const char *text, size_t max);
/* Writes a line "<tag>text</tag>\n" of such text; NULL counts as "". */
void reply_tag(struct buf *, const char *tag, const char *text, size_t max);

#endif
