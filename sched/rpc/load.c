/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the head of the snapshot on which the decision is based; the step more adds the
 * candidates.  Reads only.  Every load of an RPC draws from the same seed, so that a
 * reload after a wait tries the files in the same order.
 */
#include "sched/trace/recording.h"

#include "db/entity.h"
#include "lib/crypt.h"
#include "lib/text.h"
#include "proto/prefs.h"
#include "rules/sched/decide.h"
#include "rules/sched/host.h"
#include "lib/banned.h"

enum {
	DOWN_MAX = 50, /* messages for tasks per reply; later replies carry the rest */
	DRAW_EVERY_S = 5,
};

/* --- the host --- */

/* Replaces NULL by "": no text of a row is NULL. */
static void
fill_texts(struct host *h)
{
	static char none[] = "";

	for (size_t i = 0; i < shape_host.ncols; i++) {
		char **text = (char **)((char *)h + shape_host.cols[i].off);

		if (shape_host.cols[i].type == COL_str && *text == NULL)
			*text = none;
	}
}

/* Fills the host as it will be stored; a new one keeps id 0 until the commit. */
static void
host_of_snapshot(struct rpc *x, struct snapshot *s)
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

void
rpc_prefs(struct rpc *x, struct snapshot *s)
{
	const char *venue = s->host.venue;

	s->project_prefs = prefs_project(x->a, x->user->project_prefs, venue);
	if (x->req->has_working_prefs)
		return;
	s->account_prefs = prefs_global(x->a, x->user->global_prefs, venue, x->now);
	s->master_prefs = prefs_global(x->a, x->req->global_prefs, venue, x->now);
}

static enum err
load_user(struct rpc *x, struct snapshot *s)
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
 * Loads messages for tasks.  A copied trickle (no host_info) comes from a client that
 * does not have the tasks.
 */
static enum err
load_down(struct rpc *x, struct snapshot *s)
{
	/* Files that are retired are deleted by such messages. */
	bool wanted = x->conf->msg_to_host || x->conf->retain_days > 0;

	if (!wanted || s->host_new || !x->req->host.present)
		return OK;
	return messages_down(
	    x->db, x->a, s->host.id, DOWN_MAX, &s->down, &s->ndown, &x->fail);
}

static enum err
load_logs(struct rpc *x, struct snapshot *s)
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
static bool
key_is_strange(const struct rpc *x)
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
static bool
key_is_missing(const struct rpc *x)
{
	return x->req->code_sign_key == NULL && x->keys->code_sign_public == NULL;
}

/* True if this process drew recently; false if the clock was set back since. */
static bool
drew_lately(const struct rpc *x)
{
	return x->drawn_at != NULL && x->now >= *x->drawn_at &&
	       x->now < *x->drawn_at + DRAW_EVERY_S;
}

/*
 * True if this request draws jobs for statistics.  Drawing doubles the cost of a
 * request, so a busy process draws only once in a while; a request that has drawn draws
 * again when it reloads.
 */
static bool
draws_baseline(struct rpc *x, struct rng *rng)
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
static void
begin_supply(struct rpc *x)
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
		.contention = x->contention };

	if (x->in_flight != NULL)
		in_flight_reads(x->in_flight, &x->chosen);
	in.draws = draws_baseline(x, &in.draw_rng);
	x->supply = supply_new(x->a, &in);
}

/* Sets the reason why this host may get no work at all, if there is one. */
static void
refuse_work(struct rpc *x)
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

enum err
rpc_load(struct rpc *x, enum rpc_step *next)
{
	struct snapshot *s = NEW(x->a, struct snapshot);

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
	TRY(load_user(x, s));
	TRY(snapshot_reported(x->db, x->a, x->req, x->ahead, s, &x->fail));
	if (x->host_wait_s == 0) /* else it gets no row, and no results move to it */
		TRY(snapshot_others(x->db, x->a, x->req, s, &x->fail));
	if (x->detach) /* the commit ends these jobs: none is resent */
		s->nin_progress = s->ninherited = 0;
	TRY(load_down(x, s));
	TRY(load_logs(x, s));
	recording_begin(x);
	TRY(snapshot_files(
	    x->db, x->a, x->conf, x->req, x->ahead, x->now, s, &x->fail));
	begin_supply(x);
	*next = RPC_more;
	return OK;
}
