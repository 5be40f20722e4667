/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts, and the names of teams. */
#include "db/entity.h"

#include "db/stmts.h"
#include "lib/banned.h"

enum err
user_by_id(
    struct db *db, struct arena *a, int64_t id, struct user **user, struct fail *f)
{
	return db_row(db, a, f, user, USER_BY_ID, .id = id);
}

enum err
user_by_authenticator(struct db *db, struct arena *a, const char *authenticator,
    struct user **user, struct fail *f)
{
	return db_row(
	    db, a, f, user, USER_BY_AUTHENTICATOR, .authenticator = authenticator);
}

enum err
user_by_email(struct db *db, struct arena *a, const char *email, struct user **user,
    struct fail *f)
{
	return db_row(db, a, f, user, USER_BY_EMAIL, .email_addr = email);
}

enum err
user_insert(struct db *db, struct user *user, struct fail *f)
{
	user->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, USER_INSERT, .user = user));
	user->id = db_insert_id(db);
	return OK;
}

enum err
user_set_prefs(struct db *db, int64_t id, const char *global_prefs, struct fail *f)
{
	return db_exec(
	    db, f, NULL, USER_SET_PREFS, .global_prefs = global_prefs, .id = id);
}

enum err
user_lock(struct db *db, int64_t id, struct fail *f)
{
	int64_t affected;
	enum err e = db_exec(db, f, &affected, USER_LOCK, .id = id);

	return e == OK && affected == 0 ? FAIL(f, E_NOTFOUND, "no such account") : e;
}

enum err
user_set_cpid(struct db *db, int64_t id, const char *cpid, struct fail *f)
{
	return db_exec(db, f, NULL, USER_SET_CPID, .cross_project_id = cpid, .id = id);
}

enum err
user_set_passwd_hash(struct db *db, const struct user *was, const char *stored,
    const struct user_keys *k, struct fail *f)
{
	return db_exec(db, f, NULL, USER_SET_PASSWD, .passwd_hash = stored,
	    .old_keys_of = k->of, .old_weak_key = k->weak, .old_rss_key = k->rss,
	    .id = was->id, .was = was->passwd_hash);
}

enum err
team_name(struct db *db, struct arena *a, int64_t id, char **name, struct fail *f)
{
	struct row_text *row = NULL;
	enum err e = OK;

	*name = arena_strdup(a, "");
	if (id == 0)
		return OK;
	e = db_row(db, a, f, &row, TEAM_NAME, .id = id);
	if (e == OK)
		*name = row->s;
	return e == E_NOTFOUND ? OK : e;
}
