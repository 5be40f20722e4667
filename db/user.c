/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts, and the names of teams. */
#include "db/user.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/names.h"
#include "lib/banned.h"

/* The decay of recent average credit in the rows of hosts, accounts and teams. */

enum err averages_due(struct db *db, struct arena *a, enum averages_of of,
    int64_t after, int64_t before, int64_t **ids, size_t *n, struct fail *f)
{
	static const enum stmt_id due[AVERAGES__MAX] = {
		[AVERAGES_HOST] = SQL_HOSTS_TO_DECAY,
		[AVERAGES_USER] = SQL_LIKE(USERS_TO_DECAY, HOSTS_TO_DECAY),
		[AVERAGES_TEAM] = SQL_LIKE(TEAMS_TO_DECAY, HOSTS_TO_DECAY),
	};
	struct row_number *rows = NULL;

	TRY(db_query_like(db, a, f, &rows, n, due[of], HOSTS_TO_DECAY, .after = after,
	    .before = (double)before, .max = AVERAGES_BATCH));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err averages_decay(struct db *db, enum averages_of of, const int64_t *ids,
    size_t n, int64_t now, struct fail *f)
{
	static const enum stmt_id decay[AVERAGES__MAX] = {
		[AVERAGES_HOST] = SQL_HOSTS_DECAY,
		[AVERAGES_USER] = SQL_LIKE(USERS_DECAY, HOSTS_DECAY),
		[AVERAGES_TEAM] = SQL_LIKE(TEAMS_DECAY, HOSTS_DECAY),
	};

	return db_exec_like(
	    db, f, NULL, decay[of], HOSTS_DECAY, .ids = db_ids(ids, n), .now = now);
}

/* Tokens by which the owner of an address may set a new password, once. */

enum err password_token_insert(struct db *db, int64_t userid, const char *digest,
    int64_t now, int64_t expire_time, struct fail *f)
{
	TRY(db_exec(db, f, NULL, PASSWORD_TOKENS_EXPIRE, .userid = userid, .now = now));
	return db_exec(db, f, NULL, PASSWORD_TOKEN_INSERT, .token = digest,
	    .userid = userid, .now = now, .expire_time = expire_time);
}

enum err password_token_user(
    struct db *db, const char *digest, int64_t now, int64_t *userid, struct fail *f)
{
	return db_number(
	    db, f, userid, PASSWORD_TOKEN_USER, .token = digest, .now = now);
}

static enum err spend_token(struct db *db, const char *digest, int64_t userid,
    const char *passwd_hash, struct fail *f)
{
	int64_t deleted = 0;

	TRY(db_begin(db, f));
	TRY(db_exec(
	    db, f, &deleted, PASSWORD_TOKEN_DELETE, .token = digest, .userid = userid));
	if (deleted != 1)
		return FAIL(f, E_NOTFOUND, "the token has been used");
	TRY(db_exec(db, f, NULL, PASSWORD_TOKENS_VOID, .userid = userid));
	TRY(db_exec(
	    db, f, NULL, USER_RESET_PASSWD, .passwd_hash = passwd_hash, .id = userid));
	return db_commit(db, f);
}

enum err password_token_use(struct db *db, const char *digest, int64_t userid,
    const char *passwd_hash, struct fail *f)
{
	enum err e = spend_token(db, digest, userid, passwd_hash, f);

	if (e != OK)
		db_rollback(db);
	return e;
}

enum err user_by_id(
    struct db *db, struct arena *a, int64_t id, struct user **user, struct fail *f)
{
	return db_row(db, a, f, user, USER_BY_ID, .id = id);
}

enum err user_by_authenticator(struct db *db, struct arena *a,
    const char *authenticator, struct user **user, struct fail *f)
{
	return db_row(
	    db, a, f, user, USER_BY_AUTHENTICATOR, .authenticator = authenticator);
}

enum err user_by_email(struct db *db, struct arena *a, const char *email,
    struct user **user, struct fail *f)
{
	return db_row(db, a, f, user, USER_BY_EMAIL, .email_addr = email);
}

enum err user_insert(struct db *db, struct user *user, struct fail *f)
{
	user->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, USER_INSERT, .user = user));
	user->id = db_insert_id(db);
	return OK;
}

enum err user_set_prefs(
    struct db *db, int64_t id, const char *global_prefs, struct fail *f)
{
	return db_exec(
	    db, f, NULL, USER_SET_PREFS, .global_prefs = global_prefs, .id = id);
}

enum err user_lock(struct db *db, int64_t id, struct fail *f)
{
	int64_t affected;
	enum err e = db_exec(db, f, &affected, USER_LOCK, .id = id);

	return e == OK && affected == 0 ? FAIL(f, E_NOTFOUND, "no such account") : e;
}

enum err user_set_cpid(struct db *db, int64_t id, const char *cpid, struct fail *f)
{
	return db_exec(db, f, NULL, USER_SET_CPID, .cross_project_id = cpid, .id = id);
}

enum err user_set_passwd_hash(struct db *db, const struct user *was, const char *stored,
    const struct user_keys *k, struct fail *f)
{
	return db_exec(db, f, NULL, USER_SET_PASSWD, .passwd_hash = stored,
	    .old_keys_of = k->of, .old_weak_key = k->weak, .old_rss_key = k->rss,
	    .id = was->id, .was = was->passwd_hash);
}

enum err team_name(
    struct db *db, struct arena *a, int64_t id, char **name, struct fail *f)
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

/* What web RPCs read and write about accounts, their hosts and teams. */

enum err account_by_id(
    struct db *db, struct arena *a, int64_t id, struct user_info **out, struct fail *f)
{
	return db_row(db, a, f, out, ACCOUNT_BY_ID, .id = id);
}

enum err account_by_key(struct db *db, struct arena *a, const char *key,
    struct user_info **out, struct fail *f)
{
	return db_row(db, a, f, out, ACCOUNT_BY_KEY, .authenticator = key);
}

enum err account_had_email(
    struct db *db, const char *email, int64_t since, struct fail *f)
{
	int64_t id;

	return db_number(db, f, &id, ADDRESS_GIVEN_UP, .since = since, .email = email);
}

static enum err insert_account_rows(
    struct db *db, struct user *u, const char *source, struct fail *f)
{
	TRY(db_begin(db, f));
	TRY(user_insert(db, u, f));
	if (u->teamid != 0)
		TRY(db_exec(db, f, NULL, TEAM_DELTA_INSERT, .userid = u->id,
		    .teamid = u->teamid, .now = u->create_time));
	if (source != NULL)
		TRY(db_exec(db, f, NULL, CONSENT_INSERT, .userid = u->id,
		    .now = u->create_time, .source = source));
	return db_commit(db, f);
}

enum err account_insert(
    struct db *db, struct user *u, const char *source, struct fail *f)
{
	enum err e = insert_account_rows(db, u, source, f);

	if (e != OK)
		db_rollback(db);
	return e;
}

enum err account_hosts(struct db *db, struct arena *a, int64_t userid,
    struct host **hosts, size_t *n, struct fail *f)
{
	return db_query(db, a, f, hosts, n, HOSTS_OF_ACCOUNT, .userid = userid);
}

enum err account_host_venue(
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

enum err team_to_join(struct db *db, const char *name, int64_t *id, struct fail *f)
{
	return db_number(db, f, id, TEAM_TO_JOIN, .name = name);
}

enum err teams_by_ids(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct team **teams, size_t *nteams, struct fail *f)
{
	return db_query(db, a, f, teams, nteams, TEAMS_BY_IDS, .ids = db_ids(ids, n));
}

enum err teams_by_name(struct db *db, struct arena *a, const char *start,
    struct team **teams, size_t *n, struct fail *f)
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

enum err host_reset(struct db *db, int64_t id, struct fail *f)
{
	TRY(db_exec(db, f, NULL, HOST_RESET_QUOTAS, .id = id));
	return db_exec_like(db, f, NULL, SQL_LIKE(HOST_RESET_COUNTS, HOST_RESET_QUOTAS),
	    HOST_RESET_QUOTAS, .id = id);
}

static enum err host_rows_delete(struct db *db, int64_t id, struct fail *f)
{
	static const enum stmt_id rows[] = {
		SQL_LIKE(FORGET_HOST_VERSIONS, HOST_RESET_QUOTAS),
		SQL_LIKE(FORGET_HOST_FILES, HOST_RESET_QUOTAS),
		SQL_LIKE(FORGET_HOST_LOGS, HOST_RESET_QUOTAS),
		SQL_LIKE(FORGET_HOST_SENT, HOST_RESET_QUOTAS),
		SQL_LIKE(FORGET_HOST_TOLD, HOST_RESET_QUOTAS),
	};

	for (size_t i = 0; i < N(rows); i++)
		TRY(db_exec_like(db, f, NULL, rows[i], HOST_RESET_QUOTAS, .id = id));
	return db_exec(db, f, NULL, FORGET_TARGET, .kind = TARGET_HOST, .id = id);
}

/* The number of rows that have changed must be one. */
static enum err one_host(int64_t matched, int64_t id, struct fail *f)
{
	return matched == 1 ?
	           OK :
	           FAIL(f, E_RACE, "host %lld has changed its account meanwhile",
		       (long long)id);
}

enum err host_merge(struct db *db, struct arena *a, const struct host *from,
    const struct host *into, struct fail *f)
{
	struct row_pair *jobs = NULL;
	int64_t matched;
	size_t n = 0;

	TRY(db_query(db, a, f, &jobs, &n, RESULTS_ON_HOST, .hostid = from->id));
	for (size_t i = 0; i < n; i++)
		TRY(result_to_host(db, jobs[i].a, from->id, into->id, f));
	TRY(host_rows_delete(db, from->id, f));
	TRY(db_exec(db, f, &matched, HOST_GAIN, .total = from->total_credit,
	    .average = from->expavg_credit, .id = into->id, .userid = from->userid));
	TRY(one_host(matched, into->id, f));
	TRY(db_exec(db, f, &matched, HOST_MERGED, .into = into->id, .id = from->id,
	    .userid = from->userid));
	return one_host(matched, from->id, f);
}

enum err host_erase(
    struct db *db, struct arena *a, const struct host *h, int64_t now, struct fail *f)
{
	TRY(results_detach(db, a, h->id, now, f));
	TRY(host_rows_delete(db, h->id, f));
	TRY(db_exec(db, f, NULL, FORGET_HOST_NOTED, .id = h->id, .cpid = h->host_cpid,
	    .now = now));
	return db_exec_like(db, f, NULL, SQL_LIKE(FORGET_HOST, HOST_RESET_QUOTAS),
	    HOST_RESET_QUOTAS, .id = h->id);
}

enum err user_erase(
    struct db *db, struct arena *a, const struct user *u, int64_t now, struct fail *f)
{
	static const enum stmt_id rows[] = {
		SQL_FORGET_CONSENT,
		SQL_LIKE(FORGET_TOKEN, FORGET_CONSENT),
		SQL_LIKE(FORGET_TEAM_DELTA, FORGET_CONSENT),
		SQL_LIKE(FORGET_CREDIT_USER, FORGET_CONSENT),
		SQL_LIKE(FORGET_CREDITED_JOB, FORGET_CONSENT),
		SQL_LIKE(FORGET_SUBMIT, FORGET_CONSENT),
		SQL_LIKE(FORGET_SUBMIT_APP, FORGET_CONSENT),
		SQL_LIKE(FORGET_FOUNDER, FORGET_CONSENT),
		SQL_LIKE(FORGET_USER, FORGET_CONSENT),
	};
	char cpid[MD5_HEX];

	for (size_t i = 0; i < N(rows); i++)
		TRY(db_exec_like(db, f, NULL, rows[i], FORGET_CONSENT, .id = u->id));
	TRY(db_exec(db, f, NULL, FORGET_TARGET, .kind = TARGET_USER, .id = u->id));
	if (u->teamid != 0)
		TRY(db_exec(db, f, NULL, FORGET_MEMBER, .teamid = u->teamid));
	/* What statistics sites know of the account (protocol.md 7.4). */
	md5_text(arena_printf(a, "%s%s", u->cross_project_id, u->email_addr), cpid);
	return db_exec(
	    db, f, NULL, FORGET_USER_NOTED, .id = u->id, .cpid = cpid, .now = now);
}

enum err user_host_ids(struct db *db, struct arena *a, int64_t userid, int64_t **ids,
    size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, HOST_IDS_OF, .userid = userid));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err host_results_move(struct db *db, struct arena *a, int64_t from, int64_t into,
    int64_t *moved, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n = 0;

	*moved = 0;
	TRY(db_query(db, a, f, &rows, &n, RESULTS_FROM_HOST, .hostid = from,
	    .max = DB_LIST_MAX));
	if (n == 0)
		return OK;
	return db_exec(db, f, moved, RESULTS_TO_HOST, .hostid = into, .from = from,
	    .ids = db_ids(row_numbers(a, rows, n), n));
}

enum err user_results_clear(struct db *db, struct arena *a, int64_t userid,
    struct user_results *at, struct fail *f)
{
	struct row_pair *rows = NULL;
	int64_t *ids, cleared;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, RESULTS_OF_USER, .userid = userid,
	    .fileset_id = at->fileset_id, .after = at->id, .max = DB_LIST_MAX));
	at->ended = n < DB_LIST_MAX;
	if (n == 0)
		return OK;
	ids = NEWN(a, int64_t, n);
	for (size_t i = 0; i < n; i++)
		ids[i] = rows[i].a;
	at->id = rows[n - 1].a;
	at->fileset_id = rows[n - 1].b;
	ids_sort(ids, n);
	TRY(db_exec(db, f, &cleared, RESULTS_FORGET, .ids = db_ids(ids, n)));
	at->cleared += cleared;
	return OK;
}

enum err user_merge_counts(struct db *db, struct arena *a, int64_t from,
    struct row_user_has **has, struct fail *f)
{
	return db_row(db, a, f, has, USER_HAS, .id = from);
}

enum err user_results_move(struct db *db, struct arena *a, int64_t from, int64_t into,
    int64_t *moved, struct fail *f)
{
	struct row_pair *rows = NULL;
	int64_t *ids, *marked;
	size_t n = 0, nmarked = 0;
	enum err e;

	*moved = 0;
	TRY(db_query(db, a, f, &rows, &n, RESULTS_FROM_USER, .userid = from,
	    .into = into, .max = DB_LIST_LONG));
	if (n == 0)
		return OK;
	ids = NEWN(a, int64_t, n);
	marked = NEWN(a, int64_t, n);
	for (size_t i = 0; i < n; i++) {
		ids[i] = rows[i].a;
		if (rows[i].b != 0)
			marked[nmarked++] = rows[i].a;
	}
	ids_sort(ids, n);
	ids_sort(marked, nmarked);
	TRY(db_exec(db, f, moved, RESULTS_TO_USER, .into = into, .userid = from,
	    .ids = db_ids(ids, n)));
	if (nmarked == 0)
		return OK;
	e = db_exec(db, f, NULL, RESULTS_MARK_USER, .into = into, .userid = from,
	    .ids = db_ids(marked, nmarked));
	return e == E_RACE ? FAIL(f, E_RETRY, "a workunit was sent meanwhile") : e;
}

/* The strong key, the weak one, and the one before the password was replaced. */
static enum err keep_keys(struct db *db, struct arena *a, const struct user *from,
    int64_t into, int64_t now, struct fail *f)
{
	char weak[MD5_HEX];
	const char *keys[3] = { from->authenticator };

	md5_text(arena_printf(a, "%s%s", from->authenticator, from->passwd_hash), weak);
	keys[1] = arena_printf(a, "%lld_%s", (long long)from->id, weak);
	keys[2] = strcmp(from->old_keys_of, weak) != 0 ?
	              "" :
	              arena_printf(
			  a, "%lld_%s", (long long)from->id, from->old_weak_key);
	for (size_t i = 0; i < N(keys); i++) {
		char digest[MD5_HEX];

		md5_text(keys[i], digest);
		if (keys[i][0] != '\0')
			TRY(db_exec(db, f, NULL, OLD_KEY_INSERT, .token = digest,
			    .userid = into, .now = now));
	}
	return OK;
}

/* The account's rows of other tables, and what names it. */
static enum err rows_move(struct db *db, int64_t from, int64_t into, struct fail *f)
{
	static const enum stmt_id rows[] = {
		SQL_HOSTS_TO_USER,
		SQL_LIKE(FOUNDER_TO_USER, HOSTS_TO_USER),
		SQL_LIKE(BATCHES_TO_USER, HOSTS_TO_USER),
		SQL_LIKE(TEAM_DELTAS_TO_USER, HOSTS_TO_USER),
		SQL_LIKE(CREDIT_TO_USER, HOSTS_TO_USER),
		SQL_LIKE(JOBS_TO_USER, HOSTS_TO_USER),
		SQL_LIKE(SUBMIT_TO_USER, HOSTS_TO_USER),
		SQL_LIKE(SUBMIT_APPS_TO_USER, HOSTS_TO_USER),
		SQL_LIKE(OLD_KEYS_TO_USER, HOSTS_TO_USER),
	};

	for (size_t i = 0; i < N(rows); i++)
		TRY(db_exec_like(
		    db, f, NULL, rows[i], HOSTS_TO_USER, .into = into, .userid = from));
	return db_exec(db, f, NULL, TARGET_TO_USER, .kind = TARGET_USER, .into = into,
	    .userid = from);
}

enum err user_merge(struct db *db, struct arena *a, const struct user *from,
    const struct user *into, int64_t now, struct fail *f)
{
	static const enum stmt_id left[] = {
		SQL_FORGET_CONSENT,
		SQL_LIKE(FORGET_TOKEN, FORGET_CONSENT),
		SQL_LIKE(FORGET_CREDIT_USER, FORGET_CONSENT),
		SQL_LIKE(FORGET_CREDITED_JOB, FORGET_CONSENT),
		SQL_LIKE(FORGET_SUBMIT, FORGET_CONSENT),
		SQL_LIKE(FORGET_SUBMIT_APP, FORGET_CONSENT),
		SQL_LIKE(FORGET_USER, FORGET_CONSENT),
	};
	int64_t both[] = { from->id, into->id }, moved = 1, matched;
	char cpid[MD5_HEX];

	while (moved > 0)
		TRY(user_results_move(db, a, from->id, into->id, &moved, f));
	TRY(rows_move(db, from->id, into->id, f));
	ids_sort(both, N(both));
	TRY(averages_decay(db, AVERAGES_USER, both, N(both), now, f));
	TRY(db_exec(db, f, &matched, USER_GAIN, .into = into->id, .userid = from->id));
	if (matched != 1)
		return FAIL(f, E_RACE, "one of the accounts is gone");
	if (from->teamid != 0 && into->teamid != 0)
		TRY(db_exec(db, f, NULL, FORGET_MEMBER, .teamid = from->teamid));
	for (size_t i = 0; i < N(left); i++)
		TRY(db_exec_like(db, f, NULL, left[i], FORGET_CONSENT, .id = from->id));
	TRY(keep_keys(db, a, from, into->id, now, f));
	md5_text(
	    arena_printf(a, "%s%s", from->cross_project_id, from->email_addr), cpid);
	return db_exec(
	    db, f, NULL, FORGET_USER_NOTED, .id = from->id, .cpid = cpid, .now = now);
}

enum err user_of_old_key(struct db *db, const char *key, int64_t *id, struct fail *f)
{
	char digest[MD5_HEX];

	md5_text(key, digest);
	return db_number(db, f, id, USER_OF_OLD_KEY, .token = digest);
}
