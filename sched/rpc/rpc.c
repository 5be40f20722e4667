/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one scheduler RPC, and contains its short steps. Every way out of rpc_run()
 * leaves a reply that clients accept: an error ends the steps and becomes a refusal.
 */
#include "sched/rpc/rpc.h"

#include <assert.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/xml.h"
#include "proto/request.h"
#include "lib/banned.h"

static const struct step {
	const char *name;
	enum rpc_step resume;
	unsigned successors; /* one bit per step */
	enum err (*each)(struct rpc *), (*one)(struct rpc *), (*all)(struct cohort *);
} steps[] = {
#define TO(step) | 1U << RPC_##step
#define STEP(name, takes, resume, successors, what)                                    \
	{ #name, RPC_##resume, 0 successors, .takes = rpc_##name },
#include "sched/rpc/steps.def"
#undef STEP
#undef TO
};

static void rpc_refuse(struct rpc *x, enum err e)
{
	enum situation s = refuse_error(e, x->req != NULL && x->req->hostid != 0);

	/*
	 * Only authentication may report a missing row, and only parse a bad request;
	 * later these are errors of our own.
	 */
	if (e == E_NOTFOUND && x->step != RPC_authenticate)
		s = REFUSE_FAILED;
	if (e == E_BADREQ && x->step != RPC_parse)
		s = REFUSE_FAILED;
	if (!x->probe) /* the prober gets the reason */
		log_fail(steps[x->step].name, &x->fail);
	x->refused = s;
	x->out.n = 0;
	refuse_render(&x->out, x->conf, x->req, s, x->fail.detail, 0);
}

/*
 * Parses the elements at the head that authentication needs, as a request of their own.
 */
static enum err parse_head(struct rpc *x)
{
	static const char *const tags[] = { "authenticator", "hostid",
		"core_client_major_version", "core_client_minor_version",
		"core_client_release" };
	char *head = arena_memdup(x->a, x->in, x->in_n);
	struct buf b = buf_new(x->a);

	for (char *p = head;
	     (p = memchr(p, '\0', (size_t)(head + x->in_n - p))) != NULL;)
		*p = ' ';
	buf_puts(&b, "<scheduler_request>\n");
	for (size_t i = 0; i < N(tags); i++) {
		const char *value = xml_between(x->a, head, tags[i]);

		if (value != NULL)
			buf_printf(&b, "<%s>%s</%s>\n", tags[i], value, tags[i]);
	}
	buf_puts(&b, "</scheduler_request>\n");
	return request_parse(x->a, b.p, b.n, &x->req, &x->fail);
}

enum err rpc_parse(struct rpc *x)
{
	x->next = RPC_authenticate;
	if (x->head)
		return parse_head(x);
	return request_parse(x->a, x->in, x->in_n, &x->req, &x->fail);
}

void rpc_begin(struct rpc *x)
{
	x->out = buf_new(x->a);
	x->start = clock_now_f();
}

void rpc_resume(struct rpc *x, const struct rpc_wait *w)
{
	rpc_begin(x);
	x->now = w->now;
	x->seed = w->seed;
	x->start = w->start;
	x->wait = w->ended;
	x->waited_ms = w->waited_ms;
}

bool rpc_head_passes(struct rpc *x)
{
	x->head = true;
	rpc_begin(x);
	rpc_run(&x, 1, NULL, NULL);
	return x->refused == REFUSE_NOTHING;
}

/* After E_RETRY: naps and reconnects if needed; gives up after RPC_RETRIES. */
static enum err rpc_retry(struct rpc *x)
{
	if (x->retries++ == RPC_RETRIES)
		return E_RETRY;
	log_warn("retrying step %s (%d of %d): %s: %s", steps[x->step].name, x->retries,
	    RPC_RETRIES, x->fail.where == NULL ? "?" : x->fail.where, x->fail.detail);
	db_retry_nap(x->db, x->retries);
	return db_ready(x->db, &x->fail);
}

/*
 * After a step: what comes next. What was read before a failure may be outdated, so
 * the table says where to resume.
 */
static void settle(struct rpc *x)
{
	enum err e = x->end;
	enum rpc_step to = e == OK ? x->next : x->resume;
	bool passes; /* a head whose request may still be served */

	assert(e != OK || (steps[x->step].successors & 1U << x->next) != 0);
	rpc_log_prefix(x);
	if (e != OK)
		rpc_roll_back(x);
	if (e == E_RETRY)
		e = rpc_retry(x);
	passes = x->head && e != E_NOTFOUND;
	if (e == OK)
		x->step = to;
	else if (!passes)
		rpc_refuse(x, e);
	x->ended = e != OK || x->step == RPC_served;
	if (x->in_flight != NULL && (x->ended || x->step == RPC_look))
		in_flight_drop(x->in_flight, &x->chosen);
	if (x->ended && !passes)
		rpc_log(x);
	log_prefix("%s", "");
}

static uint64_t own_statements(const struct cohort *c)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i]->statements;
	return n;
}

/* Runs the step at which the requests are. */
static void run_step(struct cohort *c)
{
	const struct step *s = &steps[c->v[0]->step];
	uint64_t before = db_statements(c->db) - own_statements(c), shared;
	struct cohort half = *c;
	enum err e = OK;

	for (size_t i = 0; i < c->n; i++) {
		c->v[i]->next = c->v[i]->step; /* no step's successor is itself */
		c->v[i]->resume = s->resume;
		c->v[i]->end = OK;
	}
	if (s->all != NULL)
		e = s->all(c);
	else
		cohort_each(c, s->each != NULL ? s->each : s->one);
	shared = db_statements(c->db) - own_statements(c) - before;
	for (size_t i = 0; i < c->n; i++)
		c->v[i]->statements += (shared + c->n - 1) / c->n;
	if (e != OK && c->n > 1) {
		log_warn("step %s of %zu requests is run in halves: %s: %s", s->name,
		    c->n, c->fail.where == NULL ? "?" : c->fail.where, c->fail.detail);
		half.n = c->n / 2;
		run_step(&half);
		half.v += half.n;
		half.n = c->n - half.n;
		run_step(&half);
		return;
	}
	if (e != OK) {
		c->v[0]->end = e;
		c->v[0]->fail = c->fail;
	}
	for (size_t i = 0; i < c->n; i++)
		settle(c->v[i]);
}

/*
 * Finds the requests that run next: one that holds locks, which no other may prolong;
 * else those at a step that each takes by itself, so that none waits for the others'
 * statements; else those at the earliest step, to which the others cannot add any more.
 */
static void next_cohort(struct rpc *const *v, size_t n, struct cohort *c)
{
	const struct rpc *first = NULL;
	int least = 0;

	for (size_t i = 0; i < n; i++) {
		int rank = v[i]->tx == TX_OPEN            ? -1 :
		           steps[v[i]->step].each != NULL ? 0 :
		                                            1 + (int)v[i]->step;

		if (first == NULL || rank < least) {
			first = v[i];
			least = rank;
		}
	}
	c->n = 0;
	for (size_t i = 0; i < n; i++)
		if (v[i] == first || (v[i]->step == first->step && least >= 0 &&
					 steps[first->step].one == NULL))
			c->v[c->n++] = v[i];
}

void rpc_run(
    struct rpc *const *v, size_t n, void (*over)(void *ctx, struct rpc *), void *ctx)
{
	struct rpc **left;
	struct cohort c;

	if (n == 0)
		return;
	left = arena_memdup(v[0]->a, v, n * sizeof(struct rpc *));
	c = (struct cohort){
		.v = NEWN(v[0]->a, struct rpc *, n), .db = v[0]->db, .a = v[0]->a
	};
	while (n > 0) {
		size_t kept = 0;

		next_cohort(left, n, &c);
		run_step(&c);
		for (size_t i = 0; i < n; i++)
			if (!left[i]->ended &&
			    (over == NULL || left[i]->step != RPC_look))
				left[kept++] = left[i];
			else if (over != NULL)
				over(ctx, left[i]);
		n = kept;
	}
}
