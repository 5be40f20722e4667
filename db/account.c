/* SPDX-License-Identifier: Apache-2.0 */
/* What web RPCs read and write of accounts, their hosts and teams. */
#include "db/entity.h"

#include <string.h>
#include "lib/buf.h"
#include "lib/banned.h"

enum err
account_by_id(
    struct db *db, struct arena *a, int64_t id, struct user_info **out, struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_ACCOUNT_BY_ID, id);

	if (e == OK)
		*out = row;
	return e;
}

enum err
account_by_key(struct db *db, struct arena *a, const char *key, struct user_info **out,
    struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_ACCOUNT_BY_KEY, key);

	if (e == OK)
		*out = row;
	return e;
}

enum err
account_had_email(struct db *db, const char *email, int64_t since, struct fail *f)
{
	int64_t id;

	return db_number(db, f, &id, SQL_ADDRESS_GIVEN_UP, since, email);
}

enum err
account_insert(struct db *db, struct user *u, const char *source, struct fail *f)
{
	enum err e = db_begin(db, f);

	if (e == OK)
		e = user_insert(db, u, f);
	if (e == OK && u->teamid != 0)
		e = db_exec(db, f, NULL, SQL_TEAM_DELTA_INSERT, u->id, u->teamid,
		    u->create_time);
	if (e == OK && source != NULL)
		e = db_exec(
		    db, f, NULL, SQL_CONSENT_INSERT, u->id, u->create_time, source);
	if (e == OK)
		e = db_commit(db, f);
	if (e != OK)
		db_rollback(db);
	return e;
}

enum err
account_hosts(struct db *db, struct arena *a, int64_t userid, struct host **hosts,
    size_t *n, struct fail *f)
{
	void *rows;
	enum err e = db_query(db, a, f, &rows, n, SQL_HOSTS_OF_ACCOUNT, userid);

	if (e == OK)
		*hosts = rows;
	return e;
}

enum err
account_host_venue(
    struct db *db, int64_t userid, int64_t hostid, const char *venue, struct fail *f)
{
	int64_t matched;
	enum err e = db_exec(
	    db, f, &matched, SQL_HOST_SET_VENUE, venue, hostid, userid);

	if (e == OK && matched == 0)
		return FAIL(
		    f, E_NOTFOUND, "the account has no host %lld", (long long)hostid);
	return e;
}

enum err
team_to_join(struct db *db, const char *name, int64_t *id, struct fail *f)
{
	return db_number(db, f, id, SQL_TEAM_TO_JOIN, name);
}

enum err
teams_by_ids(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct team **teams, size_t *nteams, struct fail *f)
{
	void *rows;
	enum err e = db_query(db, a, f, &rows, nteams, SQL_TEAMS_BY_IDS, ids, n);

	if (e == OK)
		*teams = rows;
	return e;
}

enum err
teams_by_name(struct db *db, struct arena *a, const char *start, struct team **teams,
    size_t *n, struct fail *f)
{
	struct buf like = buf_new(a);
	void *rows;
	enum err e;

	for (; *start != '\0'; start++) {
		if (strchr("%_\\", *start) != NULL)
			buf_puts(&like, "\\");
		buf_put(&like, start, 1);
	}
	buf_puts(&like, "%");
	e = db_query(db, a, f, &rows, n, SQL_TEAMS_BY_NAME, like.p);
	if (e == OK)
		*teams = rows;
	return e;
}
