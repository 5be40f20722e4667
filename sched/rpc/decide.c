/* SPDX-License-Identifier: Apache-2.0 */
/* The steps decide and render: ask the rule and do what it says. */
#include "sched/rpc/rpc.h"

#include "rules/sched/decide.h"
#include "lib/banned.h"

/*
 * A refused host is decided like one that wants no work: its reports are stored and
 * acked, and the refusal is an additional message (architecture.md 3.3).
 */
static void
decide_refused(struct rpc *x, struct rng *rng)
{
	struct request rq = *x->req;
	struct refusal r = refusal_of(x->a, x->conf, x->refused,
	    refuse_detail(x->a, x->conf, x->refused, x->req));
	size_t keep = x->nnotes;

	rq.dont_send_work = true;
	x->dec = decide(x->a, x->conf, &rq, x->snap, x->now, rng, NULL, 0);
	if (x->host_wait_s > 0) {
		x->dec->nmoves = 0; /* there is no row to which tasks could move */
		r.delay_s = (double)x->host_wait_s;
	}
	rpc_note(x, r.notice, r.text);
	rpc_complete_decision(x, r.delay_s);
	x->nnotes = keep;
}

enum err
rpc_decide(struct rpc *x, enum rpc_step *next)
{
	struct rng rng = rng_seed(x->seed ^ 2);

	*next = RPC_commit;
	if (x->refused != REFUSE_NOTHING) {
		decide_refused(x, &rng);
		return OK;
	}
	x->dec = decide(
	    x->a, x->conf, x->req, x->snap, x->now, &rng, x->lost, x->nlost);
	if (x->dec->more || x->dec->more_nci) {
		if (x->supply != NULL) /* a replay has only the recorded rows */
			supply_more(x->supply, x->dec);
		*next = RPC_more;
	} else if (x->dec->nwant > 0 && x->snap->wait_possible) {
		*next = x->tx == TX_OPEN ? RPC_unlock : RPC_wait;
	} else {
		rpc_complete_decision(x, 0);
	}
	return OK;
}

enum err
rpc_render(struct rpc *x, enum rpc_step *next)
{
	*next = RPC_served;
	x->reply = (struct reply_in){ .conf = x->conf,
		.req = x->req,
		.snap = x->snap,
		.dec = x->dec,
		.keys = x->keys,
		.texts = x->texts,
		.hostid = x->snap->host.id,
		.trickles_stored = x->trickles_stored };
	reply_render(&x->out, &x->reply);
	return OK;
}
