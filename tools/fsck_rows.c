/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the checks of rows: each statement of the table of checks, slice by slice of the
 * ids. */
#include "tools/fsck.h"

#include "db/inspect.h"
#include "lib/clock.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum {
	SLICE = 20000,
	SOON =
	    -60, /* ago: what daemons mark as due during a statement is due by then */
};

enum when { ALWAYS, RUNNING, ONCE_USER, ONCE_HOST };
enum checked_table {
	RESULTS,
	WORKUNITS,
	FILES,
	FILESETS,
	HOSTS,
	USERS,
	TEAMS,
	APPS,
	BATCHES,
	OF__MAX
};

static const enum stmt_id last_of[OF__MAX] = {
	SQL_LIKE(ADOPT_LAST_RESULT, ADOPT_LAST_WU),
	SQL_ADOPT_LAST_WU,
	SQL_LIKE(LAST_FILE, ADOPT_LAST_WU),
	SQL_LIKE(LAST_FILESET, ADOPT_LAST_WU),
	SQL_LIKE(ADOPT_LAST_HOST, ADOPT_LAST_WU),
	SQL_LIKE(LAST_USER, ADOPT_LAST_WU),
	SQL_LIKE(LAST_TEAM, ADOPT_LAST_WU),
	SQL_LIKE(LAST_APP, ADOPT_LAST_WU),
	SQL_LIKE(LAST_BATCH, ADOPT_LAST_WU),
};

struct row_check {
	enum fsck_code code;
	enum when when;
	enum checked_table of;
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
	{ FSCK_##code, when, of, SQL_LIKE(stmt, FSCK_RESULT_STATE),                    \
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

	if (k->repair && c->repair != SQL__MAX)
		e = db_exec_like(k->x->db, k->x->f, &affected, c->repair,
		    REPAIR_RESULT_COPY, .id = row->id, .other = row->other);
	*done = affected > 0;
	return e;
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
	enum err e;

	arena_reset(&k->round);
	e = db_query_like(k->x->db, &k->round, k->x->f, &rows, &n, c->find,
	    FSCK_RESULT_STATE, .from = from, .to = to, .at = clock_now() - c->ago);
	for (size_t i = 0; e == OK && i < n; i++) {
		e = repair_row(k, c, &rows[i], &done);
		if (e == OK)
			fsck_found(k, c->code, rows[i].name, rows[i].more, done);
	}
	return e;
}

static int64_t
slices_of(int64_t last)
{
	return last <= SLICE ? 1 : (last + SLICE - 1) / SLICE;
}

enum err
fsck_rows(struct fsck *k)
{
	int64_t last[OF__MAX], total = 0, done = 0;
	struct progress bar;
	enum err e = OK;

	for (size_t t = 0; t < OF__MAX && e == OK; t++)
		e = db_number_like(
		    k->x->db, k->x->f, &last[t], last_of[t], ADOPT_LAST_WU);
	for (size_t i = 0; i < N(row_checks); i++)
		if (check_applies(k, row_checks[i].when))
			total += slices_of(last[row_checks[i].of]);
	bar = progress_begin("checking rows", total);
	for (size_t i = 0; i < N(row_checks) && e == OK; i++) {
		const struct row_check *c = &row_checks[i];
		int64_t from = INT64_MIN, to = SLICE;

		if (!check_applies(k, c->when))
			continue;
		/* The last slice is open-ended: orphans may have higher ids, and rows
		 * are being added. */
		for (; to < last[c->of] && e == OK; from = to, to += SLICE) {
			e = check_slice(k, c, from, to);
			progress_set(&bar, ++done);
		}
		if (e == OK)
			e = check_slice(k, c, from, INT64_MAX);
		progress_set(&bar, ++done);
	}
	progress_end(&bar);
	return e;
}
