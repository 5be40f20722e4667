/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the decisions of several requests in one transaction.
 *
 * The order of locks is that of every commit: workunits, results, host_app_version,
 * hosts, each by id.  The results, and the versions' statistics that change, are locked
 * and read back; a request whose rows are not as they were read leaves and commits
 * alone, which decides again where necessary.  The rest is written with one batch per
 * statement, whose counts do not matter any more.  If anything fails, nothing was
 * written, and each half tries again; a single request commits alone.
 *
 * Only requests join that report, claim and update rows.  Whatever must read again, or
 * wait for a row of its own, commits alone: new and detached hosts, moved and expired
 * results, resent jobs, workunits bound to a class or version, reports acked without
 * being stored.
 */
#include "sched/rpc/together.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "db/wu_updates.h"
#include "lib/log.h"
#include "model/rows.h"
#include "sched/rpc/commit.h"
#include "sched/trace/recording.h"
#include "lib/banned.h"

enum { OPS_MOST = 64 }; /* results of a request that joins */

struct member { /* a request in the transaction */
	struct rpc *x;
	struct commit w;
	struct version_change *versions;
	size_t nversions;
	bool left;
};

struct cohort {
	struct arena *a; /* of the first request */
	struct db *db;
	struct member *v; /* by host id */
	size_t n;
	struct fail fail;
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
collect_holds(struct cohort *c, size_t *n)
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
check_results(struct cohort *c)
{
	size_t n, nrows, at = 0;
	struct hold *v = collect_holds(c, &n);
	int64_t *ids = NEWN(c->a, int64_t, n + 1);
	struct row_held_result *rows;

	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].id;
	TRY(results_hold(c->db, c->a, ids, n, &rows, &nrows, &c->fail));
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
check_versions(struct cohort *c)
{
	int64_t *hosts = NEWN(c->a, int64_t, c->n + 1);
	struct hav_table t = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].nversions > 0 && !c->v[i].left)
			hosts[n++] = c->v[i].x->snap->host.id;
	if (n == 0)
		return OK;
	TRY(havs_lock(c->db, c->a, hosts, n, &t, &c->fail));
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
write_touches(struct cohort *c)
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
	return workunits_touch_each(c->db, pairs, kept, &c->fail);
}

static enum err
write_reports_and_claims(struct cohort *c)
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
	TRY(db_batch_locked(c->db, reports, &c->fail));
	return db_batch_locked(c->db, claims, &c->fail);
}

static enum err
write_versions_and_hosts(struct cohort *c)
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
	TRY(db_batch_locked(c->db, versions, &c->fail));
	return db_batch_locked(c->db, hosts, &c->fail);
}

static enum err
write_others(struct cohort *c)
{
	for (size_t i = 0; i < c->n; i++) {
		enum err e = c->v[i].left ? OK : commit_host_others(c->v[i].x);

		if (e != OK) {
			c->fail = c->v[i].x->fail;
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
was_committed(struct cohort *c)
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
write_cohort(struct cohort *c)
{
	enum err e;

	TRY(db_begin(c->db, &c->fail));
	TRY(write_touches(c));
	TRY(check_results(c));
	TRY(check_versions(c));
	TRY(write_reports_and_claims(c));
	TRY(write_versions_and_hosts(c));
	TRY(write_others(c));
	e = db_commit(c->db, &c->fail);
	return e == E_RETRY && was_committed(c) ? OK : e;
}

/* --- the transaction --- */

static void
commit_members(struct cohort *c)
{
	struct cohort half = *c;

	if (c->n < 2)
		return;
	if (write_cohort(c) == OK) {
		for (size_t i = 0; i < c->n; i++) {
			if (c->v[i].left)
				continue;
			commit_done(c->v[i].x);
			c->v[i].x->step = RPC_render;
		}
		return;
	}
	db_rollback(c->db);
	log_warn("%zu requests are committed in halves: %s", c->n, c->fail.detail);
	for (size_t i = 0; i < c->n; i++)
		c->v[i].left = false;
	half.n = c->n / 2;
	commit_members(&half);
	half.v += half.n;
	half.n = c->n - half.n;
	commit_members(&half);
}

/*
 * Keeps the first request of each host.  A second one commits alone, because its facts
 * change with the first.
 */
static void
one_of_each_host(struct cohort *c)
{
	size_t kept = 0;

	qsort(c->v, c->n, sizeof(*c->v), host_order);
	for (size_t i = 0; i < c->n; i++)
		if (kept == 0 || host_order(&c->v[kept - 1], &c->v[i]) != 0)
			c->v[kept++] = c->v[i];
	c->n = kept;
}

void
rpc_commit_together(struct rpc *const *v, size_t n)
{
	struct cohort c = { .a = v[0]->a, .db = v[0]->db };
	uint64_t before = db_statements(c.db), each;

	c.v = NEWN(c.a, struct member, n);
	for (size_t i = 0; i < n; i++) {
		struct member *m = &c.v[c.n];

		*m = (struct member){ .x = v[i] };
		commit_collect_rows(v[i], &m->w);
		m->versions = commit_versions(v[i], m->w.send_lost, &m->nversions);
		c.n += joins(m);
	}
	one_of_each_host(&c);
	for (size_t i = 0; i < c.n; i++)
		recording_rows(c.v[i].x);
	commit_members(&c);
	each = c.n == 0 ? 0 : (db_statements(c.db) - before + c.n - 1) / c.n;
	for (size_t i = 0; i < c.n; i++)
		c.v[i].x->statements += each;
}
