/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching by e-mail address and password; the password itself never comes here, only
 * its MD5. */
#include "sched/web_account.h"

#include <ctype.h>
#include <string.h>
#include "db/entity.h"
#include "lib/crypt.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/text.h"
#include "proto/web.h"
#include "lib/banned.h"

enum { HASH_LEN = 32 };

static bool
is_hash(const char *s)
{
	return strlen(s) == HASH_LEN && strspn(s, "0123456789abcdefABCDEF") == HASH_LEN;
}

/* A parameter, never NULL. */
static char *
param(struct buf *b, const char *query, const char *name)
{
	char *v = query_get(b->a, query, name);

	return v == NULL ? arena_strdup(b->a, "") : v;
}

static char *
lower(char *s)
{
	for (char *p = s; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return s;
}

/* Also accepted in place of the password's hash: MD5 of account key and address
 * (wire.md 7.2). */
static bool
is_key_hash(struct arena *a, const struct user *u, const char *hash)
{
	char md5[MD5_HEX];

	md5_text(arena_printf(a, "%s%s", u->authenticator, u->email_addr), md5);
	return secret_equal(md5, hash);
}

static bool
password_fits(struct arena *a, const struct user *u, const char *hash)
{
	return is_hash(hash) &&
	       (password_check(hash, u->passwd_hash) || is_key_hash(a, u, hash));
}

/* Old rows hold the bare MD5: the first right password replaces it by a slow hash. */
static void
strengthen(struct db *db, struct arena *a, const struct user *u, const char *hash)
{
	struct fail f = { 0 };
	char *stored;

	if (u->passwd_hash[0] == '$' || strcmp(u->passwd_hash, hash) != 0)
		return;
	if (password_hash(a, hash, &stored, &f) != OK ||
	    user_set_passwd_hash(db, u->id, stored, &f) != OK)
		log_fail("password hash", &f);
}

static void
database_error(struct buf *b, const struct fail *f)
{
	log_fail("web RPC", f);
	web_error(b, WEB_NO_DATABASE, "Can't access database");
}

void
account_lookup(struct buf *b, const struct conf *cf, struct db *db, const char *query)
{
	char *email = lower(param(b, query, "email_addr"));
	char *hash = query_get(b->a, query, "passwd_hash");
	struct fail f = { 0 };
	struct user *u;
	enum err e = user_by_email(db, b->a, email, &u, &f);

	(void)cf;
	if (e == E_NOTFOUND) {
		web_error(b, WEB_NOT_FOUND, "Not found");
	} else if (e != OK) {
		database_error(b, &f);
	} else if (hash == NULL) {
		web_account(b, NULL);
	} else if (!password_fits(b->a, u, lower(hash))) {
		web_error(b, WEB_BAD_PASSWORD, "Invalid password");
	} else {
		strengthen(db, b->a, u, hash);
		web_account(b, u->authenticator);
	}
}

/* The address is taken: its owner gets the key again, nobody else learns anything. */
static void
answer_existing(struct buf *b, const struct user *u, const char *hash)
{
	if (password_fits(b->a, u, hash))
		web_account(b, u->authenticator);
	else
		web_error(b, WEB_NOT_UNIQUE, "Name or email address is not unique");
}

static enum err
insert(struct db *db, struct arena *a, struct user *u, const char *hash, int64_t now,
    struct fail *f)
{
	char key[HASH_LEN + 1], cpid[HASH_LEN + 1];
	static char none[] = "";
	enum err e = password_hash(a, hash, &u->passwd_hash, f);

	random_hex(key, HASH_LEN);
	random_hex(cpid, HASH_LEN);
	u->authenticator = arena_strdup(a, key);
	u->cross_project_id = arena_strdup(a, cpid);
	u->create_time = now;
	u->global_prefs = u->project_prefs = u->venue = none;
	return e == OK ? user_insert(db, u, f) : e;
}

/* 0: the parameters are good; else an error document was written. */
static int
check_new(struct buf *b, const struct conf *cf, const struct user *u, const char *hash)
{
	const char *bad_name = account_bad_name(u->name);

	if (cf->disable_account_creation || cf->disable_account_creation_rpc) {
		web_error(b, WEB_NO_CREATION, "Account creation is disabled");
		return WEB_NO_CREATION;
	}
	if (account_bad_email(u->email_addr) != NULL) {
		web_error(b, WEB_BAD_EMAIL, account_bad_email(u->email_addr));
		return WEB_BAD_EMAIL;
	}
	if (!is_hash(hash)) {
		web_error(b, WEB_BAD_PASSWORD, "Invalid password");
		return WEB_BAD_PASSWORD;
	}
	if (bad_name != NULL) {
		web_error(b, WEB_BAD_NAME, bad_name);
		return WEB_BAD_NAME;
	}
	return 0;
}

void
account_create(
    struct buf *b, const struct conf *cf, struct db *db, const char *query, int64_t now)
{
	char *hash = lower(param(b, query, "passwd_hash"));
	struct user u = { .email_addr = lower(param(b, query, "email_addr")),
		.name = param(b, query, "user_name") };
	struct fail f = { 0 };
	struct user *old;
	enum err e = user_by_email(db, b->a, u.email_addr, &old, &f);

	if (e == OK) {
		answer_existing(b, old, hash);
		return;
	}
	if (e != E_NOTFOUND) {
		database_error(b, &f);
		return;
	}
	if (check_new(b, cf, &u, hash) != 0)
		return;
	e = insert(db, b->a, &u, hash, now, &f);
	if (e == E_RACE && user_by_email(db, b->a, u.email_addr, &old, &f) == OK) {
		answer_existing(b, old, hash);
		return;
	}
	if (e != OK) {
		database_error(b, &f);
		return;
	}
	log_info("account [USER#%lld] created", (long long)u.id);
	web_account(b, u.authenticator);
}
