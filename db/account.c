/* SPDX-License-Identifier: Apache-2.0 */
/* What web RPCs read and write about accounts, their hosts and teams. */
#include "db/entity.h"

#include <string.h>
#include "db/stmts.h"
#include "lib/buf.h"
#include "lib/banned.h"

enum err
account_by_id(
    struct db *db, struct arena *a, int64_t id, struct user_info **out, struct fail *f)
{
	return db_row(db, a, f, out, ACCOUNT_BY_ID, .id = id);
}

enum err
account_by_key(struct db *db, struct arena *a, const char *key, struct user_info **out,
    struct fail *f)
{
	return db_row(db, a, f, out, ACCOUNT_BY_KEY, .authenticator = key);
}

enum err
account_had_email(struct db *db, const char *email, int64_t since, struct fail *f)
{
	int64_t id;

	return db_number(db, f, &id, ADDRESS_GIVEN_UP, .since = since, .email = email);
}

enum err
account_insert(struct db *db, struct user *u, const char *source, struct fail *f)
{
	enum err e = db_begin(db, f);

	if (e == OK)
		e = user_insert(db, u, f);
	if (e == OK && u->teamid != 0)
		e = db_exec(db, f, NULL, TEAM_DELTA_INSERT, .userid = u->id,
		    .teamid = u->teamid, .now = u->create_time);
	if (e == OK && source != NULL)
		e = db_exec(db, f, NULL, CONSENT_INSERT, .userid = u->id,
		    .now = u->create_time, .source = source);
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
	return db_query(db, a, f, hosts, n, HOSTS_OF_ACCOUNT, .userid = userid);
}

enum err
account_host_venue(
    struct db *db, int64_t userid, int64_t hostid, const char *venue, struct fail *f)
{
	int64_t matched;

	TRY(db_exec(db, f, &matched, HOST_SET_VENUE, .venue = venue, .id = hostid,
	    .userid = userid));
	if (matched == 0)
		return FAIL(
		    f, E_NOTFOUND, "the account has no host %lld", (long long)hostid);
	return OK;
}

enum err
team_to_join(struct db *db, const char *name, int64_t *id, struct fail *f)
{
	return db_number(db, f, id, TEAM_TO_JOIN, .name = name);
}

enum err
teams_by_ids(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct team **teams, size_t *nteams, struct fail *f)
{
	return db_query(db, a, f, teams, nteams, TEAMS_BY_IDS, .ids = db_ids(ids, n));
}

enum err
teams_by_name(struct db *db, struct arena *a, const char *start, struct team **teams,
    size_t *n, struct fail *f)
{
	struct buf like = buf_new(a);
	struct team *rows = NULL;

	for (; *start != '\0'; start++) {
		if (strchr("%_\\", *start) != NULL)
			buf_puts(&like, "\\");
		buf_put(&like, start, 1);
	}
	buf_puts(&like, "%");
	TRY(db_query(db, a, f, &rows, n, TEAMS_BY_NAME, .pattern = like.p));
	*teams = rows;
	return OK;
}
