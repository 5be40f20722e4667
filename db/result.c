/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results. Every change names the state that it expects, and the number of matched
 * rows tells whether it held (performance.md 1 (W2 and W3)).
 */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "lib/names.h"
#include "db/stmts.h"
#include "model/rows.h"
#include "lib/banned.h"

enum err results_insert(
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
		r->id = 0; /* assigned by the database, also on a retry */
		db_batch_add(b, RESULT_INSERT, .result = r,
		    .xml_doc_in = v[i].xml_doc_in,
		    .ready = result_ready(v[i].wu, r->priority),
		    .random = v[i].random & INT32_MAX);
	}
	return db_batch_run(db, b, NULL, f);
}

enum err result_insert(struct db *db, const struct workunit *wu, struct result *r,
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

static int by_workunit(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	if (x->workunitid != y->workunitid)
		return x->workunitid < y->workunitid ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

enum err results_of_workunits(struct db *db, struct arena *a,
    const int64_t *workunitids, size_t n, struct result **results, size_t *nresults,
    struct fail *f)
{
	struct result *rows = NULL;

	TRY(db_query(db, a, f, &rows, nresults, RESULTS_OF_WUS,
	    .workunitids = db_ids(workunitids, n)));
	if (*nresults > 0)
		qsort(rows, *nresults, sizeof(struct result), by_workunit);
	*results = rows;
	return OK;
}

enum err results_of_workunit(struct db *db, struct arena *a, int64_t workunitid,
    struct result **results, size_t *n, struct fail *f)
{
	return db_query(db, a, f, results, n, RESULTS_OF_WU, .workunitid = workunitid);
}

enum err result_by_id(
    struct db *db, struct arena *a, int64_t id, struct result **r, struct fail *f)
{
	return db_row(db, a, f, r, RESULT_BY_ID, .id = id);
}

enum err result_by_name(
    struct db *db, struct arena *a, const char *name, struct result **r, struct fail *f)
{
	return db_row(db, a, f, r, RESULT_BY_NAME, .name = name);
}

enum err result_xml_docs(struct db *db, struct arena *a, int64_t id, char **xml_doc_in,
    char **xml_doc_out, char **stderr_out, struct fail *f)
{
	struct row_docs *row = NULL;

	TRY(db_row(db, a, f, &row, RESULT_DOCS, .id = id));
	const struct row_docs *docs = row;
	if (xml_doc_in != NULL)
		*xml_doc_in = docs->xml_doc_in;
	if (xml_doc_out != NULL)
		*xml_doc_out = docs->xml_doc_out;
	if (stderr_out != NULL)
		*stderr_out = docs->stderr_out;
	return OK;
}

enum err results_docs(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_docs **docs, size_t *ndocs, struct fail *f)
{
	return db_query(db, a, f, docs, ndocs, RESULTS_DOCS, .ids = db_ids(ids, n));
}

enum err results_files(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_docs **docs, size_t *ndocs, struct fail *f)
{
	return db_query(db, a, f, docs, ndocs, RESULTS_FILES, .ids = db_ids(ids, n));
}

void result_claim_put(struct db_batch *b, const struct dec_send *s, int64_t hostid,
    int64_t userid, int64_t now, int64_t stored_deadline)
{
	db_batch_add(b, RESULT_CLAIM, .hostid = hostid, .userid = userid, .now = now,
	    .report_deadline = stored_deadline, .app_version_id = s->app_version_id,
	    .flops_estimate = s->peak_flops, .once = s->once,
	    .bytes_needed = s->bytes_needed, .bytes_saved = s->bytes_saved,
	    .id = s->job->id);
}

void result_report_put(struct db_batch *b, const struct dec_report *d,
    const struct rq_report *r, int64_t hostid, const struct user *u, int64_t now)
{
	db_batch_add(b, RESULT_REPORT, .hostid = hostid, .userid = u->id,
	    .teamid = u->teamid, .received_time = now, .client_state = r->state,
	    .cpu_time = d->cpu_time, .elapsed_time = d->elapsed_time,
	    .exit_status = d->exit_status, .app_version_num = r->app_version_num,
	    .peak_working_set_size = r->peak_working_set_size,
	    .peak_swap_size = r->peak_swap_size, .peak_disk_usage = r->peak_disk_usage,
	    .outcome = d->outcome, .validate_state = d->validate_state,
	    .stderr_out = r->stderr_out, .xml_doc_out = r->xml_doc_out,
	    .id = d->result_id, .expect_state = d->expect_state,
	    .expect_outcome = d->expect_outcome);
}

enum err results_hold(struct db *db, struct arena *a, const struct row_pair *pairs,
    size_t n, struct row_held_result **held, size_t *nheld, struct fail *f)
{
	int64_t ids[DB_LIST_MAX];
	size_t cap = 0;

	*held = NULL;
	*nheld = 0;
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, got;
		struct row_held_result *rows = NULL;

		for (size_t k = 0; k < part; k++)
			ids[k] = pairs[i + k].a;
		TRY(db_query(db, a, f, &rows, &got, RESULTS_HOLD,
		    .onces = db_pairs(pairs + i, part), .ids = db_ids(ids, part)));
		for (size_t k = 0; k < got; k++)
			PUSH(a, *held, *nheld, cap) = rows[k];
	}
	return OK;
}

enum err result_to_host(
    struct db *db, int64_t id, int64_t from, int64_t hostid, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, RESULT_TO_HOST, .once_was = -from,
	    .once = -hostid, .hostid = hostid, .id = id, .from = from);

	/*
	 * The host already has another result of this workunit, so its key for the once
	 * rule is taken.
	 */
	if (e == E_RACE)
		e = db_exec(db, f, &affected, RESULT_TO_HOST, .once_was = -from,
		    .once = 0, .hostid = hostid, .id = id, .from = from);
	if (e == OK && affected == 0)
		return FAIL(f, E_RACE,
		    "result %lld: no longer in progress on host %lld", (long long)id,
		    (long long)from);
	return e;
}

enum err results_detach(
    struct db *db, struct arena *a, int64_t hostid, int64_t now, struct fail *f)
{
	struct row_pair *rows = NULL;
	size_t n;
	enum err e = db_query(db, a, f, &rows, &n, RESULTS_ON_HOST, .hostid = hostid);

	if (e != OK || n == 0)
		return e;
	const struct row_pair *pairs = rows;
	int64_t *ids = NEWN(a, int64_t, n), *wus = NEWN(a, int64_t, n);
	for (size_t i = 0; i < n; i++) {
		ids[i] = pairs[i].a;
		wus[i] = pairs[i].b;
	}
	ids_sort(wus, n);
	e = workunits_touch(db, wus, n, now, f);
	for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		e = db_exec(db, f, NULL, RESULTS_DETACH, .hostid = hostid,
		    .ids = db_ids(ids + i, part));
	}
	return e;
}

/*
 * Workunits reserved for some hosts. The transitioner makes their results like any
 * others, but the results have their own place in the index, where only their targets
 * look. So a claim is the same conditional update as any other, and two schedulers can
 * never send one result twice.
 */

/*
 * Sets the workunit's flags and moves its unsent results to the matching place in the
 * index.
 */
static enum err assignment_set_flags(struct db *db, struct arena *a, struct workunit wu,
    int32_t flags, int64_t now, struct fail *f)
{
	struct result *r;
	size_t n = 0;
	enum err e = db_exec(db, f, NULL, WU_SET_FLAGS, .transitioner_flags = flags,
	    .at = now, .id = wu.id);

	wu.transitioner_flags = flags;
	if (e == OK)
		e = results_of_workunit(db, a, wu.id, &r, &n, f);
	for (size_t i = 0; e == OK && i < n; i++)
		if (r[i].server_state == RESULT_UNSENT)
			e = db_exec(db, f, NULL, RESULT_SET_READY,
			    .ready = result_ready(&wu, r[i].priority), .id = r[i].id);
	return e;
}

enum err assignment_add(struct db *db, struct arena *a, const struct workunit *wu,
    enum target target, int64_t target_id, bool multi, int64_t now, struct fail *f)
{
	TRY(assignment_set_flags(
	    db, a, *wu, multi ? WU_BROADCAST : WU_TARGETED, now, f));
	return assignment_row_add(db, wu->id, target, target_id, multi, now, f);
}

enum err assignment_row_add(struct db *db, int64_t workunitid, enum target target,
    int64_t target_id, bool multi, int64_t now, struct fail *f)
{
	return db_exec(db, f, NULL, ASSIGNMENT_INSERT, .now = now,
	    .target_id = target_id, .target_type = target, .multi = multi,
	    .workunitid = workunitid);
}

enum err assignments_drop(struct db *db, struct arena *a, const struct workunit *wu,
    int64_t now, struct fail *f)
{
	TRY(assignment_set_flags(db, a, *wu, 0, now, f));
	return db_exec(
	    db, f, NULL, PURGE_ASSIGNMENTS, .workunitids = db_ids(&wu->id, 1));
}
