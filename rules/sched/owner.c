/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks that belong to another host row of the same account (protocol.md 3.5): a client
 * that was restored or copied gets a row of its own, a merged host another one, and its
 * tasks in progress move there.
 *
 * When a copy first shows up, nobody knows whether its original still runs, so the
 * tasks that the copy lists become the copy's. The original's next request proves that
 * it runs; then the older row gets the tasks that both list, and the copy has to abort
 * them. So two copies compute a task until each has made one more request, and a task
 * is aborted only where another client, which has made a request meanwhile, continues
 * it.
 */
#include "rules/sched/ctx.h"

#include "model/states.h"
#include "lib/banned.h"

bool
owner_is_us(const struct ctx *c, int64_t owner, int64_t owner_seen)
{
	const struct host *h = &c->snap->host;

	if (owner_seen == 0 || c->snap->host_id_changed)
		return true;
	return h->id < owner || owner_seen <= h->create_time;
}

void
owner_moves(struct ctx *c)
{
	const struct snapshot *s = c->snap;

	for (size_t i = s->nin_progress - s->ninherited; i < s->nin_progress; i++)
		PUSH(c->a, c->d->moves, c->d->nmoves, c->moves_cap) = (struct dec_move){
			s->in_progress[i].id, s->predecessor
		};
	for (size_t i = 0; s->others != NULL && i < c->req->nother_results; i++) {
		const struct snap_other *o = &s->others[i];

		if (o->found && o->owner != 0 &&
		    o->server_state == RESULT_IN_PROGRESS &&
		    owner_is_us(c, o->owner, o->owner_seen))
			PUSH(c->a, c->d->moves, c->d->nmoves,
			    c->moves_cap) = (struct dec_move){ o->result_id, o->owner };
	}
}
