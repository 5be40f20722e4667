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
#include <stddef.h>
#include <stdint.h>
#include "daemons/outputs.h"
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/proc.h"
#include "model/rows.h"

/*
 * One process of a project's handler, which speaks JSON lines: started with a growing
 * pause after failures, greeted, written to and read without ever blocking.  Whatever
 * it does, this process only learns that it failed, and why.
 */

enum {
	HANDLER_LINE_MOST = 1 << 20, /* bytes of a line that it writes */
	HANDLER_WORDS = 4096,        /* bytes of its standard error that are kept */
	HANDLER_IN_FLIGHT = 64,      /* requests that it has not answered */
};

/* What all processes of a handler share. */
struct handler_terms {
	const char *const *argv;
	const char *name;   /* in the log, and in reasons */
	const char *dir;    /* working directory */
	const char *hello;  /* the first line that it gets, with its end */
	int64_t silence_ms; /* a process that owes an answer may be silent so long */
};

struct handler {
	const struct handler_terms *terms;
	int number; /* from 1 */
	struct proc_child p;
	struct arena a;  /* of this process's buffers */
	struct buf in;   /* what it wrote */
	size_t taken;    /* bytes of it that handler_line() has returned */
	struct buf says; /* a line of its standard error that has no end yet */
	char words[HANDLER_WORDS]; /* the end of its standard error */
	size_t nwords;
	size_t said, unsaid; /* lines logged and left out in this period */
	int64_t said_since;
	bool greeted;     /* it has answered the hello */
	bool gone;        /* it has ended; what it wrote is not all taken yet */
	int status;       /* of its end */
	bool mute;        /* it has closed its standard output */
	const char *send; /* what is left of the line that is being written to it */
	size_t nsend;
	size_t window;    /* requests that it takes at once */
	int64_t heard_ms; /* when it last wrote a line, or got something to do */
	int64_t start_ms; /* it is not started before */
	int failures;     /* in a row, since it last answered */
	bool failed;      /* it has just failed: why */
	bool silent;      /* by silence */
	char why[FAIL_BYTES];
};

/* Gives it a line that stays until it is written, and is never given twice. */
void handler_give(struct handler *, const char *line, size_t n);
/* Writes what it takes now. */
void handler_write(struct handler *);

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

/* What handlers are told, as JSON (locus-handlers(7)). */

/* A request of this type, to which more can be added. */
json_t *handler_request(const char *type);
/* A workunit; xml_doc (may be NULL) has its command line. */
json_t *handler_workunit(struct arena *, const struct workunit *, const char *xml_doc);
/* A result with its output files; out may be NULL. */
json_t *handler_result(const struct result *, const struct outputs *out);
/* Files as a list; path is where the handler can read each. */
json_t *handler_outputs(const struct output *, size_t n);

#endif
