/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composes the snapshot that the decision is made from.  Reads only.  Every load of one
 * RPC draws from the same seed, so that a reload after a wait tries the files in the
 * same order.
 */
#include "sched/keep.h"

#include <math.h>
#include <string.h>
#include "db/entity.h"
#include "lib/crypt.h"
#include "proto/prefs.h"
#include "rules/sched/decide.h"
#include "rules/sched/identity.h"
#include "rules/sched/quota.h"
#include "rules/sched/serving.h"
#include "rules/sched/without.h"
#include "rules/sched/work_req.h"
#include "lib/banned.h"

enum {
	CANDIDATES_PER_JOB = 4, /* hot-path.md, R5 */
	DOWN_MAX = 50,          /* messages for tasks in one reply; the rest follows */
};
#define SLOW_FLOPS 1e9 /* of a host that has not measured itself */

/* --- the host --- */

/* No text of a row is NULL. */
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

/* The host as it will be stored; a new one keeps id 0 until the commit. */
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

/* The day's counts start again at the host's own midnight. */
static enum err
load_versions(struct rpc *x, struct snapshot *s)
{
	enum err e = OK;

	if (!s->host_new)
		e = host_app_versions(
		    x->db, x->a, s->host.id, &s->havs, &s->nhavs, &x->fail);
	x->stored_havs = s->havs;
	if (e != OK || !quota_new_day(s->host.id, s->last_rpc_time, x->now))
		return e;
	s->havs = arena_memdup(x->a, s->havs, s->nhavs * sizeof(*s->havs));
	for (size_t i = 0; i < s->nhavs; i++)
		s->havs[i].n_jobs_today = 0;
	return OK;
}

/* --- candidates --- */

static void
order_held(const struct rpc *x, struct snapshot *s)
{
	struct rng rng = rng_seed(x->seed);

	locality_order(x->a, x->conf, &rng, s->files, s->nfiles);
}

struct wanted { /* what the candidates are for */
	struct serving apps;
	struct work_req work;
	size_t need; /* candidates per resource, so that the reply can be filled */
};

/* Work of this resource is asked for, and some app could give it. */
static bool
in_question(const struct wanted *w, size_t r)
{
	return work_req_wants(&w->work, r) && serving_any(&w->apps, r);
}

/*
 * Are so many candidates for this resource there that the reply can be filled from
 * them, though most may not fit?  Only a matter of what is read: what is sent is the
 * decision's.
 */
static bool
enough_for(const struct rpc *x, const struct wanted *w, size_t r)
{
	const struct snapshot *s = x->snap;
	double speed = r > 0 ? x->req->resources[r].peak_flops : s->host.p_fpops;
	const struct work_left *left = &w->work.left[r];
	double secs = w->work.new_style ? left->secs : w->work.old_secs, have_s = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->nfiles; i++)
		for (size_t j = 0; j < s->files[i].njobs; j++) {
			const struct job *job = &s->files[i].jobs[j];

			if (!serving_app(&w->apps, catalog_app(s->cat, job->appid), r))
				continue;
			have_s += job->rsc_fpops_est / (speed > 0 ? speed : SLOW_FLOPS);
			n++;
		}
	return n >= w->need ||
	       (have_s >= CANDIDATES_PER_JOB * secs &&
		   (double)n >= CANDIDATES_PER_JOB * (1 + fmax(left->instances, 0)));
}

static bool
enough(const struct rpc *x, const struct wanted *w)
{
	bool all = true;

	for (size_t r = 0; r < w->apps.nresources && all; r++)
		all = !in_question(w, r) || enough_for(x, w, r);
	return all;
}

struct asking { /* of enough() between slices */
	const struct rpc *x;
	const struct wanted *w;
};

static bool
asked_enough(const void *ctx)
{
	const struct asking *q = ctx;

	return enough(q->x, q->w);
}

/* w->need counts candidates, the loader jobs. */
static enum err
load_jobs(struct rpc *x, struct snapshot *s, const struct wanted *w, size_t from)
{
	const struct asking q = { x, w };
	const struct enough until = { asked_enough, &q };

	return snapshot_jobs(x->db, x->a, x->conf, from, w->need / CANDIDATES_PER_JOB,
	    x->now, &until, s, &x->fail);
}

/* Files that the host does not have: picks of the working set, then a search, each only
 * if needed.  all: though there are enough candidates. */
static enum err
load_new_files(struct rpc *x, struct snapshot *s, struct rng *rng,
    const struct wanted *w, bool all)
{
	const struct conf *cf = x->conf;
	size_t from = s->nfiles;
	enum err e = snapshot_working_set(x->db, x->a, cf, x->req, rng,
	    (size_t)cf->locality_working_set_picks, s, &x->fail);

	if (e == OK)
		e = load_jobs(x, s, w, from);
	if (e != OK || (!all && enough(x, w)))
		return e;
	from = s->nfiles;
	e = snapshot_search(x->db, x->a, cf, x->req, rng,
	    (size_t)cf->locality_search_files, s, &x->fail);
	if (e == OK)
		e = load_jobs(x, s, w, from);
	return e;
}

/*
 * Jobs without a large file, for each resource from the apps that can use it: a million
 * jobs for CPUs must not hide the few for a coprocessor.  CPUs come last, as they would
 * use up the jobs of one reply.
 */
static enum err
load_plain(struct rpc *x, struct snapshot *s, struct rng *rng, const struct wanted *w,
    bool always)
{
	size_t napps = s->cat->napps;
	bool *unread = s->search.unread, *now = NEWN(x->a, bool, napps + 1);
	enum err e = OK;

	for (size_t r = w->apps.nresources; r-- > 0 && e == OK;) {
		if (!in_question(w, r))
			continue;
		if (!always && enough_for(x, w, r)) {
			s->search.left = true;
			continue;
		}
		for (size_t i = 0; i < napps; i++)
			now[i] = unread[i] && !s->cat->apps[i].non_cpu_intensive &&
			         serving_app(&w->apps, &s->cat->apps[i], r);
		for (size_t i = 0; i < napps; i++)
			unread[i] &= !now[i];
		e = snapshot_plain(x->db, x->a, x->conf, rng,
		    w->need / CANDIDATES_PER_JOB, now, s, &x->fail);
		for (size_t i = 0; i < napps; i++)
			unread[i] |= now[i];
	}
	return e;
}

static bool
any_candidate(const struct snapshot *s)
{
	size_t n = s->nplain + s->ntargeted;

	for (size_t i = 0; i < s->nfiles; i++)
		n += s->files[i].njobs;
	return n > 0;
}

/*
 * There is nothing for this host but, perhaps, jobs of apps that its account leaves
 * out: who asks why must be told so.  They cost a look only if the reply is empty.
 */
static enum err
load_unwanted(
    struct rpc *x, struct snapshot *s, struct rng *rng, const struct wanted *w)
{
	bool *apps = NEWN(x->a, bool, s->cat->napps + 1);

	for (size_t i = 0; i < s->cat->napps; i++)
		for (size_t r = 0; r < w->apps.nresources; r++)
			apps[i] |= in_question(w, r) &&
			           serving_app(&w->apps, &s->cat->apps[i], r) &&
			           !s->cat->apps[i].non_cpu_intensive;
	return snapshot_unwanted(
	    x->db, x->a, x->conf, rng, w->need / CANDIDATES_PER_JOB, apps, s, &x->fail);
}

static struct wanted
wanted_of(struct rpc *x, const struct snapshot *s)
{
	return (struct wanted){ .apps = serving_of(x->a, x->req, s->cat),
		.work = work_req_new(x->a, x->req),
		.need = decide_need(x->conf, x->req, s) };
}

/* Jobs drawn for the estimate of what locality saves. */
static enum err
load_drawn(struct rpc *x, struct snapshot *s)
{
	int64_t ids[WITHOUT_DRAWS];
	struct rng rng;
	enum err e;

	if (!without_due(s->host.id, x->req->rpc_seqno, &rng))
		return OK;
	e = snapshot_draw(x->db, x->a, x->req, &rng, WITHOUT_DRAWS, s, &x->fail);
	for (size_t i = 0; i < s->ndrawn; i++)
		ids[i] = s->drawn[i].workunitid;
	return e != OK ? e :
	                 snapshot_wus_once(x->db, x->a, snapshot_once(x->conf, s), ids,
			     s->ndrawn, s, &x->fail);
}

/* Work that has waited for long, of files that the host lacks. */
static enum err
load_old(struct rpc *x, struct snapshot *s, const struct wanted *w)
{
	struct rng rng = rng_seed(x->seed ^ 6);
	size_t from = s->nfiles;
	enum err e;

	if (!locality_takes_old(x->conf, x->req, s))
		return OK;
	e = snapshot_old(x->db, x->a, x->conf, x->req, &rng,
	    x->now - x->conf->locality_scheduling_send_timeout, s, &x->fail);
	return e != OK ? e : load_jobs(x, s, w, from);
}

/*
 * With a fraction plain jobs may go first, however many others there are.
 */
static enum err
load_work(struct rpc *x, struct snapshot *s)
{
	struct rng rng = rng_seed(x->seed ^ 1);
	struct wanted w = wanted_of(x, s);
	enum err e = load_jobs(x, s, &w, 0);

	s->search.held_left = s->search.left;
	if (e == OK)
		e = load_old(x, s, &w);
	if (e == OK)
		e = snapshot_targeted(x->db, x->a, x->conf, s, &x->fail);
	s->search.unread = NEWN(x->a, bool, s->cat->napps + 1);
	for (size_t i = 0; i < s->cat->napps; i++)
		s->search.unread[i] = true;
	s->search.new_files_out = e == OK && enough(x, &w);
	s->search.left |= s->search.new_files_out;
	if (e == OK && !s->search.new_files_out)
		e = load_new_files(x, s, &rng, &w, false);
	if (e == OK)
		e = load_plain(
		    x, s, &rng, &w, x->conf->locality_scheduler_fraction > 0);
	if (e == OK && !any_candidate(s))
		e = load_unwanted(x, s, &rng, &w);
	if (e == OK)
		e = snapshot_user_wus(x->db, x->a, x->conf, s, &x->fail);
	return e == OK ? load_drawn(x, s) : e;
}

/* May jobs of this app be sent: can some version that is wanted be used, and does the
 * account want it? */
static bool
app_in_question(const struct rpc *x, const struct wanted *w, const struct app *app)
{
	enum app_choice choice = prefs_app_choice(&x->snap->project_prefs, app->id,
	    app->beta != 0, x->conf->distinct_beta_apps);
	bool any = false;

	for (size_t r = 0; r < w->apps.nresources; r++)
		any = any || (in_question(w, r) && serving_app(&w->apps, app, r));
	any = any && !app->non_cpu_intensive;
	return any && (choice == APP_SELECTED || choice == APP_OTHER);
}

/* The first time also what load left out because enough was there. */
static enum err
more_of_all(struct rpc *x, struct snapshot *s)
{
	struct rng rng = rng_seed(x->seed ^ 4);
	struct wanted w = wanted_of(x, s);
	bool *apps = NEWN(x->a, bool, s->cat->napps + 1);
	const bool *refused = x->dec->apps_refused;
	bool first = !s->search.began;
	enum err e = OK;

	if (first && s->search.new_files_out)
		e = load_new_files(x, s, &rng, &w, true);
	if (first && e == OK)
		e = load_plain(x, s, &rng, &w, true);
	for (size_t i = 0; i < s->cat->napps; i++)
		apps[i] = !refused[i] && app_in_question(x, &w, &s->cat->apps[i]);
	if (first && e == OK)
		e = snapshot_user_wus(x->db, x->a, x->conf, s, &x->fail);
	return e != OK ? e :
	                 snapshot_more(x->db, x->a,
			     &(struct search){ .conf = x->conf,
				 .req = x->req,
				 .apps = apps,
				 .once = snapshot_once(x->conf, s),
				 .now = x->now },
			     s, &x->fail);
}

/* Of the apps that use almost no CPU and that the host has none of. */
static enum err
more_of_nci(struct rpc *x, struct snapshot *s)
{
	bool *apps = NEWN(x->a, bool, s->cat->napps + 1);

	for (size_t i = 0; i < s->cat->napps; i++)
		apps[i] = s->cat->apps[i].non_cpu_intensive &&
		          !x->dec->apps_refused[i] &&
		          !decide_app_on_host(x->req, s, s->cat->apps[i].id);
	return snapshot_more(x->db, x->a,
	    &(struct search){ .conf = x->conf,
		.req = x->req,
		.nci = true,
		.apps = apps,
		.once = snapshot_once(x->conf, s),
		.now = x->now },
	    s, &x->fail);
}

enum err
rpc_more(struct rpc *x)
{
	enum err e = x->dec->more_nci ? more_of_nci(x, x->snap) : OK;

	return e == OK && x->dec->more ? more_of_all(x, x->snap) : e;
}

/* Some jobs of the app, if the host needs one: it uses almost no CPU, and the host has
 * none of it. */
static enum err
load_nci_app(struct rpc *x, struct snapshot *s, struct rng *rng, size_t at)
{
	bool *unread = NEWN(x->a, bool, s->cat->napps + 1);
	const struct app *app = &s->cat->apps[at];
	bool left = s->search.left;
	enum err e;

	if (!app->non_cpu_intensive || decide_app_on_host(x->req, s, app->id))
		return OK;
	unread[at] = true;
	s->search.left = false;
	e = snapshot_plain(x->db, x->a, x->conf, rng, 1, unread, s, &x->fail);
	s->nci_search.left |= s->search.left;
	s->search.left = left;
	return e;
}

/* Whether it asks for work or not; before the plain jobs, whose place they use. */
static enum err
load_nci(struct rpc *x, struct snapshot *s)
{
	struct rng rng = rng_seed(x->seed ^ 5);
	enum err e = OK;

	if (x->refused != REFUSE_NOTHING || x->conf->dont_send_jobs ||
	    x->req->dont_send_work)
		return OK;
	for (size_t i = 0; i < s->cat->napps && e == OK; i++)
		e = load_nci_app(x, s, &rng, i);
	s->nci = s->plain;
	s->nnci = s->nplain;
	s->plain = NULL;
	s->nplain = 0;
	return e;
}

static enum err
load_only(struct rpc *x, struct snapshot *s)
{
	enum err e = rpc_only_job(x);

	return e == OK ? snapshot_user_wus(x->db, x->a, x->conf, s, &x->fail) : e;
}

static enum err
load_files(struct rpc *x, struct snapshot *s)
{
	enum err e = snapshot_files(x->db, x->a, x->conf, x->req, x->now, s, &x->fail);
	bool wants = x->refused == REFUSE_NOTHING && decide_wants_work(x->conf, x->req);

	if (e != OK)
		return e;
	if (!catalog_locality(s->cat, x->conf))
		s->nfiles = s->nmembers = 0; /* they go before nothing */
	order_held(x, s);
	if (wants && x->only_job != 0)
		return load_only(x, s);
	e = load_nci(x, s);
	if (e != OK)
		return e;
	if (wants)
		return load_work(x, s);
	return s->nnci == 0 ? OK : snapshot_user_wus(x->db, x->a, x->conf, s, &x->fail);
}

/* A copied trickle (no host_info) is not answered by the client that has the tasks. */
static enum err
load_down(struct rpc *x, struct snapshot *s)
{
	if (!x->conf->msg_to_host || s->host_new || !x->req->host.present)
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
 * The client trusts a key that is neither ours nor an old one of ours: it would refuse
 * our app files (wire.md 5.6).
 */
static bool
key_is_strange(const struct rpc *x)
{
	const struct reply_keys *k = x->keys;
	const char *has = x->req->code_sign_key;

	if (has == NULL || k->code_sign_public == NULL ||
	    strcmp(has, k->code_sign_public) == 0)
		return false;
	return k->old_key_signature(k->ctx, has, x->req->version) == NULL;
}

enum err
rpc_load(struct rpc *x)
{
	struct snapshot *s = NEW(x->a, struct snapshot);
	enum err e;

	x->snap = s;
	s->glance = x->glance;
	x->glance.there = false; /* another load is later */
	s->cat = x->cat;
	host_of_snapshot(x, s);
	x->refused = refuse_host(x->a, x->conf, x->req, x->user, x->host, x->cat);
	if (x->refused == REFUSE_NOTHING && key_is_strange(x))
		x->refused = REFUSE_KEY_CHANGED;
	s->waited = x->waited;
	s->wait_brought = x->wait_brought;
	s->wait_possible = x->conf->locality_scheduling_wait_period > 0 && !x->waited &&
	                   !x->no_slot;
	e = load_user(x, s);
	if (e == OK)
		e = load_versions(x, s);
	if (e == OK)
		e = snapshot_reported(x->db, x->a, x->req, s, &x->fail);
	if (e == OK && x->conf->send_result_abort)
		e = snapshot_others(x->db, x->a, x->req, s, &x->fail);
	if (x->detach)
		s->nin_progress =
		    0; /* the commit ends them: none is to be sent again */
	if (e == OK)
		e = load_down(x, s);
	if (e == OK)
		e = load_logs(x, s);
	if (e == OK)
		keep_look(x);
	return e == OK ? load_files(x, s) : e;
}
