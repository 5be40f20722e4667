/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of a project's handler, which speaks JSON lines: started with a growing
 * pause after failures, greeted, written to and read without ever blocking.  Whatever
 * it does, this process only learns that it failed, and why.
 */
#ifndef DAEMONS_HANDLER_PROCESS_H
#define DAEMONS_HANDLER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/proc.h"

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
	struct proc_dialog p;
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

void handler_init(struct handler *, const struct handler_terms *, int number);
/*
 * Starts the process if it does not run and its pause is over.  Returns whether it runs
 * and has been greeted.
 */
bool handler_ready(struct handler *);
/* May a line be given to it now?  One is written at a time. */
bool handler_idle(const struct handler *);
/* Gives it a line that stays until it is written, and is never given twice. */
void handler_give(struct handler *, const char *line, size_t n);
/* Writes what it takes now. */
void handler_write(struct handler *);
/* Reads what it wrote, on both outputs. */
void handler_read(struct handler *);
/*
 * Takes the next whole line that it wrote; NULL if there is none.  Valid until the next
 * handler_read().
 */
char *handler_line(struct handler *, size_t *n);
/*
 * Notices that it has ended, or is silent although it owes an answer; then it has
 * failed.
 */
void handler_look(struct handler *, bool owes);
/* Logs lines as those of its standard error. */
void handler_says(struct handler *, const char *text);
/* Ends the process for a reason; the next one starts after a pause. */
void handler_fail(struct handler *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* It has answered a request, so the next failure is the first one again. */
void handler_works(struct handler *);
/* Tells it to end, and kills it unless it does. */
void handler_end(struct handler *, int grace_ms);

#endif
