/* SPDX-License-Identifier: Apache-2.0 */
#include "db/work_tally.h"

#include <stdlib.h>
#include "db/stmts.h"
#include "model/rows.h"
#include "lib/banned.h"

/* Due workunits by which counts are corrected, at most. */
enum { DUE_MOST = 20000 };

struct tally_moves {
	struct arena *a;
	struct row_work_tally *v;
	size_t n, cap;
};

struct tally_moves *tally_moves_new(struct arena *a)
{
	struct tally_moves *m = NEW(a, struct tally_moves);

	m->a = a;
	return m;
}

static void put_row(struct tally_moves *m, enum tally_kind kind, int64_t id,
    const struct workunit *wu, int64_t by)
{
	struct row_work_tally *t = &PUSH(m->a, m->v, m->n, m->cap);

	*t = (struct row_work_tally){
		.kind = kind, .id = id, .code = wu->tally, .wus = by
	};
#define COUNT(name, when, sql) t->name = by * wu->tally_##name;
	TALLY_COUNTS(COUNT)
#undef COUNT
}

/* Adds a workunit to its app, batch and file set, or with by = -1 removes it. */
static void put_workunit(struct tally_moves *m, const struct workunit *wu, int64_t by)
{
	if (wu->tally == 0)
		return;
	put_row(m, TALLY_OF_APP, wu->appid, wu, by);
	if (wu->batch > 0)
		put_row(m, TALLY_OF_BATCH, wu->batch, wu, by);
	if (wu->fileset_id > 0)
		put_row(m, TALLY_OF_FILESET, wu->fileset_id, wu, by);
}

static bool same_counts(const struct workunit *x, const struct workunit *y)
{
#define AND_SAME(name, when, sql) &&x->tally_##name == y->tally_##name
	return x->tally == y->tally TALLY_COUNTS(AND_SAME);
#undef AND_SAME
}

void tally_moved(
    struct tally_moves *m, const struct workunit *was, const struct workunit *becomes)
{
	if (becomes != NULL && same_counts(was, becomes))
		return;
	put_workunit(m, was, -1);
	if (becomes != NULL)
		put_workunit(m, becomes, 1);
}

static int row_order(const void *a, const void *b)
{
	const struct row_work_tally *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->code > y->code) - (x->code < y->code);
}

static void row_add(
    struct row_work_tally *to, const struct row_work_tally *r, int64_t by)
{
	to->wus += by * r->wus;
#define COUNT(name, when, sql) to->name += by * r->name;
	TALLY_COUNTS(COUNT)
#undef COUNT
}

/* Sorts rows and adds up those of the same key; returns how many are left. */
static size_t merge_rows(struct row_work_tally *v, size_t n)
{
	size_t kept = 0;

	if (n > 0)
		qsort(v, n, sizeof(*v), row_order);
	for (size_t i = 0; i < n; i++)
		if (kept > 0 && row_order(&v[kept - 1], &v[i]) == 0)
			row_add(&v[kept - 1], &v[i], 1);
		else
			v[kept++] = v[i];
	return kept;
}

enum err tally_moves_save(
    struct db *db, struct tally_moves *m, int64_t part, struct fail *f)
{
	struct db_batch *b = db_batch(m->a, SQL_TALLY_ADD);

	/* In the order of the keys, so that two transactions do not lock crosswise. */
	m->n = merge_rows(m->v, m->n);
	for (size_t i = 0; i < m->n; i++) {
		m->v[i].part = part;
		db_batch_add(b, TALLY_ADD, .tally = &m->v[i]);
	}
	m->n = 0;
	return db_batch_run(db, b, NULL, f);
}

/* --- reading --- */

/* A workunit that is due, as it is and as it was counted. */
static void correct(struct tally_moves *m, enum tally_kind kind, int64_t id,
    const struct row_tally_due *d)
{
	int64_t of = kind == TALLY_OF_APP   ? d->appid :
	             kind == TALLY_OF_BATCH ? d->batch :
	                                      d->fileset_id;
	struct workunit was = { .tally = d->tally }, is = { .tally = d->code };

#define COUNT(name, when, sql)                                                         \
	was.tally_##name = d->tally_##name;                                            \
	is.tally_##name = d->name;
	TALLY_COUNTS(COUNT)
#undef COUNT
	if (id != 0 && of != id)
		return;
	if (was.tally != 0)
		put_row(m, kind, of, &was, -1);
	put_row(m, kind, of, &is, 1);
}

static enum err correct_due(struct db *db, struct tally_moves *m, enum tally_kind kind,
    int64_t id, const int64_t *times, bool *behind, struct fail *f)
{
	struct row_tally_due *due = NULL;
	size_t n = 0;

	TRY(db_query(db, m->a, f, &due, &n, TALLY_DUE, .from = times[0], .to = times[1],
	    .max = DUE_MOST));
	for (size_t i = 0; i < n; i++)
		correct(m, kind, id, &due[i]);
	*behind |= n == DUE_MOST;
	return OK;
}

/* What belongs to none, as id 0: what the apps have, less what the rows of a kind have.
 */
static enum err put_rest(struct db *db, struct tally_moves *m, enum tally_kind kind,
    const struct row_work_tally *rows, size_t n, struct fail *f)
{
	int64_t of_apps = TALLY_OF_APP;
	struct row_work_tally *all = NULL;
	size_t nall = 0;

	TRY(db_query(db, m->a, f, &all, &nall, TALLIES, .kind = of_apps));
	for (size_t i = 0; i < nall; i++) {
		all[i].kind = kind;
		all[i].id = 0;
		PUSH(m->a, m->v, m->n, m->cap) = all[i];
	}
	for (size_t i = 0; i < n; i++) {
		struct row_work_tally less = { .kind = kind, .code = rows[i].code };

		row_add(&less, &rows[i], -1);
		PUSH(m->a, m->v, m->n, m->cap) = less;
	}
	return OK;
}

static enum err read_in_snapshot(struct db *db, struct tally_moves *m,
    enum tally_kind kind, int64_t id, int64_t now, struct work_tallies *t,
    struct fail *f)
{
	const int64_t due[] = { INT64_MIN, now },
		      staged[] = { TRANSITION_STAGED, TRANSITION_STAGED };
	int64_t of_kind = kind;
	struct row_work_tally *rows = NULL;
	size_t n = 0;

	if (id == 0)
		TRY(db_query(db, m->a, f, &rows, &n, TALLIES, .kind = of_kind));
	else
		TRY(db_query(
		    db, m->a, f, &rows, &n, TALLIES_OF, .kind = of_kind, .id = id));
	for (size_t i = 0; i < n; i++)
		PUSH(m->a, m->v, m->n, m->cap) = rows[i];
	if (id == 0 && kind != TALLY_OF_APP)
		TRY(put_rest(db, m, kind, rows, n, f));
	TRY(correct_due(db, m, kind, id, due, &t->behind, f));
	return correct_due(db, m, kind, id, staged, &t->behind, f);
}

enum err work_tallies_read(struct db *db, struct arena *a, enum tally_kind kind,
    int64_t id, int64_t now, struct work_tallies *t, struct fail *f)
{
	struct tally_moves *m = tally_moves_new(a);
	size_t kept = 0;
	enum err e;

	*t = (struct work_tallies){ 0 };
	TRY(db_begin_snapshot(db, f));
	e = read_in_snapshot(db, m, kind, id, now, t, f);
	db_rollback(db);
	if (e != OK)
		return e;
	m->n = merge_rows(m->v, m->n);
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].wus != 0)
			m->v[kept++] = m->v[i];
	t->v = m->v;
	t->n = kept;
	return OK;
}

/* --- the whole project --- */

static void count_workunits(struct work_counts *c, const struct row_work_tally *t)
{
	const int32_t code = t->code;

	c->wus.total += t->wus;
	c->wus.open += (code & (TALLY_CANONICAL | TALLY_ERROR)) == 0 ? t->wus : 0;
	c->wus.with_canonical += (code & TALLY_CANONICAL) != 0 ? t->wus : 0;
	c->wus.to_validate += (code & TALLY_TO_VALIDATE) != 0 ? t->wus : 0;
	c->wus.assimilated += (code & TALLY_ASSIMILATED) != 0 ? t->wus : 0;
	c->wus.failed += (code & (TALLY_ERROR | TALLY_CANCELLED)) == TALLY_ERROR ?
	                     t->wus :
	                     0;
	c->wus.cancelled += (code & TALLY_CANCELLED) != 0 ? t->wus : 0;
	c->wus.lacking += (code & TALLY_LACKING) != 0 ? t->wus : 0;
	c->wus_live += (code & TALLY_LIVE) != 0 ? t->wus : 0;
	c->to_assimilate += (code & TALLY_TO_ASSIMILATE) != 0 ? t->wus : 0;
}

enum err work_counts_read(
    struct db *db, struct arena *a, int64_t now, struct work_counts *c, struct fail *f)
{
	struct result_counts *r = &c->results;
	struct row_work_tally sum = { 0 };
	int64_t at_hosts = 0;

	*c = (struct work_counts){ 0 };
	TRY(work_tallies_read(db, a, TALLY_OF_APP, 0, now, &c->apps, f));
	TRY(db_number(db, f, &at_hosts, RESULTS_IN_PROGRESS));
	for (size_t i = 0; i < c->apps.n; i++) {
		count_workunits(c, &c->apps.v[i]);
		row_add(&sum, &c->apps.v[i], 1);
	}
	/* Some may have been sent since the first statement. */
	r->in_progress = at_hosts < sum.live ? at_hosts : sum.live;
	r->unsent = sum.live - r->in_progress;
	r->inactive = sum.inactive;
	r->over = sum.ended;
	r->total = sum.inactive + sum.live + sum.ended;
	r->success = sum.success;
	r->valid = sum.valid;
	r->sent = sum.ended - sum.never_sent + r->in_progress;
	return OK;
}

enum err work_recount_wanted(struct db *db, bool *wanted, struct fail *f)
{
	int64_t n = 0;

	TRY(db_number(db, f, &n, PROJECT_RECOUNT));
	*wanted = n != 0;
	return OK;
}

enum err work_recount_want(struct db *db, bool wanted, struct fail *f)
{
	return db_exec(db, f, NULL, PROJECT_SET_RECOUNT, .recount = wanted);
}

enum err work_recount(
    struct db *db, int64_t from, int64_t to, int64_t at, struct fail *f)
{
	return db_exec(db, f, NULL, WUS_RECOUNT, .from = from, .to = to, .at = at);
}
