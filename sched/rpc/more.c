/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the candidates with the queries that supply asks for. */
#include "sched/rpc/rpc.h"

#include "db/ahead.h"
#include "db/supply_rows.h"
#include "rules/sched/decide.h"
#include "lib/banned.h"

/* True if a transaction must be opened or rolled back before the query; *next is
 * then the step that does it. */
static bool
needs_step(const struct rpc *x, const struct supply_query *q, enum rpc_step *next)
{
	bool open = x->tx == TX_OPEN;

	if (open == q->lock || (open && !q->unlock))
		return false;
	*next = open ? RPC_unlock : RPC_lock;
	return true;
}

/* Fails if the job that is asked about did not become a candidate. */
static enum err
check_only_job(struct rpc *x)
{
	const struct snapshot *s = x->snap;

	if (x->only_job == 0 || x->refused != REFUSE_NOTHING ||
	    !decide_wants_work(x->conf, x->req) || s->nnci > 0 ||
	    snapshot_any_candidate(s))
		return OK;
	return FAIL(&x->fail, E_NOTFOUND,
	    "there is no result %lld, or its file set is gone", (long long)x->only_job);
}

/*
 * Runs a query for the next jobs of a file set behind those that other requests of the
 * process have chosen; if there are none, the query itself, whose answer is a fact.
 */
static enum err
run_behind_others(struct rpc *x, struct supply_source *from,
    const struct supply_query *q, struct supply_rows *rows)
{
	struct supply_query behind = *q;
	bool next_jobs = q->kind == SUPPLY_AFTER_LAST || q->kind == SUPPLY_AFTER;

	if (x->in_flight != NULL && next_jobs && !q->lock)
		behind.after = in_flight_last(x->in_flight, &x->chosen, q->ready);
	if (behind.after <= q->after)
		return supply_run(from, q, rows, &x->fail);
	TRY(supply_run(from, &behind, rows, &x->fail));
	return rows->n > 0 ? OK : supply_run(from, q, rows, &x->fail);
}

/* Runs a query, unless its answer is the same for all of a cohort and known. */
static enum err
run_query(struct rpc *x, struct supply_source *from, const struct supply_query *q,
    struct supply_rows *rows)
{
	struct supply_rows *shared = x->ahead != NULL ? x->ahead->lasts : NULL;

	if (q->kind != SUPPLY_LASTS || shared == NULL)
		return run_behind_others(x, from, q, rows);
	if (shared->pairs == NULL)
		TRY(supply_run(from, q, shared, &x->fail));
	*rows = *shared;
	return OK;
}

/* Runs a query of the request's own and lets supply take its rows. */
static enum err
run_and_take(struct rpc *x, const struct supply_query *q)
{
	struct supply_source source = { x->db, x->a, x->conf, x->req, x->snap };
	struct supply_rows rows;

	TRY(run_query(x, &source, q, &rows));
	supply_take(x->supply, &rows);
	return OK;
}

/* Runs a query between those that several requests ask together.  A failure shows when
 * the query is run again. */
static bool
run_between(struct rpc *x, const struct supply_query *q)
{
	uint64_t before = db_statements(x->db);
	bool ok = run_and_take(x, q) == OK;

	if (!ok)
		x->fail = (struct fail){ 0 };
	x->statements += db_statements(x->db) - before;
	return ok;
}

/* Runs the request's queries up to the first one that several requests can ask
 * together; NULL if there is none. */
static const struct supply_query *
next_shared_query(struct rpc *x)
{
	const struct supply_query *q;

	if (x->tx != TX_NONE)
		return NULL;
	while ((q = supply_next(x->supply, false)) != NULL && !q->lock && !q->unlock) {
		if (q->kind == SUPPLY_AFTER_LAST)
			return q;
		if (!run_between(x, q))
			return NULL;
	}
	return NULL;
}

bool
rpc_next_jobs(struct rpc *x, struct supply_query *asked)
{
	const struct supply_query *q = next_shared_query(x);
	int64_t last;

	if (q == NULL)
		return false;
	*asked = *q;
	if (x->in_flight == NULL)
		return true;
	last = in_flight_last(x->in_flight, &x->chosen, q->ready);
	asked->after = last > q->after ? last : q->after;
	asked->nth = in_flight_expect(x->in_flight, &x->chosen, q->ready,
	    (int64_t)(q->most + CANDIDATES_PER_JOB - 1) / CANDIDATES_PER_JOB);
	return true;
}

void
rpc_take_jobs(
    struct rpc *x, const struct supply_query *asked, const struct supply_rows *rows)
{
	const struct supply_query *q = supply_next(x->supply, false);

	if (rows->n > 0 || (asked->after == q->after && asked->nth == q->nth))
		supply_take(x->supply, rows);
	else /* only jobs left to others may remain: ask without skipping them */
		run_between(x, q);
}

enum err
rpc_more(struct rpc *x, enum rpc_step *next)
{
	const struct supply_query *q;

	while ((q = supply_next(x->supply, x->tx == TX_OPEN)) != NULL) {
		if (needs_step(x, q, next))
			return OK;
		TRY(run_and_take(x, q));
	}
	TRY(check_only_job(x));
	if (x->refused == REFUSE_NOTHING)
		TRY(rpc_need_hosts(x, x->snap));
	TRY(rpc_need_versions(x, x->snap));
	*next = RPC_decide;
	return OK;
}
