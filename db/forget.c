/* SPDX-License-Identifier: Apache-2.0 */
#include "db/forget.h"

#include <stdlib.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/order.h"
#include "lib/banned.h"

enum err
host_reset(struct db *db, int64_t id, struct fail *f)
{
	TRY(db_exec(db, f, NULL, HOST_RESET_QUOTAS, .id = id));
	return db_exec_like(db, f, NULL, SQL_LIKE(HOST_RESET_COUNTS, HOST_RESET_QUOTAS),
	    HOST_RESET_QUOTAS, .id = id);
}

static enum err
host_rows_delete(struct db *db, int64_t id, struct fail *f)
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
static enum err
one_host(int64_t matched, int64_t id, struct fail *f)
{
	return matched == 1 ?
	           OK :
	           FAIL(f, E_RACE, "host %lld has changed its account meanwhile",
		       (long long)id);
}

enum err
host_merge(struct db *db, struct arena *a, const struct host *from,
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

enum err
host_erase(
    struct db *db, struct arena *a, const struct host *h, int64_t now, struct fail *f)
{
	TRY(results_detach(db, a, h->id, now, f));
	TRY(host_rows_delete(db, h->id, f));
	TRY(db_exec(db, f, NULL, FORGET_HOST_NOTED, .id = h->id, .cpid = h->host_cpid,
	    .now = now));
	return db_exec_like(db, f, NULL, SQL_LIKE(FORGET_HOST, HOST_RESET_QUOTAS),
	    HOST_RESET_QUOTAS, .id = h->id);
}

enum err
user_erase(
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

enum err
user_host_ids(struct db *db, struct arena *a, int64_t userid, int64_t **ids, size_t *n,
    struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, HOST_IDS_OF, .userid = userid));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err
host_results_move(struct db *db, struct arena *a, int64_t from, int64_t into,
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

enum err
user_results_clear(struct db *db, struct arena *a, int64_t userid,
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
