/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of the daemons: each is conditional on what was read. */
#include "db/life.h"

#include <assert.h>
#include "model/resource.h"
#include "model/states.h"
#include "lib/banned.h"

/* E_RACE if the conditional update matched nothing. */
static enum err
matched(enum err e, int64_t affected, const char *what, int64_t id, struct fail *f)
{
	if (e == OK && affected == 0)
		return FAIL(f, E_RACE, "%s %lld changed since it was read", what,
		    (long long)id);
	return e;
}

enum err
workunits_to_delete_files(struct db *db, struct arena *a, struct part part,
    int32_t state, size_t max, struct workunit **wus, size_t *n, struct fail *f)
{
	void *rows;
	enum err e = db_query(db, a, f, &rows, n, SQL_WUS_TO_DELETE_FILES,
	    (int64_t)state, part.n, part.i, (int64_t)max);

	if (e == OK)
		*wus = rows;
	return e;
}

enum err
workunits_to_purge(struct db *db, struct arena *a, struct part part, int64_t before,
    size_t max, struct workunit **wus, size_t *n, struct fail *f)
{
	void *rows;
	enum err e = db_query(
	    db, a, f, &rows, n, SQL_WUS_TO_PURGE, before, part.n, part.i, (int64_t)max);

	if (e == OK)
		*wus = rows;
	return e;
}

enum err
results_to_delete_files(struct db *db, struct arena *a, struct part part, int32_t state,
    size_t max, struct result **results, size_t *n, struct fail *f)
{
	void *rows;
	enum err e = db_query(db, a, f, &rows, n, SQL_RESULTS_TO_DELETE_FILES,
	    (int64_t)state, part.n, part.i, (int64_t)max);

	if (e == OK)
		*results = rows;
	return e;
}

enum err
workunit_transitioned(struct db *db, const struct workunit *was,
    const struct workunit *becomes, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, SQL_WU_TRANSITIONED,
	    (int64_t)becomes->need_validate, (int64_t)becomes->error_mask,
	    (int64_t)becomes->hr_class, becomes->app_version_id,
	    (int64_t)becomes->assimilate_state, (int64_t)becomes->file_delete_state,
	    becomes->transition_time, was->id, was->transition_seq,
	    (int64_t)was->need_validate, (int64_t)was->assimilate_state,
	    (int64_t)was->file_delete_state);

	return matched(e, affected, "workunit", was->id, f);
}

enum err
workunit_validated(struct db *db, const struct workunit *was,
    const struct workunit *becomes, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, SQL_WU_VALIDATED,
	    becomes->canonical_resultid, becomes->canonical_credit,
	    (int64_t)becomes->error_mask, (int64_t)becomes->target_nresults,
	    (int64_t)becomes->assimilate_state, becomes->transition_time, was->id,
	    was->transition_seq, was->canonical_resultid,
	    (int64_t)was->assimilate_state);

	return matched(e, affected, "workunit", was->id, f);
}

enum err
workunit_assimilated(struct db *db, int64_t id, int32_t state, int32_t error_bits,
    int64_t now, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, SQL_WU_ASSIMILATED, (int64_t)state,
	    (int64_t)error_bits, now, id);

	return matched(e, affected, "workunit", id, f);
}

enum err
workunit_files_deleted(
    struct db *db, int64_t id, int32_t was, int32_t becomes, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(
	    db, f, &affected, SQL_WU_FILES_DELETED, (int64_t)becomes, id, (int64_t)was);

	return matched(e, affected, "workunit", id, f);
}

enum err
result_files_deleted(
    struct db *db, int64_t id, int32_t was, int32_t becomes, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(db, f, &affected, SQL_RESULT_FILES_DELETED,
	    (int64_t)becomes, id, (int64_t)was);

	return matched(e, affected, "result", id, f);
}

enum err
result_move(struct db *db, const struct result *was, const struct result *becomes,
    struct fail *f)
{
	int64_t affected = 0;
	enum err e;

	assert(was->id == becomes->id);
	assert(state_may_become(KIND_RESULT, was->server_state, becomes->server_state));
	assert(state_may_become(KIND_OUTCOME, was->outcome, becomes->outcome));
	assert(state_may_become(
	    KIND_VALIDATE, was->validate_state, becomes->validate_state));
	assert(state_may_become(
	    KIND_FILE_DELETE, was->file_delete_state, becomes->file_delete_state));
	e = db_exec(db, f, &affected, SQL_RESULT_MOVE, (int64_t)becomes->server_state,
	    (int64_t)becomes->outcome, (int64_t)becomes->validate_state,
	    (int64_t)becomes->file_delete_state, becomes->granted_credit,
	    (int64_t)becomes->server_state, was->id, (int64_t)was->server_state,
	    (int64_t)was->outcome, (int64_t)was->validate_state,
	    (int64_t)was->file_delete_state, was->report_deadline);
	return matched(e, affected, "result", was->id, f);
}

static int64_t
hav_version(const struct result *r)
{
	return resource_statistics_id(r->appid, r->app_version_id);
}

enum err
hav_timed_out(struct db *db, const struct result *r, double delay_bound_s,
    int64_t quota, struct fail *f)
{
	return db_exec(db, f, NULL, SQL_HAV_TIMED_OUT, delay_bound_s, delay_bound_s,
	    quota, quota, r->hostid, hav_version(r));
}

enum err
hav_lock(struct db *db, struct arena *a, const struct result *r, int64_t quota,
    struct host_app_version *v, struct fail *f)
{
	void *rows;
	size_t n;
	enum err e = db_query(
	    db, a, f, &rows, &n, SQL_HAV_FOR_UPDATE, r->hostid, hav_version(r));

	*v = (struct host_app_version){ .host_id = r->hostid,
		.app_version_id = hav_version(r),
		.max_jobs_per_day = (int32_t)quota };
	if (e == OK && n > 0)
		*v = *(struct host_app_version *)rows;
	return e;
}

enum err
hav_judged(struct db *db, const struct host_app_version *v, struct fail *f)
{
	return db_exec(db, f, NULL, SQL_HAV_JUDGED, v);
}

enum err
version_learned(struct db *db, int64_t app_version_id, double pfc, struct fail *f)
{
	return db_exec(db, f, NULL, SQL_VERSION_LEARNED, pfc, pfc, app_version_id);
}

enum err
host_turnaround(struct db *db, int64_t hostid, double s, struct fail *f)
{
	return db_exec(db, f, NULL, SQL_HOST_TURNAROUND, s, s, hostid);
}

enum err
credit_add(struct db *db, int64_t hostid, int64_t userid, double credit, struct fail *f)
{
	enum err e = db_exec(db, f, NULL, SQL_HOST_CREDIT, credit, hostid);

	return e != OK ? e : db_exec(db, f, NULL, SQL_USER_CREDIT, credit, userid);
}

enum err
workunit_purge(struct db *db, const struct workunit *wu, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_exec(
	    db, f, &affected, SQL_PURGE_WU, wu->id, wu->transition_seq);

	e = matched(e, affected, "workunit", wu->id, f);
	if (e == OK)
		e = db_exec(db, f, NULL, SQL_PURGE_RESULTS, wu->id);
	return e != OK ? e : db_exec(db, f, NULL, SQL_PURGE_ASSIGNMENTS, wu->id);
}

enum err
fileset_states(struct db *db, struct arena *a, struct row_fileset_state **states,
    size_t *n, struct fail *f)
{
	void *rows;
	enum err e = db_query(db, a, f, &rows, n, SQL_FILESET_STATES);

	if (e == OK)
		*states = rows;
	return e;
}
