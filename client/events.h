/* SPDX-License-Identifier: Apache-2.0 */
/* The host's own record of what happened, for whoever audits the project's. */
#ifndef CLIENT_EVENTS_H
#define CLIENT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"

enum message_kind { MESSAGE_INFO, MESSAGE_WARNING, MESSAGE_ERROR };
struct message {
	int64_t seqno; /* from 1 */
	int64_t at;    /* s UTC */
	enum message_kind kind;
	char text[400]; /* one line, cut */
};
struct messages;

/* Takes the lines of the log from now on; with terminal, writes them there too. */
struct messages *messages_open(struct arena *, bool terminal);
void messages_add(struct messages *, enum message_kind, const char *text);
int64_t messages_last(const struct messages *); /* seqno; 0: none */
/* Returns the first message after seqno that is still here; NULL if there is none. */
const struct message *messages_after(const struct messages *, int64_t seqno);

#endif
