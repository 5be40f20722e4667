/* SPDX-License-Identifier: Apache-2.0 */
/* The steps decide and render: ask the rule and do what it says. */
#include "sched/rpc/rpc.h"

#include "db/held.h"
#include "rules/sched/decide.h"
#include "lib/banned.h"

/*
 * A refused host is decided like one that wants no work: its reports are stored and
 * acked, and the refusal is an additional message (architecture.md 3.3).
 */
static void decide_refused(struct rpc *x)
{
	struct rng rng = rng_seed(x->seed ^ 2);
	struct request rq = *x->req;
	struct refusal r = refusal_of(x->a, x->conf, x->refused,
	    refuse_detail(x->a, x->conf, x->refused, x->req));
	size_t keep = x->nnotes;

	rq.dont_send_work = true;
	x->dec = decide(x->a, x->conf, &rq, x->snap, x->now, &rng, NULL, 0);
	if (x->host_wait_s > 0) {
		x->dec->nmoves = 0; /* there is no row to which tasks could move */
		r.delay_s = (double)x->host_wait_s;
	}
	rpc_note(x, r.notice, r.text);
	rpc_complete_decision(x, r.delay_s);
	x->nnotes = keep;
}

/*
 * Decides without the jobs that this RPC has lost, and those that other requests of the
 * process have chosen.
 */
static void decide_without_others(struct rpc *x)
{
	struct rng rng = rng_seed(x->seed ^ 2);
	struct chosen_job *others = NULL;
	size_t n = 0;

	if (x->in_flight != NULL)
		others = in_flight_others(x->in_flight, x->a, &x->chosen, &n);
	x->without = NEWN(x->a, int64_t, x->nlost + n + 1);
	x->nwithout = 0;
	for (size_t i = 0; i < x->nlost; i++)
		x->without[x->nwithout++] = x->lost[i];
	for (size_t i = 0; i < n; i++)
		x->without[x->nwithout++] = others[i].id;
	x->dec = decide(
	    x->a, x->conf, x->req, x->snap, x->now, &rng, x->without, x->nwithout);
}

/* False if another request has chosen one of the jobs a moment ago. */
static bool chosen_alone(struct rpc *x)
{
	return x->in_flight == NULL ||
	       in_flight_choose(x->in_flight, x->a, &x->chosen, x->dec);
}

enum err rpc_decide(struct rpc *x)
{
	x->next = RPC_join;
	if (x->refused != REFUSE_NOTHING) {
		decide_refused(x);
		return OK;
	}
	do
		decide_without_others(x);
	while (!chosen_alone(x));
	if (x->dec->more || x->dec->more_nci) {
		if (x->supply != NULL) /* a replay has only the recorded rows */
			supply_more(x->supply, x->dec);
		x->next = RPC_more;
	} else if (x->dec->nwant > 0 && x->snap->wait_possible) {
		x->next = x->tx == TX_OPEN ? RPC_unlock : RPC_wait;
	} else if (x->dec->lacks_room && x->held != NULL && x->held->remembered &&
		   x->tx == TX_NONE) {
		x->held_afresh = true;
		x->next = RPC_load;
	} else {
		rpc_complete_decision(x, 0);
	}
	return OK;
}

enum err rpc_render(struct rpc *x)
{
	x->next = RPC_served;
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
