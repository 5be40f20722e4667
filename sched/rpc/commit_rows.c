/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the workunits and results of the commit.  Each claim and each report is a
 * statement of its own, because only the statement's count tells whether the row was as
 * it was read (db/batch.c says why batches tell less).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/names.h"
#include "model/catalog.h"
#include "model/rows.h"
#include "rules/sched/large.h"
#include "rules/sched/limits.h"
#include "sched/rpc/commit.h"
#include "lib/banned.h"

/*
 * Writes the statistics of app versions on this host; an RPC changes only quotas and
 * counts.
 */

static bool
version_differs(const struct host_app_version *a, const struct host_app_version *b)
{
	return a->max_jobs_per_day != b->max_jobs_per_day ||
	       a->n_jobs_today != b->n_jobs_today ||
	       a->consecutive_valid != b->consecutive_valid;
}

static struct host_app_version *
version_of(struct rpc *x, int64_t appid, int64_t app_version_id)
{
	struct snapshot *s = x->snap;
	int64_t id = resource_statistics_id(appid, app_version_id);

	for (size_t i = 0; i < s->nhavs; i++)
		if (s->havs[i].app_version_id == id)
			return &s->havs[i];
	return NULL;
}

static struct host_app_version *
version_of_send(struct rpc *x, const struct dec_send *d, size_t *cap)
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

static void
count_report(struct rpc *x, const struct dec_report *d, const struct snap_report *r)
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

/*
 * Returns the rows that change, each with the row as it was read; `was` is NULL for a
 * new one.  Without a quota only errors change anything.
 */
struct version_change *
commit_versions(struct rpc *x, const bool *send_lost, size_t *n)
{
	struct snapshot *s = x->snap;
	struct host_app_version *old = s->havs;
	size_t nold = s->nhavs, cap = nold;
	struct version_change *v;

	*n = 0;
	s->havs = arena_memdup(x->a, old, nold * sizeof(*old));
	for (size_t i = 0; i < x->req->nreports; i++)
		count_report(x, &x->dec->reports[i], &s->reports[i]);
	for (size_t i = 0; x->conf->daily_result_quota != 0 && i < x->dec->nsends;
	     i++) {
		struct host_app_version *hav = version_of_send(
		    x, &x->dec->sends[i], &cap);

		if (hav != NULL && !send_lost[i])
			hav->n_jobs_today++;
	}
	v = NEWN(x->a, struct version_change, s->nhavs + 1);
	for (size_t i = 0; i < s->nhavs; i++) {
		const struct host_app_version *was = i < nold ? &x->stored_havs[i] :
		                                                NULL;

		if (was == NULL || version_differs(was, &s->havs[i]))
			v[(*n)++] = (struct version_change){ was, s->havs[i] };
	}
	/* The counts belong to the snapshot: after a rollback they are read again. */
	s->havs = old;
	s->nhavs = nold;
	return v;
}

/*
 * Writes one row.  If the validator or another RPC has changed it meanwhile, the RPC
 * decides again instead of overwriting it.
 */
static enum err
write_version(struct rpc *x, const struct version_change *c)
{
	enum err e = c->was == NULL ?
	                 host_app_version_insert(x->db, &c->becomes, &x->fail) :
	                 host_app_version_move(x->db, c->was, &c->becomes, &x->fail);

	return e == E_RACE ?
	           FAIL(&x->fail, E_RETRY,
		       "the statistics of version %lld on this host changed during the decision",
		       (long long)c->becomes.app_version_id) :
	           e;
}

enum err
rpc_write_versions(struct rpc *x, const bool *send_lost)
{
	size_t n;
	const struct version_change *v = commit_versions(x, send_lost, &n);

	for (size_t i = 0; i < n; i++)
		TRY(write_version(x, &v[i]));
	return OK;
}

/* The last part of the commit: the host, its files, messages and account. */

enum err
rpc_write_new_host(struct rpc *x, int64_t token)
{
	struct snapshot *s = x->snap;

	if (!s->host_new)
		return OK;
	enum err e = rpc_still_no_host(x);
	if (e != OK || x->host_wait_s > 0)
		return e;
	e = rpc_count_new_hosts(x);
	if (e == OK && x->host_wait_s > 0)
		e = FAIL(&x->fail, E_RETRY,
		    "account %lld has just got its last new host",
		    (long long)x->user->id);
	if (e != OK)
		return e;
	s->host.rpc_token = token; /* the token also resolves an uncertain COMMIT */
	return host_insert(x->db, &s->host, &x->fail);
}

static enum err
write_trickles(struct rpc *x)
{
	for (size_t i = 0; i < x->req->ntrickles; i++)
		TRY(trickle_insert(
		    x->db, x->snap->host.id, x->now, &x->req->trickles[i], &x->fail));
	return OK;
}

/* Stores the logs that the project requests; others are not kept. */
static enum err
write_logs(struct rpc *x)
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
 * Marks messages as delivered.  Each goes into one reply only; another RPC of the host
 * may have delivered it.
 */
static enum err
write_down(struct rpc *x)
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
 * Does the request change the preferences?  A weak key may not change the account
 * (protocol.md 3.1).
 */
static bool
new_prefs(const struct rpc *x)
{
	return !x->weak_auth && x->dec->store_global_prefs &&
	       x->req->global_prefs != NULL;
}

static bool
new_cpid(const struct rpc *x)
{
	const char *cpid = x->req->cross_project_id;

	return !x->weak_auth && cpid != NULL && cpid[0] != '\0' &&
	       strcmp(cpid, x->user->cross_project_id) != 0;
}

static enum err
write_account(struct rpc *x)
{
	const struct request *rq = x->req;

	if (new_prefs(x))
		TRY(user_set_prefs(x->db, x->user->id, rq->global_prefs, &x->fail));
	if (new_cpid(x))
		TRY(user_set_cpid(x->db, x->user->id, rq->cross_project_id, &x->fail));
	return OK;
}

static bool
is_to_go(const struct decision *d, int64_t file_id)
{
	bool any = false;

	for (size_t i = 0; i < d->ndeletes && !any; i++)
		any = d->deletes[i].file_id == file_id;
	return any;
}

/* Returns the ids of the files that the host held according to its row. */
static int64_t *
known_files(const struct rpc *x, size_t *n)
{
	const char *at = x->snap->glance.files;
	int64_t *ids = NEWN(x->a, int64_t, strlen(at) / 2 + 1); /* "1,2" */
	char *end;

	*n = 0;
	for (int64_t id = strtoll(at, &end, 10); end != at;
	     id = strtoll(at, &end, 10)) {
		ids[(*n)++] = id;
		at = *end == ',' ? end + 1 : end;
	}
	return ids;
}

/* Do the stored rows match the files that the host has now? */
static bool
files_are_known(const struct rpc *x)
{
	const struct snapshot *s = x->snap;
	int64_t *ids = NEWN(x->a, int64_t, s->nheld_files + 1), *known;
	struct ids held;
	bool same;
	size_t n;

	if (!s->glance.there)
		return false;
	for (size_t i = 0; i < s->nheld_files; i++)
		ids[i] = s->held_files[i].id;
	held = ids_unique(x->a, ids, s->nheld_files);
	known = known_files(x, &n);
	same = n == s->nheld_files;
	for (size_t i = 0; i < n && same; i++)
		same = ids_has(&held, known[i]);
	return same;
}

/*
 * Stores which large files the host has; the working set aims at a number of holders
 * for each.  A file that the host is just told to delete does not count, so that of two
 * holders not both are told.
 */
static enum err
write_files(struct rpc *x)
{
	const struct snapshot *s = x->snap;
	int64_t *ids = NEWN(x->a, int64_t, s->nheld_files + 1);
	struct held_change change = {
		.hostid = s->host.id, .held = ids, .now = x->now
	};
	size_t n = 0;

	if (!x->req->host.present)
		return OK;
	if (files_are_known(x) && x->dec->ndeletes == 0)
		return OK;
	for (size_t i = 0; i < s->nheld_files; i++)
		if (!is_to_go(x->dec, s->held_files[i].id))
			ids[n++] = s->held_files[i].id;
	if (!s->glance.there)
		return host_files_save(
		    x->db, x->a, s->host.id, ids, n, x->now, &x->fail);
	change.old = known_files(x, &change.nold);
	change.nheld = n;
	return host_files_change(x->db, x->a, &change, &x->fail);
}

bool
rpc_only_host(const struct rpc *x)
{
	const struct request *rq = x->req;
	bool files = rq->host.present && !(files_are_known(x) && x->dec->ndeletes == 0);

	return !files && !new_prefs(x) && !new_cpid(x) && rq->ntrickles == 0 &&
	       x->dec->ndown == 0 && rq->time_stats_log == NULL && rq->job_log == NULL;
}

const struct host *
commit_host(struct rpc *x)
{
	struct host *h = &x->snap->host;

	h->search_ready = x->dec->cursor.ready;
	h->search_id = x->dec->cursor.id;
	h->nci_ready = x->dec->nci_cursor.ready;
	h->nci_id = x->dec->nci_cursor.id;
	return h;
}

enum err
commit_host_others(struct rpc *x)
{
	TRY(write_files(x));
	TRY(write_trickles(x));
	TRY(write_logs(x));
	TRY(write_down(x));
	return write_account(x);
}

enum err
rpc_write_host(struct rpc *x, int64_t token)
{
	TRY(host_save_rpc(x->db, commit_host(x), token, &x->fail));
	return commit_host_others(x);
}

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
