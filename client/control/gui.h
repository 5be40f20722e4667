/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GUI RPC: the protocol of boinccmd, boinctui and others, on the socket boinc_socket in
 * the host's directory and, if wanted, on a TCP port of this machine.
 *
 * A request is <boinc_gui_rpc_request>, one element that names the call, its arguments
 * as elements, the end tag and a byte 3; the answer is a <boinc_gui_rpc_reply> of the
 * same form. A connection first proves that it knows the password in
 * gui_rpc_auth.cfg: <auth1/> gets a nonce, <auth2> sends the MD5 of nonce and password.
 */
#ifndef CLIENT_CONTROL_GUI_H
#define CLIENT_CONTROL_GUI_H

#include "client/client.h"
#include "client/control/server.h"
#include "lib/buf.h"

#define GUI_SOCKET   "boinc_socket"
#define GUI_PASSWORD "gui_rpc_auth.cfg"
enum {
	GUI_REQUEST_MOST = 128 << 10,
	GUI_IDLE_S = 600,
	GUI_STRANGER_S = 30,
	GUI_END = 3
};

/* Reads the password, or makes one up and stores it. E_CONFIG: the file is empty, or
 * others can read it. */
enum err gui_password(struct client *, char **password);
/* See struct protocol. */
bool gui_answer(struct client *, struct dialog *, char *text, size_t n, bool may_change,
    struct buf *out);

struct gui_call {
	struct client *c;
	const char *text; /* the request */
	struct buf *out;
};
/* Returns an argument, decoded and trimmed; NULL if it was not given. */
char *gui_argument(const struct gui_call *, const char *name);

/* --- gui_show.c, gui_tasks.c, gui_do.c: the calls --- */
#define SHOW(element, function) void function(const struct gui_call *);
#define EMPTY(inside, element)
#define ACCEPT(element)
/* Returns NULL, or why it was not done. */
#define DO(element, function) const char *function(const struct gui_call *);
#define ORDER(element, operation)
#include "client/control/gui_calls.def"
#undef SHOW
#undef EMPTY
#undef ACCEPT
#undef DO
#undef ORDER

#endif
