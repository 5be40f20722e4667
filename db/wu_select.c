/* SPDX-License-Identifier: Apache-2.0 */
#include "db/wu_select.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/order.h"
#include "model/rows.h"
#include "lib/banned.h"

static enum err
step_by_name(struct db *db, struct arena *a, struct wu_walk *w, int64_t **ids,
    size_t *n, struct fail *f)
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

static enum err
step_by_number(struct db *db, struct arena *a, struct wu_walk *w,
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

enum err
wu_walk_failed(struct db *db, struct arena *a, struct wu_walk *w, struct fail *f)
{
	struct row_number *rows;

	TRY(db_query(db, a, f, &rows, &w->nfailed, WORK_IDS_FAILED));
	w->failed = row_numbers(a, rows, w->nfailed);
	return OK;
}

static void
step_of_failed(struct arena *a, struct wu_walk *w, int64_t **ids, size_t *n)
{
	size_t left = w->nfailed - w->behind;

	*n = left < WU_SELECT_STEP ? left : WU_SELECT_STEP;
	*ids = NEWN(a, int64_t, *n + 1);
	for (size_t i = 0; i < *n; i++)
		(*ids)[i] = w->failed[w->behind++];
	w->ended = w->behind == w->nfailed;
}

enum err
wu_walk_step(struct db *db, struct arena *a, struct wu_walk *w, int64_t **ids,
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

enum err
wu_glances(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_wu_glance **rows, size_t *nrows, struct fail *f)
{
	return db_query(db, a, f, rows, nrows, WU_GLANCES, .ids = db_ids(ids, n));
}

enum err
wu_tallies(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_wu_tally **rows, size_t *nrows, struct fail *f)
{
	return db_query(db, a, f, rows, nrows, WU_TALLIES, .ids = db_ids(ids, n));
}

enum err
wu_batches_named(struct db *db, struct arena *a, const char *name, int64_t **ids,
    size_t *n, struct fail *f)
{
	struct row_number *rows;

	TRY(db_query(db, a, f, &rows, n, WU_BATCHES_NAMED, .name = name));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

/* Ends the unsent results of workunits that are locked; by id, as all programs do. */
static enum err
results_cancel(struct db *db, struct arena *a, const int64_t *wus, size_t n,
    struct cancelled *c, struct fail *f)
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

enum err
workunits_cancel(struct db *db, struct arena *a, const int64_t *ids, size_t n,
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

enum err
workunits_limit(struct db *db, struct arena *a, const int64_t *ids, size_t n,
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

enum err
workunits_try_again(struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	return n == 0 ? OK : db_exec(db, f, NULL, WUS_TRY_AGAIN, .ids = db_ids(ids, n));
}

enum err
workunit_reopen(
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

enum err
version_tasks(struct db *db, struct arena *a, int64_t appid, const int64_t *ids,
    size_t nids, struct row_pair **tasks, size_t *n, struct fail *f)
{
	*tasks = NULL;
	*n = 0;
	return nids == 0 ? OK :
	                   db_query(db, a, f, tasks, n, VERSION_TASKS, .appid = appid,
			       .ids = db_ids(ids, nids));
}

enum err
version_tasks_end(struct db *db, struct arena *a, const struct row_pair *t, size_t n,
    int64_t now, int64_t *ended, struct fail *f)
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
