/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens by which the owner of an address may set a new password, once. */
#include "db/entity.h"

#include "db/stmts.h"
#include "lib/banned.h"

enum err
password_token_insert(struct db *db, int64_t userid, const char *digest, int64_t now,
    int64_t expire_time, struct fail *f)
{
	TRY(db_exec(db, f, NULL, PASSWORD_TOKENS_EXPIRE, .userid = userid, .now = now));
	return db_exec(db, f, NULL, PASSWORD_TOKEN_INSERT, .token = digest,
	    .userid = userid, .now = now, .expire_time = expire_time);
}

enum err
password_token_user(
    struct db *db, const char *digest, int64_t now, int64_t *userid, struct fail *f)
{
	return db_number(
	    db, f, userid, PASSWORD_TOKEN_USER, .token = digest, .now = now);
}

enum err
password_token_use(struct db *db, const char *digest, int64_t userid,
    const char *passwd_hash, struct fail *f)
{
	int64_t deleted = 0;
	enum err e = db_begin(db, f);

	if (e == OK)
		e = db_exec(db, f, &deleted, PASSWORD_TOKEN_DELETE, .token = digest,
		    .userid = userid);
	if (e == OK && deleted != 1)
		e = FAIL(f, E_NOTFOUND, "the token has been used");
	if (e == OK)
		e = db_exec(db, f, NULL, PASSWORD_TOKENS_VOID, .userid = userid);
	if (e == OK)
		e = db_exec(db, f, NULL, USER_RESET_PASSWD, .passwd_hash = passwd_hash,
		    .id = userid);
	if (e == OK)
		e = db_commit(db, f);
	if (e != OK)
		db_rollback(db);
	return e;
}
