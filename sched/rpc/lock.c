/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates that many hosts want at once are locked as they are read (performance.md
 * 2). */
#include "sched/rpc/rpc.h"

#include <stdlib.h>
#include "db/entity.h"
#include "lib/order.h"
#include "lib/banned.h"

/* Of the account's results that are reported. */
static enum err
hold_workunits(struct rpc *x)
{
	int64_t *ids = NEWN(x->a, int64_t, x->req->nreports + 1);
	size_t n = 0;

	for (size_t i = 0; i < x->req->nreports; i++) {
		const struct snap_report *r = &x->snap->reports[i];

		if (r->found && r->result.userid == x->user->id)
			ids[n++] = r->result.workunitid;
	}
	if (n > 0)
		qsort(ids, n, sizeof(*ids), id_order);
	return workunits_hold(x->db, x->a, ids, n, &x->fail);
}

enum err
rpc_lock(struct rpc *x)
{
	enum err e = db_begin_current(x->db, &x->fail);

	x->locking = e == OK;
	if (e == OK && x->snap->host_new)
		e = user_lock(x->db, x->user->id, &x->fail);
	return e == OK ? hold_workunits(x) : e;
}

void
rpc_unlock(struct rpc *x)
{
	if (!x->locking)
		return;
	x->locking = false;
	db_rollback(x->db);
}
