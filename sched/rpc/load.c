/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the head of the snapshot on which the decision is based; the step more adds the
 * candidates. Reads only. Every load of an RPC draws from the same seed, so that a
 * reload after a wait tries the files in the same order.
 */
#include <stdlib.h>
#include "db/entity.h"
#include "db/held.h"
#include "db/supply_rows.h"
#include "lib/crypt.h"
#include "lib/names.h"
#include "lib/text.h"
#include "proto/prefs.h"
#include "rules/sched/decide.h"
#include "rules/sched/held.h"
#include "rules/sched/host.h"
#include "rules/sched/limits.h"
#include "sched/rpc/rpc.h"
#include "sched/trace/recording.h"
#include "lib/banned.h"

/*
 * The transaction in which contended candidates are locked as they are read
 * (performance.md 2). Nothing is written in it before the commit.
 */

/* Locks the workunits of the account's reported results. */
static enum err lock_report_workunits(struct rpc *x)
{
	int64_t *ids = NEWN(x->a, int64_t, x->req->nreports + 1);
	size_t n = 0;

	for (size_t i = 0; i < x->req->nreports; i++) {
		const struct snap_report *r = &x->snap->reports[i];

		if (r->found && r->result.userid == x->user->id)
			ids[n++] = r->result.workunitid;
	}
	ids_sort(ids, n);
	return workunits_hold(x->db, x->a, ids, n, &x->fail);
}

/*
 * Takes the locks that may have to wait for others first: of the account of a new
 * host, and of the workunits of reports. Locked candidates therefore never delay a
 * request that holds what this one needs.
 */
enum err rpc_lock(struct rpc *x)
{
	TRY(db_begin_current(x->db, &x->fail));
	x->tx = TX_OPEN;
	if (x->snap->host_new)
		TRY(user_lock(x->db, x->user->id, &x->fail));
	TRY(lock_report_workunits(x));
	x->next = RPC_more;
	return OK;
}

void rpc_roll_back(struct rpc *x)
{
	if (x->tx == TX_OPEN)
		db_rollback(x->db);
	x->tx = TX_NONE;
}

enum err rpc_unlock(struct rpc *x)
{
	rpc_roll_back(x);
	x->next = supply_pending(x->supply) ? RPC_more : RPC_wait;
	return OK;
}

enum {
	DOWN_MAX = 50, /* messages for tasks per reply; later replies carry the rest */
	DRAW_EVERY_S = 5,
};

/* --- the host --- */

/* Replaces NULL by "": no text of a row is NULL. */
static void fill_texts(struct host *h)
{
	static char none[] = "";

	for (size_t i = 0; i < shape_host.ncols; i++) {
		char **text = (char **)((char *)h + shape_host.cols[i].off);

		if (shape_host.cols[i].type == FIELD_TEXT && *text == NULL)
			*text = none;
	}
}

/* Fills the host as it will be stored; a new one keeps id 0 until the commit. */
static void host_of_snapshot(struct rpc *x, struct snapshot *s)
{
	struct host *h = &s->host;
	const char *cpid = x->req->host.host_cpid;
	char md5[MD5_HEX];

	if (x->host != NULL) {
		*h = *x->host;
		s->last_rpc_time = h->rpc_time;
	} else {
		s->host_new = true;
		*h = (struct host){ .userid = x->user->id,
			.create_time = x->now,
			.expavg_time = (double)x->now,
			.duration_correction_factor = 1,
			.venue = x->user->venue };
	}
	host_update(x->a, h, x->req, x->now, x->peer);
	if (cpid != NULL && cpid[0] != '\0') {
		md5_text(arena_printf(x->a, "%s%s", cpid, x->user->email_addr), md5);
		h->host_cpid = arena_strdup(x->a, md5);
	}
	fill_texts(h);
	h->rpc_seqno = x->host_id_changed ? 0 : x->req->rpc_seqno;
	s->host_id_changed = x->host_id_changed;
	s->detach_in_progress = x->detach;
	s->twin = x->twin;
	s->predecessor = x->predecessor;
}

void rpc_prefs(struct rpc *x, struct snapshot *s)
{
	const char *venue = s->host.venue;

	s->project_prefs = prefs_project(x->a, x->user->project_prefs, venue);
	if (x->req->has_working_prefs)
		return;
	s->account_prefs = prefs_global(x->a, x->user->global_prefs, venue, x->now);
	s->master_prefs = prefs_global(x->a, x->req->global_prefs, venue, x->now);
}

static enum err load_user(struct rpc *x, struct snapshot *s)
{
	char *cpid = x->req->cross_project_id;
	char md5[MD5_HEX];

	s->user = *x->user;
	s->weak_auth = x->weak_auth;
	if (!x->weak_auth && cpid != NULL && cpid[0] != '\0')
		s->user.cross_project_id = cpid; /* stored by the commit */
	md5_text(x->user->email_addr, md5);
	s->email_hash = arena_strdup(x->a, md5);
	rpc_prefs(x, s);
	s->team_name = s->glance.team_name;
	return s->glance.there ?
	           OK :
	           team_name(x->db, x->a, x->user->teamid, &s->team_name, &x->fail);
}

/*
 * Loads messages for tasks. A copied trickle (no host_info) comes from a client that
 * does not have the tasks.
 */
static enum err load_down(struct rpc *x, struct snapshot *s)
{
	/* Files that are retired are deleted by such messages. */
	bool wanted = x->conf->msg_to_host || x->conf->retain_days > 0;

	if (!wanted || s->host_new || !x->req->host.present)
		return OK;
	return messages_down(
	    x->db, x->a, s->host.id, DOWN_MAX, &s->down, &s->ndown, &x->fail);
}

static enum err load_logs(struct rpc *x, struct snapshot *s)
{
	const struct conf *cf = x->conf;

	if (s->host_new || (!cf->request_time_stats_log && !cf->request_job_log))
		return OK;
	return host_logs_kept(
	    x->db, x->a, s->host.id, &s->has_time_stats_log, &s->has_job_log, &x->fail);
}

/*
 * True if the client trusts a key that is neither ours nor an old one of ours: it would
 * refuse our app files (protocol.md 5.6).
 */
static bool key_is_strange(const struct rpc *x)
{
	const struct reply_keys *k = x->keys;
	const char *has = x->req->code_sign_key;

	if (has == NULL || k->code_sign_public == NULL ||
	    text_same_words(has, k->code_sign_public))
		return false;
	return k->old_key_signature(k->ctx, has, x->req->version) == NULL;
}

/* True if both the client's key and ours are missing: the client could not verify the
 * app files. */
static bool key_is_missing(const struct rpc *x)
{
	return x->req->code_sign_key == NULL && x->keys->code_sign_public == NULL;
}

/* True if this process drew recently; false if the clock was set back since. */
static bool drew_lately(const struct rpc *x)
{
	return x->drawn_at != NULL && x->now >= *x->drawn_at &&
	       x->now < *x->drawn_at + DRAW_EVERY_S;
}

/*
 * True if this request draws jobs for statistics. Drawing doubles the cost of a
 * request, so a busy process draws only once in a while; a request that has drawn draws
 * again when it reloads.
 */
static bool draws_baseline(struct rpc *x, struct rng *rng)
{
	if (!decide_wants_work(x->conf, x->req) || x->refused != REFUSE_NOTHING ||
	    x->only_job != 0)
		return false;
	if (!baseline_cost_due(x->snap->host.id, x->req->rpc_seqno, rng) ||
	    (!x->drew && drew_lately(x)))
		return false;
	x->drew = true;
	if (x->drawn_at != NULL)
		*x->drawn_at = x->now;
	return true;
}

/* Creates the RPC's supply, from which the steps more and lock read the candidates.
 * Everything on which the candidates depend must have been read. */
static void begin_supply(struct rpc *x)
{
	struct supply_in in = { .conf = x->conf,
		.req = x->req,
		.snap = x->snap,
		.now = x->now,
		.seed = x->seed,
		.nlost = x->nlost,
		.gets_no_job = x->refused != REFUSE_NOTHING,
		.may_lock = !x->dry,
		.in_cluster = db_in_cluster(x->db),
		.only_job = x->only_job,
		.contention = x->contention,
		.held = x->held->choice.later,
		.nheld = x->held->choice.nlater };

	if (x->in_flight != NULL)
		in_flight_reads(x->in_flight, &x->chosen);
	in.draws = draws_baseline(x, &in.draw_rng);
	x->supply = supply_new(x->a, &in);
}

/* Sets the reason why this host may get no work at all, if there is one. */
static void refuse_work(struct rpc *x)
{
	const struct requester by = { x->user, x->host, x->now };

	x->refused = refuse_host(x->a, x->conf, x->req, &by, x->cat);
	if (x->refused == REFUSE_NOTHING && key_is_strange(x))
		x->refused = REFUSE_KEY_CHANGED;
	if (x->refused == REFUSE_NOTHING && key_is_missing(x))
		x->refused = REFUSE_NO_KEY;
	if (x->refused == REFUSE_NOTHING && x->drained)
		x->refused = REFUSE_DRAINING;
	if (x->host_wait_s > 0) /* any other refusal would leave it a row */
		x->refused = REFUSE_NEW_HOSTS;
}

static enum err load_requester(struct rpc *x)
{
	struct snapshot *s = NEW(x->a, struct snapshot);

	x->next = RPC_more;
	x->snap = s;
	x->havs_read = x->hosts_read = false;
	x->stored_havs = NULL;
	s->glance = x->glance;
	x->glance.there = false; /* a later load must read again */
	s->cat = x->cat;
	host_of_snapshot(x, s);
	x->host_wait_s = 0;
	if (s->host_new)
		TRY(rpc_count_new_hosts(x));
	refuse_work(x);
	s->wait_brought = x->wait == WAIT_BROUGHT;
	s->waited = s->wait_brought || x->wait == WAIT_IN_VAIN;
	s->wait_possible = x->conf->locality_scheduling_wait_period > 0 &&
	                   x->wait == WAIT_NOT_YET;
	return load_user(x, s);
}

static enum err load_reports(struct rpc *x)
{
	struct snapshot *s = x->snap;

	TRY(snapshot_reported(x->db, x->a, x->req, s, &x->fail));
	if (x->host_wait_s == 0) /* else it gets no row, and no results move to it */
		TRY(snapshot_others(x->db, x->a, x->req, s, &x->fail));
	if (x->detach) /* the commit ends these jobs: none is resent */
		s->nin_progress = s->ninherited = 0;
	TRY(load_down(x, s));
	TRY(load_logs(x, s));
	recording_begin(x);
	return OK;
}

/*
 * Reads the sets of the files that the hosts hold: finds which there are, chooses those
 * that matter, and reads their rows.
 */
static enum err load_held(
    struct cohort *c, struct held_sets *held, struct set_rows *rows)
{
	for (size_t i = 0; i < c->n; i++) {
		struct rpc *x = c->v[i];

		held[i].held = request_held(c->a, x->req);
		held[i].afresh = x->held_afresh;
		held[i].awaited = x->wait == WAIT_BROUGHT;
		x->held = &held[i];
	}
	TRY(held_sets_read(c->db, c->a, held, c->n, rows, &c->fail));
	for (size_t i = 0; i < c->n; i++) {
		struct rng rng = rng_seed(c->v[i]->seed ^ 8);

		held[i].choice = held_choose(
		    c->a, c->v[i]->conf, &rng, held[i].sets, held[i].nsets);
	}
	return chosen_sets_read(c->db, c->a, held, c->n, rows, &c->fail);
}

static enum err load_files(struct rpc *x)
{
	struct snapshot *s = x->snap;

	TRY(snapshot_files(x->db, x->a, x->conf, x->held, x->now, s, &x->fail));
	for (size_t i = 0; i < s->nfiles; i++)
		known_set_note(
		    x->db, s->files[i].fileset_id, held_is_of(x->conf, &s->files[i]));
	begin_supply(x);
	return OK;
}

enum err rpc_load(struct cohort *c)
{
	struct snapshot **snaps = NEWN(c->a, struct snapshot *, c->n);
	struct held_sets *held = NEWN(c->a, struct held_sets, c->n);

	cohort_each(c, load_requester);
	for (size_t i = 0; i < c->n; i++)
		snaps[i] = c->v[i]->snap;
	TRY(snapshots_in_progress(c->db, c->a, snaps, c->n, &c->fail));
	cohort_each(c, load_reports);
	TRY(load_held(c, held, NEW(c->a, struct set_rows)));
	cohort_each(c, load_files);
	return OK;
}

/* Reads the candidates with the queries that supply asks for. */

/* Must a transaction be opened or rolled back before the query? */
static bool needs_step(const struct rpc *x, const struct supply_query *q)
{
	return (x->tx == TX_OPEN) != q->lock && (q->lock || q->unlock);
}

/* Fails if the job that is asked about did not become a candidate. */
static enum err check_only_job(struct rpc *x)
{
	const struct snapshot *s = x->snap;

	if (x->only_job == 0 || x->refused != REFUSE_NOTHING ||
	    !decide_wants_work(x->conf, x->req) || s->nnci > 0 ||
	    snapshot_any_candidate(s))
		return OK;
	return FAIL(&x->fail, E_NOTFOUND,
	    "there is no result %lld, or its file set is gone", (long long)x->only_job);
}

/*
 * Runs the request's next query and lets supply take its rows. One for the next jobs
 * of a file set runs behind those that other requests of the process have chosen; if
 * there are none, the query itself, whose answer is a fact.
 */
static enum err run_next_query(struct rpc *x)
{
	struct supply_source from = { x->db, x->a, x->conf, x->req, x->snap };
	const struct supply_query *q = supply_next(x->supply, x->tx == TX_OPEN);
	struct supply_query behind = *q;
	struct supply_rows rows = { 0 };

	if (x->in_flight != NULL && !q->lock &&
	    (q->kind == SUPPLY_AFTER_LAST || q->kind == SUPPLY_AFTER))
		behind.after = in_flight_last(x->in_flight, &x->chosen, q->ready);
	if (behind.after > q->after)
		TRY(supply_run(&from, &behind, &rows, &x->fail));
	if (q->kind == SUPPLY_LASTS && x->lasts->pairs != NULL)
		rows = *x->lasts;
	else if (rows.n == 0)
		TRY(supply_run(&from, q, &rows, &x->fail));
	if (q->kind == SUPPLY_LASTS)
		*x->lasts = rows;
	supply_take(x->supply, &rows);
	return OK;
}

/* Runs the request's queries up to one that several requests can ask together. */
static enum err run_own_queries(struct rpc *x)
{
	const struct supply_query *q;

	while ((q = supply_next(x->supply, x->tx == TX_OPEN)) != NULL &&
	       q->kind != SUPPLY_AFTER_LAST && !needs_step(x, q))
		TRY(run_next_query(x));
	return OK;
}

/*
 * The query of a request that asks for the next jobs of a file set, which most do
 * first: behind the jobs that other requests have chosen, and nth of those that they
 * will choose.
 */
static struct supply_query query_behind_others(
    struct rpc *x, const struct supply_query *q)
{
	struct supply_query behind = *q;
	int64_t last;

	if (x->in_flight == NULL)
		return behind;
	last = in_flight_last(x->in_flight, &x->chosen, q->ready);
	behind.after = last > q->after ? last : q->after;
	behind.nth = in_flight_expect(x->in_flight, &x->chosen, q->ready,
	    (int64_t)(q->most + CANDIDATES_PER_JOB - 1) / CANDIDATES_PER_JOB);
	return behind;
}

/* Runs the queries of several requests together; who gets nothing because it is left to
 * others is added to those that ask alone. */
static enum err run_together(struct cohort *c, struct cohort *alone)
{
	struct supply_query *q = NEWN(c->a, struct supply_query, c->n);
	struct supply_rows *rows = NEWN(c->a, struct supply_rows, c->n);

	for (size_t i = 0; i < c->n; i++)
		q[i] = query_behind_others(
		    c->v[i], supply_next(c->v[i]->supply, false));
	TRY(supply_run_cohort(c->db, c->a, q, c->n, rows, &c->fail));
	for (size_t i = 0; i < c->n; i++) {
		const struct supply_query *own = supply_next(c->v[i]->supply, false);

		if (rows[i].n > 0 || (q[i].after == own->after && q[i].nth == own->nth))
			supply_take(c->v[i]->supply, &rows[i]);
		else
			alone->v[alone->n++] = c->v[i];
	}
	return OK;
}

/* Runs the next query of all requests that can run one now; *n is their number. */
static enum err run_next_jobs(struct cohort *c, size_t *n)
{
	struct cohort asking = *c, alone = *c;

	asking.n = alone.n = 0;
	asking.v = NEWN(c->a, struct rpc *, c->n);
	alone.v = NEWN(c->a, struct rpc *, c->n);
	for (size_t i = 0; i < c->n && asking.n < DB_HEADS_MAX; i++) {
		struct rpc *x = c->v[i];
		const struct supply_query *q = x->end != OK ? NULL :
		                                              supply_next(x->supply,
								  x->tx == TX_OPEN);

		if (q != NULL && !needs_step(x, q))
			asking.v[asking.n++] = x;
	}
	*n = asking.n;
	if (asking.n > 1)
		TRY(run_together(&asking, &alone));
	cohort_each(asking.n > 1 ? &alone : &asking, run_next_query);
	return OK;
}

/*
 * Reads whether the account already has the allowed number of hosts with work. A
 * request that finds nothing to send needs no further query; one that may wait for work
 * does not take a place to wait in vain.
 */
static enum err load_account_full(struct rpc *x)
{
	struct snapshot *s = x->snap;
	int64_t most = x->conf->max_hosts_with_work_per_account, id = 0;
	bool could = snapshot_any_candidate(s) || s->nnci > 0 ||
	             (s->wait_possible && s->nfiles > 0);

	if (most == 0 || x->hosts_read || s->nin_progress > 0 || !could)
		return OK;
	x->hosts_read = true;
	TRY(host_with_work(x->db, x->user->id, s->host.id, most, &id, &x->fail));
	s->account_full = id != 0;
	return OK;
}

/* Goes on to the step that the next query needs; else reads what a decision needs
 * beside the candidates. */
static enum err leave_more(struct rpc *x)
{
	if (supply_next(x->supply, x->tx == TX_OPEN) != NULL) {
		x->next = x->tx == TX_OPEN ? RPC_unlock : RPC_lock;
		return OK;
	}
	x->next = RPC_decide;
	TRY(check_only_job(x));
	return x->refused == REFUSE_NOTHING ? load_account_full(x) : OK;
}

/*
 * Do the statistics of versions matter? Only if there are jobs: most requests to a
 * project without work have, send and report none.
 */
static bool needs_versions(const struct rpc *x)
{
	const struct snapshot *s = x->snap;
	size_t jobs = s->nin_progress + x->req->nreports + s->nnci + s->ndrawn;

	return x->end == OK && x->next == RPC_decide && !x->havs_read &&
	       (jobs > 0 || snapshot_any_candidate(s) ||
		   quota_new_day(s->host.id, s->last_rpc_time, x->now));
}

/* Loads the statistics of versions. The day's counts restart at the host's own
 * midnight. */
static enum err load_versions(struct cohort *c)
{
	int64_t *ids = NEWN(c->a, int64_t, c->n);
	struct host_app_version *rows = NULL;
	size_t n = 0, nrows = 0;

	for (size_t i = 0; i < c->n; i++)
		if (needs_versions(c->v[i]) && !c->v[i]->snap->host_new)
			ids[n++] = c->v[i]->snap->host.id;
	if (n > 0)
		TRY(host_app_versions(c->db, c->a, ids, n, &rows, &nrows, &c->fail));
	for (size_t i = 0; i < c->n; i++) {
		struct rpc *x = c->v[i];
		struct snapshot *s = x->snap;
		size_t cap = 0;

		if (!needs_versions(x))
			continue;
		x->havs_read = true;
		for (size_t k = 0; k < nrows; k++)
			if (rows[k].host_id == s->host.id)
				PUSH(c->a, s->havs, s->nhavs, cap) = rows[k];
		x->stored_havs = s->havs;
		if (!quota_new_day(s->host.id, s->last_rpc_time, x->now))
			continue;
		s->havs = arena_memdup(x->a, s->havs, s->nhavs * sizeof(*s->havs));
		for (size_t k = 0; k < s->nhavs; k++)
			s->havs[k].n_jobs_today = 0;
	}
	return OK;
}

enum err rpc_more(struct cohort *c)
{
	struct supply_rows *lasts = NEW(c->a, struct supply_rows);
	size_t n;

	for (size_t i = 0; i < c->n; i++)
		c->v[i]->lasts = lasts; /* the same for all */
	do {
		cohort_each(c, run_own_queries);
		TRY(run_next_jobs(c, &n));
	} while (n > 0);
	cohort_each(c, leave_more);
	return load_versions(c);
}
