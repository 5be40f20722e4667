/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/rpc/counts.h"

#include "lib/log.h"
#include "model/metrics.h"
#include "model/decision.h"
#include "sched/rpc/rpc.h"
#include "lib/banned.h"

enum { RETRY_S = 60 };

static enum err
add_metric(struct counts *c, const struct rpc *x, enum metric m, const char *value,
    uint64_t by, struct fail *f)
{
	if (by == 0)
		return OK;
	return counters_add(&c->counters,
	    arena_printf(
		x->a, "%s{%s=\"%s\"}", metrics[m].name, metrics[m].label, value),
	    by, f);
}

static enum err
add_sends(struct counts *c, const struct rpc *x, struct fail *f)
{
	uint64_t n[SEND_PLAIN + 1] = { 0 };
	enum err e = OK;

	for (size_t i = 0; i < x->dec->nsends; i++)
		n[x->dec->sends[i].how]++;
	for (int how = 0; how <= SEND_PLAIN && e == OK; how++)
		e = add_metric(c, x, METRIC_JOBS_SENT,
		    send_how_name((enum send_how)how), n[how], f);
	return e;
}

static enum err
add_decision(struct counts *c, const struct rpc *x, struct fail *f)
{
	const struct decision *d = x->dec;
	enum err e = add_sends(c, x, f);

	if (e == OK && d->nsends == 0 && d->why != WHY_NONE && d->why != WHY_DONT_SEND)
		e = add_metric(c, x, METRIC_REFUSED, reason_code(d->why), 1, f);
	for (int why = WHY_NONE + 1; why < WHY__MAX && e == OK; why++)
		e = add_metric(c, x, METRIC_LEFT_OUT, reason_code((enum reason)why),
		    d->counts[why], f);
	return e;
}

static enum err
count_rpc(struct counts *c, const struct rpc *x, struct fail *f)
{
	bool refused = x->refused != REFUSE_NOTHING;
	enum err e = add_metric(
	    c, x, METRIC_RPCS, refused ? "refused" : "served", 1, f);

	if (e == OK && refused)
		e = add_metric(c, x, METRIC_RPC_REFUSED, refuse_name(x->refused), 1, f);
	if (e == OK && !refused && x->dec != NULL)
		e = add_decision(c, x, f);
	return e;
}

static enum err
counters_ready(struct counts *c, const struct rpc *x, struct fail *f)
{
	if (c->counters.map != NULL)
		return OK;
	return counters_open(
	    &c->counters, arena_printf(x->a, "%s/" COUNTERS_FILE, x->conf->run_dir), f);
}

void
counts_keep(struct counts *c, const struct rpc *x)
{
	struct fail f = { 0 };
	enum err e;

	if (x->conf->run_dir[0] == '\0' || x->now < c->retry_at)
		return;
	e = counters_ready(c, x, &f);
	if (e == OK)
		e = count_rpc(c, x, &f);
	if (e == E_NOTFOUND && c->counters.map != NULL) { /* an admin removed it */
		counts_close(c);
		e = counters_ready(c, x, &f);
		if (e == OK)
			e = count_rpc(c, x, &f);
	}
	if (e == OK) {
		c->failed = false;
		return;
	}
	if (!c->failed)
		log_fail("requests are not counted", &f);
	c->failed = true;
	c->retry_at = x->now + RETRY_S;
	counts_close(c);
}

void
counts_close(struct counts *c)
{
	counters_close(&c->counters);
}
