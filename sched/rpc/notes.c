/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to a client from the scheduler itself, beside the decision's. */
#include "sched/rpc/rpc.h"

#include <string.h>
#include "lib/banned.h"

void
rpc_note(struct rpc *x, bool notice, const char *text)
{
	PUSH(x->a, x->notes, x->nnotes, x->notes_cap) = (struct dec_message){
		.notice = notice, .text = arena_strdup(x->a, text)
	};
}

/*
 * Does the reply carry the decision's number?  If work was wanted and none is sent, the
 * volunteer can ask the administrator why.
 */
static bool
has_number(const struct decision *d)
{
	return d->nsends == 0 && d->why != WHY_NONE && d->why != WHY_DONT_SEND;
}

void
rpc_complete_decision(struct rpc *x, double delay_s)
{
	struct decision *d = x->dec;
	struct dec_message *all = NEWN(
	    x->a, struct dec_message, x->nnotes + REFUSE_HINTS_MAX + d->nmessages + 1);
	size_t n = x->nnotes;

	if (n > 0)
		memcpy(all, x->notes, n * sizeof(*all));
	n += refuse_hints(x->a, x->conf, x->req, x->now, all + n);
	if (d->nmessages > 0)
		memcpy(all + n, d->messages, d->nmessages * sizeof(*all));
	n += d->nmessages;
	if (has_number(d))
		all[n++].text = arena_printf(x->a, DECISION_MESSAGE "%08llx: %s",
		    (unsigned long long)x->seed & 0xffffffff, reason_code(d->why));
	d->messages = all;
	d->nmessages = n;
	if (d->request_delay < delay_s)
		d->request_delay = delay_s;
	d->send_code_sign_key = true; /* render decides which clients need it */
	d->down = x->snap->down;
	d->ndown = x->snap->ndown;
}
