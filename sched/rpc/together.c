/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/rpc/together.h"

#include "db/ahead.h"
#include "db/supply_rows.h"
#include "lib/log.h"
#include "lib/banned.h"

enum {
	TO_MORE = 1U << RPC_more,
	TO_LOOK = 1U << RPC_look,
	TO_COMMIT = 1U << RPC_commit
};

/* Reads what the requests will need first; a failure shows when each reads alone. */
static void
read_ahead(struct rpc *const *v, size_t n)
{
	struct arena *a = v[0]->a;
	struct request_ahead *ahead = NEWN(a, struct request_ahead, n);
	uint64_t before = db_statements(v[0]->db);
	struct supply_rows *lasts = NEW(a, struct supply_rows);
	struct fail f = { 0 };

	for (size_t i = 0; i < n; i++) {
		ahead[i].rq = v[i]->req;
		ahead[i].lasts = lasts;
		v[i]->ahead = &ahead[i];
	}
	if (ahead_read(v[0]->db, a, ahead, n, &f) != OK)
		log_fail("reading ahead", &f);
	for (size_t i = 0; i < n; i++)
		v[i]->statements += (db_statements(v[0]->db) - before + n - 1) / n;
}

/* Parses the requests and reads ahead for those that will read. */
static void
parse_and_read_ahead(struct rpc *const *v, size_t n)
{
	struct rpc **some = NEWN(v[0]->a, struct rpc *, n);
	size_t nsome = 0;

	for (size_t i = 0; i < n; i++)
		if (!rpc_run_until(v[i], 1U << RPC_authenticate) && !v[i]->dry)
			some[nsome++] = v[i];
	if (nsome > 1)
		read_ahead(some, nsome);
}

/*
 * Reads the next jobs of a file set for all requests whose supply asks for some, which
 * most do first; the other queries each runs by itself.  Returns false if fewer than
 * two ask.
 */
static bool
read_jobs_together(struct rpc *const *v, size_t n)
{
	struct arena *a = v[0]->a;
	struct supply_query *asked = NEWN(a, struct supply_query, n);
	const struct supply_query **q = NEWN(a, const struct supply_query *, n);
	struct supply_rows *rows = NEWN(a, struct supply_rows, n);
	struct rpc **of = NEWN(a, struct rpc *, n);
	uint64_t before;
	struct fail f = { 0 };
	size_t k = 0;

	for (size_t i = 0; i < n && k < DB_HEADS_MAX; i++)
		if (v[i]->step == RPC_more && rpc_next_jobs(v[i], &asked[k])) {
			q[k] = &asked[k];
			of[k++] = v[i];
		}
	before = db_statements(v[0]->db);
	if (k < 2 || supply_run_together(v[0]->db, a, q, k, rows, &f) != OK)
		return false; /* each asks by itself */
	for (size_t i = 0; i < k; i++)
		of[i]->statements += (db_statements(v[0]->db) - before + k - 1) / k;
	for (size_t i = 0; i < k; i++)
		rpc_take_jobs(of[i], &asked[i], &rows[i]);
	return true;
}

/* Runs all steps that several requests share, up to their decisions. */
static void
read_together(struct rpc *const *v, size_t n)
{
	parse_and_read_ahead(v, n);
	for (size_t i = 0; i < n; i++)
		if (!v[i]->ended)
			rpc_run_until(v[i], TO_MORE | TO_LOOK | TO_COMMIT);
	while (read_jobs_together(v, n))
		;
}

/*
 * Lets one of several requests decide.  Returns true if it can commit with others;
 * locks that it has taken must not wait for them.
 */
static bool
decide_one(struct rpc *x, bool several)
{
	if (x->ended || rpc_run_until(x, TO_LOOK | TO_COMMIT) || x->step == RPC_look)
		return false;
	if (several && x->tx == TX_NONE)
		return true;
	rpc_run_until(x, TO_LOOK);
	return false;
}

void
rpc_run_together(
    struct rpc *const *v, size_t n, void (*over)(void *ctx, size_t i), void *ctx)
{
	struct rpc **ready;
	size_t *at, nready = 0;

	if (n == 0)
		return;
	ready = NEWN(v[0]->a, struct rpc *, n);
	at = NEWN(v[0]->a, size_t, n);
	if (n > 1)
		read_together(v, n);
	for (size_t i = 0; i < n; i++) {
		if (!decide_one(v[i], n > 1)) {
			over(ctx, i);
			continue;
		}
		at[nready] = i;
		ready[nready++] = v[i];
	}
	if (nready > 1)
		rpc_commit_together(ready, nready);
	for (size_t i = 0; i < nready; i++) {
		rpc_run_until(ready[i], TO_LOOK);
		over(ctx, at[i]);
	}
}
