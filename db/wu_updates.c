/* SPDX-License-Identifier: Apache-2.0 */
/* The daemons' writes; each is conditional on what was read. */
#include "db/wu_updates.h"

#include <assert.h>
#include <stdlib.h>
#include "db/stmts.h"
#include "db/work_tally.h"
#include "model/catalog.h"
#include "model/rows.h"
#include "lib/banned.h"

enum err
workunits_to_delete_files(struct db *db, struct arena *a, const struct delete_slice *d,
    struct workunit **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, WUS_TO_DELETE_FILES,
	    .file_delete_state = d->state, .after = d->after, .parts = d->share.n,
	    .part = d->share.i, .max = d->max);
}

enum err
workunits_to_purge(struct db *db, struct arena *a, const int64_t *ids, size_t nids,
    int64_t before, struct workunit **wus, size_t *n, struct fail *f)
{
	return db_query(
	    db, a, f, wus, n, WUS_TO_PURGE, .ids = db_ids(ids, nids), .before = before);
}

enum err
results_to_delete_files(struct db *db, struct arena *a, const struct delete_slice *d,
    struct result **results, size_t *n, struct fail *f)
{
	return db_query(db, a, f, results, n, RESULTS_TO_DELETE_FILES,
	    .file_delete_state = d->state, .after = d->after, .parts = d->share.n,
	    .part = d->share.i, .max = d->max);
}

struct wu_updates *
wu_updates_new(struct arena *a)
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

enum err
wu_updates_save(struct db *db, struct wu_updates *b, struct fail *f)
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

void
workunit_transitioned(struct wu_updates *b, const struct workunit *was,
    const struct workunit *becomes, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_TRANSITIONED], WU_TRANSITIONED, .becomes = becomes,
	    .was = was, .now = now);
}

void
workunit_validated(
    struct wu_updates *b, const struct workunit *was, const struct workunit *becomes)
{
	db_batch_add(
	    b->of[WU_UPDATE_VALIDATED], WU_VALIDATED, .becomes = becomes, .was = was);
}

void
result_made(struct wu_updates *b, const struct new_result *r)
{
	PUSH(b->a, b->made, b->nmade, b->cap) = *r;
}

void
workunit_assimilated(
    struct wu_updates *b, int64_t id, int32_t state, int32_t error_bits, int64_t at)
{
	db_batch_add(b->of[WU_UPDATE_ASSIMILATED], WU_ASSIMILATED,
	    .assimilate_state = state, .error_bits = error_bits, .at = at, .id = id);
}

void
workunit_files_deleted(
    struct wu_updates *b, int64_t id, int32_t was, int32_t becomes, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_INPUTS_DELETED], WU_FILES_DELETED,
	    .becomes = becomes, .id = id, .was = was, .now = now);
}

void
result_files_deleted(struct wu_updates *b, int64_t id, int32_t was, int32_t becomes)
{
	db_batch_add(b->of[WU_UPDATE_OUTPUTS_DELETED], RESULT_FILES_DELETED,
	    .becomes = becomes, .id = id, .was = was);
}

void
result_move(
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

static int64_t
hav_version(const struct result *r)
{
	return resource_statistics_id(r->appid, r->app_version_id);
}

void
hav_timed_out(
    struct wu_updates *b, const struct result *r, double delay_bound_s, int64_t quota)
{
	db_batch_add(b->of[WU_UPDATE_TIMED_OUT], HAV_TIMED_OUT,
	    .turnaround_s = delay_bound_s, .quota = quota, .host_id = r->hostid,
	    .app_version_id = hav_version(r));
}

static int
hav_order(const void *a, const void *b)
{
	const struct host_app_version *x = &((const struct hav_entry *)a)->v,
				      *y = &((const struct hav_entry *)b)->v;

	if (x->host_id != y->host_id)
		return x->host_id < y->host_id ? -1 : 1;
	return (x->app_version_id > y->app_version_id) -
	       (x->app_version_id < y->app_version_id);
}

enum err
havs_lock(struct db *db, struct arena *a, const int64_t *hosts, size_t n,
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

struct hav_entry *
hav_of(struct hav_table *t, const struct result *r, int64_t quota)
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

void
havs_judged(struct wu_updates *b, const struct hav_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].judged)
			db_batch_add(
			    b->of[WU_UPDATE_JUDGED], HAV_JUDGED, .hav = &t->v[i].v);
}

void
version_learned(struct wu_updates *b, int64_t app_version_id, double pfc)
{
	db_batch_add(b->of[WU_UPDATE_LEARNED], VERSION_LEARNED, .pfc = pfc,
	    .id = app_version_id);
}

void
host_turnaround(struct wu_updates *b, int64_t hostid, double s)
{
	db_batch_add(b->of[WU_UPDATE_TURNAROUND], HOST_TURNAROUND, .turnaround_s = s,
	    .id = hostid);
}

void
host_credit(struct wu_updates *b, int64_t hostid, struct earned earned, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_HOST_CREDIT], HOST_CREDIT, .credit = earned.credit,
	    .average = earned.average, .now = now, .id = hostid);
}

void
user_credit(struct wu_updates *b, int64_t userid, struct earned earned, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_USER_CREDIT], USER_CREDIT, .credit = earned.credit,
	    .average = earned.average, .now = now, .id = userid);
}

void
team_credit(struct wu_updates *b, int64_t teamid, struct earned earned, int64_t now)
{
	db_batch_add(b->of[WU_UPDATE_TEAM_CREDIT], TEAM_CREDIT, .credit = earned.credit,
	    .average = earned.average, .now = now, .id = teamid);
}

void
job_credited(struct wu_updates *b, int64_t userid, int64_t workunitid)
{
	db_batch_add(b->of[WU_UPDATE_CREDITED_JOB], JOB_CREDITED, .userid = userid,
	    .workunitid = workunitid);
}

/* Locks the workunits; E_RACE unless all are as they were read. */
static enum err
lock_as_read(struct db *db, struct arena *a, struct workunit *const *wus,
    const int64_t *ids, size_t n, struct tally_moves *gone, struct fail *f)
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

enum err
workunits_purge(struct db *db, struct arena *a, struct workunit *const *wus, size_t n,
    struct fail *f)
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

enum err
fileset_states(struct db *db, struct arena *a, int64_t after, size_t max,
    struct row_fileset_state **states, size_t *n, struct fail *f)
{
	return db_query(
	    db, a, f, states, n, FILESET_STATES, .after = after, .max = max);
}

enum err
fileset_states_of(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct row_fileset_state **states, size_t *nstates, struct fail *f)
{
	return db_query(
	    db, a, f, states, nstates, FILESET_STATES_OF, .ids = db_ids(ids, n));
}
