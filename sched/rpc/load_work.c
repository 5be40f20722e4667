/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the snapshot that jobs come from: which candidates are read, in which
 * order, and when there are enough.  Reads only; what many want is locked (lock.c).
 */
#include "sched/rpc/rpc.h"

#include <math.h>
#include "db/entity.h"
#include "rules/sched/decide.h"
#include "rules/sched/serving.h"
#include "rules/sched/baseline_cost.h"
#include "rules/sched/work_req.h"
#include "lib/banned.h"

enum {
	CANDIDATES_PER_JOB = 4, /* performance.md 1 (R5) */
	LOCKED_PER_JOB = 2,
	SEARCH_FIRST = 2, /* files of the search that are mostly enough */
	DRAW_EVERY_S = 5,
};
#define SLOW_FLOPS 1e9 /* of a host that has not measured itself */

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

struct tally { /* of candidates for a resource */
	double have_s;
	size_t n;
	size_t per_job; /* of which one will fit */
};

/* Locked ones are kept from others, so they are few: then those count that the once
 * rule may let through. */
static bool
may_fit(const struct rpc *x, const struct job *jobs, size_t i)
{
	const struct job *j = &jobs[i];

	if (!x->locking || snapshot_once(x->conf, x->snap) == 0)
		return true;
	for (size_t k = 0; k < i; k++)
		if (jobs[k].workunitid == j->workunitid)
			return false;
	return j->taken <= 0;
}

static struct tally
tally_new(const struct rpc *x)
{
	return (struct tally){ .per_job = x->locking ? LOCKED_PER_JOB :
		                                       CANDIDATES_PER_JOB };
}

static void
tally_add(struct tally *t, const struct rpc *x, const struct wanted *w, size_t r,
    const struct job *jobs, size_t n)
{
	const struct snapshot *s = x->snap;
	double speed = r > 0 ? x->req->resources[r].peak_flops : s->host.p_fpops;

	for (size_t i = 0; i < n; i++) {
		if (!serving_app(&w->apps, catalog_app(s->cat, jobs[i].appid), r) ||
		    !may_fit(x, jobs, i))
			continue;
		t->have_s += jobs[i].rsc_fpops_est / (speed > 0 ? speed : SLOW_FLOPS);
		t->n++;
	}
}

/*
 * Are so many candidates for this resource there that the reply can be filled from
 * them, though most may not fit?  Only a matter of what is read: what is sent is the
 * decision's.
 */
static bool
is_enough(const struct tally *t, const struct wanted *w, size_t r)
{
	const struct work_left *left = &w->work.left[r];
	double secs = w->work.new_style ? left->secs : w->work.old_secs;

	return t->n >= w->need ||
	       (t->have_s >= (double)t->per_job * secs &&
		   (double)t->n >= (double)t->per_job * (1 + fmax(left->instances, 0)));
}

static bool
enough_for(const struct rpc *x, const struct wanted *w, size_t r)
{
	const struct snapshot *s = x->snap;
	struct tally t = tally_new(x);

	for (size_t i = 0; i < s->nfiles; i++)
		tally_add(&t, x, w, r, s->files[i].jobs, s->files[i].njobs);
	return is_enough(&t, w, r);
}

static bool
enough(const struct rpc *x, const struct wanted *w)
{
	bool all = true;

	for (size_t r = 0; r < w->apps.nresources && all; r++)
		all = !in_question(w, r) || enough_for(x, w, r);
	return all;
}

struct asking { /* between slices */
	struct rpc *x;
	const struct wanted *w;
	size_t r, from; /* of plain jobs: for this resource, those from here on */
};

static bool
asked_plain(const void *ctx)
{
	const struct asking *q = ctx;
	const struct snapshot *s = q->x->snap;
	struct tally t = tally_new(q->x);

	tally_add(&t, q->x, q->w, q->r, s->plain + q->from, s->nplain - q->from);
	return is_enough(&t, q->w, q->r);
}

static bool
asked_enough(const void *ctx)
{
	const struct asking *q = ctx;

	return enough(q->x, q->w);
}

/* Where locks of others are not seen, each round begins elsewhere; plain jobs are many
 * and mostly not locked. */
static int64_t
asked_skip(const void *ctx, int64_t fileset_id)
{
	const struct rpc *x = ((const struct asking *)ctx)->x;
	struct rng rng = rng_seed(x->seed ^ 7 ^ ((uint64_t)x->nlost << 8));

	if (x->contention == NULL || (fileset_id > 0 && !db_in_cluster(x->db)))
		return 0;
	return contention_skip(x->contention, fileset_id, x->now, &rng);
}

/* Plain jobs, of which each request begins at another shard, in the second round. */
static enum err
asked_lock(const void *ctx, int64_t fileset_id, bool *lock)
{
	struct rpc *x = ((const struct asking *)ctx)->x;

	*lock = !x->dry && x->contention != NULL &&
	        contention_is(x->contention, fileset_id, x->now) &&
	        (fileset_id > 0 || x->nlost > 0);
	return *lock && !x->locking ? rpc_lock(x) : OK;
}

/* A result may be locked whose workunit another one has, who waits for the result then.
 */
static void
asked_unlock(const void *ctx)
{
	struct rpc *x = ((const struct asking *)ctx)->x;

	if (!rpc_any_candidate(x->snap))
		rpc_unlock(x);
}

/* w->need counts candidates, the loader jobs. */
static enum err
load_jobs(struct rpc *x, struct snapshot *s, const struct wanted *w, size_t from)
{
	const struct asking q = { .x = x, .w = w };
	const struct candidate_budget until = { .is = asked_enough,
		.skip = asked_skip,
		.lock = asked_lock,
		.unlock = asked_unlock,
		.ctx = &q };

	return snapshot_jobs(x->db, x->a, x->conf, from, w->need / CANDIDATES_PER_JOB,
	    x->now, &until, s, &x->fail);
}

/* At most so many files of the search, and their jobs. */
static enum err
load_searched(
    struct rpc *x, struct snapshot *s, struct rng rng, const struct wanted *w, size_t n)
{
	size_t from = s->nfiles;
	enum err e = snapshot_search(
	    x->db, x->a, x->conf, x->req, &rng, n, s, &x->fail);

	return e == OK ? load_jobs(x, s, w, from) : e;
}

/* Files that the host does not have: picks of the working set, then a search, which
 * looks at a few first, each only if needed.  all: though there are enough candidates.
 */
static enum err
load_new_files(struct rpc *x, struct snapshot *s, struct rng *rng,
    const struct wanted *w, bool all)
{
	const struct conf *cf = x->conf;
	size_t from = s->nfiles, most = (size_t)cf->locality_search_files;
	size_t first = most < SEARCH_FIRST ? most : SEARCH_FIRST;
	int64_t last = 0;
	enum err e = snapshot_working_set(x->db, x->a, cf, x->req, rng,
	    (size_t)cf->locality_working_set_picks, s, &x->fail);

	if (e == OK)
		e = load_jobs(x, s, w, from);
	if (e != OK || (!all && enough(x, w)))
		return e;
	e = snapshot_last_ready(x->db, x->a, s, &last, &x->fail);
	if (last <= 0 || all)
		first = 0;
	if (e == OK && first > 0)
		e = load_searched(x, s, *rng, w, first);
	if (e != OK || (!all && enough(x, w)))
		return e;
	return load_searched(x, s, *rng, w, most - first);
}

/* Of these apps, until there are enough for the resource. */
static enum err
plain_for(struct rpc *x, struct snapshot *s, struct rng *rng, const struct wanted *w,
    size_t r, bool *apps)
{
	const struct asking q = { .x = x, .w = w, .r = r, .from = s->nplain };
	const struct candidate_budget until = { .is = asked_plain,
		.skip = asked_skip,
		.lock = asked_lock,
		.unlock = asked_unlock,
		.ctx = &q };

	return snapshot_plain(x->db, x->a, x->conf, rng, w->need / CANDIDATES_PER_JOB,
	    &until, apps, s, &x->fail);
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
		e = plain_for(x, s, rng, w, r, now);
		for (size_t i = 0; i < napps; i++)
			unread[i] |= now[i];
	}
	return e;
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

/* Has this process drawn just now?  (A clock that was put back counts as later.) */
static bool
drew_lately(const struct rpc *x)
{
	return x->drawn_at != NULL && x->now >= *x->drawn_at &&
	       x->now < *x->drawn_at + DRAW_EVERY_S;
}

/* Jobs drawn for the estimate of what locality saves.  A request with them costs twice
 * as much, so a process that is busy draws once in a while. */
static enum err
load_drawn(struct rpc *x, struct snapshot *s)
{
	int64_t ids[BASELINE_DRAWS];
	struct rng rng;
	enum err e;

	if (!baseline_cost_due(s->host.id, x->req->rpc_seqno, &rng) ||
	    (!x->drew && drew_lately(x)))
		return OK;
	x->drew = true; /* so it does when it loads again */
	if (x->drawn_at != NULL)
		*x->drawn_at = x->now;
	e = snapshot_draw(x->db, x->a, x->req, &rng, BASELINE_DRAWS, s, &x->fail);
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

	TRY(load_jobs(x, s, &w, 0));
	s->search.held_left = s->search.left;
	TRY(load_old(x, s, &w));
	TRY(snapshot_targeted(x->db, x->a, x->conf, s, &x->fail));
	s->search.unread = NEWN(x->a, bool, s->cat->napps + 1);
	for (size_t i = 0; i < s->cat->napps; i++)
		s->search.unread[i] = true;
	s->search.new_files_out = enough(x, &w);
	s->search.left |= s->search.new_files_out;
	if (!s->search.new_files_out)
		TRY(load_new_files(x, s, &rng, &w, false));
	TRY(load_plain(x, s, &rng, &w, x->conf->locality_scheduler_fraction > 0));
	if (!rpc_any_candidate(s))
		TRY(load_unwanted(x, s, &rng, &w));
	TRY(snapshot_user_wus(x->db, x->a, x->conf, s, &x->fail));
	return load_drawn(x, s);
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

/* The slices that the decision asks for; the first time also what load left out because
 * enough was there. */
enum err
rpc_more(struct rpc *x, enum rpc_step *next)
{
	if (x->dec->more_nci)
		TRY(more_of_nci(x, x->snap));
	if (x->dec->more)
		TRY(more_of_all(x, x->snap));
	TRY(rpc_need_hosts(x, x->snap));
	TRY(rpc_need_versions(x, x->snap));
	*next = RPC_decide;
	return OK;
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
	e = snapshot_plain(x->db, x->a, x->conf, rng, 1, NULL, unread, s, &x->fail);
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

enum err
rpc_load_files(struct rpc *x, struct snapshot *s)
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
