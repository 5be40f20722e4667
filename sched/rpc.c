/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner of one scheduler RPC, and those of its steps that are short.  Every way
 * out of rpc_run leaves a reply that clients accept: an error ends the list and becomes
 * a refusal.
 */
#include "sched/rpc.h"

#include <string.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/xml.h"
#include "proto/request.h"
#include "rules/sched/decide.h"
#include "lib/banned.h"

static const struct {
	const char *name;
	enum err (*run)(struct rpc *);
} steps[] = {
#define STEP(name) { #name, rpc_##name },
#include "sched/steps.def"
#undef STEP
};

void
rpc_note(struct rpc *x, bool notice, const char *text)
{
	PUSH(x->a, x->notes, x->nnotes, x->notes_cap) = (struct dec_message){
		.notice = notice, .text = arena_strdup(x->a, text)
	};
}

enum err
rpc_parse(struct rpc *x)
{
	return request_parse(x->a, x->in, x->in_n, &x->req, &x->fail);
}

/* Work was wanted and there is none: then an administrator can be asked why. */
static bool
has_number(const struct decision *d)
{
	return d->nsends == 0 && d->why != WHY_NONE && d->why != WHY_DONT_SEND;
}

/* Puts our own messages before the decision's and its number after them, makes its
 * delay at least delay_s, offers the key, hands over what waits for the host. */
static void
complete_decision(struct rpc *x, double delay_s)
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
	d->send_code_sign_key = true; /* render knows which clients need it */
	d->down = x->snap->down;
	d->ndown = x->snap->ndown;
}

/*
 * A host that is refused is decided like one that wants no work: its reports are stored
 * and acked, and the refusal is one more message (design.md: reports before any
 * refusal).
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
		x->dec->nmoves = 0; /* there is no row that tasks could move to */
		r.delay_s = (double)x->host_wait_s;
	}
	rpc_note(x, r.notice, r.text);
	complete_decision(x, r.delay_s);
	x->nnotes = keep;
}

enum err
rpc_decide(struct rpc *x)
{
	struct rng rng = rng_seed(x->seed ^ 2);

	if (x->refused != REFUSE_NOTHING) {
		decide_refused(x, &rng);
		return OK;
	}
	x->dec = decide(
	    x->a, x->conf, x->req, x->snap, x->now, &rng, x->lost, x->nlost);
	if ((x->dec->more || x->dec->more_nci) && x->db == NULL) {
		x->snap->search.left = x->snap->search.held_left =
		    x->snap->nci_search.left = false; /* a recording has no more */
		x->again = true;
		return OK;
	}
	if (x->dec->more || x->dec->more_nci) {
		x->again = true;
		return rpc_more(x);
	}
	if (x->dec->nwant > 0 && x->snap->wait_possible && x->dry) {
		x->waited = x->reload = true; /* as if the wait had brought nothing */
		return OK;
	}
	if (x->dec->nwant > 0 && x->snap->wait_possible) {
		rpc_unlock(x);
		enum err e = rpc_wait(x);

		x->snap->wait_possible = false;
		x->again = x->no_slot;
		x->reload = !x->no_slot;
		return e;
	}
	complete_decision(x, 0);
	return OK;
}

enum err
rpc_render(struct rpc *x)
{
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

/* The step after this one, or where the loop goes back to. */
static enum rpc_step
step_next(struct rpc *x)
{
	enum rpc_step next = x->step + 1;

	if (x->again)
		next = RPC_decide;
	if (x->reload)
		next = RPC_load;
	x->again = x->reload = false;
	return next;
}

/*
 * After E_RETRY: naps and makes the connection usable.  The failed step is run again,
 * or load if it came later: what was read before is no longer true.  Even who the host
 * is may not be.
 */
static enum err
retry(struct rpc *x, struct rng *jitter)
{
	if (x->retries++ == RPC_RETRIES)
		return E_RETRY;
	log_warn("step %s starts again (%d of %d): %s: %s", steps[x->step].name,
	    x->retries, RPC_RETRIES, x->fail.where == NULL ? "?" : x->fail.where,
	    x->fail.detail);
	db_retry_nap(jitter, x->retries);
	if (x->step > RPC_load)
		x->step = x->identify ? RPC_authenticate : RPC_load;
	x->identify = false;
	x->again = x->reload = false;
	return db_ready(x->db, &x->fail);
}

static enum err
run_steps(struct rpc *x)
{
	struct rng jitter = rng_seed(x->seed ^ 3);

	while (x->step < RPC__STEPS) {
		enum err e = steps[x->step].run(x);

		if (e != OK)
			rpc_unlock(x);
		if (e == E_RETRY)
			e = retry(x, &jitter);
		else if (e == OK)
			x->step = step_next(x);
		if (e != OK)
			return e;
	}
	return OK;
}

static void
refuse(struct rpc *x, enum err e)
{
	enum situation s = refuse_error(e, x->req != NULL && x->req->hostid != 0);

	/* Only authentication may say that there is no such row: later it is our own
	 * trouble. */
	if (e == E_NOTFOUND && x->step != RPC_authenticate)
		s = REFUSE_FAILED;
	if (e == E_BADREQ && x->step != RPC_parse)
		s = REFUSE_FAILED;
	if (!x->probe) /* whoever asked is told */
		log_fail(steps[x->step].name, &x->fail);
	x->refused = s;
	x->out.n = 0;
	refuse_render(&x->out, x->conf, x->req, s, x->fail.detail);
}

/* The elements of the head that authentication looks at, as a request of their own. */
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
	enum err e;

	x->out = buf_new(x->a);
	log_prefix("[rpc=%08llx]", (unsigned long long)x->seed & 0xffffffff);
	e = parse_head(x);
	x->step = RPC_authenticate;
	if (e == OK)
		e = rpc_authenticate(x);
	if (e == E_NOTFOUND) {
		refuse(x, e);
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
	e = run_steps(x);
	if (e != OK)
		refuse(x, e);
	rpc_log(x, (int64_t)((clock_now_f() - start) * 1e6),
	    (x->db == NULL ? 0 : db_statements(x->db)) - before);
	log_prefix("%s", "");
}
