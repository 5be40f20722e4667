/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching with e-mail address and password (protocol.md 7.2 to 7.4). The password
 * itself never gets here, only its MD5.
 */
#ifndef SCHED_WEB_WEB_ACCOUNT_H
#define SCHED_WEB_WEB_ACCOUNT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include "lib/crypt.h"
#include "sched/web/web_limit.h"

/*
 * Mail to owners of accounts, by mail_command. A thread of its own finds the account
 * and sends, so that neither the answer to a request nor the time it takes tells
 * whether an account exists.
 */

enum {
	MAIL_QUEUE = 64,
	MAIL_ADDRESS_MAX = 255, /* with the NUL */
	PASSWORD_TOKEN_HEX = 64,
	PASSWORD_TOKEN_S = 2 * 3600,
};

enum mail_kind {
	MAIL_PASSWORD_LINK,   /* a link to set a new password */
	MAIL_PASSWORD_CHANGED /* somebody has used such a link */
};

struct mail_job {
	enum mail_kind kind;
	char email[MAIL_ADDRESS_MAX];
};

struct web_mailer { /* of a process, shared by its workers */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started, stopping;
	const char *dir; /* of the project */
	struct mail_job queue[MAIL_QUEUE];
	size_t first, n;
};

/* dir must outlast the mailer. */
void web_mailer_begin(struct web_mailer *, const char *dir);
/* Sends what is queued, but begins nothing after 10 s; ends the thread. */
void web_mailer_end(struct web_mailer *);

/* The pages for volunteers who forgot their password; they need no scripts. */

/*
 * get_passwd.php: asks for the address of the account, and when it is posted, for a
 * mail to it; without mail_command tells whom to write to. Needs no database, and the
 * answer is the same whether the account exists or not. Returns the HTTP status; NULL
 * = 200 OK.
 */
const char *passwd_page_forgotten(struct web_rpc *, bool posted, struct web_mailer *);
/*
 * set_passwd.php: the page that the mail links to. Sets the password when it is posted
 * with a token that is valid. Returns the HTTP status.
 */
const char *passwd_page_set(struct web_rpc *, bool posted, struct web_mailer *);

#endif
