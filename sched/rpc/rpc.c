/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one scheduler RPC, and contains its short steps.  Every way out of rpc_run()
 * leaves a reply that clients accept: an error ends the steps and becomes a refusal.
 */
#include "sched/rpc/rpc.h"

#include <assert.h>
#include "db/snapshot.h"
#include "db/supply_rows.h"
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
	TRY(request_parse(x->a, x->in, x->in_n, &x->req, &x->fail));
	*next = RPC_authenticate;
	return OK;
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
 * Runs the steps up to one of `stops`.  What was read before a failure may be outdated,
 * so the table says where to resume.
 */
static enum err
rpc_run_steps(struct rpc *x, unsigned stops)
{
	struct rng jitter = rng_seed(x->seed ^ 3);

	while (x->step != RPC_served && (stops & 1U << x->step) == 0) {
		enum rpc_step next = steps[x->step].resume;
		enum err e = steps[x->step].run(x, &next);

		assert(e != OK || (steps[x->step].successors & 1U << next) != 0);
		if (e != OK) { /* what was read may be outdated */
			rpc_roll_back(x);
			x->prefetched = NULL;
		}
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
	uint64_t before = db_statements(x->db);
	enum rpc_step next;
	enum err e;

	rpc_begin(x);
	log_prefix("[rpc=%08llx]", (unsigned long long)x->seed & 0xffffffff);
	e = parse_head(x);
	x->step = RPC_authenticate;
	if (e == OK)
		e = rpc_authenticate(x, &next);
	if (e == E_NOTFOUND) {
		x->statements = db_statements(x->db) - before;
		rpc_refuse(x, e);
		rpc_log(x);
	}
	log_prefix("%s", "");
	return e != E_NOTFOUND;
}

void
rpc_begin(struct rpc *x)
{
	x->out = buf_new(x->a);
	x->start = clock_now_f();
}

void
rpc_resume(struct rpc *x, const struct rpc_wait *w)
{
	rpc_begin(x);
	x->now = w->now;
	x->seed = w->seed;
	x->start = w->start;
	x->wait = w->ended;
	x->waited_ms = w->waited_ms;
}

static bool
rpc_run_until(struct rpc *x, unsigned stops)
{
	uint64_t before = x->db == NULL ? 0 : db_statements(x->db);
	enum err e;

	log_prefix("[rpc=%08llx]", (unsigned long long)x->seed & 0xffffffff);
	e = rpc_run_steps(x, stops);
	x->statements += (x->db == NULL ? 0 : db_statements(x->db)) - before;
	if (x->in_flight != NULL && (e != OK || x->step != RPC_commit))
		in_flight_drop(x->in_flight, &x->chosen);
	if (e == OK && x->step != RPC_served) {
		log_prefix("%s", "");
		return false;
	}
	if (e != OK)
		rpc_refuse(x, e);
	x->ended = true;
	rpc_log(x);
	log_prefix("%s", "");
	return true;
}

void
rpc_run(struct rpc *x)
{
	rpc_begin(x);
	rpc_run_until(x, 0);
}

enum {
	TO_MORE = 1U << RPC_more,
	TO_LOOK = 1U << RPC_look,
	TO_COMMIT = 1U << RPC_commit
};

/* Reads what the requests will need first; a failure shows when each reads alone. */
static void
prefetch(struct rpc *const *v, size_t n)
{
	struct arena *a = v[0]->a;
	struct request_prefetch *prefetched = NEWN(a, struct request_prefetch, n);
	uint64_t before = db_statements(v[0]->db);
	struct supply_rows *lasts = NEW(a, struct supply_rows);
	struct fail f = { 0 };

	for (size_t i = 0; i < n; i++) {
		prefetched[i].rq = v[i]->req;
		prefetched[i].lasts = lasts;
		v[i]->prefetched = &prefetched[i];
	}
	if (prefetch_read(v[0]->db, a, prefetched, n, &f) != OK)
		log_fail("reading ahead", &f);
	for (size_t i = 0; i < n; i++)
		v[i]->statements += (db_statements(v[0]->db) - before + n - 1) / n;
}

/* Parses the requests and reads ahead for those that will read. */
static void
parse_and_prefetch(struct rpc *const *v, size_t n)
{
	struct rpc **some = NEWN(v[0]->a, struct rpc *, n);
	size_t nsome = 0;

	for (size_t i = 0; i < n; i++)
		if (!rpc_run_until(v[i], 1U << RPC_authenticate) && !v[i]->dry)
			some[nsome++] = v[i];
	if (nsome > 1)
		prefetch(some, nsome);
}

/*
 * Reads the next jobs of a file set for all requests whose supply asks for some, which
 * most do first; the other queries each runs by itself.  Returns false if fewer than
 * two ask.
 */
static bool
read_jobs_cohort(struct rpc *const *v, size_t n)
{
	struct arena *a = v[0]->a;
	struct supply_query *asked = NEWN(a, struct supply_query, n);
	const struct supply_query **q = NEWN(a, const struct supply_query *, n);
	struct supply_rows *rows = NEWN(a, struct supply_rows, n);
	struct rpc **of = NEWN(a, struct rpc *, n);
	uint64_t before;
	struct fail f = { 0 };
	size_t k = 0;

	for (size_t i = 0; i < n && k < DB_HEADS_MAX; i++)
		if (v[i]->step == RPC_more && rpc_next_jobs(v[i], &asked[k])) {
			q[k] = &asked[k];
			of[k++] = v[i];
		}
	before = db_statements(v[0]->db);
	if (k < 2 || supply_run_cohort(v[0]->db, a, q, k, rows, &f) != OK)
		return false; /* each asks by itself */
	for (size_t i = 0; i < k; i++)
		of[i]->statements += (db_statements(v[0]->db) - before + k - 1) / k;
	for (size_t i = 0; i < k; i++)
		rpc_take_jobs(of[i], &asked[i], &rows[i]);
	return true;
}

/* Runs all steps that several requests share, up to their decisions. */
static void
read_cohort(struct rpc *const *v, size_t n)
{
	parse_and_prefetch(v, n);
	for (size_t i = 0; i < n; i++)
		if (!v[i]->ended)
			rpc_run_until(v[i], TO_MORE | TO_LOOK | TO_COMMIT);
	while (read_jobs_cohort(v, n))
		;
}

/*
 * Lets one of several requests decide.  Returns true if it can commit with others;
 * locks that it has taken must not wait for them.
 */
static bool
decide_one(struct rpc *x, bool several)
{
	if (x->ended || rpc_run_until(x, TO_LOOK | TO_COMMIT) || x->step == RPC_look)
		return false;
	if (several && x->tx == TX_NONE)
		return true;
	rpc_run_until(x, TO_LOOK);
	return false;
}

void
rpc_run_cohort(
    struct rpc *const *v, size_t n, void (*over)(void *ctx, size_t i), void *ctx)
{
	struct rpc **ready;
	size_t *at, nready = 0;

	if (n == 0)
		return;
	ready = NEWN(v[0]->a, struct rpc *, n);
	at = NEWN(v[0]->a, size_t, n);
	if (n > 1)
		read_cohort(v, n);
	for (size_t i = 0; i < n; i++) {
		if (!decide_one(v[i], n > 1)) {
			over(ctx, i);
			continue;
		}
		at[nready] = i;
		ready[nready++] = v[i];
	}
	if (nready > 1)
		rpc_commit_cohort(ready, nready);
	for (size_t i = 0; i < nready; i++) {
		rpc_run_until(ready[i], TO_LOOK);
		over(ctx, at[i]);
	}
}
