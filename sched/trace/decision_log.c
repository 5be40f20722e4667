/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/trace/decision_log.h"

#include <stdio.h>
#include <string.h>
#include "lib/log.h"
#include "proto/trace.h"
#include "sched/rpc/rpc.h"
#include "lib/banned.h"

enum { RETRY_S = 60 };

void
decision_log_format(struct buf *b, const struct rpc *x)
{
	bool served = x->step == RPC_served;
	bool refused = x->refused != REFUSE_NOTHING;
	const struct trace *t = trace_of(x->a,
	    &(struct trace_from){ .conf = x->conf,
		.req = x->req,
		.snap = x->snap,
		.dec = served ? x->dec : NULL,
		.at = x->now,
		.seed = (int64_t)x->seed,
		.rounds = x->rounds,
		.lost = (int64_t)x->nlost,
		.waited_ms = x->waited_ms,
		.userid = x->user == NULL ? 0 : x->user->id,
		.refused = refused ? refuse_name(x->refused) : "",
		.refused_for = served ? "" : x->fail.detail },
	    TRACE_REASONS);

	trace_put(b, t, TRACE_REASONS);
	trace_end(b);
}

/* Logs the first failure only, and retries after a while. */
static void
pause_after_failure(struct decision_log *g, const struct rpc *x, const struct fail *f)
{
	if (!g->failed)
		log_fail("this decision is not recorded", f);
	g->failed = true;
	g->retry_at = x->now + RETRY_S;
	ring_close(&g->ring);
}

static bool
ring_ready(struct decision_log *g, const struct rpc *x)
{
	const struct conf *cf = x->conf;
	const char *dir = arena_printf(x->a, "%s/decisions", cf->run_dir);
	struct fail f = { 0 };

	if (g->ring.open && g->size == cf->decision_ring_bytes &&
	    g->count == cf->decision_rings && strcmp(g->dir, dir) == 0)
		return true;
	ring_close(&g->ring);
	if (x->now < g->retry_at && x->now >= g->retry_at - RETRY_S)
		return false;
	g->size = cf->decision_ring_bytes;
	g->count = cf->decision_rings;
	snprintf(g->dir, sizeof(g->dir), "%s", dir);
	if (ring_open(&g->ring, dir, g->count, (size_t)g->size, &f) == OK)
		return true;
	pause_after_failure(g, x, &f);
	return false;
}

static void
put_frame(struct decision_log *g, const struct rpc *x, const struct buf *b)
{
	struct fail f = { 0 };
	enum err e;

	if (!ring_ready(g, x))
		return;
	e = ring_put(&g->ring, b->p, b->n, &f);
	if (e == E_NOTFOUND) { /* an admin removed the file: create a new one */
		ring_close(&g->ring);
		if (!ring_ready(g, x))
			return;
		e = ring_put(&g->ring, b->p, b->n, &f);
	}
	if (e == OK)
		g->failed = false;
	else
		pause_after_failure(g, x, &f);
}

void
decision_log_begin(struct decision_log *g)
{
	*g = (struct decision_log){ 0 };
	pthread_mutex_init(&g->lock, NULL);
}

void
decision_log_write(struct decision_log *g, const struct rpc *x)
{
	struct buf b = buf_new(x->a);

	if (x->req == NULL || x->conf->decision_rings == 0)
		return;
	decision_log_format(&b, x);
	pthread_mutex_lock(&g->lock);
	put_frame(g, x, &b);
	pthread_mutex_unlock(&g->lock);
}

void
decision_log_close(struct decision_log *g)
{
	ring_close(&g->ring);
	pthread_mutex_destroy(&g->lock);
}
