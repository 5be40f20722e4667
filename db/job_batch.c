/* SPDX-License-Identifier: Apache-2.0 */
#include "db/job_batch.h"

#include <string.h>
#include "db/stmts.h"
#include "lib/banned.h"

enum { NAME_BYTES_MAX = 190 };

enum err job_batch_by_name(struct db *db, struct arena *a, const char *name,
    struct row_job_batch **b, size_t *n, struct fail *f)
{
	struct row_job_batch *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, JOB_BATCHES_BY_NAME, .name = name));
	if (*n == 0)
		return FAIL(f, E_NOTFOUND, "there is no batch %.100s", name);
	*b = rows;
	return OK;
}

enum err job_batch_by_id(struct db *db, struct arena *a, int64_t id,
    struct row_job_batch **b, struct fail *f)
{
	return db_row(db, a, f, b, JOB_BATCH_BY_ID, .id = id);
}

enum err job_batches(struct db *db, struct arena *a, int64_t before, size_t max,
    struct row_job_batch **b, size_t *n, struct fail *f)
{
	int64_t most = (int64_t)max;

	return db_query(db, a, f, b, n, JOB_BATCHES, .before = before, .max = most);
}

enum err job_batch_make(struct db *db, struct arena *a, const char *name, int64_t appid,
    int64_t now, struct row_job_batch **b, struct fail *f)
{
	int64_t id;
	size_t n;

	if (name[0] == '\0' || strlen(name) > NAME_BYTES_MAX)
		return FAIL(f, E_BADREQ, "batch name \"%.40s\" must have 1 to %d bytes",
		    name, NAME_BYTES_MAX);
	TRY(db_exec(
	    db, f, NULL, JOB_BATCH_INSERT, .name = name, .appid = appid, .now = now));
	id = db_insert_id(db);
	TRY(job_batch_by_name(db, a, name, b, &n, f));
	if ((*b)->id == id)
		return OK;
	return db_exec(db, f, NULL, JOB_BATCH_DELETE, .id = id);
}

enum err job_batch_hold(struct db *db, int64_t id, int64_t *state, struct fail *f)
{
	return db_number(db, f, state, JOB_BATCH_HOLD, .id = id);
}

enum err job_batch_grow(struct db *db, int64_t id, int64_t more, struct fail *f)
{
	return db_exec(db, f, NULL, JOB_BATCH_GROW, .more = more, .id = id);
}

enum err job_batch_move(
    struct db *db, int64_t id, int32_t was, int32_t state, struct fail *f)
{
	int64_t affected, to = state, from = was;

	TRY(db_exec(
	    db, f, &affected, JOB_BATCH_MOVE, .state = to, .id = id, .was = from));
	if (affected == 0)
		return FAIL(f, E_RACE, "batch %lld is not in the state expected",
		    (long long)id);
	return OK;
}

enum err job_batch_tally(struct db *db, struct arena *a, int64_t id, int64_t after,
    size_t max, struct row_batch_tally *tally, struct fail *f)
{
	struct row_batch_tally *row;
	int64_t most = (int64_t)max;

	TRY(db_row(
	    db, a, f, &row, JOB_BATCH_TALLY, .batch = id, .after = after, .max = most));
	*tally = *row;
	return OK;
}

enum err job_batch_open(struct db *db, struct arena *a, int64_t id, int64_t after,
    size_t max, struct row_batch_open *open, struct fail *f)
{
	struct row_batch_open *row;
	int64_t most = (int64_t)max;

	TRY(db_row(
	    db, a, f, &row, JOB_BATCH_OPEN, .batch = id, .after = after, .max = most));
	*open = *row;
	return OK;
}

enum err job_batch_pace(struct db *db, struct arena *a, int64_t id, int64_t every,
    int64_t since, struct row_pair *pace, struct fail *f)
{
	struct row_pair *row;

	TRY(db_row(db, a, f, &row, JOB_BATCH_PACE, .since = since, .batch = id,
	    .every = every));
	*pace = *row;
	return OK;
}

enum err job_batch_canonicals(struct db *db, struct arena *a, int64_t id, int64_t after,
    size_t max, struct row_canonical **rows, size_t *n, struct fail *f)
{
	int64_t most = (int64_t)max;

	return db_query(db, a, f, rows, n, JOB_BATCH_CANONICALS, .batch = id,
	    .after = after, .max = most);
}

enum err workunits_release(struct db *db, const int64_t *ids, size_t n, int64_t now,
    int64_t *released, struct fail *f)
{
	*released = 0;
	if (n == 0)
		return OK;
	return db_exec(db, f, released, WUS_RELEASE, .now = now, .ids = db_ids(ids, n));
}

enum err workunits_by_names(struct db *db, struct arena *a, char *const *names,
    size_t n, struct workunit **wus, size_t *nwus, struct fail *f)
{
	return db_query(db, a, f, wus, nwus, WUS_BY_NAMES, .names = db_names(names, n));
}
