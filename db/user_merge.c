/* SPDX-License-Identifier: Apache-2.0 */
#include "db/user_merge.h"

#include <stdlib.h>
#include <string.h>
#include "db/averages.h"
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/order.h"
#include "lib/banned.h"

enum err
user_merge_counts(struct db *db, struct arena *a, int64_t from,
    struct row_user_has **has, struct fail *f)
{
	return db_row(db, a, f, has, USER_HAS, .id = from);
}

enum err
user_results_move(struct db *db, struct arena *a, int64_t from, int64_t into,
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
static enum err
keep_keys(struct db *db, struct arena *a, const struct user *from, int64_t into,
    int64_t now, struct fail *f)
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
static enum err
rows_move(struct db *db, int64_t from, int64_t into, struct fail *f)
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

enum err
user_merge(struct db *db, struct arena *a, const struct user *from,
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

enum err
user_of_old_key(struct db *db, const char *key, int64_t *id, struct fail *f)
{
	char digest[MD5_HEX];

	md5_text(key, digest);
	return db_number(db, f, id, USER_OF_OLD_KEY, .token = digest);
}
