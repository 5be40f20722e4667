/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a project's handler (locus-handlers(7)): asks them many things at
 * once and keeps what they do to themselves: a crash, garbage or silence gives "not
 * now", never an answer.
 */
#ifndef DAEMONS_HANDLERS_H
#define DAEMONS_HANDLERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

enum { HANDLER_PROTOCOL = 1 };

struct handlers;

/* How to run them; the texts stay. */
struct handler_spec {
	const char *command; /* as proc_split() takes it */
	const char *kind;    /* "validator" ... */
	const char *app;     /* "" = no app */
	const char *dir;     /* the project's directory */
	int64_t number;      /* of processes */
	int64_t silence_s;   /* a process that owes an answer may be silent so long */
	/* Is it time to stop?  Also called while the daemon waits. */
	bool (*stopping)(const void *arg);
	const void *stopping_arg;
};
/* Starts nothing yet.  E_CONFIG: the command cannot be split into words. */
enum err handlers_open(
    struct arena *life, const struct handler_spec *, struct handlers **, struct fail *);
/* Ends the processes; NULL is allowed. */
void handlers_close(struct handlers *);
const char *handlers_name(const struct handlers *); /* for messages */

enum ask_end {
	ASK_UNTRIED, /* nobody was asked, or the daemon is stopping */
	ASK_DONE,    /* reply is the handler's answer */
	ASK_LATER,   /* it cannot say now, as it should be asked again: why */
	ASK_FAILED,  /* it failed on this: why, and detail, maybe "" */
};
/* One question. */
struct ask {
	json_t *request; /* an object; "id" is added, and it is released */
	enum ask_end end;
	json_t *reply; /* lives as long as the arena */
	char *why, *detail;
	/* used while it is asked */
	int64_t id;
	char *line;
	size_t nline;
	int by;      /* number of the process that has it; 0 = none */
	int crashes; /* processes that failed while they had it */
};
/*
 * Asks all, many at a time, and returns when each has ended, or the daemon is to stop.
 * Of several requests in flight when a process fails, the oldest is asked again alone
 * before it is blamed.  E_SYS: the handler does not work at all; asks that have ended
 * before are good all the same, the others are ASK_UNTRIED.
 */
enum err handlers_ask(
    struct handlers *, struct arena *, struct ask *, size_t n, struct fail *);

#endif
