/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each kind of query (model/supply_queries.def). */
#include "db/supply_rows.h"

#include "db/snap_held.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "model/rows.h"
#include "trigger/cache.h"
#include "lib/banned.h"

#define RUN(kind)                                                                      \
	static enum err run_##kind(struct supply_source *x,                            \
	    const struct supply_query *q, struct supply_rows *out, struct fail *f)

/* Runs a statement, or its locking twin if the query locks. */
#define JOBS(stmt, locking, ...)                                                       \
	db_query_like(x->db, x->a, f, &out->jobs, &out->n,                             \
	    q->lock ? SQL_LIKE(locking, stmt) : SQL_##stmt, stmt, .once = q->once,     \
	    .max = (int64_t)q->most, __VA_ARGS__)

/* --- jobs --- */

RUN(AFTER_LAST)
{
	return JOBS(JOBS_AFTER_LAST, JOBS_AFTER_LAST_LOCK, .ready = q->ready,
	    .after = q->after, .userid = q->userid);
}

RUN(AFTER)
{
	return JOBS(JOBS_AFTER, JOBS_AFTER_LOCK, .ready = q->ready, .after = q->after);
}

RUN(UPTO)
{
	return JOBS(JOBS_UPTO, JOBS_UPTO_LOCK, .ready = q->ready, .upto = q->last);
}

RUN(URGENT_FIRST)
{
	return JOBS(JOBS_URGENT_FIRST, JOBS_URGENT_FIRST_LOCK,
	    .urgent_first = q->urgent_first, .urgent_last = q->urgent_last,
	    .first = q->first, .last = q->last);
}

RUN(BETWEEN)
{
	return JOBS(
	    JOBS_BETWEEN, JOBS_BETWEEN_LOCK, .first = q->first, .last = q->last);
}

RUN(TARGETED)
{
	const struct snapshot *s = x->snap;
	int64_t team = s->user.teamid != 0 ? s->user.teamid : -1;

	return db_query(x->db, x->a, f, &out->jobs, &out->n, JOBS_TARGETED,
	    .hostid = s->host.id, .userid = s->user.id, .teamid = team,
	    .multi_from = q->multi_first, .multi_to = q->multi_last,
	    .once_user = s->user.id, .once_host = -s->host.id);
}

RUN(BY_IDS)
{
	return db_query(x->db, x->a, f, &out->jobs, &out->n, JOBS_BY_IDS,
	    .ids = db_ids(q->ids, q->nids));
}

/* --- numbers --- */

static enum err number_found(struct supply_rows *out, enum err e)
{
	out->found = e == OK;
	return e == E_NOTFOUND ? OK : e;
}

RUN(LAST_ID)
{
	return number_found(out, db_number(x->db, f, &out->number, LAST_ID,
				     .userid = q->userid, .fileset_id = q->ready));
}

RUN(LAST_ID_BY)
{
	return number_found(
	    out, db_number(x->db, f, &out->number, LAST_ID_BY, .userid = q->userid,
		     .fileset_id = q->ready, .sent_by = q->sent_by));
}

RUN(NTH_AFTER)
{
	return number_found(
	    out, db_number(x->db, f, &out->number, JOB_AFTER_SOME, .ready = q->ready,
		     .after = q->after, .skip = q->nth));
}

RUN(NEXT_READY)
{
	return number_found(
	    out, db_number(x->db, f, &out->number, NEXT_READY, .after = q->after));
}

RUN(NOT_GIVEN_UP)
{
	const struct triggers t = triggers_of(x->conf, x->db, NULL);

	(void)f;
	out->number = no_work_next(&t, q->after, q->last);
	out->found = out->number != 0;
	return OK;
}

/* --- pairs --- */

static void copy_pairs(
    struct arena *a, const struct row_pair *rows, size_t n, struct supply_rows *out)
{
	out->pairs = NEWN(a, struct supply_pair, n + 1);
	out->n = n;
	for (size_t i = 0; i < n; i++)
		out->pairs[i] = (struct supply_pair){ rows[i].a, rows[i].b };
}

#define PAIRS(stmt, ...)                                                               \
	struct row_pair *rows = NULL;                                                  \
	size_t n;                                                                      \
                                                                                       \
	TRY(db_query(x->db, x->a, f, &rows, &n, stmt, ##__VA_ARGS__));                 \
	copy_pairs(x->a, rows, n, out);                                                \
	return OK

RUN(LASTS)
{
	(void)q;
	PAIRS(LASTS);
}

RUN(LAST_IDS)
{
	PAIRS(LAST_IDS, .userid = q->userid, .ids = db_ids(q->ids, q->nids));
}

RUN(LAST_IDS_BY)
{
	PAIRS(LAST_IDS_BY, .userid = q->userid, .sent_by = q->sent_by,
	    .ids = db_ids(q->ids, q->nids));
}

RUN(OLDEST)
{
	PAIRS(FILESETS_OLDEST, .ids = db_ids(q->ids, q->nids));
}

/* The value of a pair: 1 = the set is open, and the generator has not given it up. */
RUN(MAKEABLE)
{
	const struct triggers t = triggers_of(x->conf, x->db, NULL);
	char **names = NEWN(x->a, char *, q->most + 1);
	int64_t *ids = NEWN(x->a, int64_t, q->most + 1);
	bool *given_up = NEWN(x->a, bool, q->most + 1);
	struct row_set_named *rows = NULL;
	size_t n;

	TRY(db_query(x->db, x->a, f, &rows, &n, FILESETS_AFTER, .after = q->after,
	    .max = q->most));
	for (size_t i = 0; i < n; i++) {
		names[i] = rows[i].name;
		ids[i] = rows[i].id;
		no_work_gap(t.cache, i == 0 ? q->after : ids[i - 1], ids[i]);
	}
	TRY(no_work_there(&t, x->a, ids, names, n, given_up, f));
	out->pairs = NEWN(x->a, struct supply_pair, n + 1);
	out->n = n;
	for (size_t i = 0; i < n; i++)
		out->pairs[i] = (struct supply_pair){ ids[i],
			!given_up[i] && rows[i].paused == FILESET_OPEN };
	return OK;
}

/* --- the rest --- */

RUN(ONCE)
{
	struct row_number *rows = NULL;

	TRY(db_query(x->db, x->a, f, &rows, &out->n, WUS_ONCE, .once = q->once,
	    .workunitids = db_ids(q->ids, q->nids)));
	out->ids = row_numbers(x->a, rows, out->n);
	return OK;
}

RUN(NAMES)
{
	const struct triggers t = triggers_of(x->conf, x->db, NULL);

	(void)q;
	return working_set_names(&t, x->a, &out->names, &out->n, f);
}

RUN(NAMED)
{
	return db_query(x->db, x->a, f, &out->sets, &out->n, FILESETS_BY_NAMES,
	    .names = db_names(q->names, q->nnames));
}

RUN(MEMBERS)
{
	return snap_members_read(x->db, x->a, x->req, q->ids, q->nids, out, f);
}

RUN(SETS)
{
	size_t before = x->snap->nfiles;

	TRY(snap_sets_query(x->db, x->a, x->conf, x->req, q, x->snap, f));
	out->n = x->snap->nfiles - before;
	return OK;
}

static enum err (*const runs[])(struct supply_source *, const struct supply_query *,
    struct supply_rows *, struct fail *) = {
#define QUERY(name, arguments, answer, text) run_##name,
#include "model/supply_queries.def"
#undef QUERY
};

enum err supply_run(struct supply_source *x, const struct supply_query *q,
    struct supply_rows *rows, struct fail *f)
{
	static_assert((int)SUPPLY_LIST_MAX == (int)DB_LIST_MAX,
	    "lists of a query fit into one statement");
	*rows = (struct supply_rows){ 0 };
	return runs[q->kind](x, q, rows, f);
}

enum err supply_run_cohort(struct db *db, struct arena *a, const struct supply_query *q,
    size_t n, struct supply_rows *rows, struct fail *f)
{
	struct row_head *heads = NEWN(a, struct row_head, n);
	size_t *cap = NEWN(a, size_t, n), nall;
	struct row_keyed_job *all = NULL;

	for (size_t i = 0; i < n; i++) {
		rows[i] = (struct supply_rows){ 0 };
		heads[i] = (struct row_head){ .request = (int64_t)i,
			.once = q[i].once,
			.ready = q[i].ready,
			.fileset_id = q[i].ready,
			.userid = q[i].userid,
			.after = q[i].after,
			.skip = q[i].nth,
			.max = (int64_t)q[i].most };
	}
	TRY(db_query(
	    db, a, f, &all, &nall, JOBS_AFTER_LASTS, .heads = db_heads(heads, n)));
	for (size_t k = 0; k < nall; k++) {
		const struct row_keyed_job *row = &all[k];
		struct supply_rows *to = &rows[row->key];

		PUSH(a, to->jobs, to->n, cap[row->key]) = row->job;
	}
	return OK;
}
