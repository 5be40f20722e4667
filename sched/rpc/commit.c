/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a decision in one transaction, taking locks in the order that all programs
 * use: workunits by id, results by id, host_app_version, host (architecture.md 3.2).
 * Every change of a result names the state it expects; jobs taken by others meanwhile
 * are left out, decided again, or rolled back.
 */
#include "sched/rpc/commit.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/ledger.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "db/wu_updates.h"
#include "lib/log.h"
#include "model/rows.h"
#include "rules/sched/decide.h"
#include "sched/rpc/rpc.h"
#include "sched/trace/recording.h"
#include "lib/banned.h"

static enum err
commit_write_all(struct rpc *x, struct commit *w)
{
	TRY(rpc_write_new_host(x, w->token));
	if (x->host_wait_s > 0)
		return commit_write_rows(
		    x, w); /* its reports are stored for the hosts of its tasks */
	if (x->snap->detach_in_progress)
		TRY(results_detach(x->db, x->a, x->snap->host.id, x->now, &x->fail));
	TRY(commit_write_rows(x, w));
	TRY(rpc_write_versions(x, w->send_lost));
	return rpc_write_host(x, w->token);
}

/* Rolls back: nothing was written, so a new host has no id. */
static void
commit_roll_back(struct rpc *x)
{
	db_rollback(x->db);
	x->tx = TX_NONE;
	if (x->snap->host_new)
		x->snap->host.id = 0;
}

static void
drop_lost_sends(struct decision *d, const struct commit *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->nsends; i++)
		if (!w->send_lost[i])
			d->sends[kept++] = d->sends[i];
	d->nsends = kept;
}

/*
 * Handles jobs that others took.  The jobs that were won are committed; if none was
 * won, or a lost job had bound its workunit, everything is rolled back and decided
 * again without the lost jobs, in the last round without any new work.  If all jobs
 * were lost, the rows read were outdated, so they are read again.  Returns true if the
 * transaction was rolled back and the RPC goes on with load.
 */
static bool
retry_without_lost(struct rpc *x, const struct commit *w)
{
	struct decision *d = x->dec;

	for (size_t i = 0; i < d->nsends; i++) {
		const struct job *j = d->sends[i].job;

		if (!w->send_lost[i])
			continue;
		PUSH(x->a, x->lost, x->nlost, x->lost_cap) = j->id;
		if (x->contention != NULL)
			contention_lost(x->contention,
			    j->fileset_id > 0 ? j->fileset_id : -j->appid, x->now);
	}
	if (w->bound_for_nothing ||
	    (w->nsends_lost == d->nsends && x->rounds < RPC_ROUNDS)) {
		commit_roll_back(x);
		x->rounds++;
		return true;
	}
	drop_lost_sends(d, w);
	return false;
}

/*
 * Commits.  An uncertain COMMIT succeeded if and only if the host row carries the token
 * written with it.
 */
static enum err
commit_finish(struct rpc *x, const struct commit *w)
{
	enum err e = db_commit(x->db, &x->fail);
	struct fail f = { 0 };
	int64_t token = 0;

	if (e != E_RETRY || !db_commit_uncertain(x->db))
		return e;
	if (db_ready(x->db, &f) != OK) {
		x->fail = f;
		return E_DB;
	}
	if (host_token(x->db, x->snap->host.id, &token, &f) == OK && token == w->token)
		return OK;
	return e;
}

/*
 * Raises files_no_work, a hint to the working set manager: a failure is only logged,
 * and the next RPC tries again.
 */
static void
raise_files_no_work(struct rpc *x)
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

/*
 * Begins the transaction.  A client forgets a report once it is acked.  So if a report
 * is acked without being stored, the rows behind that decision are read again, and they
 * must not be outdated on this cluster node either (architecture.md 3.2).
 */
static enum err
commit_begin(struct rpc *x, bool batched)
{
	bool current = false;

	for (size_t i = 0; i < x->req->nreports; i++)
		current |= x->dec->reports[i].ack &&
		           x->dec->reports[i].action != REPORT_STORE;
	return current ? db_begin_current(x->db, &x->fail) :
	       batched ? db_begin_tx_batch(x->db, &x->fail) :
	                 db_begin(x->db, &x->fail);
}

/*
 * Does the request change only the host's row, as most requests without work do?  Then
 * one statement is its own transaction.  The reply promises nothing, so nothing is lost
 * with it.
 */
static bool
changes_nothing_else(const struct rpc *x, const struct commit *w)
{
	return w->nops == 0 && w->ntouches == 0 && x->tx == TX_NONE &&
	       !x->snap->host_new && !x->snap->detach_in_progress &&
	       x->snap->havs == x->stored_havs && rpc_only_host(x);
}

/* Stores a sample for statistics; losing one does no harm. */
static void
store_baseline_cost(struct rpc *x)
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
 * Runs the transaction. batched: in one message, which works if all rows are as they
 * were read; otherwise db_tx_batch_refused() is true.  Lost jobs are sorted out
 * statement by statement.
 */
static enum err
commit_transaction(struct rpc *x, struct commit *w, bool batched)
{
	enum err e = x->tx == TX_OPEN ? OK : commit_begin(x, batched);

	if (e == OK)
		e = commit_write_all(x, w);
	if (e == OK && w->nsends_lost > 0 && retry_without_lost(x, w)) {
		x->next = RPC_load;
		return OK;
	}
	if (e == OK)
		e = commit_finish(x, w);
	if (e == OK)
		x->next = RPC_render;
	else
		commit_roll_back(x);
	return e;
}

/*
 * Are the host's trickles stored?  A host without a row keeps its messages until it has
 * one.
 */
static bool
takes_trickles(const struct rpc *x)
{
	return x->req->ntrickles > 0 && x->host_wait_s == 0;
}

void
rpc_ring(const struct rpc *x)
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
static void
commit_done(struct rpc *x)
{
	x->tx = TX_NONE;
	x->trickles_stored = takes_trickles(x);
	raise_files_no_work(x);
	store_baseline_cost(x);
}

enum err
rpc_commit(struct rpc *x)
{
	struct commit w = { 0 };
	enum err e;

	recording_rows(x);
	if (x->dry) {
		x->trickles_stored = takes_trickles(x);
		x->next = RPC_render;
		return OK;
	}
	if (rpc_sends_given_up(x))
		x->dec->nsends = 0;
	commit_collect_rows(x, &w);
	if (changes_nothing_else(x, &w)) {
		e = rpc_write_host(x, w.token);
		if (e == OK) {
			raise_files_no_work(x);
			x->next = RPC_render;
		}
		return e;
	}
	e = commit_transaction(
	    x, &w, !x->snap->host_new && !x->snap->detach_in_progress);
	if (e != OK && db_tx_batch_refused(x->db))
		e = commit_transaction(x, &w, false);
	if (e == E_RETRY && x->snap->host_new && x->host != NULL)
		x->resume =
		    RPC_authenticate; /* rpc_still_no_host() has found its row */
	if (e == OK && x->next == RPC_render)
		commit_done(x);
	return e;
}

/*
 * Writes the decisions of several requests in one transaction.
 *
 * The order of locks is that of every commit: workunits, results, host_app_version,
 * hosts, each by id.  The results, and the versions' statistics that change, are locked
 * and read back; a request whose rows are not as they were read leaves and commits
 * alone, which decides again where necessary.  The rest is written with one batch per
 * statement, whose counts do not matter any more.  If anything fails, nothing was
 * written, and the runner tries again with each half.
 *
 * Only requests join that report, claim and update rows.  Whatever must read again, or
 * wait for a row of its own, commits alone: new and detached hosts, moved and expired
 * results, resent jobs, workunits bound to a class or version, reports acked without
 * being stored.
 */

enum { OPS_MOST = 64 }; /* results of a request that joins */

struct member { /* a request in the transaction */
	struct rpc *x;
	struct commit w;
	struct version_change *versions;
	size_t nversions;
	bool left;
};

struct joint {
	struct arena *a;
	struct db *db;
	struct member *v; /* by host id */
	size_t n;
	struct fail *fail;
};

/* --- who joins --- */

static bool
op_joins(const struct rpc *x, const struct op *o)
{
	if (o->kind == OP_REPORT)
		return x->dec->reports[o->i].action == REPORT_STORE;
	return o->kind == OP_SEND && !x->dec->sends[o->i].expect_in_progress;
}

static bool
touch_joins(const struct touch *t)
{
	return t->hr_class == 0 && t->version_id == 0 && t->raise_to == 0;
}

static bool
joins(const struct member *m)
{
	const struct rpc *x = m->x;
	bool yes = x->tx == TX_NONE && !x->dry && !x->snap->host_new &&
	           x->host_wait_s == 0 && !x->snap->detach_in_progress &&
	           !rpc_sends_given_up(x) && m->w.nops <= OPS_MOST;

	for (size_t i = 0; yes && i < m->w.nops; i++)
		yes = op_joins(x, &m->w.ops[i]);
	for (size_t i = 0; yes && i < m->w.ntouches; i++)
		yes = touch_joins(&m->w.touches[i]);
	for (size_t i = 0; yes && i < m->nversions; i++)
		yes = m->versions[i].was != NULL;
	return yes;
}

static int
host_order(const void *pa, const void *pb)
{
	int64_t a = ((const struct member *)pa)->x->snap->host.id,
		b = ((const struct member *)pb)->x->snap->host.id;

	return (a > b) - (a < b);
}

/* --- facts that the decisions rest on --- */

struct hold { /* a result that a request writes */
	int64_t id;
	struct member *m;
	const struct op *op;
};

static int
hold_order(const void *pa, const void *pb)
{
	const struct hold *a = pa, *b = pb;

	return (a->id > b->id) - (a->id < b->id);
}

static struct hold *
collect_holds(struct joint *c, size_t *n)
{
	struct hold *v;
	size_t all = 0;

	for (size_t i = 0; i < c->n; i++)
		all += c->v[i].w.nops;
	v = NEWN(c->a, struct hold, all + 1);
	*n = 0;
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->v[i].w.nops; k++)
			if (!commit_is_repeat(&c->v[i].w, k))
				v[(*n)++] = (struct hold){ c->v[i].w.ops[k].result_id,
					&c->v[i], &c->v[i].w.ops[k] };
	qsort(v, *n, sizeof(*v), hold_order);
	return v;
}

/* Is the result as the report or claim expects it? */
static bool
as_expected(const struct hold *h, const struct row_held_result *r)
{
	const struct dec_report *d;

	if (r == NULL)
		return false;
	if (h->op->kind == OP_SEND)
		return r->server_state == RESULT_UNSENT;
	d = &h->m->x->dec->reports[h->op->i];
	return r->server_state == d->expect_state && r->outcome == d->expect_outcome &&
	       (r->received_time == 0 || r->outcome == OUTCOME_CLIENT_DETACHED);
}

/* Locks the results; requests that expect something else of them leave. */
static enum err
check_results(struct joint *c)
{
	size_t n, nrows, at = 0;
	struct hold *v = collect_holds(c, &n);
	int64_t *ids = NEWN(c->a, int64_t, n + 1);
	struct row_held_result *rows;

	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].id;
	TRY(results_hold(c->db, c->a, ids, n, &rows, &nrows, c->fail));
	for (size_t i = 0; i < n; i++) {
		while (at < nrows && rows[at].id < v[i].id)
			at++;
		if (!as_expected(
			&v[i], at < nrows && rows[at].id == v[i].id ? &rows[at] : NULL))
			v[i].m->left = true;
		/* Two requests change the same result: the second sees it changed. */
		if (i > 0 && v[i - 1].id == v[i].id)
			v[i].m->left = true;
	}
	return OK;
}

static bool
version_as_read(const struct hav_table *t, const struct host_app_version *was)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct host_app_version *now = &t->v[i].v;

		if (now->host_id == was->host_id &&
		    now->app_version_id == was->app_version_id)
			return now->max_jobs_per_day == was->max_jobs_per_day &&
			       now->n_jobs_today == was->n_jobs_today &&
			       now->consecutive_valid == was->consecutive_valid;
	}
	return false;
}

/* The same for the statistics of versions. */
static enum err
check_versions(struct joint *c)
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
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->v[i].nversions; k++)
			if (!version_as_read(&t, c->v[i].versions[k].was))
				c->v[i].left = true;
	return OK;
}

/* --- writing --- */

static int
touch_order(const void *pa, const void *pb)
{
	const struct touch *a = pa, *b = pb;

	if (a->workunitid != b->workunitid)
		return a->workunitid < b->workunitid ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at); /* the earliest time counts */
}

/* Touches the workunits of all; touching one for a request that leaves does no harm. */
static enum err
write_touches(struct joint *c)
{
	struct row_pair *pairs;
	struct touch *v;
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].w.ntouches;
	v = NEWN(c->a, struct touch, n + 1);
	pairs = NEWN(c->a, struct row_pair, n + 1);
	n = 0;
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->v[i].w.ntouches; k++)
			v[n++] = c->v[i].w.touches[k];
	qsort(v, n, sizeof(*v), touch_order);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || pairs[kept - 1].a != v[i].workunitid)
			pairs[kept++] = (struct row_pair){ v[i].workunitid, v[i].at };
	return workunits_touch_each(c->db, pairs, kept, c->fail);
}

static enum err
write_reports_and_claims(struct joint *c)
{
	struct db_batch *reports = db_batch(c->a, SQL_RESULT_REPORT),
			*claims = db_batch(c->a, SQL_RESULT_CLAIM);

	for (size_t i = 0; i < c->n; i++) {
		const struct member *m = &c->v[i];
		const struct rpc *x = m->x;

		for (size_t k = 0; !m->left && k < m->w.nops; k++) {
			const struct op *o = &m->w.ops[k];
			struct rq_report r;

			if (commit_is_repeat(&m->w, k))
				continue;
			if (o->kind == OP_SEND) {
				const struct dec_send *s = &x->dec->sends[o->i];

				result_claim_put(claims, s, x->snap->host.id,
				    x->user->id, x->now,
				    commit_stored_deadline(x->conf, s->deadline));
				continue;
			}
			r = commit_report(x, o->i);
			result_report_put(reports, &x->dec->reports[o->i], &r,
			    x->snap->host.id, x->user, x->now);
		}
	}
	TRY(db_batch_locked(c->db, reports, c->fail));
	return db_batch_locked(c->db, claims, c->fail);
}

static enum err
write_versions_and_hosts(struct joint *c)
{
	struct db_batch *versions = db_batch(c->a, SQL_HOST_APP_VERSION_MOVE),
			*hosts = db_batch(c->a, SQL_HOST_SAVE_RPC);

	for (size_t i = 0; i < c->n; i++) {
		const struct member *m = &c->v[i];

		if (m->left)
			continue;
		for (size_t k = 0; k < m->nversions; k++)
			db_batch_add(versions, HOST_APP_VERSION_MOVE,
			    .becomes = &m->versions[k].becomes,
			    .was = m->versions[k].was);
		host_save_rpc_put(hosts, commit_host(m->x), m->w.token);
	}
	TRY(db_batch_locked(c->db, versions, c->fail));
	return db_batch_locked(c->db, hosts, c->fail);
}

static enum err
write_others(struct joint *c)
{
	for (size_t i = 0; i < c->n; i++) {
		enum err e = c->v[i].left ? OK : commit_host_others(c->v[i].x);

		if (e != OK) {
			*c->fail = c->v[i].x->fail;
			return e;
		}
	}
	return OK;
}

/*
 * Was the transaction committed although the COMMIT failed?  The hosts carry their
 * tokens then; another request may have overwritten one since.
 */
static bool
was_committed(struct joint *c)
{
	struct fail f = { 0 };

	if (!db_commit_uncertain(c->db) || db_ready(c->db, &f) != OK)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		int64_t token = 0;

		if (!c->v[i].left &&
		    host_token(c->db, c->v[i].x->snap->host.id, &token, &f) == OK &&
		    token == c->v[i].w.token)
			return true;
	}
	return false;
}

static enum err
write_joint(struct joint *c)
{
	enum err e;

	TRY(db_begin(c->db, c->fail));
	TRY(write_touches(c));
	TRY(check_results(c));
	TRY(check_versions(c));
	TRY(write_reports_and_claims(c));
	TRY(write_versions_and_hosts(c));
	TRY(write_others(c));
	e = db_commit(c->db, c->fail);
	return e == E_RETRY && was_committed(c) ? OK : e;
}

/*
 * Keeps the first request of each host.  A second one commits alone, because its facts
 * change with the first.
 */
static void
one_of_each_host(struct joint *c)
{
	size_t kept = 0;

	qsort(c->v, c->n, sizeof(*c->v), host_order);
	for (size_t i = 0; i < c->n; i++)
		if (kept == 0 || host_order(&c->v[kept - 1], &c->v[i]) != 0)
			c->v[kept++] = c->v[i];
	c->n = kept;
}

enum err
rpc_join(struct cohort *c)
{
	struct joint g = { .a = c->a, .db = c->db, .fail = &c->fail };
	enum err e;

	for (size_t i = 0; i < c->n; i++)
		c->v[i]->next = RPC_commit;
	if (c->n < 2)
		return OK;
	g.v = NEWN(c->a, struct member, c->n);
	for (size_t i = 0; i < c->n; i++) {
		struct member *m = &g.v[g.n];

		*m = (struct member){ .x = c->v[i] };
		commit_collect_rows(m->x, &m->w);
		m->versions = commit_versions(m->x, m->w.send_lost, &m->nversions);
		g.n += joins(m);
	}
	one_of_each_host(&g);
	if (g.n < 2)
		return OK;
	for (size_t i = 0; i < g.n; i++)
		recording_rows(g.v[i].x);
	e = write_joint(&g);
	if (e != OK) {
		db_rollback(c->db);
		return e;
	}
	for (size_t i = 0; i < g.n; i++)
		if (!g.v[i].left) {
			commit_done(g.v[i].x);
			g.v[i].x->next = RPC_render;
		}
	return OK;
}
