/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts and the names of teams. */
#include "db/entity.h"

#include "lib/banned.h"

enum err
user_by_id(
    struct db *db, struct arena *a, int64_t id, struct user **user, struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_USER_BY_ID, id);

	if (e == OK)
		*user = row;
	return e;
}

enum err
user_by_authenticator(struct db *db, struct arena *a, const char *authenticator,
    struct user **user, struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_USER_BY_AUTHENTICATOR, authenticator);

	if (e == OK)
		*user = row;
	return e;
}

enum err
user_by_email(struct db *db, struct arena *a, const char *email, struct user **user,
    struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_USER_BY_EMAIL, email);

	if (e == OK)
		*user = row;
	return e;
}

enum err
user_insert(struct db *db, struct user *user, struct fail *f)
{
	user->id = 0; /* assigned, also when tried again */
	enum err e = db_exec(db, f, NULL, SQL_USER_INSERT, user);

	if (e == OK)
		user->id = db_insert_id(db);
	return e;
}

enum err
user_set_prefs(struct db *db, int64_t id, const char *global_prefs, struct fail *f)
{
	return db_exec(db, f, NULL, SQL_USER_SET_PREFS, global_prefs, id);
}

enum err
user_lock(struct db *db, int64_t id, struct fail *f)
{
	int64_t affected;
	enum err e = db_exec(db, f, &affected, SQL_USER_LOCK, id);

	return e == OK && affected == 0 ? FAIL(f, E_NOTFOUND, "no such account") : e;
}

enum err
user_set_cpid(struct db *db, int64_t id, const char *cpid, struct fail *f)
{
	return db_exec(db, f, NULL, SQL_USER_SET_CPID, cpid, id);
}

enum err
user_set_passwd_hash(struct db *db, const struct user *was, const char *stored,
    const struct user_keys *k, struct fail *f)
{
	return db_exec(db, f, NULL, SQL_USER_SET_PASSWD, stored, k->of, k->weak, k->rss,
	    was->id, was->passwd_hash);
}

enum err
team_name(struct db *db, struct arena *a, int64_t id, char **name, struct fail *f)
{
	void *row;
	enum err e = OK;

	*name = arena_strdup(a, "");
	if (id == 0)
		return OK;
	e = db_row(db, a, f, &row, SQL_TEAM_NAME, id);
	if (e == OK)
		*name = ((struct row_text *)row)->s;
	return e == E_NOTFOUND ? OK : e;
}
