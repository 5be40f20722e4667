/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the checks of rows: each statement of the table of checks, slice by slice. */
#include "tools/fsck.h"

#include "db/id_walk.h"
#include "db/inspect.h"
#include "lib/clock.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum {
	SLICE = 20000,
	CAUSES_MOST = 10000,
	SOON =
	    -60, /* ago: what daemons mark as due during a statement is due by then */
};

enum when { ALWAYS, RUNNING, ONCE_USER, ONCE_HOST };
struct row_check {
	enum fsck_code code;
	enum when when;
	enum id_table of;
	enum stmt_id find; /* has the arguments and rows of FSCK_RESULT_STATE */
	enum stmt_id
	    repair; /* has the arguments of REPAIR_RESULT_COPY; SQL__MAX = none */
	int64_t ago;
};

/* Stands for "no repair" in SQL_LIKE(). */
enum { SQL_NONE = SQL__MAX, nargs_NONE = nargs_REPAIR_RESULT_COPY };
typedef args_REPAIR_RESULT_COPY args_NONE;
typedef answer_REPAIR_RESULT_COPY answer_NONE;

static const struct row_check row_checks[] = {
#define ROWS(code, severity, when, of, stmt, ago, repair, noun, text, cure)            \
	{ FSCK_##code, when, IDS_##of, SQL_LIKE(stmt, FSCK_RESULT_STATE),              \
		SQL_LIKE(repair, REPAIR_RESULT_COPY), ago },
#define DISK(...)
#include "tools/fsck_checks.def"
#undef ROWS
#undef DISK
};

static bool
check_applies(const struct fsck *k, enum when when)
{
	const struct conf *cf = k->x->cf;

	switch (when) {
	case ALWAYS:
		return true;
	case RUNNING:
		return k->running;
	case ONCE_USER:
		return cf->one_result_per_user_per_wu;
	case ONCE_HOST: /* one per account implies one per host */
		return cf->one_result_per_host_per_wu &&
		       !cf->one_result_per_user_per_wu;
	}
	return false;
}

static enum err
repair_row(struct fsck *k, const struct row_check *c, const struct row_finding *row,
    bool *done)
{
	int64_t affected = 0;
	enum err e = OK;

	bool credit = c->code >= FSCK_HOST_CREDIT && c->code <= FSCK_TEAM_CREDIT;

	if ((credit ? k->repair_credit : k->repair) && c->repair != SQL__MAX)
		e = db_exec_like(k->x->db, k->x->f, &affected, c->repair,
		    REPAIR_RESULT_COPY, .id = row->id, .other = row->other);
	*done = affected > 0;
	return e;
}

/* Is it only what a result in an impossible state has led to?  One cause, one cure. */
static bool
is_explained(struct fsck *k, enum fsck_code code, const struct row_finding *row)
{
	bool cause = code >= FSCK_RESULT_STATE && code <= FSCK_RESULT_JUDGED,
	     led_to = code == FSCK_WU_CANONICAL || code == FSCK_WU_QUORUM ||
	              code == FSCK_WU_TALLY;

	for (size_t i = 0; i < k->ncauses; i++)
		if ((cause && k->causes[i].result == row->id) ||
		    (led_to && k->causes[i].workunit == row->id))
			return true;
	if (cause && k->ncauses < CAUSES_MOST)
		PUSH(k->x->a, k->causes, k->ncauses,
		    k->cap_causes) = (struct fsck_cause){ row->id, row->other };
	return false;
}

/*
 * The time is that of the statement: the project may be at work, and what its daemons
 * have marked as due since fsck started is in order.
 */
static enum err
check_slice(struct fsck *k, const struct row_check *c, int64_t from, int64_t to)
{
	struct row_finding *rows = NULL;
	size_t n = 0;
	bool done;

	arena_reset(&k->round);
	TRY(db_query_like(k->x->db, &k->round, k->x->f, &rows, &n, c->find,
	    FSCK_RESULT_STATE, .from = from, .to = to, .at = clock_now() - c->ago));
	for (size_t i = 0; i < n; i++) {
		if (is_explained(k, c->code, &rows[i]))
			continue;
		TRY(repair_row(k, c, &rows[i], &done));
		fsck_report_finding(k, &(const struct fsck_finding){ .code = c->code,
					   .name = rows[i].name,
					   .more = rows[i].more,
					   .id = rows[i].id,
					   .repaired = done });
	}
	return OK;
}

/* The ends of a table's slices; orphans of the last one may have any higher id. */
struct slices {
	int64_t *to;
	size_t n, cap;
};

static enum err
slices_read(struct fsck *k, enum id_table of, struct slices *v)
{
	for (int64_t from = IDS_BEGIN, to = from; to < IDS_END; from = to) {
		TRY(ids_ahead(k->x->db, of, from, SLICE, &to, k->x->f));
		PUSH(k->x->a, v->to, v->n, v->cap) = to;
	}
	return OK;
}

static enum err
run_check(struct fsck *k, const struct row_check *c, const struct slices *v,
    struct progress *bar, int64_t *done)
{
	for (size_t i = 0; i < v->n; i++) {
		TRY(check_slice(k, c, i > 0 ? v->to[i - 1] : IDS_BEGIN, v->to[i]));
		progress_set(bar, ++*done);
	}
	return OK;
}

enum err
fsck_rows(struct fsck *k)
{
	struct slices slices[IDS__MAX] = { 0 };
	int64_t total = 0, done = 0;
	struct progress bar;
	enum err e = OK;

	for (size_t t = 0; t < IDS__MAX; t++)
		TRY(slices_read(k, (enum id_table)t, &slices[t]));
	for (size_t i = 0; i < N(row_checks); i++)
		if (check_applies(k, row_checks[i].when))
			total += (int64_t)slices[row_checks[i].of].n;
	bar = progress_begin("checking rows", total);
	for (size_t i = 0; i < N(row_checks) && e == OK; i++)
		if (check_applies(k, row_checks[i].when))
			e = run_check(
			    k, &row_checks[i], &slices[row_checks[i].of], &bar, &done);
	progress_end(&bar);
	return e;
}
