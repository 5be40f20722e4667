/* SPDX-License-Identifier: Apache-2.0 */
/* The pages for volunteers who forgot their password; they need no scripts. */
#ifndef SCHED_WEB_WEB_PASSWD_H
#define SCHED_WEB_WEB_PASSWD_H

#include "sched/web/web_mail.h"
#include "sched/web/web_rpc.h"

/*
 * get_passwd.php: asks for the address of the account, and when it is posted, for a
 * mail to it; without mail_command tells whom to write to.  Needs no database, and the
 * answer is the same whether the account exists or not.  Returns the HTTP status; NULL
 * = 200 OK.
 */
const char *passwd_page_forgotten(struct web_rpc *, bool posted, struct web_mailer *);
/*
 * set_passwd.php: the page that the mail links to.  Sets the password when it is posted
 * with a token that is valid.  Returns the HTTP status.
 */
const char *passwd_page_set(struct web_rpc *, bool posted, struct web_mailer *);

#endif
