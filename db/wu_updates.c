/* SPDX-License-Identifier: Apache-2.0 */
/* The daemons' writes; each is conditional on what was read. */
#include "db/wu_updates.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "db/work_tally.h"
#include "lib/names.h"
#include "model/catalog.h"
#include "model/rows.h"
#include "lib/banned.h"

static int by_id(const void *a, const void *b)
{
	const struct workunit *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

enum err purge_find(struct db *db, struct arena *a, struct purge_range *r,
    struct workunit **wus, size_t *n, struct fail *f)
{
	int64_t *ids;
	struct row_pair *done = NULL;
	size_t nids = 0, cap = 0;
	enum err e = db_query(db, a, f, &done, &nids, WUS_DONE, .time = r->after.a,
	    .after = r->after.b, .before = r->before, .parts = r->share.n,
	    .part = r->share.i, .max = PURGE_SLICE);

	ids = NEWN(a, int64_t, nids + 1);
	for (size_t i = 0; i < nids; i++)
		ids[i] = done[i].b;

	*n = 0;
	*wus = NULL;
	for (size_t i = 0; e == OK && i < nids; i += DB_LIST_MAX) {
		struct workunit *part;
		size_t got = 0;

		e = workunits_to_purge(db, a, ids + i,
		    nids - i < DB_LIST_MAX ? nids - i : DB_LIST_MAX, r->before, &part,
		    &got, f);
		for (size_t k = 0; e == OK && k < got; k++)
			if (!row_is_kept(part[k].name))
				PUSH(a, *wus, *n, cap) = part[k];
	}
	r->end = e == OK && nids < PURGE_SLICE;
	if (e == OK && nids > 0)
		r->after = done[nids - 1];
	if (*n > 1)
		qsort(*wus, *n, sizeof(**wus), by_id);
	return e;
}

/* Adds the texts of up to DB_LIST_MAX results, which may be in any order. */
static enum err load_part(
    struct db *db, struct arena *a, struct purged_result *v, size_t n, struct fail *f)
{
	int64_t ids[DB_LIST_MAX];
	struct row_docs *docs;
	size_t ndocs;

	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].row->id;
	TRY(results_docs(db, a, ids, n, &docs, &ndocs, f));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ndocs; k++)
			if (docs[k].id == v[i].row->id) {
				v[i].xml_doc_in = docs[k].xml_doc_in;
				v[i].xml_doc_out = docs[k].xml_doc_out;
				v[i].stderr_out = docs[k].stderr_out;
			}
	return OK;
}

static enum err purge_load_docs(struct db *db, struct arena *a, const int64_t *ids,
    struct purged *v, size_t n, size_t nresults, struct fail *f)
{
	const char *xml[DB_LIST_MAX];

	TRY(workunits_xml_docs(db, a, ids, n, xml, f));
	for (size_t i = 0; i < n; i++)
		v[i].xml_doc = xml[i];
	for (size_t i = 0; i < nresults; i += DB_LIST_MAX)
		TRY(load_part(db, a, v[0].results + i,
		    nresults - i < DB_LIST_MAX ? nresults - i : DB_LIST_MAX, f));
	return OK;
}

enum err purge_load(struct db *db, struct arena *a, struct workunit *const *wus,
    size_t n, bool docs, struct purged **out, struct fail *f)
{
	struct purged *v = NEWN(a, struct purged, n + 1);
	int64_t *ids = NEWN(a, int64_t, n + 1);
	struct purged_result *all;
	struct result *rows;
	size_t nrows, at = 0;

	for (size_t i = 0; i < n; i++)
		ids[i] = wus[i]->id;
	TRY(results_of_workunits(db, a, ids, n, &rows, &nrows, f));
	all = NEWN(a, struct purged_result, nrows + 1);
	for (size_t i = 0; i < n; i++) {
		v[i] = (struct purged){ .wu = wus[i], .results = all + at };
		for (; at < nrows && rows[at].workunitid == ids[i]; at++) {
			all[at].row = &rows[at];
			v[i].nresults++;
		}
	}
	*out = v;
	return docs && n > 0 ? purge_load_docs(db, a, ids, v, n, at, f) : OK;
}

static enum err step_by_name(struct db *db, struct arena *a, struct wu_walk *w,
    int64_t **ids, size_t *n, struct fail *f)
{
	size_t len = strlen(w->prefix);
	struct row_named *rows;

	*n = 0;
	TRY(db_query(db, a, f, &rows, n, WU_SELECT_NAMED,
	    .from = w->at_name == NULL ? w->prefix : w->at_name,
	    .after = w->at_name == NULL ? "" : w->at_name, .max = WU_SELECT_STEP));
	w->ended = *n < WU_SELECT_STEP;
	*ids = NEWN(a, int64_t, *n + 1);
	for (size_t i = 0; i < *n; i++) {
		if (strncmp(rows[i].name, w->prefix, len) != 0) {
			w->ended = true;
			*n = i;
			break;
		}
		(*ids)[i] = rows[i].id;
		w->at_name = rows[i].name;
	}
	return OK;
}

static enum err step_by_number(struct db *db, struct arena *a, struct wu_walk *w,
    struct row_wu_place **rows, size_t *n, struct fail *f)
{
	int64_t max = WU_SELECT_STEP;

	switch (w->index) {
	case WU_OF_BATCH:
		return db_query(db, a, f, rows, n, WU_SELECT_BATCH, .key = w->key,
		    .a = w->at.a, .b = w->at.b, .after = w->at.id, .max = max);
	case WU_OF_FILESET:
		return db_query_like(db, a, f, rows, n,
		    SQL_LIKE(WU_SELECT_FILESET, WU_SELECT_BATCH), WU_SELECT_BATCH,
		    .key = w->key, .a = w->at.a, .b = w->at.b, .after = w->at.id,
		    .max = max);
	case WU_OF_APP:
		return db_query_like(db, a, f, rows, n,
		    SQL_LIKE(WU_SELECT_APP, WU_SELECT_BATCH), WU_SELECT_BATCH,
		    .key = w->key, .a = w->at.a, .b = w->at.b, .after = w->at.id,
		    .max = max);
	default:
		return db_query(db, a, f, rows, n, WU_SELECT_IDS,
		    .after = w->at.id > w->from - 1 ? w->at.id : w->from - 1,
		    .to = w->to, .max = max);
	}
}

enum err wu_walk_failed(
    struct db *db, struct arena *a, struct wu_walk *w, struct fail *f)
{
	struct row_number *rows;

	TRY(db_query(db, a, f, &rows, &w->nfailed, WORK_IDS_FAILED));
	w->failed = row_numbers(a, rows, w->nfailed);
	return OK;
}

static void step_of_failed(struct arena *a, struct wu_walk *w, int64_t **ids, size_t *n)
{
	size_t left = w->nfailed - w->behind;

	*n = left < WU_SELECT_STEP ? left : WU_SELECT_STEP;
	*ids = NEWN(a, int64_t, *n + 1);
	for (size_t i = 0; i < *n; i++)
		(*ids)[i] = w->failed[w->behind++];
	w->ended = w->behind == w->nfailed;
}

enum err wu_walk_step(struct db *db, struct arena *a, struct wu_walk *w, int64_t **ids,
    size_t *n, struct fail *f)
{
	struct row_wu_place *rows = NULL;
	size_t got = 0;

	*n = 0;
	if (w->index == WU_OF_NAME)
		return step_by_name(db, a, w, ids, n, f);
	if (w->index == WU_OF_FAILED) {
		step_of_failed(a, w, ids, n);
		return OK;
	}
	TRY(step_by_number(db, a, w, &rows, &got, f));
	w->ended = got < WU_SELECT_STEP;
	*ids = NEWN(a, int64_t, got + 1);
	for (size_t i = 0; i < got; i++) {
		if (w->open_only && (rows[i].a != 0 || rows[i].b != 0)) {
			w->ended = true;
			break;
		}
		w->at = rows[i];
		(*ids)[(*n)++] = rows[i].id;
	}
	return OK;
}

enum err wu_glances(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_wu_glance **rows, size_t *nrows, struct fail *f)
{
	return db_query(db, a, f, rows, nrows, WU_GLANCES, .ids = db_ids(ids, n));
}

enum err wu_tallies(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_wu_tally **rows, size_t *nrows, struct fail *f)
{
	return db_query(db, a, f, rows, nrows, WU_TALLIES, .ids = db_ids(ids, n));
}

enum err wu_batches_named(struct db *db, struct arena *a, const char *name,
    int64_t **ids, size_t *n, struct fail *f)
{
	struct row_number *rows;

	TRY(db_query(db, a, f, &rows, n, WU_BATCHES_NAMED, .name = name));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

/* Ends the unsent results of workunits that are locked; by id, as all programs do. */
static enum err results_cancel(struct db *db, struct arena *a, const int64_t *wus,
    size_t n, struct cancelled *c, struct fail *f)
{
	struct row_pair *rows;
	size_t nrows = 0, unsent = 0;
	int64_t *ids, ended;

	TRY(db_query(
	    db, a, f, &rows, &nrows, RESULTS_NOT_OVER, .workunitids = db_ids(wus, n)));
	ids = NEWN(a, int64_t, nrows + 1);
	for (size_t i = 0; i < nrows; i++)
		if (rows[i].b == RESULT_IN_PROGRESS)
			c->in_progress++;
		else
			ids[unsent++] = rows[i].a;
	ids_sort(ids, unsent);
	for (size_t i = 0; i < unsent; i += DB_LIST_MAX) {
		size_t part = unsent - i < DB_LIST_MAX ? unsent - i : DB_LIST_MAX;

		TRY(db_exec(
		    db, f, &ended, RESULTS_CANCEL, .ids = db_ids(ids + i, part)));
		c->unsent += ended;
		/* The others were sent between the two statements. */
		c->in_progress += (int64_t)part - ended;
	}
	return OK;
}

enum err workunits_cancel(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    int64_t now, struct cancelled *c, struct fail *f)
{
	struct workunit *wus;
	size_t nwus = 0, nopen = 0;
	int64_t *sorted = NEWN(a, int64_t, n + 1), matched;

	if (n == 0)
		return OK;
	memcpy(sorted, ids, n * sizeof(*ids));
	ids_sort(sorted, n);
	TRY(workunits_lock(db, a, sorted, n, &wus, &nwus, f));
	for (size_t i = 0; i < nwus; i++)
		if (wus[i].canonical_resultid == 0 && wus[i].error_mask == 0)
			sorted[nopen++] = wus[i].id;
	if (nopen == 0)
		return OK;
	TRY(db_exec(
	    db, f, &matched, WUS_CANCEL, .now = now, .ids = db_ids(sorted, nopen)));
	if (matched != (int64_t)nopen) /* another node of the cluster was first */
		return FAIL(f, E_RETRY, "a workunit has changed");
	c->workunits += matched;
	return results_cancel(db, a, sorted, nopen, c, f);
}

enum err workunits_limit(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    const struct work_limits *l, int64_t *changed, struct fail *f)
{
	int64_t *sorted = NEWN(a, int64_t, n + 1);

	*changed = 0;
	if (n == 0)
		return OK;
	memcpy(sorted, ids, n * sizeof(*ids));
	ids_sort(sorted, n);
	return db_exec(db, f, changed, WUS_LIMIT, .memory = l->memory, .disk = l->disk,
	    .bandwidth = l->bandwidth, .flops = l->flops, .quorum = l->quorum,
	    .any_version = l->any_version, .any_class = l->any_class, .now = l->now,
	    .ids = db_ids(sorted, n));
}

enum err workunits_try_again(
    struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	return n == 0 ? OK : db_exec(db, f, NULL, WUS_TRY_AGAIN, .ids = db_ids(ids, n));
}

enum err workunit_reopen(
    struct db *db, const struct workunit *becomes, int64_t now, struct fail *f)
{
	int64_t matched;

	TRY(db_exec(db, f, &matched, WU_REOPEN, .need_validate = becomes->need_validate,
	    .canonical = becomes->canonical_resultid,
	    .max_error_results = becomes->max_error_results,
	    .max_total_results = becomes->max_total_results,
	    .max_success_results = becomes->max_success_results,
	    .inputs_counted = becomes->inputs_counted, .now = now, .id = becomes->id,
	    .transition_seq = becomes->transition_seq));
	return matched == 1 ? OK :
	                      FAIL(f, E_RACE, "workunit %s has changed", becomes->name);
}

enum err version_tasks(struct db *db, struct arena *a, int64_t appid,
    const int64_t *ids, size_t nids, struct row_pair **tasks, size_t *n, struct fail *f)
{
	*tasks = NULL;
	*n = 0;
	return nids == 0 ? OK :
	                   db_query(db, a, f, tasks, n, VERSION_TASKS, .appid = appid,
			       .ids = db_ids(ids, nids));
}

enum err version_tasks_end(struct db *db, struct arena *a, const struct row_pair *t,
    size_t n, int64_t now, int64_t *ended, struct fail *f)
{
	int64_t *wus = NEWN(a, int64_t, n + 1), *results = NEWN(a, int64_t, n + 1);
	struct workunit *locked;
	size_t nwus = 0, nlocked = 0;
	int64_t matched;

	for (size_t i = 0; i < n; i++) {
		if (nwus == 0 || wus[nwus - 1] != t[i].a)
			wus[nwus++] = t[i].a;
		results[i] = t[i].b;
	}
	if (n == 0)
		return OK;
	TRY(workunits_lock(db, a, wus, nwus, &locked, &nlocked, f));
	ids_sort(results, n);
	TRY(db_exec(db, f, &matched, VERSION_TASKS_END, .ids = db_ids(results, n)));
	*ended += matched;
	return db_exec(
	    db, f, NULL, WUS_MAKE_ROOM, .now = now, .ids = db_ids(wus, nwus));
}

enum err workunits_to_delete_files(struct db *db, struct arena *a,
    const struct delete_slice *d, struct workunit **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, WUS_TO_DELETE_FILES,
	    .file_delete_state = d->state, .after = d->after, .parts = d->share.n,
	    .part = d->share.i, .max = d->max);
}

enum err workunits_to_purge(struct db *db, struct arena *a, const int64_t *ids,
    size_t nids, int64_t before, struct workunit **wus, size_t *n, struct fail *f)
{
	return db_query(
	    db, a, f, wus, n, WUS_TO_PURGE, .ids = db_ids(ids, nids), .before = before);
}

enum err results_to_delete_files(struct db *db, struct arena *a,
    const struct delete_slice *d, struct result **results, size_t *n, struct fail *f)
{
	return db_query(db, a, f, results, n, RESULTS_TO_DELETE_FILES,
	    .file_delete_state = d->state, .after = d->after, .parts = d->share.n,
	    .part = d->share.i, .max = d->max);
}

struct wu_updates *wu_updates_new(struct arena *a)
{
	static const enum stmt_id of[WU_UPDATE__MAX] = {
		[WU_UPDATE_TRANSITIONED] = SQL_WU_TRANSITIONED,
		[WU_UPDATE_VALIDATED] = SQL_WU_VALIDATED,
		[WU_UPDATE_MOVED] = SQL_RESULT_MOVE,
		[WU_UPDATE_ASSIMILATED] = SQL_WU_ASSIMILATED,
		[WU_UPDATE_INPUTS_DELETED] = SQL_WU_FILES_DELETED,
		[WU_UPDATE_OUTPUTS_DELETED] = SQL_RESULT_FILES_DELETED,
		[WU_UPDATE_TIMED_OUT] = SQL_HAV_TIMED_OUT,
		[WU_UPDATE_JUDGED] = SQL_HAV_JUDGED,
		[WU_UPDATE_LEARNED] = SQL_VERSION_LEARNED,
		[WU_UPDATE_TURNAROUND] = SQL_HOST_TURNAROUND,
		[WU_UPDATE_HOST_CREDIT] = SQL_HOST_CREDIT,
		[WU_UPDATE_USER_CREDIT] = SQL_USER_CREDIT,
		[WU_UPDATE_TEAM_CREDIT] = SQL_TEAM_CREDIT,
		[WU_UPDATE_CREDITED_JOB] = SQL_JOB_CREDITED,
	};
	struct wu_updates *b = NEW(a, struct wu_updates);

	b->a = a;
	for (size_t i = 0; i < WU_UPDATE__MAX; i++)
		b->of[i] = db_batch(a, of[i]);
	return b;
}

enum err wu_updates_save(struct db *db, struct wu_updates *b, struct fail *f)
{
	enum err e = OK;

	for (enum wu_update i = 0; i < WU_UPDATE__MAX && e == OK; i++) {
		e = i <= WU_UPDATE_MOVED ? db_batch_all(db, b->of[i], f) :
		                           db_batch_run(db, b->of[i], NULL, f);
		b->of[i]->n = 0;
		if (i == WU_UPDATE_MOVED && e == OK) {
			e = results_insert(db, b->a, b->made, b->nmade, f);
			b->nmade = 0;
		}
	}
	return e;
}

void workunit_transitioned(struct wu_updates *b, const struct workunit *was,
    const struct workunit *becomes, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_TRANSITIONED], WU_TRANSITIONED, .becomes = becomes,
	    .was = was, .now = now);
}

void workunit_validated(
    struct wu_updates *b, const struct workunit *was, const struct workunit *becomes)
{
	db_batch_add(
	    b->of[WU_UPDATE_VALIDATED], WU_VALIDATED, .becomes = becomes, .was = was);
}

void result_made(struct wu_updates *b, const struct new_result *r)
{
	PUSH(b->a, b->made, b->nmade, b->cap) = *r;
}

void workunit_assimilated(
    struct wu_updates *b, int64_t id, int32_t state, int32_t error_bits, int64_t at)
{
	db_batch_add(b->of[WU_UPDATE_ASSIMILATED], WU_ASSIMILATED,
	    .assimilate_state = state, .error_bits = error_bits, .at = at, .id = id);
}

void workunit_files_deleted(
    struct wu_updates *b, int64_t id, int32_t was, int32_t becomes, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_INPUTS_DELETED], WU_FILES_DELETED,
	    .becomes = becomes, .id = id, .was = was, .now = now);
}

void result_files_deleted(
    struct wu_updates *b, int64_t id, int32_t was, int32_t becomes)
{
	db_batch_add(b->of[WU_UPDATE_OUTPUTS_DELETED], RESULT_FILES_DELETED,
	    .becomes = becomes, .id = id, .was = was);
}

void result_move(
    struct wu_updates *b, const struct result *was, const struct result *becomes)
{
	assert(was->id == becomes->id);
	assert(state_may_become(KIND_RESULT, was->server_state, becomes->server_state));
	assert(state_may_become(KIND_OUTCOME, was->outcome, becomes->outcome));
	assert(state_may_become(
	    KIND_VALIDATE, was->validate_state, becomes->validate_state));
	assert(state_may_become(
	    KIND_FILE_DELETE, was->file_delete_state, becomes->file_delete_state));
	db_batch_add(
	    b->of[WU_UPDATE_MOVED], RESULT_MOVE, .becomes = becomes, .was = was);
}

static int64_t hav_version(const struct result *r)
{
	return resource_statistics_id(r->appid, r->app_version_id);
}

void hav_timed_out(
    struct wu_updates *b, const struct result *r, double delay_bound_s, int64_t quota)
{
	db_batch_add(b->of[WU_UPDATE_TIMED_OUT], HAV_TIMED_OUT,
	    .turnaround_s = delay_bound_s, .quota = quota, .host_id = r->hostid,
	    .app_version_id = hav_version(r));
}

static int hav_order(const void *a, const void *b)
{
	const struct host_app_version *x = &((const struct hav_entry *)a)->v,
				      *y = &((const struct hav_entry *)b)->v;

	if (x->host_id != y->host_id)
		return x->host_id < y->host_id ? -1 : 1;
	return (x->app_version_id > y->app_version_id) -
	       (x->app_version_id < y->app_version_id);
}

enum err havs_lock(struct db *db, struct arena *a, const int64_t *hosts, size_t n,
    struct hav_table *t, struct fail *f)
{
	enum err e = OK;

	*t = (struct hav_table){ .a = a };
	for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, got;
		struct host_app_version *rows = NULL;
		e = db_query(db, a, f, &rows, &got, HAVS_FOR_UPDATE,
		    .host_ids = db_ids(hosts + i, part));
		for (size_t k = 0; e == OK && k < got; k++)
			PUSH(a, t->v, t->n, t->cap) = (struct hav_entry){ rows[k],
				false };
	}
	t->stored = t->n;
	return e;
}

struct hav_entry *hav_of(struct hav_table *t, const struct result *r, int64_t quota)
{
	struct hav_entry key = { { .host_id = r->hostid,
				     .app_version_id = hav_version(r),
				     .max_jobs_per_day = (int32_t)quota },
		false },
			 *found = NULL;

	if (t->stored > 0)
		found = bsearch(&key, t->v, t->stored, sizeof(key), hav_order);
	for (size_t i = t->stored; i < t->n && found == NULL; i++)
		if (hav_order(&key, &t->v[i]) == 0)
			found = &t->v[i];
	if (found != NULL)
		return found;
	PUSH(t->a, t->v, t->n, t->cap) = key;
	return &t->v[t->n - 1];
}

void havs_judged(struct wu_updates *b, const struct hav_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].judged)
			db_batch_add(
			    b->of[WU_UPDATE_JUDGED], HAV_JUDGED, .hav = &t->v[i].v);
}

void version_learned(struct wu_updates *b, int64_t app_version_id, double pfc)
{
	db_batch_add(b->of[WU_UPDATE_LEARNED], VERSION_LEARNED, .pfc = pfc,
	    .id = app_version_id);
}

void host_turnaround(struct wu_updates *b, int64_t hostid, double s)
{
	db_batch_add(b->of[WU_UPDATE_TURNAROUND], HOST_TURNAROUND, .turnaround_s = s,
	    .id = hostid);
}

void host_credit(
    struct wu_updates *b, int64_t hostid, struct earned earned, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_HOST_CREDIT], HOST_CREDIT, .credit = earned.credit,
	    .average = earned.average, .now = now, .id = hostid);
}

void user_credit(
    struct wu_updates *b, int64_t userid, struct earned earned, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_USER_CREDIT], USER_CREDIT, .credit = earned.credit,
	    .average = earned.average, .now = now, .id = userid);
}

void team_credit(
    struct wu_updates *b, int64_t teamid, struct earned earned, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_TEAM_CREDIT], TEAM_CREDIT, .credit = earned.credit,
	    .average = earned.average, .now = now, .id = teamid);
}

void job_credited(struct wu_updates *b, int64_t userid, int64_t workunitid)
{
	db_batch_add(b->of[WU_UPDATE_CREDITED_JOB], JOB_CREDITED, .userid = userid,
	    .workunitid = workunitid);
}

/* Locks the workunits; E_RACE unless all are as they were read. */
static enum err lock_as_read(struct db *db, struct arena *a,
    struct workunit *const *wus, const int64_t *ids, size_t n, struct tally_moves *gone,
    struct fail *f)
{
	struct workunit *now;
	size_t nnow;
	enum err e = workunits_lock(db, a, ids, n, &now, &nnow, f);
	bool same = e == OK && nnow == n;

	for (size_t i = 0; i < n && same; i++) {
		same = now[i].transition_seq == wus[i]->transition_seq;
		tally_moved(gone, &now[i], NULL);
	}
	return e != OK || same ? e : FAIL(f, E_RACE, "a workunit has changed");
}

enum err workunits_purge(struct db *db, struct arena *a, struct workunit *const *wus,
    size_t n, struct fail *f)
{
	int64_t *ids = NEWN(a, int64_t, n), gone = 0;
	struct tally_moves *moves = tally_moves_new(a);

	for (size_t i = 0; i < n; i++)
		ids[i] = wus[i]->id;
	TRY(lock_as_read(db, a, wus, ids, n, moves, f));
	TRY(db_exec(db, f, &gone, PURGE_WUS, .ids = db_ids(ids, n)));
	if (gone != (int64_t)n)
		return FAIL(f, E_RACE, "the files of a workunit are not deleted yet");
	TRY(db_exec(db, f, NULL, PURGE_RESULTS, .workunitids = db_ids(ids, n)));
	TRY(db_exec(db, f, NULL, PURGE_WU_TROUBLES, .workunitids = db_ids(ids, n)));
	TRY(db_exec(db, f, NULL, PURGE_ASSIGNMENTS, .workunitids = db_ids(ids, n)));
	return tally_moves_save(db, moves, TALLY_PART_PURGE, f);
}

enum err fileset_states(struct db *db, struct arena *a, int64_t after, size_t max,
    struct row_fileset_state **states, size_t *n, struct fail *f)
{
	return db_query(
	    db, a, f, states, n, FILESET_STATES, .after = after, .max = max);
}

enum err fileset_states_of(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_fileset_state **states, size_t *nstates, struct fail *f)
{
	return db_query(
	    db, a, f, states, nstates, FILESET_STATES_OF, .ids = db_ids(ids, n));
}
