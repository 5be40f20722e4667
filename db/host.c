/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, the statistics of app versions on them, and the large files they hold. */
#include "db/host.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/private.h"
#include "db/stmts.h"
#include "lib/names.h"
#include "model/rows.h"
#include "lib/banned.h"

enum { NEWEST = 20000 };

struct host_ends host_ends_of(const struct row_tally *t)
{
	return (struct host_ends){ .success = t->success,
		.failed = t->failed,
		.wrong = t->invalid + t->inconclusive };
}

enum err host_ends_lately(struct db *db, struct arena *a, struct row_tally **rows,
    size_t *n, struct host_ends *all, struct fail *f)
{
	*all = (struct host_ends){ 0 };
	*rows = NULL;
	*n = 0;
	TRY(db_query(db, a, f, rows, n, HOST_TALLIES_LATELY, .newest = NEWEST));
	for (size_t i = 0; i < *n; i++) {
		const struct host_ends h = host_ends_of(&(*rows)[i]);

		all->success += h.success;
		all->failed += h.failed;
		all->wrong += h.wrong;
	}
	return OK;
}

enum { DAY_S = 86400 };

enum err host_by_id(
    struct db *db, struct arena *a, int64_t id, struct host **host, struct fail *f)
{
	return db_row(db, a, f, host, HOST_BY_ID, .id = id);
}

enum err hosts_and_accounts(struct db *db, struct arena *a, const int64_t *ids,
    size_t n, bool has_jobs, struct row_host_account **rows, size_t *nrows,
    struct fail *f)
{
	struct row_host_account *v = NULL;

	*nrows = 0;
	if (n == 1)
		TRY(db_query(db, a, f, &v, nrows, HOST_AND_ACCOUNT,
		    .has_jobs = has_jobs, .id = ids[0]));
	else if (n > 1)
		TRY(db_query(
		    db, a, f, &v, nrows, HOSTS_AND_ACCOUNTS, .ids = db_ids(ids, n)));
	for (size_t i = 0; i < *nrows; i++)
		v[i].glance.there = true;
	*rows = v;
	return OK;
}

enum err host_by_cpid(struct db *db, struct arena *a, int64_t userid,
    const char *hashed_cpid, struct host **host, struct fail *f)
{
	return db_row(
	    db, a, f, host, HOST_BY_CPID, .userid = userid, .host_cpid = hashed_cpid);
}

enum err host_similar(struct db *db, struct arena *a, const struct host *like,
    struct host **host, struct fail *f)
{
	return db_row(db, a, f, host, HOST_SIMILAR, .like = like);
}

/* Maps E_NOTFOUND to 0. (OFFSET n - 1 is the n-th row.) */
static enum err nth_or_zero(enum err e, int64_t *value)
{
	if (e == E_NOTFOUND)
		*value = 0;
	return e == E_NOTFOUND ? OK : e;
}

enum err host_made(struct db *db, int64_t userid, int64_t after, int64_t n,
    int64_t *create_time, struct fail *f)
{
	return nth_or_zero(db_number(db, f, create_time, HOST_MADE, .userid = userid,
			       .after = after, .offset = n - 1),
	    create_time);
}

enum err host_with_work(struct db *db, int64_t userid, int64_t except, int64_t n,
    int64_t *id, struct fail *f)
{
	return nth_or_zero(db_number(db, f, id, HOST_WITH_WORK, .userid = userid,
			       .except = except, .offset = n - 1),
	    id);
}

enum err host_insert(struct db *db, struct host *host, struct fail *f)
{
	host->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, HOST_INSERT, .host = host));
	host->id = db_insert_id(db);
	return OK;
}

void host_save_rpc_put(struct db_batch *b, const struct host *h, int64_t rpc_token)
{
	db_batch_add(b, HOST_SAVE_RPC, .h = h, .rpc_day = h->rpc_time / DAY_S,
	    .rpc_token = rpc_token);
}

enum err host_token(struct db *db, int64_t id, int64_t *rpc_token, struct fail *f)
{
	return db_number(db, f, rpc_token, HOST_TOKEN, .id = id);
}

enum err hosts_active(struct db *db, int64_t since, int64_t *n, struct fail *f)
{
	return db_number(db, f, n, HOSTS_ACTIVE, .since_day = since / DAY_S);
}

enum err host_app_versions(struct db *db, struct arena *a, const int64_t *hostids,
    size_t n, struct host_app_version **havs, size_t *nhavs, struct fail *f)
{
	return db_query(
	    db, a, f, havs, nhavs, HOST_APP_VERSIONS, .host_ids = db_ids(hostids, n));
}

static enum err files_remove(
    struct db *db, int64_t hostid, const int64_t *ids, size_t n, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_LONG) {
		size_t part = n - i < DB_LIST_LONG ? n - i : DB_LIST_LONG;
		enum err e = db_exec(db, f, NULL, HOST_FILES_REMOVE, .hostid = hostid,
		    .file_ids = db_ids(ids + i, part));
		if (e != OK)
			return e;
	}
	return OK;
}

static enum err files_add(struct db *db, int64_t hostid, const int64_t *ids, size_t n,
    int64_t now, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_LONG)
		TRY(db_exec(db, f, NULL, HOST_FILES_ADD, .hostid = hostid, .now = now,
		    .file_ids = db_ids(
			ids + i, n - i < DB_LIST_LONG ? n - i : (size_t)DB_LIST_LONG)));
	return OK;
}

enum err host_files_save(struct db *db, struct arena *a, int64_t hostid,
    const int64_t *file_ids, size_t n, int64_t now, struct fail *f)
{
	struct row_number *rows = NULL;
	struct ids old, held = ids_unique(a, file_ids, n);
	size_t nold, ngone = 0, nfresh = 0;
	int64_t *gone, *fresh = NEWN(a, int64_t, held.n + 1);

	TRY(db_query(db, a, f, &rows, &nold, HOST_FILES, .hostid = hostid));
	old = ids_unique(a, row_numbers(a, rows, nold), nold);
	gone = NEWN(a, int64_t, old.n + 1);
	for (size_t i = 0; i < old.n; i++)
		if (!ids_has(&held, old.v[i]))
			gone[ngone++] = old.v[i];
	for (size_t i = 0; i < held.n; i++)
		if (!ids_has(&old, held.v[i]))
			fresh[nfresh++] = held.v[i];
	TRY(files_add(db, hostid, fresh, nfresh, now, f));
	return files_remove(db, hostid, gone, ngone, f);
}

/* --- logs --- */

enum { LOG_MAX = 1000000 };

enum err host_log_store(struct db *db, int64_t hostid, enum host_log kind, int64_t now,
    const char *text, struct fail *f)
{
	size_t n = strlen(text);
	const char *from = text, *line;

	if (n > LOG_MAX) {
		from += n - LOG_MAX;
		line = strchr(from, '\n');
		from = line == NULL ? from : line + 1;
	}
	return db_exec(db, f, NULL, HOST_LOG_STORE, .hostid = hostid, .kind = kind,
	    .now = now, .log = from);
}

enum err host_logs_kept(struct db *db, struct arena *a, int64_t hostid,
    bool *time_stats, bool *jobs, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n;
	enum err e = db_query(db, a, f, &rows, &n, HOST_LOGS, .hostid = hostid);
	const struct row_number *kind = rows;

	*time_stats = *jobs = false;
	for (size_t i = 0; e == OK && i < n; i++) {
		*time_stats = *time_stats || kind[i].v == LOG_TIME_STATS;
		*jobs = *jobs || kind[i].v == LOG_JOBS;
	}
	return e;
}

/* The active hosts, what work demands of them, and workunits that may lack results. */

static int64_t since_day(const struct conf *cf, int64_t now)
{
	return (now - cf->locality_active_host_days * DAY_S) / DAY_S;
}

enum err fleet_load(struct db *db, struct arena *a, const struct conf *cf, int64_t now,
    struct fleet *f, struct fail *fail)
{
	struct row_fleet *r = NULL;

	TRY(db_row(db, a, fail, &r, FLEET, .since_day = since_day(cf, now)));
	*f = (struct fleet){ .hosts = r->hosts,
		.users = r->users,
		.since_day = since_day(cf, now),
		.memory = r->memory,
		.disk = r->disk,
		.link = r->link,
		.flops = r->flops,
		.coprocs = r->coprocs };
	return OK;
}

enum err fleet_load_kinds(struct db *db, struct arena *a, const struct conf *cf,
    int64_t now, struct fleet *f, struct fail *fail)
{
	struct row_kind *kinds = NULL;

	TRY(db_query(db, a, fail, &kinds, &f->nkinds, FLEET_KINDS,
	    .since_day = since_day(cf, now)));
	f->kinds = NEWN(a, struct host_kind, f->nkinds + 1);
	for (size_t i = 0; i < f->nkinds; i++)
		f->kinds[i] = (struct host_kind){ kinds[i].os_name, kinds[i].p_vendor,
			kinds[i].p_model };
	return OK;
}

static struct demand *demands_of(
    struct arena *a, const struct row_demand_of_work *rows, size_t n)
{
	struct demand *d = NEWN(a, struct demand, n + 1);

	for (size_t i = 0; i < n; i++)
		d[i] = (struct demand){ .appid = rows[i].appid,
			.hr_class = rows[i].hr_class,
			.app_version_id = rows[i].app_version_id,
			.app_version_num = rows[i].app_version_num,
			.workunits = rows[i].workunits,
			.memory = rows[i].memory,
			.disk = rows[i].disk,
			.link = rows[i].link,
			.flops = rows[i].flops,
			.quorum = rows[i].quorum,
			.name = rows[i].name,
			.had_by_all = rows[i].had_by_all != 0 };
	return d;
}

enum err demand_between(struct db *db, struct arena *a, const struct demand_ask *ask,
    struct demand **d, size_t *n, struct fail *f)
{
	struct row_demand_of_work *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, DEMAND_BETWEEN, .takers = ask->takers,
	    .since_day = ask->since_day, .from = ask->from, .to = ask->to));
	*d = demands_of(a, rows, *n);
	return OK;
}

enum err demand_queued(struct db *db, struct arena *a, const struct demand_ask *ask,
    struct demand **d, size_t *n, struct fail *f)
{
	int64_t plain = -(ask->appid * READY_SHARDS) - 1,
		urgent = READY_URGENT - ask->appid * READY_PRIORITIES;
	struct row_demand_of_work *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, DEMAND_QUEUED, .takers = ask->takers,
	    .since_day = ask->since_day, .plain_first = plain - READY_SHARDS + 1,
	    .plain_last = plain, .urgent_first = urgent - READY_PRIORITIES + 1,
	    .urgent_last = urgent, .appid = ask->appid));
	*d = demands_of(a, rows, *n);
	return OK;
}

enum err wus_short(struct db *db, struct arena *a, int64_t from, int64_t to,
    struct row_wu_short **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, WUS_SHORT, .from = from, .to = to);
}

enum err wus_aimed_in_vain(struct db *db, struct arena *a, const struct conf *cf,
    struct row_aimed **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, AIMED_IN_VAIN,
	    .targeted = cf->enable_assignment,
	    .broadcasts = cf->enable_assignment_multi);
}

/* --- messages from running tasks (trickle-up) and to them (trickle-down) --- */

enum { BYTES_NOT_TEXT = 1366 }; /* ER_TRUNCATED_WRONG_VALUE_FOR_FIELD */

enum err trickle_insert(struct db *db, int64_t hostid, int64_t now,
    const struct rq_trickle *t, struct fail *f)
{
	enum err e = db_exec(db, f, NULL, TRICKLE_INSERT, .now = now, .hostid = hostid,
	    .variety = t->variety, .xml = t->xml);

	if (e == OK || db->code != BYTES_NOT_TEXT)
		return e;
	return db_exec(db, f, NULL, TRICKLE_INSERT_TEXT, .now = now, .hostid = hostid,
	    .variety = t->variety, .xml = t->xml);
}

enum err messages_down(struct db *db, struct arena *a, int64_t hostid, size_t max,
    struct snap_message **out, size_t *n, struct fail *f)
{
	struct row_message *row;
	struct row_message *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, MESSAGES_DOWN, .hostid = hostid, .max = max));
	row = rows;
	*out = NEWN(a, struct snap_message, *n + 1);
	for (size_t i = 0; i < *n; i++)
		(*out)[i] = (struct snap_message){ row[i].id, row[i].xml };
	return OK;
}

enum err message_handled(struct db *db, int64_t id, struct fail *f)
{
	int64_t affected;
	enum err e = db_exec(db, f, &affected, MESSAGE_HANDLED, .id = id);

	if (e != OK || affected == 1)
		return e;
	return FAIL(f, E_RACE, "message %lld was already delivered", (long long)id);
}

enum err message_insert(struct db *db, int64_t hostid, int64_t now, const char *variety,
    const char *xml, struct fail *f)
{
	return db_exec(db, f, NULL, MESSAGE_INSERT, .now = now, .hostid = hostid,
	    .variety = variety, .xml = xml);
}

enum err trickles_new(struct db *db, struct arena *a, int64_t after, size_t max,
    struct row_trickle **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, TRICKLES_NEW, .after = after, .max = max);
}

enum err trickles_delete(struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	return db_exec(db, f, NULL, TRICKLES_DELETE, .ids = db_ids(ids, n));
}
