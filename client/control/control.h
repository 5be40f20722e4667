/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a user watches and operates a running host: its socket DIR/control.sock, which
 * only its owner can connect to, and the commands of locus-client that use it.
 *
 * A connection sends one line, a JSON object {"command": WORD, "url": URL, "task":
 * NAME, "key": KEY, "share": N}, and gets one JSON document: what the command shows, or
 * {"done": TEXT}, or {"error": TEXT, "exit": STATUS}.
 */
#ifndef CLIENT_CONTROL_CONTROL_H
#define CLIENT_CONTROL_CONTROL_H

#include <jansson.h>
#include "client/client.h"
#include "lib/buf.h"

#define CONTROL_SOCKET "control.sock"

/* --- operate.c --- */
enum operation {
#define OPERATION(word, on, function, arguments, help) OP_##word,
#include "client/control/operations.def"
#undef OPERATION
	OP_NONE
};
struct order { /* texts may be NULL */
	enum operation op;
	const char *url, *task, *key;
	double share; /* < 0: not given */
};
/* Carries the order out. It changes rows of the state: not while a transfer runs.
 * *done is what was done, in words, in the scratch arena. E_NOTFOUND, E_BADREQ,
 * E_CONFIG: the order cannot be carried out, and nothing has changed. */
enum err operate(struct client *, const struct order *, const char **done);
/* Finds a project by its URL, in any spelling; without one, the only project. */
enum err order_project(struct client *, const char *url, struct cproject **);

/* --- show.c: the host as JSON --- */
/* Returns NULL if nothing of that name can be shown: "status", "tasks", "projects". */
json_t *show_host(struct client *, const char *what);

/* --- operate.c: local: requests on the socket of the directory --- */
/* Answers a request line with JSON; false: it changes the host, and may_change is not
 * set. */
bool local_answer(
    struct client *, char *line, size_t n, bool may_change, struct buf *out);
/* Appends the value on one line. */
void local_put(struct buf *, const json_t *);

/* --- command.c --- */
/* Is there a command among the arguments, as in "locus-client --dir DIR status"? */
bool command_given(int argc, char **argv);
/* Sends the command to the running host and prints the answer; returns the exit
 * status. */
int command_main(int argc, char **argv);

/* --- show.c: print --- */
/* Prints the answer to a command, as JSON or for people; returns the exit status. */
int print_answer(const char *word, bool json, const json_t *);

#endif
