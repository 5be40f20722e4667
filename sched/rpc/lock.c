/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transaction in which contended candidates are locked as they are read
 * (performance.md 2).  Nothing is written in it before the commit.
 */
#include "sched/rpc/rpc.h"

#include <stdlib.h>
#include "db/entity.h"
#include "lib/order.h"
#include "lib/banned.h"

/* Locks the workunits of the account's reported results. */
static enum err
lock_report_workunits(struct rpc *x)
{
	int64_t *ids = NEWN(x->a, int64_t, x->req->nreports + 1);
	size_t n = 0;

	for (size_t i = 0; i < x->req->nreports; i++) {
		const struct snap_report *r = &x->snap->reports[i];

		if (r->found && r->result.userid == x->user->id)
			ids[n++] = r->result.workunitid;
	}
	ids_sort(ids, n);
	return workunits_hold(x->db, x->a, ids, n, &x->fail);
}

/*
 * Takes the locks that may have to wait for others first: of the account of a new
 * host, and of the workunits of reports. Locked candidates therefore never delay a
 * request that holds what this one needs.
 */
enum err
rpc_lock(struct rpc *x, enum rpc_step *next)
{
	TRY(db_begin_current(x->db, &x->fail));
	x->tx = TX_OPEN;
	if (x->snap->host_new)
		TRY(user_lock(x->db, x->user->id, &x->fail));
	TRY(lock_report_workunits(x));
	*next = RPC_more;
	return OK;
}

void
rpc_roll_back(struct rpc *x)
{
	if (x->tx == TX_OPEN)
		db_rollback(x->db);
	x->tx = TX_NONE;
}

enum err
rpc_unlock(struct rpc *x, enum rpc_step *next)
{
	rpc_roll_back(x);
	*next = supply_pending(x->supply) ? RPC_more : RPC_wait;
	return OK;
}
