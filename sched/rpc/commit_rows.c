/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the workunits and results of the commit.  Each claim and each report is a
 * statement of its own, because only the statement's count tells whether the row was as
 * it was read (db/batch.c says why batches tell less).
 */
#include "sched/rpc/commit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "model/rows.h"
#include "rules/sched/large.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/banned.h"

enum {
	TOUCH_MAX = 64,    /* the longest list of a statement */
	PROGRESS_OPS = 64, /* results after which the time limit starts anew */
};

int64_t
commit_stored_deadline(const struct conf *cf, int64_t deadline)
{
	return deadline + cf->report_grace_period +
	       (int64_t)(cf->grace_period_hours * 3600);
}

/* --- workunits --- */

static int
touch_cmp(const void *pa, const void *pb)
{
	const struct touch *a = pa, *b = pb;

	if (a->workunitid != b->workunitid)
		return a->workunitid < b->workunitid ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/*
 * Collects the workunits to touch: at once for reports and expired results, and at the
 * deadline for sent jobs.  If more results must be made, because the workunit is a
 * broadcast or is replicated now, at once too.
 */
static void
collect_touches(struct rpc *x, struct commit *w)
{
	const struct decision *d = x->dec;
	size_t n = 0, kept = 0;
	struct touch *t = NEWN(
	    x->a, struct touch, x->req->nreports + d->nsends + d->nexpire + 1);

	for (size_t i = 0; i < x->req->nreports; i++)
		if (d->reports[i].action == REPORT_STORE)
			t[n++] = (struct touch){ .workunitid = d->reports[i].workunitid,
				.at = x->now };
	for (size_t i = 0; i < d->nexpire; i++)
		t[n++] = (struct touch){ .workunitid = d->expire[i]->workunitid,
			.at = x->now };
	for (size_t i = 0; i < d->nsends; i++) {
		const struct dec_send *s = &d->sends[i];
		bool next = (s->job->transitioner_flags & WU_BROADCAST) != 0 ||
		            s->raise_to != 0;

		t[n++] = (struct touch){ s->job->workunitid,
			next ? x->now : commit_stored_deadline(x->conf, s->deadline),
			s->bind_hr_class, s->bind_version_id, s->raise_to };
	}
	qsort(t, n, sizeof(*t), touch_cmp);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || t[kept - 1].workunitid != t[i].workunitid) {
			t[kept++] = t[i]; /* the earliest time of each workunit */
			continue;
		}
		/* All jobs of a workunit in one reply bind it alike. */
		if (t[i].hr_class != 0)
			t[kept - 1].hr_class = t[i].hr_class;
		if (t[i].version_id != 0)
			t[kept - 1].version_id = t[i].version_id;
		if (t[i].raise_to != 0)
			t[kept - 1].raise_to = t[i].raise_to;
	}
	w->touches = t;
	w->ntouches = kept;
}

static bool
touch_binds(const struct touch *t)
{
	return t->hr_class != 0 || t->version_id != 0;
}

/*
 * Marks job i as lost to another host.  A job is lost at most once: through its
 * workunit, and then it is not claimed, or through its claim.
 */
static void
lose_send(struct commit *w, size_t i)
{
	assert(!w->send_lost[i]);
	w->send_lost[i] = true;
	w->nsends_lost++;
}

/*
 * Binds a workunit.  If another request has bound it differently, the jobs are lost,
 * but the workunit is touched all the same because a report may need it.
 */
static enum err
bind_workunit(struct rpc *x, struct commit *w, struct touch *t)
{
	const struct decision *d = x->dec;
	enum err e = workunit_bind(
	    x->db, t->workunitid, t->hr_class, t->version_id, t->at, &x->fail);

	if (e != E_RACE)
		return e;
	for (size_t i = 0; i < d->nsends; i++)
		if (d->sends[i].job->workunitid == t->workunitid &&
		    !d->sends[i].expect_in_progress)
			lose_send(w, i);
	t->raise_to = 0;
	return workunits_touch(x->db, &t->workunitid, 1, t->at, &x->fail);
}

/* Raises target_nresults; adjacent workunits with the same number share a statement. */
static enum err
raise_workunits(struct rpc *x, struct commit *w)
{
	int64_t ids[TOUCH_MAX];

	for (size_t i = 0; i < w->ntouches;) {
		int32_t to = w->touches[i].raise_to;
		size_t n = 0;

		while (i < w->ntouches && n < TOUCH_MAX && w->touches[i].raise_to == to)
			ids[n++] = w->touches[i++].workunitid;
		if (to != 0)
			TRY(workunits_raise(x->db, ids, n, to, &x->fail));
	}
	return OK;
}

/* Touches workunits in ascending order of ids; adjacent ones share a statement. */
static enum err
write_workunits(struct rpc *x, struct commit *w)
{
	struct row_pair each[TOUCH_MAX];
	int64_t ids[TOUCH_MAX];
	enum err e = OK;

	for (size_t i = 0; i < w->ntouches && e == OK;) {
		int64_t at = w->touches[i].at;
		bool same = true;
		size_t n = 0;

		if (touch_binds(&w->touches[i])) {
			e = bind_workunit(x, w, &w->touches[i++]);
			continue;
		}
		for (; i < w->ntouches && n < TOUCH_MAX && !touch_binds(&w->touches[i]);
		     i++) {
			same = same && w->touches[i].at == at;
			ids[n] = w->touches[i].workunitid;
			each[n++] = (struct row_pair){ w->touches[i].workunitid,
				w->touches[i].at };
		}
		e = same ? workunits_touch(x->db, ids, n, at, &x->fail) :
		           workunits_touch_each(x->db, each, n, &x->fail);
	}
	return e == OK ? raise_workunits(x, w) : e;
}

/* --- results --- */

static int
op_cmp(const void *pa, const void *pb)
{
	const struct op *a = pa, *b = pb;

	if (a->result_id != b->result_id)
		return a->result_id < b->result_id ? -1 : 1;
	if ((a->kind == OP_MOVE) !=
	    (b->kind == OP_MOVE)) /* moves come first, then what depends on them */
		return a->kind == OP_MOVE ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

static void
collect_ops(struct rpc *x, struct commit *w)
{
	const struct decision *d = x->dec;
	size_t n = 0;
	struct op *o = NEWN(
	    x->a, struct op, x->req->nreports + d->nsends + d->nexpire + d->nmoves + 1);

	for (size_t i = 0; i < x->req->nreports; i++) {
		const struct snap_report *r = &x->snap->reports[i];

		if (d->reports[i].ack)
			o[n++] = (struct op){ r->found ? r->result.id : 0, OP_REPORT,
				i };
	}
	for (size_t i = 0; i < d->nsends; i++)
		o[n++] = (struct op){ d->sends[i].job->id, OP_SEND, i };
	for (size_t i = 0; i < d->nexpire; i++)
		o[n++] = (struct op){ d->expire[i]->id, OP_EXPIRE, i };
	for (size_t i = 0; i < d->nmoves; i++)
		o[n++] = (struct op){ d->moves[i].result_id, OP_MOVE, i };
	qsort(o, n, sizeof(*o), op_cmp);
	w->ops = o;
	w->nops = n;
	w->send_lost = NEWN(x->a, bool, d->nsends + 1);
}

/*
 * Reads a report's result again if it is acked without being stored, so that no report
 * is discarded because of an outdated row (architecture.md 3.2).  If the row differs
 * from what the decision saw, the RPC decides again.
 */
static enum err
confirm_ack(struct rpc *x, size_t i)
{
	const struct snap_report *seen = &x->snap->reports[i];
	const char *name = x->req->reports[i].name;
	struct result *r;
	enum err e = result_by_name(x->db, x->a, name, &r, &x->fail);

	/* The collation may equate different spellings of a name; we do not. */
	if (e == E_NOTFOUND || (e == OK && strcmp(r->name, name) != 0))
		return seen->found ?
		           FAIL(&x->fail, E_RETRY, "result %s vanished", name) :
		           OK;
	if (e != OK)
		return e;
	if (seen->found && r->server_state == seen->result.server_state &&
	    r->outcome == seen->result.outcome &&
	    r->received_time == seen->result.received_time &&
	    (r->hostid == seen->result.hostid || r->hostid == x->snap->host.id))
		return OK;
	return FAIL(&x->fail, E_RETRY, "result %s changed during the decision", name);
}

struct rq_report
commit_report(const struct rpc *x, size_t i)
{
	struct rq_report r = x->req->reports[i];

	if (x->conf->dont_store_success_stderr &&
	    x->dec->reports[i].outcome == OUTCOME_SUCCESS)
		r.stderr_out = NULL;
	return r;
}

static enum err
write_report(struct rpc *x, size_t i)
{
	const struct dec_report *d = &x->dec->reports[i];
	struct rq_report r = commit_report(x, i);
	/* A host without a row reports for the host that got the task. */
	int64_t hostid = x->host_wait_s > 0 ? x->snap->reports[i].result.hostid :
	                                      x->snap->host.id;
	enum err e;

	if (d->action != REPORT_STORE)
		return confirm_ack(x, i);
	e = result_report(x->db, d, &r, hostid, x->user, x->now, &x->fail);
	if (e == E_RACE)
		return FAIL(&x->fail, E_RETRY, "result %s changed during the decision",
		    x->req->reports[i].name);
	return e;
}

/* Completes the once rule by host with the id that a new host has only now. */
static void
complete_once_rule(const struct rpc *x, struct dec_send *s)
{
	bool aimed = (s->job->transitioner_flags & (WU_TARGETED | WU_BROADCAST)) != 0;

	if (s->once == 0 && x->snap->host_new &&
	    (aimed || x->conf->one_result_per_host_per_wu))
		s->once = -x->snap->host.id;
}

/* Does sending this job bind a workunit that was free before, or replicate it? */
static bool
send_binds_workunit(const struct dec_send *s)
{
	return s->raise_to != 0 || (s->bind_hr_class != 0 && s->job->hr_class == 0) ||
	       (s->bind_version_id != 0 && s->job->app_version_id == 0);
}

static enum err
write_send(struct rpc *x, struct commit *w, size_t i)
{
	struct dec_send *s = &x->dec->sends[i];
	int64_t deadline = commit_stored_deadline(x->conf, s->deadline);
	enum err e;

	if (w->send_lost[i])
		return OK;
	complete_once_rule(x, s);
	e = s->expect_in_progress ?
	        result_resend(x->db, s, x->snap->host.id, x->now, deadline, &x->fail) :
	        result_claim(x->db, s, x->snap->host.id, x->user->id, x->now, deadline,
		    &x->fail);
	if (e != E_RACE)
		return e;
	lose_send(w, i);
	w->bound_for_nothing |= send_binds_workunit(s);
	return OK;
}

/*
 * Moves a task to this host.  If it is elsewhere by now, whether to abort it is decided
 * again.
 */
static enum err
write_move(struct rpc *x, size_t i)
{
	const struct dec_move *m = &x->dec->moves[i];
	enum err e = result_to_host(
	    x->db, m->result_id, m->from, x->snap->host.id, &x->fail);

	if (e == E_RACE)
		return FAIL(&x->fail, E_RETRY, "result %lld left host %lld meanwhile",
		    (long long)m->result_id, (long long)m->from);
	return e;
}

bool
commit_is_repeat(const struct commit *w, size_t i)
{
	return i > 0 && w->ops[i].kind <= OP_REPORT &&
	       w->ops[i - 1].kind == w->ops[i].kind && w->ops[i].result_id != 0 &&
	       w->ops[i - 1].result_id == w->ops[i].result_id;
}

static enum err
write_op(struct rpc *x, struct commit *w, const struct op *o)
{
	enum err e;

	switch (o->kind) {
	case OP_MOVE:
		return write_move(x, o->i);
	case OP_REPORT:
		return write_report(x, o->i);
	case OP_SEND:
		return write_send(x, w, o->i);
	case OP_EXPIRE:
		break;
	}
	e = result_expire(x->db, o->result_id, x->snap->host.id, x->now - 1, &x->fail);
	return e == E_RACE ? OK : e; /* the result is over already */
}

static enum err
write_results(struct rpc *x, struct commit *w)
{
	for (size_t i = 0; i < w->nops; i++) {
		/*
		 * Thousands of reports may take long, otherwise they would never be
		 * stored; but if the transaction had to start again, others kept it
		 * waiting, and the limit stays.
		 */
		if (i % PROGRESS_OPS == PROGRESS_OPS - 1 && x->retries == 0)
			db_request(x->db);
		if (!commit_is_repeat(w, i))
			TRY(write_op(x, w, &w->ops[i]));
	}
	return OK;
}

/*
 * Recomputes which job is charged for each large file: a lost job may have been the one
 * that brings it, so the next job that needs the file is charged.  If that one is
 * already written because its id is smaller, its row is corrected.
 */
static enum err
charge_again(struct rpc *x, const struct commit *w)
{
	struct decision *d = x->dec;
	struct larges larges = larges_of(x->a, x->snap);
	int64_t *was = NEWN(x->a, int64_t, d->nsends + 1);

	if (w->nsends_lost == 0 || w->nsends_lost == d->nsends)
		return OK;
	for (size_t i = 0; i < d->nsends; i++)
		was[i] = d->sends[i].bytes_needed;
	larges_charge(&larges, d->sends, d->nsends, w->send_lost);
	for (size_t i = 0; i < d->nsends; i++) {
		const struct dec_send *s = &d->sends[i];

		if (s->bytes_needed != was[i] && !s->expect_in_progress)
			TRY(result_set_bytes(x->db, s->job->id, x->snap->host.id,
			    s->bytes_needed, s->bytes_saved, &x->fail));
	}
	return OK;
}

void
commit_collect_rows(struct rpc *x, struct commit *w)
{
	random_bytes(&w->token, sizeof(w->token));
	w->token &= INT64_MAX;
	collect_touches(x, w);
	collect_ops(x, w);
}

enum err
commit_write_rows(struct rpc *x, struct commit *w)
{
	TRY(write_workunits(x, w));
	TRY(write_results(x, w));
	return charge_again(x, w);
}
