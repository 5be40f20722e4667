/* SPDX-License-Identifier: Apache-2.0 */
/* Workunits: inserted, found, and listed for the daemons for which they are due. */
#include "db/workunit.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/private.h"
#include "db/stmts.h"
#include "lib/banned.h"

static bool wu_name_fits(const char *name, struct fail *f)
{
	if (name != NULL && name[0] != '\0' && strlen(name) <= DB_NAME_MAX)
		return true;
	FAIL(f, E_BADREQ, "workunit name \"%.40s\" must have 1 to %d bytes",
	    name != NULL ? name : "", DB_NAME_MAX);
	return false;
}

enum err workunit_insert(
    struct db *db, struct workunit *wu, const char *xml_doc, struct fail *f)
{
	if (!wu_name_fits(wu->name, f))
		return f->code;
	wu->id = 0; /* assigned by the database, also on a retry */
	TRY(db_exec(db, f, NULL, WU_INSERT, .wu = wu, .xml_doc = xml_doc));
	wu->id = db_insert_id(db);
	return OK;
}

static int wu_named_order(const void *a, const void *b)
{
	return strcmp(
	    ((const struct row_named *)a)->name, ((const struct row_named *)b)->name);
}

enum err workunit_ids(struct db *db, struct arena *a, char *const *names, size_t n,
    int64_t *ids, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, got;
		struct row_named *rows = NULL;
		enum err e = db_query(
		    db, a, f, &rows, &got, WU_IDS, .names = db_names(names + i, part));
		if (e != OK)
			return e;
		if (got > 0)
			qsort(rows, got, sizeof(struct row_named), wu_named_order);
		for (size_t k = i; k < i + part; k++) {
			struct row_named key = { .name = names[k] }, *found = NULL;
			if (got > 0)
				found = bsearch(
				    &key, rows, got, sizeof(key), wu_named_order);
			ids[k] = found == NULL ? 0 : found->id;
		}
	}
	return OK;
}

enum err workunits_insert(struct db *db, struct arena *a, struct workunit *const *wus,
    const char *const *xml_docs, size_t n, struct fail *f)
{
	struct db_batch *b = db_batch(a, SQL_WU_INSERT);
	char **names = NEWN(a, char *, n + 1);
	int64_t *ids = NEWN(a, int64_t, n + 1);

	for (size_t i = 0; i < n; i++) {
		wus[i]->id = 0;
		names[i] = wus[i]->name;
		if (!wu_name_fits(names[i], f))
			return f->code;
		db_batch_add(b, WU_INSERT, .wu = wus[i], .xml_doc = xml_docs[i]);
	}
	TRY(db_batch_run(db, b, NULL, f));
	/*
	 * In a cluster, the rows that one statement inserts need not have consecutive
	 * ids.
	 */
	TRY(workunit_ids(db, a, names, n, ids, f));
	for (size_t i = 0; i < n; i++)
		wus[i]->id = ids[i];
	return OK;
}

enum err workunits_lock(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct workunit **wus, size_t *nwus, struct fail *f)
{
	return db_query(db, a, f, wus, nwus, WUS_LOCK, .ids = db_ids(ids, n));
}

enum err workunit_by_id(
    struct db *db, struct arena *a, int64_t id, struct workunit **wu, struct fail *f)
{
	return db_row(db, a, f, wu, WU_BY_ID, .id = id);
}

enum err workunit_by_name(struct db *db, struct arena *a, const char *name,
    struct workunit **wu, struct fail *f)
{
	return db_row(db, a, f, wu, WU_BY_NAME, .name = name);
}

enum err workunit_xml_doc(
    struct db *db, struct arena *a, int64_t id, char **xml_doc, struct fail *f)
{
	struct row_text *row = NULL;

	TRY(db_row(db, a, f, &row, WU_XML_DOC, .id = id));
	*xml_doc = row->s;
	return OK;
}

enum err workunits_xml_docs(struct db *db, struct arena *a, const int64_t *ids,
    size_t n, const char **docs, struct fail *f)
{
	struct row_message *rows = NULL;
	size_t got = 0;
	enum err e = db_query(
	    db, a, f, &rows, &got, WUS_XML_DOCS, .ids = db_ids(ids, n));

	for (size_t i = 0; i < n; i++)
		docs[i] = NULL;
	for (size_t k = 0; e == OK && k < got; k++) {
		const struct row_message *row = rows + k;

		for (size_t i = 0; i < n; i++)
			if (ids[i] == row->id)
				docs[i] = row->xml;
	}
	return e;
}

enum err workunits_due(struct db *db, struct arena *a, struct id_share part,
    int64_t now, size_t max, struct workunit **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, WUS_DUE, .now = now, .parts = part.n,
	    .part = part.i, .max = max);
}

enum err workunits_to_validate(struct db *db, struct arena *a, struct id_share part,
    int64_t appid, size_t max, struct workunit **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, WUS_TO_VALIDATE, .appid = appid,
	    .parts = part.n, .part = part.i, .max = max);
}

enum err workunits_to_assimilate(struct db *db, struct arena *a, struct id_share part,
    int64_t appid, size_t max, struct workunit **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, WUS_TO_ASSIMILATE, .appid = appid,
	    .parts = part.n, .part = part.i, .max = max);
}

enum err workunits_hold(
    struct db *db, struct arena *a, const int64_t *ids, size_t n, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, got;
		struct row_number *rows = NULL;

		TRY(db_query(
		    db, a, f, &rows, &got, WUS_HOLD, .ids = db_ids(ids + i, part)));
	}
	return OK;
}

enum err workunits_touch(
    struct db *db, const int64_t *ids, size_t n, int64_t at, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		enum err e = db_exec(
		    db, f, NULL, WUS_TOUCH, .at = at, .ids = db_ids(ids + i, part));
		if (e != OK)
			return e;
	}
	return OK;
}

enum err workunits_touch_each(
    struct db *db, const struct row_pair *pairs, size_t n, struct fail *f)
{
	int64_t ids[DB_LIST_MAX];

	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		enum err e;

		for (size_t k = 0; k < part; k++)
			ids[k] = pairs[i + k].a;
		e = db_exec(db, f, NULL, WUS_TOUCH_EACH,
		    .times = db_pairs(pairs + i, part), .ids = db_ids(ids, part));
		if (e != OK)
			return e;
	}
	return OK;
}

enum err workunits_raise(
    struct db *db, const int64_t *ids, size_t n, int32_t results, struct fail *f)
{
	int64_t to = results;

	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		enum err e = db_exec(db, f, NULL, WUS_RAISE, .target_nresults = to,
		    .min_quorum = to, .ids = db_ids(ids + i, part));
		if (e != OK)
			return e;
	}
	return OK;
}

enum err workunit_bind(struct db *db, int64_t id, int32_t hr_class,
    int64_t app_version_id, int64_t at, struct fail *f)
{
	int64_t affected = 0, class = hr_class, version = app_version_id;

	TRY(db_exec(db, f, &affected, WU_BIND, .at = at, .hr_class = class,
	    .app_version_id = version, .id = id));
	if (affected == 0)
		return FAIL(f, E_RACE, "workunit %lld is bound already", (long long)id);
	return OK;
}

/* What kept a daemon from handling a workunit (table workunit_trouble). */

/* Takes workunits out of the stage's queue. */
static enum err aside_move(struct db *db, struct arena *a, enum aside_how how,
    const struct wu_aside *v, size_t n, struct fail *f)
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

enum err workunits_put_aside(struct db *db, struct arena *a,
    const struct wu_queue_id *s, enum aside_how how, const struct wu_aside *v, size_t n,
    int64_t now, struct fail *f)
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

enum err wu_troubles_clear(struct db *db, const int64_t *workunitids, size_t n,
    const char *stage, int64_t *cleared, struct fail *f)
{
	return db_exec(db, f, cleared, WU_TROUBLES_CLEAR,
	    .workunitids = db_ids(workunitids, n), .stage = stage);
}

enum err wu_trouble_any(struct db *db, struct arena *a, const struct wu_queue_id *s,
    bool *any, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n = 0;
	enum err e = db_query(db, a, f, &rows, &n, WU_TROUBLE_OF_STAGE,
	    .stage = s->name, .appid = s->appid);

	*any = n > 0;
	return e;
}

enum err wu_troubles(struct db *db, struct arena *a, int64_t workunitid,
    struct row_wu_trouble **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, WU_TROUBLES, .workunitid = workunitid);
}

enum err wu_troubles_of_stage(struct db *db, struct arena *a, const int64_t *ids,
    size_t n, const char *stage, struct row_wu_trouble **rows, size_t *nrows,
    struct fail *f)
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

enum err wu_troubles_due(struct db *db, struct arena *a, const struct wu_queue_id *s,
    int64_t now, size_t max, int64_t **ids, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, WU_TROUBLES_DUE, .stage = s->name,
	    .appid = s->appid, .now = now, .parts = s->part.n, .part = s->part.i,
	    .max = max));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err wu_troubles_since(struct db *db, struct arena *a, const struct wu_queue_id *s,
    int64_t since, size_t max, int64_t **ids, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, WU_TROUBLES_SINCE, .stage = s->name,
	    .appid = s->appid, .since = since, .parts = s->part.n, .part = s->part.i,
	    .max = max));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err wu_troubles_set_next(struct db *db, const int64_t *ids, size_t n,
    const char *stage, int64_t next_time, struct fail *f)
{
	return db_exec(db, f, NULL, WU_TROUBLES_SET_NEXT, .next_time = next_time,
	    .workunitids = db_ids(ids, n), .stage = stage);
}

enum err wu_troubled(struct db *db, struct arena *a, const int64_t *ids, size_t nids,
    int64_t **troubled, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(
	    db, a, f, &rows, n, WU_TROUBLED, .workunitids = db_ids(ids, nids)));
	*troubled = row_numbers(a, rows, *n);
	return OK;
}

enum err wu_troubles_retry(struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	return db_exec(db, f, NULL, WU_TROUBLES_RETRY, .workunitids = db_ids(ids, n));
}

enum err workunits_assimilate_again(
    struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	return db_exec(db, f, NULL, WUS_ASSIMILATE_AGAIN, .ids = db_ids(ids, n));
}

enum err wu_troubles_reasons(struct db *db, struct arena *a, size_t looked, size_t max,
    struct row_aside **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, STATUS_ASIDE, .looked = looked, .max = max);
}

enum err workunits_sampled(struct db *db, struct arena *a, const struct wu_sample *q,
    struct workunit **wus, size_t *n, struct fail *f)
{
	const struct wu_queue_id *s = q->stage;
	enum stmt_id id = q->queue == QUEUE_TO_VALIDATE ?
	                      SQL_WUS_TO_VALIDATE_FROM :
	                      SQL_LIKE(WUS_TO_ASSIMILATE_FROM, WUS_TO_VALIDATE_FROM);

	return db_query_like(db, a, f, wus, n, id, WUS_TO_VALIDATE_FROM,
	    .appid = s->appid, .parts = s->part.n, .part = s->part.i, .from = q->from,
	    .tried = q->tried, .max = q->max);
}

enum err workunits_queue_end(struct db *db, struct arena *a, enum wu_queue q,
    int64_t appid, int64_t *id, struct fail *f)
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
