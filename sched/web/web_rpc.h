/* SPDX-License-Identifier: Apache-2.0 */
/* Web RPCs (protocol.md 7): what one of them gets, the RPCs, and how often they may be
 * tried. */
#ifndef SCHED_WEB_WEB_RPC_H
#define SCHED_WEB_WEB_RPC_H

#include <stdbool.h>
#include "db/db.h"
#include "lib/buf.h"
#include "model/conf.h"
#include "proto/web.h"

struct web_rpc {
	struct buf *b; /* the reply: whole documents only */
	struct arena *a;
	const struct conf *conf;
	struct db *db;
	const char *query, *form; /* still encoded; "" = none */
	const char *peer;         /* address, as in struct fcgi_request */
	int64_t now;
};

/* A parameter, decoded, from the query, else from the form; NULL if absent. */
char *web_param(const struct web_rpc *, const char *name);
/* The same; absent is "". */
char *web_text(const struct web_rpc *, const char *name);
/* A number > 0; 0 if it is none. */
int64_t web_id(const struct web_rpc *, const char *name);
/* The error document for what the database or a file said; its reason goes to the log.
 */
void web_failed(struct web_rpc *, const struct fail *);

/* --- web_limit.c --- */

/*
 * Who shares a limit: an IPv4 address, the network of 64 bits of an IPv6 address; what
 * is no address shares one with all others of its kind.
 */
char *limit_group(struct arena *, const char *peer);
/*
 * Something that a stranger may try only so often: may it be tried now?  Else an error
 * document was written.  account: whom it is about, NULL if unknown.  What succeeds is
 * then taken back, so that only failures count.
 */
bool limit_try(struct web_rpc *, const char *account);
void limit_succeeded(struct web_rpc *, const char *account);
/* May this address have one more account?  Else an error document was written. */
bool limit_new_account(struct web_rpc *);

/* --- web_account.c: who has a password --- */
void rpc_create_account(struct web_rpc *);
void rpc_lookup_account(struct web_rpc *);
void rpc_login_token(struct web_rpc *);

/* --- web_manager.c: account managers, statistics sites --- */
void rpc_manager_get_info(struct web_rpc *);
void rpc_manager_set_info(struct web_rpc *);
void rpc_manager_set_host(struct web_rpc *);
void rpc_show_user(struct web_rpc *);
void rpc_team_lookup(struct web_rpc *);
/* The account of show_user.php for its page; E_NOTFOUND: no such account. */
enum err web_public_account(struct web_rpc *, struct user_info **, struct fail *);

/* --- web_notices.c --- */
void rpc_notices(struct web_rpc *);
void rpc_notify_rss(struct web_rpc *);

#endif
