/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A project's handler (locus-handlers(7)): programs that speak JSON lines. Asks them
 * many things at once and keeps what they do to themselves: a crash, garbage or silence
 * gives "not now", never an answer.
 */
#ifndef DAEMONS_HANDLERS_H
#define DAEMONS_HANDLERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemons/outputs.h"
#include "lib/err.h"
#include "model/rows.h"

struct daemon_ctx;
struct handlers;

/* The options of daemons that can run a handler (handler_options.def). */
struct handler_options {
	char *command; /* NULL = no handler */
	int64_t number, silence_s;
};
/*
 * Makes x->handlers if there is a command; starts nothing yet. kind: "validator" ...;
 * app: "" = no app; stopping: is it time to stop? E_CONFIG: the command cannot be
 * split into words.
 */
enum err handlers_open(struct daemon_ctx *, const struct handler_options *,
    const char *kind, const char *app, bool (*stopping)(const struct daemon_ctx *));
/* Ends the processes; NULL is allowed. */
void handlers_close(struct handlers *);
const char *handlers_name(const struct handlers *); /* for messages */

enum ask_end {
	ASK_UNTRIED, /* nobody was asked, or the daemon is stopping */
	ASK_DONE,    /* it has answered */
	ASK_LATER,   /* it cannot say now, as it should be asked again: why */
	ASK_FAILED,  /* it failed on this: why, and detail, maybe "" or NULL */
};
/* A kind of question. */
struct verb {
	const char *type; /* "validate" ... */
	/* Adds to the request what is asked about; doc: the workunit's xml_doc. */
	enum err (*ask)(
	    struct daemon_ctx *, void *item, const char *doc, json_t *request);
	/*
	 * Takes the reply, which lives as long as the step; returns what is wrong with
	 * it, NULL = nothing. Without this function any reply is good.
	 */
	const char *(*take)(struct daemon_ctx *, void *item, json_t *reply);
};
struct question {
	void *item;                /* what it is about, as the verb takes it */
	const struct workunit *wu; /* whose xml_doc is needed; NULL = none */
	/* out; all zero before */
	enum ask_end end;
	const char *why, *detail;
};
/*
 * Asks all, many at a time, and returns when each has ended, or the daemon is to stop.
 * Of several requests in flight when a process fails, the oldest is asked again alone
 * before it is blamed. *broken: why the handler does not work at all, NULL = it does;
 * questions that have ended before are good all the same, the others are ASK_UNTRIED,
 * as all are after an error.
 */
enum err handlers_ask(struct daemon_ctx *, const struct verb *, struct question *,
    size_t n, const char **broken);

/* What handlers are told, as JSON (locus-handlers(7)). */

/* A workunit; xml_doc (may be NULL) has its command line. */
json_t *handler_workunit(struct arena *, const struct workunit *, const char *xml_doc);
/* A result with its output files; out may be NULL. */
json_t *handler_result(const struct result *, const struct outputs *out);
/* Files as a list; path is where the handler can read each. */
json_t *handler_outputs(const struct output *, size_t n);
/* Adds the columns of a row. */
void handler_columns(json_t *object, const struct field *, size_t n, const void *row);

#endif
