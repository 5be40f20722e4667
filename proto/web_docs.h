/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents that account managers, statistics sites, installers and readers of notices
 * fetch (protocol.md 7.6).
 */
#ifndef PROTO_WEB_DOCS_H
#define PROTO_WEB_DOCS_H

#include <stdbool.h>
#include "lib/buf.h"
#include "model/rows.h"

/* Return a weak key "<id>_<32 hex>" and the key for notices (protocol.md 2.9, 3.1). */
char *account_weak_key(struct arena *, int64_t id, const char *key, const char *passwd);
char *account_rss_key(struct arena *, int64_t id, const char *key, const char *passwd);

/*
 * Is the key one of the account's? Both kinds are derived from the stored hash of the
 * password, which a login may replace by a stronger hash: keys derived from the
 * previous hash stay valid until the password or the account key changes.
 */
bool account_weak_key_is(struct arena *, const struct user *, const char *said);
bool account_rss_key_is(struct arena *, const struct user_info *, const char *said);
/* Returns the digests to keep of the account's keys when stored replaces its hash. */
struct user_keys account_keys_kept(
    struct arena *, const struct user *, const char *stored);

/* <login_token_reply>, which stock clients read; team "": none. */
void web_login_token(struct buf *, const struct user_info *, const char *team);
/* <am_get_info_reply>; founder: the user founded the team. */
void web_manager_info(struct buf *, const struct user_info *, bool founder);
/* An element of that name that contains only <success/>. */
void web_success(struct buf *, const char *root);
/* <user>; hosts and private data only with own. */
void web_user(struct buf *, const struct user_info *, bool own, const struct host *,
    size_t nhosts);
/* <team>, or, with many, <teams> around any number of them. */
void web_teams(struct buf *, const struct team *, size_t n, bool many);

struct notice {
	const char *title, *text; /* plain text, UTF-8 */
	const char *name;         /* unique; part of its guid */
	int64_t time;
};
/* RSS 2.0; master_url is the site, and part of each guid. */
void web_notices(struct buf *, const char *project, const char *master_url,
    const struct notice *, size_t n);

#endif
