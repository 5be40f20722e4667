/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts by web RPC (wire.md 7.2, 7.3): create_account.php and lookup_account.php. */
#ifndef SCHED_WEB_ACCOUNT_H
#define SCHED_WEB_ACCOUNT_H

#include "db/db.h"
#include "lib/buf.h"
#include "model/conf.h"

enum { /* error numbers of web RPCs (wire.md 7) */
	WEB_NOT_FOUND = -136,
	WEB_NOT_UNIQUE = -137,
	WEB_NO_DATABASE = -138,
	WEB_OFFLINE = -183,
	WEB_BAD_NAME = -188,
	WEB_BAD_EMAIL = -205,
	WEB_BAD_PASSWORD = -206,
	WEB_NO_CREATION = -208,
};

/* Both write a whole document, an account or an error.  query: the decoded ones are its
 * parameters. */
void account_create(
    struct buf *, const struct conf *, struct db *, const char *query, int64_t now);
void account_lookup(struct buf *, const struct conf *, struct db *, const char *query);

#endif
