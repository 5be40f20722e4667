/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the candidates with the queries that supply asks for. */
#include "sched/rpc/rpc.h"

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

enum err
rpc_more(struct rpc *x, enum rpc_step *next)
{
	struct supply_source source = { x->db, x->a, x->conf, x->req, x->snap };
	const struct supply_query *q;

	while ((q = supply_next(x->supply, x->tx == TX_OPEN)) != NULL) {
		struct supply_rows rows;

		if (needs_step(x, q, next))
			return OK;
		TRY(supply_run(&source, q, &rows, &x->fail));
		supply_take(x->supply, &rows);
	}
	TRY(check_only_job(x));
	if (x->refused == REFUSE_NOTHING)
		TRY(rpc_need_hosts(x, x->snap));
	TRY(rpc_need_versions(x, x->snap));
	*next = RPC_decide;
	return OK;
}
