/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one scheduler RPC, and contains its short steps.  Every way out of rpc_run()
 * leaves a reply that clients accept: an error ends the steps and becomes a refusal.
 */
#include "sched/rpc/rpc.h"

#include <assert.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/xml.h"
#include "proto/request.h"
#include "lib/banned.h"

static const struct {
	const char *name;
	enum err (*run)(struct rpc *, enum rpc_step *next);
	enum rpc_step resume;
	unsigned successors; /* one bit per step */
} steps[] = {
#define TO(step) | 1U << RPC_##step
#define STEP(name, resume, successors, what)                                           \
	{ #name, rpc_##name, RPC_##resume, 0 successors },
#include "sched/rpc/steps.def"
#undef STEP
#undef TO
};

enum err
rpc_parse(struct rpc *x, enum rpc_step *next)
{
	enum err e = request_parse(x->a, x->in, x->in_n, &x->req, &x->fail);

	if (e == OK)
		*next = RPC_authenticate;
	return e;
}

/* After E_RETRY: naps and reconnects if needed; gives up after RPC_RETRIES. */
static enum err
rpc_retry(struct rpc *x, struct rng *jitter)
{
	if (x->retries++ == RPC_RETRIES)
		return E_RETRY;
	log_warn("retrying step %s (%d of %d): %s: %s", steps[x->step].name, x->retries,
	    RPC_RETRIES, x->fail.where == NULL ? "?" : x->fail.where, x->fail.detail);
	db_retry_nap(jitter, x->retries);
	return db_ready(x->db, &x->fail);
}

/*
 * Runs the steps.  What was read before a failure may be outdated, so the table says
 * where to resume.
 */
static enum err
rpc_run_steps(struct rpc *x)
{
	struct rng jitter = rng_seed(x->seed ^ 3);

	while (x->step != RPC_served) {
		enum rpc_step next = steps[x->step].resume;
		enum err e = steps[x->step].run(x, &next);

		assert(e != OK || (steps[x->step].successors & 1U << next) != 0);
		if (e != OK)
			rpc_roll_back(x);
		if (e == E_RETRY)
			e = rpc_retry(x, &jitter);
		if (e != OK)
			return e;
		x->step = next;
	}
	return OK;
}

static void
rpc_refuse(struct rpc *x, enum err e)
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
static enum err
parse_head(struct rpc *x)
{
	static const char *const tags[] = { "authenticator", "hostid",
		"core_client_major_version", "core_client_minor_version",
		"core_client_release" };
	char *head = arena_memdup(x->a, x->in, x->in_n);
	struct buf b = buf_new(x->a);

	for (size_t i = 0; i < x->in_n; i++)
		if (head[i] == '\0')
			head[i] = ' ';
	buf_puts(&b, "<scheduler_request>\n");
	for (size_t i = 0; i < N(tags); i++) {
		const char *value = xml_between(x->a, head, tags[i]);

		if (value != NULL)
			buf_printf(&b, "<%s>%s</%s>\n", tags[i], value, tags[i]);
	}
	buf_puts(&b, "</scheduler_request>\n");
	return request_parse(x->a, b.p, b.n, &x->req, &x->fail);
}

bool
rpc_head_passes(struct rpc *x)
{
	double start = clock_now_f();
	uint64_t before = db_statements(x->db);
	enum rpc_step next;
	enum err e;

	x->out = buf_new(x->a);
	log_prefix("[rpc=%08llx]", (unsigned long long)x->seed & 0xffffffff);
	e = parse_head(x);
	x->step = RPC_authenticate;
	if (e == OK)
		e = rpc_authenticate(x, &next);
	if (e == E_NOTFOUND) {
		rpc_refuse(x, e);
		rpc_log(x, (int64_t)((clock_now_f() - start) * 1e6),
		    db_statements(x->db) - before);
	}
	log_prefix("%s", "");
	return e != E_NOTFOUND;
}

void
rpc_run(struct rpc *x)
{
	double start = clock_now_f();
	uint64_t before = x->db == NULL ? 0 : db_statements(x->db);
	enum err e;

	x->out = buf_new(x->a);
	x->start_ms = clock_mono_ms();
	log_prefix("[rpc=%08llx]", (unsigned long long)x->seed & 0xffffffff);
	e = rpc_run_steps(x);
	if (e != OK)
		rpc_refuse(x, e);
	rpc_log(x, (int64_t)((clock_now_f() - start) * 1e6),
	    (x->db == NULL ? 0 : db_statements(x->db)) - before);
	log_prefix("%s", "");
}
