/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results.  Every change names the state that it expects, and the count of rows that
 * matched is the answer (hot-path.md, W2 and W3).
 */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "db/order.h"
#include "model/states.h"
#include "lib/banned.h"

int64_t
result_ready(const struct workunit *wu, int32_t priority)
{
	int64_t urgency = priority < READY_PRIORITIES ? priority : READY_PRIORITIES - 1;

	if ((wu->transitioner_flags & (WU_TARGETED | WU_BROADCAST)) != 0)
		return READY_TARGETED - wu->id;
	if (wu->fileset_id > 0)
		return wu->fileset_id;
	if (priority > 0)
		return READY_URGENT - wu->appid * READY_PRIORITIES - urgency;
	return -(wu->appid * READY_SHARDS + wu->id % READY_SHARDS) - 1;
}

enum err
results_insert(
    struct db *db, struct arena *a, struct new_result *v, size_t n, struct fail *f)
{
	struct db_batch *b = db_batch(a, SQL_RESULT_INSERT);

	for (size_t i = 0; i < n; i++) {
		struct result *r = &v[i].r;

		if (r->name == NULL || r->name[0] == '\0' ||
		    strlen(r->name) > DB_NAME_MAX)
			return FAIL(f, E_BADREQ,
			    "result name \"%.40s\" must have 1 to %d bytes",
			    r->name != NULL ? r->name : "", DB_NAME_MAX);
		r->workunitid = v[i].wu->id;
		r->appid = v[i].wu->appid;
		r->fileset_id = v[i].wu->fileset_id;
		r->server_state = RESULT_UNSENT;
		r->id = 0; /* assigned, also when tried again */
		db_batch_add(b, r, v[i].xml_doc_in, result_ready(v[i].wu, r->priority),
		    (int64_t)(v[i].random & INT32_MAX));
	}
	return db_batch_run(db, b, NULL, f);
}

enum err
result_insert(struct db *db, const struct workunit *wu, struct result *r,
    const char *xml_doc_in, uint32_t random, struct fail *f)
{
	struct new_result new = { *r, wu, xml_doc_in, random };
	struct arena a = { 0 };
	enum err e = results_insert(db, &a, &new, 1, f);

	*r = new.r;
	if (e == OK)
		r->id = db_insert_id(db);
	arena_free(&a);
	return e;
}

static int
by_workunit(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	if (x->workunitid != y->workunitid)
		return x->workunitid < y->workunitid ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

enum err
results_of_workunits(struct db *db, struct arena *a, const int64_t *workunitids,
    size_t n, struct result **results, size_t *nresults, struct fail *f)
{
	void *rows;
	enum err e = db_query(
	    db, a, f, &rows, nresults, SQL_RESULTS_OF_WUS, workunitids, n);

	if (e != OK)
		return e;
	if (*nresults > 0)
		qsort(rows, *nresults, sizeof(struct result), by_workunit);
	*results = rows;
	return OK;
}

enum err
results_of_workunit(struct db *db, struct arena *a, int64_t workunitid,
    struct result **results, size_t *n, struct fail *f)
{
	void *rows;
	enum err e = db_query(db, a, f, &rows, n, SQL_RESULTS_OF_WU, workunitid);

	if (e == OK)
		*results = rows;
	return e;
}

enum err
result_by_id(
    struct db *db, struct arena *a, int64_t id, struct result **r, struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_RESULT_BY_ID, id);

	if (e == OK)
		*r = row;
	return e;
}

enum err
result_by_name(
    struct db *db, struct arena *a, const char *name, struct result **r, struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_RESULT_BY_NAME, name);

	if (e == OK)
		*r = row;
	return e;
}

enum err
result_xml_docs(struct db *db, struct arena *a, int64_t id, char **xml_doc_in,
    char **xml_doc_out, char **stderr_out, struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_RESULT_DOCS, id);

	if (e != OK)
		return e;
	const struct row_docs *docs = row;
	if (xml_doc_in != NULL)
		*xml_doc_in = docs->xml_doc_in;
	if (xml_doc_out != NULL)
		*xml_doc_out = docs->xml_doc_out;
	if (stderr_out != NULL)
		*stderr_out = docs->stderr_out;
	return OK;
}

enum err
results_docs(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_docs **docs, size_t *ndocs, struct fail *f)
{
	void *rows;
	enum err e = db_query(db, a, f, &rows, ndocs, SQL_RESULTS_DOCS, ids, n);

	if (e == OK)
		*docs = rows;
	return e;
}

enum err
results_files(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_docs **docs, size_t *ndocs, struct fail *f)
{
	void *rows;
	enum err e = db_query(db, a, f, &rows, ndocs, SQL_RESULTS_FILES, ids, n);

	if (e == OK)
		*docs = rows;
	return e;
}

/* E_RACE if the conditional update matched nothing. */
static enum err
matched(enum err e, int64_t affected, const char *what, int64_t id, struct fail *f)
{
	if (e == OK && affected == 0)
		return FAIL(f, E_RACE, "result %lld: %s", (long long)id, what);
	return e;
}

enum err
result_claim(struct db *db, const struct dec_send *s, int64_t hostid, int64_t userid,
    int64_t now, int64_t stored_deadline, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, SQL_RESULT_CLAIM, hostid, userid, now,
	    stored_deadline, s->app_version_id, s->peak_flops, s->once, s->bytes_needed,
	    s->bytes_saved, s->job->id);

	return matched(e, affected, "no longer unsent", s->job->id, f);
}

enum err
result_resend(struct db *db, const struct dec_send *s, int64_t hostid, int64_t now,
    int64_t stored_deadline, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, SQL_RESULT_RESEND, now, stored_deadline,
	    s->app_version_id, s->peak_flops, s->job->id, hostid);

	return matched(
	    e, affected, "no longer in progress on this host", s->job->id, f);
}

enum err
result_report(struct db *db, const struct dec_report *d, const struct rq_report *r,
    int64_t hostid, int64_t userid, int64_t teamid, int64_t now, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, SQL_RESULT_REPORT, hostid, userid,
	    teamid, now, (int64_t)r->state, d->cpu_time, d->elapsed_time,
	    (int64_t)d->exit_status, (int64_t)r->app_version_num,
	    r->peak_working_set_size, r->peak_swap_size, r->peak_disk_usage,
	    (int64_t)d->outcome, (int64_t)d->validate_state, r->stderr_out,
	    r->xml_doc_out, d->result_id, (int64_t)d->expect_state,
	    (int64_t)d->expect_outcome);

	return matched(e, affected, "changed since it was read", d->result_id, f);
}

enum err
result_to_host(struct db *db, int64_t id, int64_t from, int64_t hostid, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(
	    db, f, &affected, SQL_RESULT_TO_HOST, -from, -hostid, hostid, id, from);

	/* The host has another result of the workunit. */
	if (e == E_RACE)
		e = db_exec(db, f, &affected, SQL_RESULT_TO_HOST, -from, INT64_C(0),
		    hostid, id, from);
	return matched(e, affected, "no longer in progress on that host", id, f);
}

enum err
result_expire(
    struct db *db, int64_t id, int64_t hostid, int64_t deadline, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, SQL_RESULT_EXPIRE, deadline, id, hostid);

	return matched(e, affected, "no longer in progress on this host", id, f);
}

enum err
result_set_bytes(struct db *db, int64_t id, int64_t hostid, int64_t needed,
    int64_t saved, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(
	    db, f, &affected, SQL_RESULT_SET_BYTES, needed, saved, id, hostid);

	return matched(e, affected, "no longer in progress on this host", id, f);
}

enum err
results_detach(
    struct db *db, struct arena *a, int64_t hostid, int64_t now, struct fail *f)
{
	void *rows;
	size_t n;
	enum err e = db_query(db, a, f, &rows, &n, SQL_RESULTS_ON_HOST, hostid);

	if (e != OK || n == 0)
		return e;
	const struct row_pair *pairs = rows;
	int64_t *ids = NEWN(a, int64_t, n), *wus = NEWN(a, int64_t, n);
	for (size_t i = 0; i < n; i++) {
		ids[i] = pairs[i].a;
		wus[i] = pairs[i].b;
	}
	qsort(wus, n, sizeof(*wus), id_order);
	e = workunits_touch(db, wus, n, now, f);
	for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		e = db_exec(db, f, NULL, SQL_RESULTS_DETACH, hostid, ids + i, part);
	}
	return e;
}
