/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the decisions of one or several requests in one transaction, taking locks in
 * the order that all programs use: workunits, results, host_app_version, hosts, each by
 * id (architecture.md 3.2).
 *
 * What the decisions rest on is locked and read back. Of several requests, one whose
 * rows are not as they were read leaves and commits alone; a lone one sorts out what it
 * lost and goes on with the rest, or decides again. Then each kind of change is one
 * batch, whose counts do not matter any more.
 *
 * A lone request first tries one message without reading anything back, which the
 * database undoes if a row is not as it was read.
 */
#include "sched/rpc/commit.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/ledger.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/log.h"
#include "model/rows.h"
#include "rules/sched/decide.h"
#include "rules/sched/large.h"
#include "sched/trace/recording.h"
#include "lib/banned.h"

/* --- what the decisions rest on --- */

struct hold { /* a result that a request writes */
	int64_t id, once;
	struct member *m;
	const struct op *op;
	int64_t moved_from; /* the host from which this request moves it; 0 = not */
};

static int hold_order(const void *pa, const void *pb)
{
	const struct hold *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

static struct hold *collect_holds(struct commit *c, size_t *n)
{
	struct hold *v;
	size_t all = 0;

	for (size_t i = 0; i < c->n; i++)
		all += c->v[i].nops;
	v = NEWN(c->a, struct hold, all + 1);
	*n = 0;
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &c->v[i];
		const struct decision *d = m->x->dec;
		int64_t moved = 0, from = 0;

		for (size_t k = 0; k < m->nops; k++) {
			const struct op *o = &m->ops[k];

			if (o->kind == OP_MOVE) {
				moved = o->result_id;
				from = d->moves[o->i].from;
			}
			if (o->result_id != 0 &&
			    (o->kind != OP_SEND || !m->send_lost[o->i]))
				v[(*n)++] = (struct hold){ o->result_id,
					o->kind == OP_SEND ? d->sends[o->i].once : 0, m,
					o, o->result_id == moved ? from : 0 };
		}
	}
	qsort(v, *n, sizeof(*v), hold_order);
	return v;
}

/* Is the result as the change expects it? */
static bool as_expected(const struct hold *h, const struct row_held_result *r)
{
	const struct rpc *x = h->m->x;
	const struct snap_report *seen;
	const struct dec_report *d;

	if (r == NULL)
		return h->op->kind == OP_EXPIRE;
	switch (h->op->kind) {
	case OP_SEND:
		return r->server_state == RESULT_UNSENT && !r->once_taken;
	case OP_MOVE:
	case OP_RESEND:
		return r->server_state == RESULT_IN_PROGRESS &&
		       r->hostid ==
		           (h->moved_from != 0 ? h->moved_from : x->snap->host.id);
	case OP_REPORT:
		d = &x->dec->reports[h->op->i];
		return r->server_state == d->expect_state &&
		       r->outcome == d->expect_outcome &&
		       (r->received_time == 0 || r->outcome == OUTCOME_CLIENT_DETACHED);
	case OP_ACK:
		seen = &x->snap->reports[h->op->i];
		return r->server_state == seen->result.server_state &&
		       r->outcome == seen->result.outcome &&
		       r->received_time == seen->result.received_time &&
		       (r->hostid == seen->result.hostid ||
			   r->hostid == x->snap->host.id);
	case OP_EXPIRE: /* of a result that is over it changes nothing */
	case OP__MAX:
		break;
	}
	return true;
}

/* What follows if a result is not as expected. */
static enum err not_as_expected(struct commit *c, const struct hold *h)
{
	if (c->n > 1)
		h->m->left = true;
	else if (h->op->kind == OP_SEND || h->op->kind == OP_RESEND)
		commit_lose(h->m, h->op->i);
	else
		return FAIL(c->fail, E_RETRY, "result %lld changed during the decision",
		    (long long)h->id);
	return OK;
}

/*
 * The name of a report that is acked without being stored must still be unknown, so
 * that no report is discarded because of an outdated row (architecture.md 3.2).
 */
static enum err hold_unknown(struct member *m)
{
	struct rpc *x = m->x;

	for (size_t k = 0; k < m->nops && m->ops[k].result_id == 0; k++) {
		const char *name = x->req->reports[m->ops[k].i].name;
		struct result *r;
		enum err e = result_by_name(x->db, x->a, name, &r, &x->fail);

		/* The collation may equate different spellings of a name; we do not. */
		if (e == OK && strcmp(r->name, name) == 0)
			return FAIL(&x->fail, E_RETRY, "result %s appeared", name);
		if (e != OK && e != E_NOTFOUND)
			return e;
	}
	return OK;
}

/* Locks the results, and sorts out what expects something else of them. */
static enum err hold_results(struct commit *c)
{
	size_t n, nrows, at = 0;
	struct hold *v = collect_holds(c, &n);
	struct row_pair *pairs = NEWN(c->a, struct row_pair, n + 1);
	struct row_held_result *rows;

	for (size_t i = 0; i < n; i++)
		pairs[i] = (struct row_pair){ v[i].id, v[i].once };
	TRY(results_hold(c->db, c->a, pairs, n, &rows, &nrows, c->fail));
	for (size_t i = 0; i < n; i++) {
		bool theirs = i > 0 && v[i - 1].id == v[i].id && v[i - 1].m != v[i].m;

		while (at < nrows && rows[at].id < v[i].id)
			at++;
		/* Two requests change the same result: the second sees it changed. */
		if (theirs ||
		    !as_expected(
			&v[i], at < nrows && rows[at].id == v[i].id ? &rows[at] : NULL))
			TRY(not_as_expected(c, &v[i]));
	}
	return c->n == 1 ? hold_unknown(&c->v[0]) : OK;
}

static bool version_as_read(const struct hav_table *t, const struct version_change *v)
{
	const struct host_app_version *was = v->was;

	for (size_t i = 0; i < t->n; i++) {
		const struct host_app_version *now = &t->v[i].v;

		if (now->host_id == v->becomes.host_id &&
		    now->app_version_id == v->becomes.app_version_id)
			return was != NULL &&
			       now->max_jobs_per_day == was->max_jobs_per_day &&
			       now->n_jobs_today == was->n_jobs_today &&
			       now->consecutive_valid == was->consecutive_valid;
	}
	return was == NULL;
}

/*
 * The same for the statistics of versions: if the validator or another RPC has changed
 * them, the RPC decides again instead of overwriting them.
 */
static enum err hold_versions(struct commit *c)
{
	int64_t *hosts = NEWN(c->a, int64_t, c->n + 1);
	struct hav_table t = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].nversions > 0 && !c->v[i].left)
			hosts[n++] = c->v[i].x->snap->host.id;
	if (n == 0)
		return OK;
	TRY(havs_lock(c->db, c->a, hosts, n, &t, c->fail));
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &c->v[i];

		for (size_t k = 0; k < m->nversions && !m->left; k++)
			m->left = !version_as_read(&t, &m->versions[k]);
		if (m->left && c->n == 1)
			return FAIL(c->fail, E_RETRY,
			    "the statistics of versions on host %lld changed during the decision",
			    (long long)m->x->snap->host.id);
	}
	return OK;
}

/*
 * A request that has bound or replicated a workunit and leaves would have done so for
 * nothing.
 */
static enum err nothing_bound_by_leavers(const struct commit *c)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; c->v[i].left && k < c->v[i].x->dec->nsends; k++)
			if (commit_binds(&c->v[i].x->dec->sends[k]))
				return FAIL(c->fail, E_RETRY,
				    "host %lld has bound a workunit but lost a job",
				    (long long)c->v[i].x->snap->host.id);
	return OK;
}

/* --- a lone request that lost jobs --- */

/*
 * The jobs that were won are committed; if none was won, or a lost job had bound its
 * workunit, everything is rolled back and decided again without the lost jobs, in the
 * last round without any new work. If all jobs were lost, the rows read were outdated,
 * so they are read again. Is the RPC to decide again?
 */
static bool decides_again(struct member *m)
{
	struct rpc *x = m->x;
	struct decision *d = x->dec;
	bool for_nothing = false;

	for (size_t i = 0; i < d->nsends; i++) {
		const struct job *j = d->sends[i].job;

		if (!m->send_lost[i])
			continue;
		PUSH(x->a, x->lost, x->nlost, x->lost_cap) = j->id;
		if (x->contention != NULL)
			contention_lost(x->contention,
			    j->fileset_id > 0 ? j->fileset_id : -j->appid, x->now);
		for_nothing |= commit_binds(&d->sends[i]);
	}
	if (for_nothing || (m->nsends_lost == d->nsends && x->rounds < RPC_ROUNDS)) {
		x->rounds++;
		return true;
	}
	return false;
}

/*
 * A lost job may have been the one that brings a large file, so the next job that needs
 * the file is charged.
 */
static void charge_again(struct member *m)
{
	struct rpc *x = m->x;
	struct larges larges = larges_of(x->a, x->snap);

	larges_charge(&larges, x->dec->sends, x->dec->nsends, m->send_lost);
}

static void drop_lost_sends(struct member *m)
{
	struct decision *d = m->x->dec;
	size_t kept = 0;

	for (size_t i = 0; i < d->nsends; i++)
		if (!m->send_lost[i])
			d->sends[kept++] = d->sends[i];
	d->nsends = kept;
}

/* --- the transaction --- */

/*
 * Begins the transaction. A client forgets a report once it is acked. So if a report
 * is acked without being stored, the rows behind that decision are read again, and they
 * must not be outdated on this cluster node either (architecture.md 3.2).
 */
static enum err commit_begin(struct commit *c)
{
	bool current = false;

	if (c->v[0].x->tx == TX_OPEN) { /* a lone one, with candidates locked */
		c->unseen = false;
		return OK;
	}
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->v[i].nops; k++)
			current |= c->v[i].ops[k].kind == OP_ACK;
	c->unseen = c->unseen && !current;
	if (!c->unseen)
		return current ? db_begin_current(c->db, c->fail) :
		                 db_begin(c->db, c->fail);
	TRY(db_begin_tx_batch(c->db, c->fail));
	c->unseen = db_in_tx_batch(c->db);
	return OK;
}

/*
 * Commits. An uncertain COMMIT succeeded if a host's row carries the token written
 * with it; of several hosts another request may have overwritten one since.
 */
static enum err commit_finish(struct commit *c)
{
	enum err e = db_commit(c->db, c->fail);

	if (e != E_RETRY || !db_commit_uncertain(c->db))
		return e;
	if (db_ready(c->db, c->fail) != OK)
		return E_DB;
	for (size_t i = 0; i < c->n; i++) {
		struct fail f = { 0 };
		int64_t token = 0;

		if (!c->v[i].left &&
		    host_token(c->db, c->v[i].x->snap->host.id, &token, &f) == OK &&
		    token == c->v[i].token)
			return OK;
	}
	return e;
}

/* As commit_run(), without rolling back after an error; sets *again likewise. */
static enum err commit_transaction(struct commit *c, bool *again)
{
	struct member *lone = c->n == 1 ? &c->v[0] : NULL;

	TRY(commit_begin(c));
	if (lone != NULL)
		TRY(commit_write_new(lone));
	for (size_t i = 0; i < c->n; i++)
		commit_once(&c->v[i]);
	TRY(commit_write_workunits(c));
	if (!c->unseen)
		TRY(hold_results(c));
	if (lone != NULL && lone->nsends_lost > 0) {
		*again = decides_again(lone);
		if (*again)
			return OK;
		charge_again(lone);
	}
	for (size_t i = 0; i < c->n; i++)
		commit_versions(&c->v[i]);
	if (!c->unseen)
		TRY(hold_versions(c));
	TRY(nothing_bound_by_leavers(c));
	TRY(commit_write_results(c));
	TRY(commit_write_versions(c));
	TRY(commit_write_hosts(c));
	return commit_finish(c);
}

/*
 * Runs the transaction. *again: nothing was written, because a lone request has lost
 * jobs and decides again.
 */
static enum err commit_run(struct commit *c, bool *again)
{
	enum err e = commit_transaction(c, again);

	if (e == OK && !*again)
		return OK;
	db_rollback(c->db);
	for (size_t i = 0; i < c->n; i++) {
		c->v[i].x->tx = TX_NONE;
		if (c->v[i].x->snap->host_new)
			c->v[i].x->snap->host.id = 0;
	}
	/* A row was inserted by somebody else: what was read is outdated. */
	return e == E_RACE ? E_RETRY : e;
}

/* --- afterwards --- */

/*
 * Raises files_no_work, a hint to the working set manager: a failure is only logged,
 * and the next RPC tries again.
 */
static void raise_files_no_work(struct rpc *x)
{
	const struct triggers t = triggers_of(x->conf, x->db, NULL);

	for (size_t i = 0; x->dec->files != NULL && i < x->snap->nfiles; i++) {
		const struct dec_file *f = &x->dec->files[i];
		struct fail bad = { 0 };

		if (f->mark_no_work &&
		    trigger_raise(&t, TRIGGER_FILES_NO_WORK, f->file->name, &bad) != OK)
			log_fail("files_no_work", &bad);
	}
}

/* Stores a sample for statistics; losing one does no harm. */
static void store_baseline_cost(struct rpc *x)
{
	const struct dec_baseline *w = &x->dec->baseline;
	int64_t needed, jobs = (int64_t)baseline_cost_jobs(x->dec, &needed);
	struct fail f = { 0 };

	if (w->fit > 0 && jobs > 0 &&
	    baseline_cost_add(x->db, x->snap->host.id % BASELINE_SHARDS, jobs, needed,
		jobs * w->mean_bytes, &f) != OK)
		log_fail("without_locality", &f);
}

/*
 * Are the host's trickles stored? A host without a row keeps its messages until it has
 * one.
 */
static bool takes_trickles(const struct rpc *x)
{
	return x->req->ntrickles > 0 && x->host_wait_s == 0;
}

void rpc_ring(const struct rpc *x)
{
	const struct decision *d = x->dec;
	bool moved = false;

	if (d == NULL || x->doorbells == NULL)
		return;
	for (size_t i = 0; i < x->req->nreports && d->reports != NULL; i++)
		moved |= d->reports[i].action == REPORT_STORE;
	for (size_t i = 0; i < d->nsends; i++)
		moved |= d->sends[i].raise_to != 0 ||
		         (d->sends[i].job->transitioner_flags & WU_BROADCAST) != 0;
	if (moved || d->nexpire > 0)
		doorbell_ring(x->doorbells, x->conf, DOORBELL_TRANSITIONER);
	if (x->trickles_stored)
		doorbell_ring(x->doorbells, x->conf, DOORBELL_TRICKLE_HANDLER);
}

/*
 * After the COMMIT: records what the reply may say, and writes hints and samples, which
 * need no transaction.
 */
static void commit_done(struct rpc *x)
{
	x->tx = TX_NONE;
	x->trickles_stored = takes_trickles(x);
	raise_files_no_work(x);
	store_baseline_cost(x);
}

/*
 * Does the request change only the host's row, as most requests without work do? Then
 * one statement is its own transaction. The reply promises nothing, so nothing is lost
 * with it.
 */
static bool changes_nothing_else(const struct commit *c)
{
	struct rpc *x = c->v[0].x;

	return c->v[0].nops == 0 && c->ntouches == 0 && x->tx == TX_NONE &&
	       !x->snap->host_new && !x->snap->detach_in_progress &&
	       x->snap->havs == x->stored_havs && commit_only_host(x);
}

enum err rpc_commit(struct rpc *x)
{
	struct member m = { .x = x };
	struct commit c = { .a = x->a, .db = x->db, .fail = &x->fail, .v = &m, .n = 1 };
	bool again = false;
	enum err e;

	recording_rows(x);
	x->next = RPC_render;
	if (x->dry) {
		x->trickles_stored = takes_trickles(x);
		return OK;
	}
	if (rpc_sends_given_up(x))
		x->dec->nsends = 0;
	commit_collect(&m);
	commit_touches(&c);
	if (changes_nothing_else(&c)) {
		TRY(commit_write_hosts(&c));
		raise_files_no_work(x);
		return OK;
	}
	c.unseen = !x->snap->host_new && !x->snap->detach_in_progress;
	e = commit_run(&c, &again);
	if (e != OK && db_tx_batch_refused(x->db)) {
		c.unseen = false;
		e = commit_run(&c, &again);
	}
	if (again)
		x->next = RPC_load;
	else if (e == OK) {
		drop_lost_sends(&m);
		commit_done(x);
	}
	if (e == E_RETRY && x->snap->host_new && x->host != NULL)
		x->resume =
		    RPC_authenticate; /* rpc_still_no_host() has found its row */
	return e;
}

/* --- several requests --- */

enum { OPS_MOST = 64 }; /* results of a request that joins */

/*
 * What must read again, or wait for a row of its own, commits alone: new and detached
 * hosts, moved results, reports acked without being stored.
 */
static bool joins(const struct member *m)
{
	const struct rpc *x = m->x;
	bool yes = x->tx == TX_NONE && !x->dry && !x->snap->host_new &&
	           x->host_wait_s == 0 && !x->snap->detach_in_progress &&
	           !rpc_sends_given_up(x) && m->nops <= OPS_MOST;

	for (size_t i = 0; yes && i < m->nops; i++)
		yes = m->ops[i].kind != OP_MOVE && m->ops[i].kind != OP_ACK;
	return yes;
}

static int host_order(const void *pa, const void *pb)
{
	int64_t a = ((const struct member *)pa)->x->snap->host.id,
		b = ((const struct member *)pb)->x->snap->host.id;

	return (a > b) - (a < b);
}

/*
 * Keeps the first request of each host. A second one commits alone, because its facts
 * change with the first.
 */
static void one_of_each_host(struct commit *c)
{
	size_t kept = 0;

	qsort(c->v, c->n, sizeof(*c->v), host_order);
	for (size_t i = 0; i < c->n; i++)
		if (kept == 0 || host_order(&c->v[kept - 1], &c->v[i]) != 0)
			c->v[kept++] = c->v[i];
	c->n = kept;
}

/* Do the two jobs, of two requests, exclude each other? */
static bool sends_clash(const struct dec_send *a, const struct dec_send *b)
{
	if (a->job->workunitid != b->job->workunitid)
		return false;
	return (a->once != 0 && a->once == b->once) ||
	       (a->bind_hr_class != 0 && b->bind_hr_class != 0 &&
		   a->bind_hr_class != b->bind_hr_class) ||
	       (a->bind_version_id != 0 && b->bind_version_id != 0 &&
		   a->bind_version_id != b->bind_version_id);
}

static bool members_clash(const struct member *a, const struct member *b)
{
	const struct decision *d = a->x->dec, *e = b->x->dec;

	for (size_t i = 0; i < d->nsends; i++)
		for (size_t k = 0; k < e->nsends; k++)
			if (sends_clash(&d->sends[i], &e->sends[k]))
				return true;
	return false;
}

/*
 * Keeps the requests whose jobs the once rule, classes of hosts and versions allow
 * beside those of the requests before. The others commit alone and find the jobs lost.
 */
static void without_clashes(struct commit *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++) {
		bool clash = false;

		for (size_t k = 0; k < kept && !clash; k++)
			clash = members_clash(&c->v[k], &c->v[i]);
		if (!clash)
			c->v[kept++] = c->v[i];
	}
	c->n = kept;
}

enum err rpc_join(struct cohort *c)
{
	struct commit g = { .a = c->a, .db = c->db, .fail = &c->fail };
	bool again = false;

	for (size_t i = 0; i < c->n; i++)
		c->v[i]->next = RPC_commit;
	if (c->n < 2)
		return OK;
	g.v = NEWN(c->a, struct member, c->n);
	for (size_t i = 0; i < c->n; i++) {
		g.v[g.n] = (struct member){ .x = c->v[i] };
		commit_collect(&g.v[g.n]);
		g.n += joins(&g.v[g.n]);
	}
	one_of_each_host(&g);
	without_clashes(&g);
	if (g.n < 2)
		return OK;
	for (size_t i = 0; i < g.n; i++)
		recording_rows(g.v[i].x);
	commit_touches(&g);
	TRY(commit_run(&g, &again));
	for (size_t i = 0; i < g.n; i++)
		if (!g.v[i].left) {
			commit_done(g.v[i].x);
			g.v[i].x->next = RPC_render;
		}
	return OK;
}
