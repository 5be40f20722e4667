/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the rows of the commit. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/hash.h"
#include "lib/names.h"
#include "model/catalog.h"
#include "model/rows.h"
#include "rules/sched/limits.h"
#include "sched/rpc/commit.h"
#include "lib/banned.h"

enum {
	TOUCH_MAX = 64, /* the longest list of a statement */
	/* results after which a batch is sent, and the time limit starts anew */
	PART_OPS = 64,
	PART_BYTES = 512 * 1024, /* far below any server's max_allowed_packet */
};

/* Returns the deadline in the database, later than that of the client. */
static int64_t stored_deadline(const struct conf *cf, int64_t deadline)
{
	return deadline + cf->report_grace_period +
	       (int64_t)(cf->grace_period_hours * 3600);
}

/* --- what a request writes --- */

static int op_order(const void *pa, const void *pb)
{
	const struct op *a = pa, *b = pb;

	if (a->result_id != b->result_id)
		return a->result_id < b->result_id ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

/* Does it repeat the report or move before it? Only the first counts. */
static bool repeats(const struct op *before, const struct op *o)
{
	return o->result_id != 0 && before->result_id == o->result_id &&
	       (o->kind == OP_REPORT || o->kind == OP_ACK ?
		       before->kind == OP_REPORT || before->kind == OP_ACK :
		       o->kind == OP_MOVE);
}

void commit_collect(struct member *m)
{
	const struct rpc *x = m->x;
	const struct decision *d = x->dec;
	size_t n = 0, kept = 0;
	struct op *o = NEWN(
	    x->a, struct op, x->req->nreports + d->nsends + d->nexpire + d->nmoves + 1);

	random_bytes(&m->token, sizeof(m->token));
	m->token &= INT64_MAX;
	m->send_lost = NEWN(x->a, bool, d->nsends + 1);
	for (size_t i = 0; i < x->req->nreports; i++) {
		const struct snap_report *r = &x->snap->reports[i];
		bool store = d->reports[i].action == REPORT_STORE;

		if (d->reports[i].ack)
			o[n++] = (struct op){ r->found ? r->result.id : 0,
				store ? OP_REPORT : OP_ACK, i };
	}
	for (size_t i = 0; i < d->nsends; i++)
		o[n++] = (struct op){ d->sends[i].job->id,
			d->sends[i].expect_in_progress ? OP_RESEND : OP_SEND, i };
	for (size_t i = 0; i < d->nexpire; i++)
		o[n++] = (struct op){ d->expire[i]->id, OP_EXPIRE, i };
	for (size_t i = 0; i < d->nmoves; i++)
		o[n++] = (struct op){ d->moves[i].result_id, OP_MOVE, i };
	qsort(o, n, sizeof(*o), op_order);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || !repeats(&o[kept - 1], &o[i]))
			o[kept++] = o[i];
	m->ops = o;
	m->nops = kept;
}

void commit_lose(struct member *m, size_t i)
{
	assert(!m->send_lost[i]);
	m->send_lost[i] = true;
	m->nsends_lost++;
}

bool commit_binds(const struct dec_send *s)
{
	return s->raise_to != 0 || (s->bind_hr_class != 0 && s->job->hr_class == 0) ||
	       (s->bind_version_id != 0 && s->job->app_version_id == 0);
}

void commit_once(struct member *m)
{
	const struct rpc *x = m->x;

	for (size_t i = 0; x->snap->host_new && i < x->dec->nsends; i++) {
		struct dec_send *s = &x->dec->sends[i];
		bool aimed = (s->job->transitioner_flags &
				 (WU_TARGETED | WU_BROADCAST)) != 0;

		if (s->once == 0 && (aimed || x->conf->one_result_per_host_per_wu))
			s->once = -x->snap->host.id;
	}
}

/* --- workunits --- */

static int touch_order(const void *pa, const void *pb)
{
	const struct touch *a = pa, *b = pb;

	if (a->workunitid != b->workunitid)
		return a->workunitid < b->workunitid ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/*
 * Adds the workunits of a request: at once for reports and expired results, and at the
 * deadline for sent jobs. If more results must be made, because the workunit is a
 * broadcast or is replicated now, at once too.
 */
static size_t touches_add(const struct rpc *x, struct touch *t)
{
	const struct decision *d = x->dec;
	size_t n = 0;

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
			next ? x->now : stored_deadline(x->conf, s->deadline),
			s->bind_hr_class, s->bind_version_id, s->raise_to };
	}
	return n;
}

void commit_touches(struct commit *c)
{
	struct touch *t;
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].x->req->nreports + c->v[i].x->dec->nsends +
		     c->v[i].x->dec->nexpire;
	t = NEWN(c->a, struct touch, n + 1);
	n = 0;
	for (size_t i = 0; i < c->n; i++)
		n += touches_add(c->v[i].x, t + n);
	qsort(t, n, sizeof(*t), touch_order);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || t[kept - 1].workunitid != t[i].workunitid) {
			t[kept++] = t[i]; /* the earliest time of each workunit */
			continue;
		}
		/* All jobs of a workunit in one commit bind it alike. */
		if (t[i].hr_class != 0)
			t[kept - 1].hr_class = t[i].hr_class;
		if (t[i].version_id != 0)
			t[kept - 1].version_id = t[i].version_id;
		if (t[i].raise_to != 0)
			t[kept - 1].raise_to = t[i].raise_to;
	}
	c->touches = t;
	c->ntouches = kept;
}

static bool touch_binds(const struct touch *t)
{
	return t->hr_class != 0 || t->version_id != 0;
}

/*
 * Binds a workunit. If another request has bound it differently, the jobs are lost,
 * but the workunit is touched all the same because a report may need it.
 */
static enum err bind_workunit(struct commit *c, struct touch *t)
{
	enum err e = workunit_bind(
	    c->db, t->workunitid, t->hr_class, t->version_id, t->at, c->fail);
	const struct decision *d = c->v[0].x->dec;

	if (e != E_RACE || c->n > 1)
		return e == E_RACE ? E_RETRY : e;
	for (size_t i = 0; i < d->nsends; i++)
		if (d->sends[i].job->workunitid == t->workunitid &&
		    !d->sends[i].expect_in_progress)
			commit_lose(&c->v[0], i);
	t->raise_to = 0;
	return workunits_touch(c->db, &t->workunitid, 1, t->at, c->fail);
}

/* Raises target_nresults; adjacent workunits with the same number share a statement. */
static enum err raise_workunits(struct commit *c)
{
	int64_t ids[TOUCH_MAX];

	for (size_t i = 0; i < c->ntouches;) {
		int32_t to = c->touches[i].raise_to;
		size_t n = 0;

		while (i < c->ntouches && n < TOUCH_MAX && c->touches[i].raise_to == to)
			ids[n++] = c->touches[i++].workunitid;
		if (to != 0)
			TRY(workunits_raise(c->db, ids, n, to, c->fail));
	}
	return OK;
}

enum err commit_write_workunits(struct commit *c)
{
	struct row_pair each[TOUCH_MAX];
	int64_t ids[TOUCH_MAX];

	for (size_t i = 0; i < c->ntouches;) {
		int64_t at = c->touches[i].at;
		bool same = true;
		size_t n = 0;

		if (touch_binds(&c->touches[i])) {
			TRY(bind_workunit(c, &c->touches[i++]));
			continue;
		}
		for (; i < c->ntouches && n < TOUCH_MAX && !touch_binds(&c->touches[i]);
		     i++) {
			same = same && c->touches[i].at == at;
			ids[n] = c->touches[i].workunitid;
			each[n++] = (struct row_pair){ c->touches[i].workunitid,
				c->touches[i].at };
		}
		TRY(same ? workunits_touch(c->db, ids, n, at, c->fail) :
			   workunits_touch_each(c->db, each, n, c->fail));
	}
	return raise_workunits(c);
}

/* --- results --- */

struct parts {                        /* what is written together */
	struct db_batch *of[OP__MAX]; /* not of moves and acks */
	size_t n, bytes;
};

static enum err parts_run(struct commit *c, struct parts *p)
{
	for (int k = 0; k < OP__MAX; k++)
		if (p->of[k] != NULL) {
			TRY(db_batch_locked(c->db, p->of[k], c->fail));
			p->of[k]->n = 0;
		}
	/*
	 * Thousands of reports may take long, otherwise they would never be stored; but
	 * if the transaction had to start again, others kept it waiting, and the limit
	 * stays.
	 */
	if (p->n >= PART_OPS && c->n == 1 && c->v[0].x->retries == 0)
		db_request(c->db);
	p->n = p->bytes = 0;
	return OK;
}

static void report_put(struct member *m, size_t i, struct parts *p)
{
	const struct rpc *x = m->x;
	const struct dec_report *d = &x->dec->reports[i];
	struct rq_report r = x->req->reports[i];
	/* A host without a row reports for the host that got the task. */
	int64_t hostid = x->host_wait_s > 0 ? x->snap->reports[i].result.hostid :
	                                      x->snap->host.id;

	if (x->conf->dont_store_success_stderr && d->outcome == OUTCOME_SUCCESS)
		r.stderr_out = NULL;
	p->bytes += r.stderr_out == NULL ? 0 : strlen(r.stderr_out);
	p->bytes += r.xml_doc_out == NULL ? 0 : strlen(r.xml_doc_out);
	result_report_put(p->of[OP_REPORT], d, &r, hostid, x->user, x->now);
}

static void send_put(struct member *m, const struct op *o, struct parts *p)
{
	const struct rpc *x = m->x;
	const struct dec_send *s = &x->dec->sends[o->i];
	int64_t deadline = stored_deadline(x->conf, s->deadline);

	if (m->send_lost[o->i])
		return;
	if (o->kind == OP_SEND)
		result_claim_put(
		    p->of[OP_SEND], s, x->snap->host.id, x->user->id, x->now, deadline);
	else
		db_batch_add(p->of[OP_RESEND], RESULT_RESEND, .now = x->now,
		    .report_deadline = deadline, .app_version_id = s->app_version_id,
		    .flops_estimate = s->peak_flops, .id = s->job->id,
		    .hostid = x->snap->host.id);
}

/*
 * Moves a task to this host. If it is elsewhere by now, whether to abort it is decided
 * again.
 */
static enum err write_move(struct rpc *x, size_t i)
{
	const struct dec_move *m = &x->dec->moves[i];
	enum err e = result_to_host(
	    x->db, m->result_id, m->from, x->snap->host.id, &x->fail);

	return e == E_RACE ? E_RETRY : e;
}

static enum err op_put(struct member *m, const struct op *o, struct parts *p)
{
	struct rpc *x = m->x;

	switch (o->kind) {
	case OP_MOVE:
		return write_move(x, o->i);
	case OP_REPORT:
		report_put(m, o->i, p);
		break;
	case OP_SEND:
	case OP_RESEND:
		send_put(m, o, p);
		break;
	case OP_EXPIRE:
		db_batch_add(p->of[OP_EXPIRE], RESULT_EXPIRE,
		    .report_deadline = x->now - 1, .id = o->result_id,
		    .hostid = x->snap->host.id);
		break;
	case OP_ACK:
	case OP__MAX:
		break;
	}
	return OK;
}

enum err commit_write_results(struct commit *c)
{
	struct parts p = {
		.of = { [OP_REPORT] = db_batch(c->a, SQL_RESULT_REPORT),
		    [OP_SEND] = db_batch(c->a, SQL_RESULT_CLAIM),
		    [OP_RESEND] = db_batch(c->a, SQL_RESULT_RESEND),
		    [OP_EXPIRE] = db_batch(c->a, SQL_RESULT_EXPIRE) },
	};

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; !c->v[i].left && k < c->v[i].nops; k++) {
			TRY(op_put(&c->v[i], &c->v[i].ops[k], &p));
			/* What locks rows as it goes takes them by id. */
			if (++p.n >= PART_OPS || p.bytes >= PART_BYTES || c->unseen)
				TRY(parts_run(c, &p));
		}
	return parts_run(c, &p);
}

/* --- statistics of app versions on this host, of which an RPC changes only quotas and
 * counts --- */

static bool version_differs(
    const struct host_app_version *a, const struct host_app_version *b)
{
	return a->max_jobs_per_day != b->max_jobs_per_day ||
	       a->n_jobs_today != b->n_jobs_today ||
	       a->consecutive_valid != b->consecutive_valid;
}

static struct host_app_version *version_of(
    struct rpc *x, int64_t appid, int64_t app_version_id)
{
	struct snapshot *s = x->snap;
	int64_t id = resource_statistics_id(appid, app_version_id);

	for (size_t i = 0; i < s->nhavs; i++)
		if (s->havs[i].app_version_id == id)
			return &s->havs[i];
	return NULL;
}

static struct host_app_version *version_of_send(
    struct rpc *x, const struct dec_send *d, size_t *cap)
{
	struct snapshot *s = x->snap;
	struct host_app_version *hav;

	if (d->expect_in_progress)
		return NULL;
	hav = version_of(x, d->app->id, d->app_version_id);
	if (hav != NULL)
		return hav;
	PUSH(x->a, s->havs, s->nhavs,
	    *cap) = (struct host_app_version){ .host_id = s->host.id,
		.app_version_id = resource_statistics_id(d->app->id, d->app_version_id),
		.max_jobs_per_day = quota_first(x->conf) };
	return &s->havs[s->nhavs - 1];
}

static void count_report(
    struct rpc *x, const struct dec_report *d, const struct snap_report *r)
{
	struct host_app_version *hav = version_of(
	    x, r->result.appid, r->result.app_version_id);
	bool good = d->outcome == OUTCOME_SUCCESS;

	if (d->action != REPORT_STORE || hav == NULL ||
	    (!good && d->exit_status == EXIT_ABORTED_BY_PROJECT))
		return;
	hav->max_jobs_per_day = quota_after(
	    x->conf, hav->max_jobs_per_day, good ? QUOTA_SUCCESS : QUOTA_ERROR);
	if (!good)
		hav->consecutive_valid = 0;
}

/* Without a quota only errors change anything. */
void commit_versions(struct member *m)
{
	struct rpc *x = m->x;
	struct snapshot *s = x->snap;
	struct host_app_version *old = s->havs;
	size_t nold = s->nhavs, cap = nold;

	m->nversions = 0;
	if (m->left || x->host_wait_s > 0)
		return;
	s->havs = arena_memdup(x->a, old, nold * sizeof(*old));
	for (size_t i = 0; i < x->req->nreports; i++)
		count_report(x, &x->dec->reports[i], &s->reports[i]);
	for (size_t i = 0; x->conf->daily_result_quota != 0 && i < x->dec->nsends;
	     i++) {
		struct host_app_version *hav = version_of_send(
		    x, &x->dec->sends[i], &cap);

		if (hav != NULL && !m->send_lost[i])
			hav->n_jobs_today++;
	}
	m->versions = NEWN(x->a, struct version_change, s->nhavs + 1);
	for (size_t i = 0; i < s->nhavs; i++) {
		const struct host_app_version *was = i < nold ? &x->stored_havs[i] :
		                                                NULL;

		if (was == NULL || version_differs(was, &s->havs[i]))
			m->versions[m->nversions++] = (struct version_change){ was,
				s->havs[i] };
	}
	/* The counts belong to the snapshot: after a rollback they are read again. */
	s->havs = old;
	s->nhavs = nold;
}

enum err commit_write_versions(struct commit *c)
{
	struct db_batch *moved = db_batch(c->a, SQL_HOST_APP_VERSION_MOVE),
			*new = db_batch(c->a, SQL_HOST_APP_VERSION_INSERT);

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; !c->v[i].left && k < c->v[i].nversions; k++) {
			const struct version_change *v = &c->v[i].versions[k];

			if (v->was == NULL)
				db_batch_add(
				    new, HOST_APP_VERSION_INSERT, .hav = &v->becomes);
			else
				db_batch_add(moved, HOST_APP_VERSION_MOVE,
				    .becomes = &v->becomes, .was = v->was);
		}
	TRY(db_batch_locked(c->db, moved, c->fail));
	return db_batch_locked(c->db, new, c->fail);
}

/* --- hosts, and what depends on them --- */

enum err commit_write_new(struct member *m)
{
	struct rpc *x = m->x;
	struct snapshot *s = x->snap;

	if (s->host_new) {
		TRY(rpc_still_no_host(x));
		if (x->host_wait_s > 0)
			return OK;
		TRY(rpc_count_new_hosts(x));
		if (x->host_wait_s > 0)
			return FAIL(&x->fail, E_RETRY,
			    "account %lld has just got its last new host",
			    (long long)x->user->id);
		s->host.rpc_token = m->token;
		TRY(host_insert(x->db, &s->host, &x->fail));
	}
	return s->detach_in_progress && x->host_wait_s == 0 ?
	           results_detach(x->db, x->a, s->host.id, x->now, &x->fail) :
	           OK;
}

static enum err write_trickles(struct rpc *x)
{
	for (size_t i = 0; i < x->req->ntrickles; i++)
		TRY(trickle_insert(
		    x->db, x->snap->host.id, x->now, &x->req->trickles[i], &x->fail));
	return OK;
}

/* Stores the logs that the project requests; others are not kept. */
static enum err write_logs(struct rpc *x)
{
	const struct {
		bool wanted;
		enum host_log kind;
		const char *text;
	} logs[] = {
		{ x->conf->request_time_stats_log, LOG_TIME_STATS,
		    x->req->time_stats_log },
		{ x->conf->request_job_log, LOG_JOBS, x->req->job_log },
	};

	for (size_t i = 0; i < N(logs); i++)
		if (logs[i].wanted && logs[i].text != NULL)
			TRY(host_log_store(x->db, x->snap->host.id, logs[i].kind,
			    x->now, logs[i].text, &x->fail));
	return OK;
}

/*
 * Marks messages as delivered. Each goes into one reply only; another RPC of the host
 * may have delivered it.
 */
static enum err write_down(struct rpc *x)
{
	struct decision *d = x->dec;
	size_t kept = 0;
	enum err e;

	for (size_t i = 0; i < d->ndown; i++) {
		e = message_handled(x->db, d->down[i].id, &x->fail);
		if (e == OK)
			d->down[kept++] = d->down[i];
		else if (e != E_RACE)
			return e;
	}
	d->ndown = kept;
	return OK;
}

/*
 * Does the request change the preferences? A weak key may not change the account
 * (protocol.md 3.1).
 */
static bool new_prefs(const struct rpc *x)
{
	return !x->weak_auth && x->dec->store_global_prefs &&
	       x->req->global_prefs != NULL;
}

static bool new_cpid(const struct rpc *x)
{
	const char *cpid = x->req->cross_project_id;

	return !x->weak_auth && cpid != NULL && cpid[0] != '\0' &&
	       strcmp(cpid, x->user->cross_project_id) != 0;
}

static enum err write_account(struct rpc *x)
{
	const struct request *rq = x->req;

	if (new_prefs(x))
		TRY(user_set_prefs(x->db, x->user->id, rq->global_prefs, &x->fail));
	if (new_cpid(x))
		TRY(user_set_cpid(x->db, x->user->id, rq->cross_project_id, &x->fail));
	return OK;
}

static bool is_to_go(const struct decision *d, int64_t file_id)
{
	bool any = false;

	for (size_t i = 0; i < d->ndeletes && !any; i++)
		any = d->deletes[i].file_id == file_id;
	return any;
}

/*
 * Ids of the large files that the host has. A file that it is just told to delete does
 * not count, so that of two holders not both are told.
 */
static int64_t *files_kept(const struct rpc *x, size_t *n)
{
	const struct snapshot *s = x->snap;
	int64_t *ids = NEWN(x->a, int64_t, s->nheld_files + 1);

	*n = 0;
	for (size_t i = 0; i < s->nheld_files; i++)
		if (!is_to_go(x->dec, s->held_files[i].id))
			ids[(*n)++] = s->held_files[i].id;
	return ids;
}

/* Of the files that the host has, in whatever order; counted once per decision. */
static int64_t files_digest(struct rpc *x)
{
	if (x->digest_of != x->dec) {
		size_t n;
		const int64_t *ids = files_kept(x, &n);
		uint64_t sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += hash_bytes(HASH_SEED, &ids[i], sizeof(ids[i]));
		x->files_digest = (int64_t)sum;
		x->digest_of = x->dec;
	}
	return x->files_digest;
}

/* Do the stored rows match the files that the host has now? */
static bool files_are_known(struct rpc *x)
{
	return !x->req->host.present ||
	       files_digest(x) == (x->host == NULL ? 0 : x->host->files_digest);
}

/*
 * Stores which large files the host has; the working set aims at a number of holders
 * for each.
 */
static enum err write_files(struct rpc *x)
{
	const int64_t *ids;
	size_t n;

	if (files_are_known(x))
		return OK;
	ids = files_kept(x, &n);
	return host_files_save(x->db, x->a, x->snap->host.id, ids, n, x->now, &x->fail);
}

bool commit_only_host(struct rpc *x)
{
	const struct request *rq = x->req;

	return files_are_known(x) && !new_prefs(x) && !new_cpid(x) &&
	       rq->ntrickles == 0 && x->dec->ndown == 0 && rq->time_stats_log == NULL &&
	       rq->job_log == NULL;
}

static enum err write_others(struct rpc *x)
{
	TRY(write_files(x));
	TRY(write_trickles(x));
	TRY(write_logs(x));
	TRY(write_down(x));
	return write_account(x);
}

enum err commit_write_hosts(struct commit *c)
{
	struct db_batch *hosts = db_batch(c->a, SQL_HOST_SAVE_RPC);

	for (size_t i = 0; i < c->n; i++) {
		struct rpc *x = c->v[i].x;
		struct host *h = &x->snap->host;

		if (c->v[i].left || x->host_wait_s > 0)
			continue;
		if (x->req->host.present)
			h->files_digest = files_digest(x);
		h->search_ready = x->dec->cursor.ready;
		h->search_id = x->dec->cursor.id;
		h->nci_ready = x->dec->nci_cursor.ready;
		h->nci_id = x->dec->nci_cursor.id;
		host_save_rpc_put(hosts, h, c->v[i].token);
	}
	TRY(db_batch_locked(c->db, hosts, c->fail));
	for (size_t i = 0; i < c->n; i++) {
		struct rpc *x = c->v[i].x;
		enum err e = c->v[i].left || x->host_wait_s > 0 ? OK : write_others(x);

		if (e != OK && c->fail != &x->fail)
			*c->fail = x->fail;
		if (e != OK)
			return e;
	}
	return OK;
}
