/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mail to owners of accounts, by mail_command.  A thread of its own finds the account
 * and sends, so that neither the answer to a request nor the time it takes tells
 * whether an account exists.
 */
#ifndef SCHED_WEB_WEB_MAIL_H
#define SCHED_WEB_WEB_MAIL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include "lib/crypt.h"

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
/*
 * Queues a mail to the account with this address, in lower case; without such an
 * account nothing will be sent.  false: the queue is full.
 */
bool web_mailer_ask(struct web_mailer *, enum mail_kind, const char *email);

/* What the database stores of a token. */
void password_token_digest(const char *token, char digest[SHA256_HEX]);

#endif
