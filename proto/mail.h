/* SPDX-License-Identifier: Apache-2.0 */
/* Mail as a program such as sendmail -t takes it (RFC 5322, 2045, 2047). */
#ifndef PROTO_MAIL_H
#define PROTO_MAIL_H

#include <stdint.h>
#include "lib/buf.h"
#include "lib/err.h"

struct mail {
	const char *to;
	const char *from;      /* "" = the mail program's choice */
	const char *from_name; /* any text */
	const char *subject;   /* any text */
	const char *text;      /* UTF-8, lines end with LF */
	int64_t now;           /* s UTC */
};

/*
 * Writes the whole message. Whatever the texts contain, no header begins in them: an
 * address that is not one (account_bad_email()) is E_BADREQ, and other text is encoded
 * unless it is plain ASCII.
 */
enum err mail_render(struct buf *, const struct mail *, struct fail *);

#endif
