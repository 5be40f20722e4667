/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching with e-mail address and password (protocol.md 7.2 to 7.4).  The password
 * itself never gets here, only its MD5.
 */
#include "sched/web/web_rpc.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "db/entity.h"
#include "lib/crypt.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/text.h"
#include "proto/web_docs.h"
#include "lib/banned.h"

enum {
	HASH_LEN = 32,
	ATTEMPTS = 3,
	TOKEN_S = 24 * 3600,
	MOVED_S = 7 * 24 * 3600, /* how long an abandoned address stays its owner's */
};

static bool
is_password_hash(const char *s)
{
	return strlen(s) == HASH_LEN && strspn(s, "0123456789abcdef") == HASH_LEN;
}

static char *
lower(char *s)
{
	for (char *p = s; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return s;
}

/* Converts text from a client that predates UTF-8 and sends Latin-1. */
static char *
as_utf8(struct arena *a, char *s)
{
	struct buf b = buf_new(a);
	const char *p = s;

	while (*p != '\0' && text_utf8(p) > 0)
		p += text_utf8(p);
	if (*p == '\0')
		return s;
	for (p = s; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x80)
			buf_put(&b, p, 1);
		else
			buf_printf(&b, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
	}
	return b.p;
}

/* --- passwords --- */

/* Also accepted instead of the password's hash: the MD5 of account key and address. */
static bool
is_key_hash(struct arena *a, const struct user *u, const char *hash)
{
	char md5[MD5_HEX];

	md5_text(arena_printf(a, "%s%s", u->authenticator, u->email_addr), md5);
	return secret_equal(md5, hash);
}

/* u NULL: there is no such account, and finding this out takes as long. */
static bool
password_fits(struct arena *a, const struct user *u, const char *hash)
{
	static char none[] = "";
	const struct user nobody = { .authenticator = none, .email_addr = none };
	bool fits = password_check(hash, u == NULL ? "" : u->passwd_hash);
	bool by_key = is_key_hash(a, u == NULL ? &nobody : u, hash);

	return u != NULL && is_password_hash(hash) && (fits || by_key);
}

/*
 * Old rows hold the bare MD5: the first correct password replaces it with a slow hash.
 * Keys that clients and feed readers already have stay valid, as digests that do not
 * make guessing the password faster than the keys themselves do.
 */
static void
strengthen(struct db *db, struct arena *a, const struct user *u, const char *hash)
{
	struct fail f = { 0 };
	struct user_keys kept;
	char *stored;
	enum err e;

	if (u->passwd_hash[0] == '$' || !secret_equal(u->passwd_hash, hash))
		return;
	e = password_hash(a, hash, &stored, &f);
	if (e == OK) {
		kept = account_keys_kept(a, u, stored);
		e = user_set_passwd_hash(db, u, stored, &kept, &f);
	}
	if (e != OK)
		log_fail("password hash", &f);
}

/*
 * Finds the account of an address.  E_NOTFOUND: there is none.  The column's collation
 * ignores accents and trailing blanks, but an address that merely resembles another is
 * treated as unknown: otherwise each variant would get its own number of attempts.
 */
static enum err
find_user(struct web_rpc *x, const char *email, struct user **u, struct fail *f)
{
	TRY(user_by_email(x->db, x->a, email, u, f));
	if (strcasecmp((*u)->email_addr, email) != 0)
		TRY(E_NOTFOUND);
	return OK;
}

/* --- lookup_account --- */

/* Answers requests for login methods that this project does not have. */
static bool
other_login(struct web_rpc *x)
{
	if (web_param(x, "ldap_auth") != NULL)
		web_error(x->b, WEB_FAILED, "This project does not use LDAP");
	else if (web_param(x, "server_assigned_cookie") != NULL)
		web_error(
		    x->b, WEB_NOT_FOUND, NULL); /* this project never assigns one */
	else
		return false;
	return true;
}

static void
answer_lookup(struct web_rpc *x, const struct user *u, char *hash)
{
	if (u == NULL) {
		if (hash != NULL)
			password_fits(x->a, NULL, lower(hash));
		web_error(x->b, WEB_NOT_FOUND, NULL);
	} else if (hash == NULL) {
		limit_succeeded(x, u->email_addr);
		web_account(x->b, NULL);
	} else if (!password_fits(x->a, u, lower(hash))) {
		web_error(x->b, WEB_BAD_PASSWORD, NULL);
	} else {
		limit_succeeded(x, u->email_addr);
		strengthen(x->db, x->a, u, hash);
		web_account(x->b, u->authenticator);
	}
}

void
rpc_lookup_account(struct web_rpc *x)
{
	char *email = lower(web_text(x, "email_addr"));
	char *hash = web_param(x, "passwd_hash");
	struct fail f = { 0 };
	struct user *u = NULL;
	enum err e;

	if (other_login(x) || !limit_try(x, email))
		return;
	e = find_user(x, email, &u, &f);
	if (e == OK || e == E_NOTFOUND) {
		answer_lookup(x, e == OK ? u : NULL, hash);
	} else {
		limit_succeeded(x, email);
		web_failed(x, &f);
	}
}

/* --- create_account --- */

/* The address is taken: its owner gets the key again, anybody else learns nothing. */
static void
answer_existing(struct web_rpc *x, const struct user *u, const char *hash)
{
	if (password_fits(x->a, u, hash)) {
		limit_succeeded(x, u->email_addr);
		strengthen(x->db, x->a, u, hash);
		web_account(x->b, u->authenticator);
	} else {
		web_error(x->b, WEB_NOT_UNIQUE, NULL);
	}
}

/* Compares all codes, however early one matches, so that the time tells nothing. */
static bool
invited(const struct web_rpc *x)
{
	const struct conf_list *codes = &x->conf->invite_code;
	const char *said = web_text(x, "invite_code");
	bool found = codes->n == 0;

	for (size_t i = 0; i < codes->n; i++)
		found |= secret_equal(codes->v[i], said) && said[0] != '\0';
	return found;
}

static bool
consents(const struct web_rpc *x)
{
	return strcmp(web_text(x, "consent_flag"), "1") == 0;
}

/* Checks the parameters of a new account; if one is bad, writes an error document. */
static bool
check_new(struct web_rpc *x, const struct user *u, const char *hash)
{
	const struct conf *cf = x->conf;
	const char *bad_name = account_bad_name(u->name);
	const char *bad_email = account_bad_email(u->email_addr);

	if (cf->disable_account_creation || cf->disable_account_creation_rpc)
		web_error(x->b, WEB_NO_CREATION, NULL);
	else if (!invited(x))
		web_error(x->b, WEB_BAD_INVITATION, NULL);
	else if (bad_email != NULL)
		web_error(x->b, WEB_BAD_EMAIL, bad_email);
	else if (!is_password_hash(hash))
		web_error(x->b, WEB_BAD_PASSWORD, NULL);
	else if (bad_name != NULL)
		web_error(x->b, WEB_BAD_NAME, bad_name);
	else if (cf->account_creation_rpc_require_consent && !consents(x))
		web_error(x->b, WEB_NEEDS_CONSENT, NULL);
	else
		return true;
	return false;
}

/* Makes the key, cross-project id and slow hash of a new account. */
static enum err
make_secrets(struct web_rpc *x, struct user *u, const char *hash, struct fail *f)
{
	char key[HASH_LEN + 1], cpid[HASH_LEN + 1];

	random_hex(key, HASH_LEN);
	random_hex(cpid, HASH_LEN);
	u->authenticator = arena_strdup(x->a, key);
	u->cross_project_id = arena_strdup(x->a, cpid);
	return password_hash(x->a, hash, &u->passwd_hash, f);
}

/*
 * Finds the team to join.  A team that cannot be joined is no reason to refuse the
 * account.
 */
static enum err
find_team(struct web_rpc *x, struct user *u, struct fail *f)
{
	char *name = as_utf8(x->a, web_text(x, "team_name"));
	enum err e = OK;

	if (name[0] != '\0')
		e = team_to_join(x->db, name, &u->teamid, f);
	if (e == E_NOTFOUND)
		u->teamid = 0;
	return e == E_NOTFOUND ? OK : e;
}

/*
 * E_RACE: the address was taken meanwhile, by another request or an earlier attempt of
 * this one.
 */
static enum err
insert_account(struct web_rpc *x, struct user *u, const char *hash, struct fail *f)
{
	const char *source = consents(x) ? as_utf8(x->a, web_text(x, "source")) : NULL;
	enum err e = make_secrets(x, u, hash, f);

	if (e == OK)
		e = find_team(x, u, f);
	if (e != OK)
		return e;
	for (int i = 0; i < ATTEMPTS; i++) {
		e = account_insert(x->db, u, source, f);
		if (e != E_RETRY || db_ready(x->db, f) != OK)
			break;
	}
	return e;
}

static void
create_account(struct web_rpc *x, struct user *u, const char *hash)
{
	struct fail f = { 0 };
	struct user *old;
	bool taken;
	enum err e;

	if (!check_new(x, u, hash))
		return;
	e = account_had_email(x->db, u->email_addr, x->now - MOVED_S, &f);
	if (e == OK) {
		web_error(x->b, WEB_NOT_UNIQUE, NULL);
		return;
	}
	if (e != E_NOTFOUND) {
		web_failed(x, &f);
		return;
	}
	if (!limit_new_account(x))
		return;
	e = insert_account(x, u, hash, &f);
	taken = e == E_RACE;
	if (taken)
		e = user_by_email(x->db, x->a, u->email_addr, &old, &f);
	if (taken && e == OK) {
		answer_existing(x, old, hash);
	} else if (taken && e == E_NOTFOUND) {
		/* In a database adopted from BOINC, names are unique too. */
		web_error(x->b, WEB_NOT_UNIQUE, NULL);
	} else if (e != OK) {
		web_failed(x, &f);
	} else {
		log_info("account [USER#%lld] created", (long long)u->id);
		web_account(x->b, u->authenticator);
	}
}

void
rpc_create_account(struct web_rpc *x)
{
	static char none[] = "";
	char *hash = lower(web_text(x, "passwd_hash"));
	struct user *old, u = { .create_time = x->now,
		.email_addr = lower(web_text(x, "email_addr")),
		.name = as_utf8(x->a, web_text(x, "user_name")),
		.global_prefs = none,
		.project_prefs = none,
		.venue = none };
	struct fail f = { 0 };
	enum err e;

	if (!limit_try(x, u.email_addr))
		return;
	e = find_user(x, u.email_addr, &old, &f);
	if (e == OK) {
		answer_existing(x, old, hash);
		return;
	}
	limit_succeeded(x, u.email_addr); /* no password was tried */
	if (e == E_NOTFOUND)
		create_account(x, &u, hash);
	else
		web_failed(x, &f);
}

/* --- login_token_lookup --- */

static bool
token_fits(const struct web_rpc *x, const struct user_info *u)
{
	double age_s = (double)x->now - u->login_token_time;
	bool equal = secret_equal(u->login_token, web_text(x, "token"));

	return equal && u->login_token[0] != '\0' && age_s >= 0 && age_s < TOKEN_S;
}

void
rpc_login_token(struct web_rpc *x)
{
	int64_t id = web_id(x, "user_id");
	struct fail f = { 0 };
	struct user_info *u;
	char *team;
	enum err e;

	e = account_by_id(x->db, x->a, id, &u, &f);
	if (e == E_NOTFOUND || (e == OK && !token_fits(x, u))) {
		if (limit_wrong_key(x))
			web_error(x->b, WEB_NOT_FOUND, NULL);
		return;
	}
	if (e == OK)
		e = team_name(x->db, x->a, u->teamid, &team, &f);
	if (e == OK)
		web_login_token(x->b, u, team);
	else
		web_failed(x, &f);
}
