/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how often an address may do what only strangers do often: fail to
 * authenticate, create accounts, or ask for mail (model/web_limits.def). The processes
 * of a machine share the counts in a file. If the file cannot be used nobody is
 * limited, because a full disk must not lock volunteers out.
 */
#ifndef SCHED_WEB_WEB_LIMIT_H
#define SCHED_WEB_WEB_LIMIT_H

#include <stdbool.h>
#include "db/db.h"
#include "lib/buf.h"
#include "model/conf.h"
#include "proto/web.h"

struct web_rpc {
	struct buf *b; /* the reply: always a whole document */
	struct arena *a;
	const struct conf *conf;
	struct db *db;
	const char *query, *form; /* still URL-encoded; "" = none */
	const char *peer;         /* address, as in struct fcgi_request */
	int64_t now;
	unsigned taken; /* web_limit.c: what was counted for this request, by limit */
};

/* Returns a decoded parameter from the query, else from the form; NULL if absent. */
char *web_param(const struct web_rpc *, const char *name);
/* As web_param(), but "" if absent. */
char *web_text(const struct web_rpc *, const char *name);
/* Returns a parameter that is a number > 0; 0 if it is not. */
int64_t web_id(const struct web_rpc *, const char *name);
/*
 * Writes the error document for an error of the database or a file, and logs the
 * reason.
 */
void web_failed(struct web_rpc *, const struct fail *);

/* --- web_limit.c --- */

/*
 * May a password be tried now? Counts one attempt against the limits; if a limit is
 * reached, writes an error document and returns false. account: the e-mail address that
 * the attempt is about. limit_succeeded() takes it back, so that only failures count.
 */
bool limit_try(struct web_rpc *, const char *account);
void limit_succeeded(struct web_rpc *, const char *account);
/*
 * A key or token was wrong. Nobody can guess them, so a right one is always taken, and
 * wrong ones are only counted: returns false after an error document about too many.
 */
bool limit_wrong_key(struct web_rpc *);
/* May this address create one more account? If not, writes an error document. */
bool limit_new_account(struct web_rpc *);
/*
 * The same for pages: limit_failed() counts as limit_wrong_key() does,
 * limit_mail_wait() counts a mail asked for about this address in lower case. Returns
 * the seconds to wait; 0 = it is allowed.
 */
double limit_failed(struct web_rpc *);
double limit_mail_wait(struct web_rpc *, const char *email);
/* Tells people how long to wait. */
char *limit_message(struct web_rpc *, double wait_s);

/* --- web_account.c: accounts with a password --- */
void rpc_create_account(struct web_rpc *);
void rpc_lookup_account(struct web_rpc *);
void rpc_login_token(struct web_rpc *);

/* --- web_limit.c: web manager: account managers, statistics sites --- */
void rpc_manager_get_info(struct web_rpc *);
void rpc_manager_set_info(struct web_rpc *);
void rpc_manager_set_host(struct web_rpc *);
void rpc_show_user(struct web_rpc *);
void rpc_team_lookup(struct web_rpc *);
/* Finds the account for the page show_user.php; E_NOTFOUND if there is none. */
enum err web_public_account(struct web_rpc *, struct user_info **, struct fail *);

/* --- web_page.c: web notices --- */
void rpc_notices(struct web_rpc *);
void rpc_notify_rss(struct web_rpc *);

#endif
