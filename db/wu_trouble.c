/* SPDX-License-Identifier: Apache-2.0 */
/* What kept a daemon from handling a workunit (table workunit_trouble). */
#include "db/wu_trouble.h"

#include "db/private.h"
#include "lib/banned.h"

/* Takes workunits out of the stage's queue. */
static enum err
aside_move(struct db *db, struct arena *a, enum aside_how how, const struct wu_aside *v,
    size_t n, struct fail *f)
{
	bool validator = how == ASIDE_VALIDATOR;
	struct db_batch *b = db_batch(
	    a, validator ? SQL_WU_ASIDE_VALIDATE : SQL_WU_ASIDE_TRANSITION);

	for (size_t i = 0; i < n; i++) {
		if (v[i].left)
			continue;
		if (validator)
			db_batch_add(b, WU_ASIDE_VALIDATE, .at = v[i].next_time,
			    .id = v[i].wu->id);
		else
			db_batch_add(b, WU_ASIDE_TRANSITION, .at = v[i].next_time,
			    .id = v[i].wu->id,
			    .transition_seq = v[i].wu->transition_seq);
	}
	return db_batch_run(db, b, NULL, f);
}

enum err
workunits_put_aside(struct db *db, struct arena *a, const struct wu_stage *s,
    enum aside_how how, const struct wu_aside *v, size_t n, int64_t now, struct fail *f)
{
	struct db_batch *notes = db_batch(a, SQL_WU_TROUBLE_NOTE);

	if (how == ASIDE_VALIDATOR || how == ASIDE_TRANSITIONER)
		TRY(aside_move(db, a, how, v, n, f));
	for (size_t i = 0; i < n; i++)
		db_batch_add(notes, WU_TROUBLE_NOTE, .workunitid = v[i].wu->id,
		    .stage = s->name, .appid = s->appid, .now = now,
		    .next_time = v[i].next_time, .reason = v[i].reason,
		    .detail = v[i].detail == NULL ? "" : v[i].detail);
	return db_batch_run(db, notes, NULL, f);
}

enum err
wu_troubles_clear(struct db *db, const int64_t *workunitids, size_t n,
    const char *stage, int64_t *cleared, struct fail *f)
{
	return db_exec(db, f, cleared, WU_TROUBLES_CLEAR,
	    .workunitids = db_ids(workunitids, n), .stage = stage);
}

enum err
wu_trouble_any(
    struct db *db, struct arena *a, const struct wu_stage *s, bool *any, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n = 0;
	enum err e = db_query(db, a, f, &rows, &n, WU_TROUBLE_OF_STAGE,
	    .stage = s->name, .appid = s->appid);

	*any = n > 0;
	return e;
}

enum err
wu_troubles(struct db *db, struct arena *a, int64_t workunitid,
    struct row_wu_trouble **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, WU_TROUBLES, .workunitid = workunitid);
}

enum err
wu_troubles_of_stage(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    const char *stage, struct row_wu_trouble **rows, size_t *nrows, struct fail *f)
{
	size_t cap = 0;

	*rows = NULL;
	*nrows = 0;
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, got = 0;
		struct row_wu_trouble *v = NULL;

		TRY(db_query(db, a, f, &v, &got, WU_TROUBLES_OF_STAGE,
		    .workunitids = db_ids(ids + i, part), .stage = stage));
		for (size_t k = 0; k < got; k++)
			PUSH(a, *rows, *nrows, cap) = v[k];
	}
	return OK;
}

enum err
wu_troubles_due(struct db *db, struct arena *a, const struct wu_stage *s, int64_t now,
    size_t max, int64_t **ids, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, WU_TROUBLES_DUE, .stage = s->name,
	    .appid = s->appid, .now = now, .parts = s->part.n, .part = s->part.i,
	    .max = max));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err
wu_troubles_since(struct db *db, struct arena *a, const struct wu_stage *s,
    int64_t since, size_t max, int64_t **ids, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, WU_TROUBLES_SINCE, .stage = s->name,
	    .appid = s->appid, .since = since, .parts = s->part.n, .part = s->part.i,
	    .max = max));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err
wu_troubles_set_next(struct db *db, const int64_t *ids, size_t n, const char *stage,
    int64_t next_time, struct fail *f)
{
	return db_exec(db, f, NULL, WU_TROUBLES_SET_NEXT, .next_time = next_time,
	    .workunitids = db_ids(ids, n), .stage = stage);
}

enum err
wu_troubled(struct db *db, struct arena *a, const int64_t *ids, size_t nids,
    int64_t **troubled, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(
	    db, a, f, &rows, n, WU_TROUBLED, .workunitids = db_ids(ids, nids)));
	*troubled = row_numbers(a, rows, *n);
	return OK;
}

enum err
wu_troubles_retry(struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	return db_exec(db, f, NULL, WU_TROUBLES_RETRY, .workunitids = db_ids(ids, n));
}

enum err
workunits_assimilate_again(struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	return db_exec(db, f, NULL, WUS_ASSIMILATE_AGAIN, .ids = db_ids(ids, n));
}

enum err
wu_troubles_reasons(struct db *db, struct arena *a, size_t looked, size_t max,
    struct row_aside **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, STATUS_ASIDE, .looked = looked, .max = max);
}

enum err
workunits_sampled(struct db *db, struct arena *a, const struct wu_sample *q,
    struct workunit **wus, size_t *n, struct fail *f)
{
	const struct wu_stage *s = q->stage;
	enum stmt_id id = q->queue == QUEUE_TO_VALIDATE ?
	                      SQL_WUS_TO_VALIDATE_FROM :
	                      SQL_LIKE(WUS_TO_ASSIMILATE_FROM, WUS_TO_VALIDATE_FROM);

	return db_query_like(db, a, f, wus, n, id, WUS_TO_VALIDATE_FROM,
	    .appid = s->appid, .parts = s->part.n, .part = s->part.i, .from = q->from,
	    .tried = q->tried, .max = q->max);
}

enum err
workunits_queue_end(struct db *db, struct arena *a, enum wu_queue q, int64_t appid,
    int64_t *id, struct fail *f)
{
	enum stmt_id last = q == QUEUE_TO_VALIDATE ?
	                        SQL_LAST_TO_VALIDATE :
	                        SQL_LIKE(LAST_TO_ASSIMILATE, LAST_TO_VALIDATE);
	struct row_number *rows = NULL;
	size_t n = 0;

	TRY(db_query_like(db, a, f, &rows, &n, last, LAST_TO_VALIDATE, .appid = appid));
	*id = n > 0 ? rows[0].v : 0;
	return OK;
}
