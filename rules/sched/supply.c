/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the stages of model/supply_stages.def in order. supply_stages.c says whether
 * a stage reads anything, and what. */
#include "rules/sched/supply.h"

#include <assert.h>
#include "lib/names.h"
#include "rules/sched/decide.h"
#include "rules/sched/supply_own.h"
#include "lib/banned.h"

enum { ANY_HOST = 1, WORK = 2, ONLY = 4, MORE_NCI = 8, MORE_WORK = 16 };

static const struct {
	unsigned passes;
	bool (*begin)(struct supply *);
	bool (*next)(struct supply *, struct supply_query *);
	void (*take)(struct supply *, const struct supply_rows *);
} stages[] = {
#define STAGE(name, passes, reader, why)                                               \
	{ passes, supply_begin_##name, supply_##reader##_next, supply_##reader##_take },
#include "model/supply_stages.def"
#undef STAGE
};

static unsigned first_passes(const struct supply *p)
{
	const struct supply_in *in = &p->in;

	if (p->wants && in->only_job != 0)
		return ONLY;
	if (in->gets_no_job || in->conf->dont_send_jobs || in->req->dont_send_work)
		return 0;
	return p->wants ? ANY_HOST | WORK : ANY_HOST;
}

struct supply *supply_new(struct arena *a, const struct supply_in *in)
{
	struct supply *p = NEW(a, struct supply);
	struct snapshot *s = in->snap;
	struct rng rng = rng_seed(in->seed);

	*p = (struct supply){ .a = a, .in = *in };
	if (in->contention != NULL)
		p->contention = *in->contention;
	p->wants = !in->gets_no_job && decide_wants_work(in->conf, in->req);
	p->once = supply_once_key(in->conf, s);
	p->passes = first_passes(p);
	if (!catalog_locality(s->cat, in->conf)) /* no job is preferred for its files */
		s->nfiles = s->nmembers = p->in.nheld = 0;
	locality_order(a, in->conf, &rng, s->files, s->nfiles);
	if (p->wants)
		p->goal = (struct supply_goal){ .apps = serving_of(a, in->req, s->cat),
			.work = work_req_new(a, in->req),
			.need = supply_need(in->conf, in->req, s) };
	return p;
}

/* Begins the next stage that has something to read; false if all stages are done. */
static bool begin_stage(struct supply *p)
{
	for (; p->stage < STAGE__MAX; p->stage++, p->round = 0)
		if ((stages[p->stage].passes & p->passes) != 0 &&
		    stages[p->stage].begin(p)) {
			p->round++;
			return true;
		}
	return false;
}

const struct supply_query *supply_next(struct supply *p, bool locked)
{
	p->locked = locked;
	while (!p->pending) {
		p->query = (struct supply_query){ .once = p->once,
			.userid = p->in.snap->user.id };
		p->begun = p->begun || begin_stage(p);
		if (!p->begun)
			return NULL;
		p->pending = p->begun = stages[p->stage].next(p, &p->query);
		p->query.stage = p->stage;
		p->query.unlock = p->unlock;
		p->unlock = false;
	}
	return &p->query;
}

/* Merges consecutive queries about several file sets, such as the steps of a search,
 * into one line of the trace. */
static bool continues_last(const struct snap_query *last, const struct snap_query *q)
{
	return q->subject == 0 && last->subject == 0 && last->stage == q->stage &&
	       last->query == q->query && last->lock == q->lock;
}

static void note_query(struct supply *p, const struct supply_rows *rows)
{
	const struct supply_query *q = &p->query;
	struct snapshot *s = p->in.snap;
	bool for_one = q->stage == STAGE_plain;
	struct snap_query *last = s->nqueries > 0 ? &s->queries[s->nqueries - 1] : NULL;
	const struct snap_query made = { .stage = supply_stage_name(q->stage),
		.query = supply_kind_name(q->kind),
		.resource = for_one ? p->in.req->resources[p->plain.resource].type : "",
		.subject = q->subject,
		.most = (int64_t)q->most,
		.rows = (int64_t)(rows->found ? 1 : rows->n),
		.times = 1,
		.lock = q->lock };

	if (last != NULL && continues_last(last, &made)) {
		last->rows += made.rows;
		last->times++;
		return;
	}
	PUSH(p->a, s->queries, s->nqueries, s->queries_cap) = made;
}

void supply_take(struct supply *p, const struct supply_rows *rows)
{
	assert(p->pending);
	p->pending = false;
	p->locked = (p->locked && !p->query.unlock) || p->query.lock;
	note_query(p, rows);
	stages[p->stage].take(p, rows);
}

bool supply_pending(const struct supply *p)
{
	return p->pending;
}

void supply_more(struct supply *p, const struct decision *d)
{
	p->more = d->more;
	p->first_more = d->more && !p->in.snap->search.began;
	p->app_refused = d->apps_refused;
	p->passes = (d->more_nci ? MORE_NCI : 0) | (d->more ? MORE_WORK : 0);
	p->rng = rng_seed(p->in.seed ^ 4);
	p->stage = 0;
	p->round = 0;
	p->begun = p->unlock = false;
}

/* Whether each stage reads anything, and what. Only the stages nci and plain have
 * several rounds: one for each app, or for each resource. */

enum { SEARCH_FIRST = 2 }; /* files of the search that usually suffice */

/* --- apps that use almost no CPU --- */

static bool lacks_nci(const struct supply *p, const struct app *app)
{
	return app->non_cpu_intensive &&
	       !decide_app_on_host(p->in.req, p->in.snap, app->id);
}

static void nci_begin(struct supply *p)
{
	struct snapshot *s = p->in.snap;

	p->rng = rng_seed(p->in.seed ^ 5);
	p->until_enough = false;
	p->left_before = s->search.left;
	s->search.left = false;
}

static void nci_done(struct supply *p)
{
	struct snapshot *s = p->in.snap;

	s->nci_search.left = s->search.left;
	s->search.left = p->left_before;
	s->nci = s->plain;
	s->nnci = s->nplain;
	s->plain = NULL;
	s->nplain = 0;
}

/*
 * Reads some jobs of each such app of which the host has none, whether the host asks
 * for work or not. Runs before the stage plain, because it uses the snapshot's place
 * of plain jobs.
 */
bool supply_begin_nci(struct supply *p)
{
	const struct catalog *cat = p->in.snap->cat;

	if (p->round == 0)
		nci_begin(p);
	for (; p->round < cat->napps; p->round++) {
		bool *apps;

		if (!lacks_nci(p, &cat->apps[p->round]))
			continue;
		apps = NEWN(p->a, bool, cat->napps);
		apps[p->round] = true;
		supply_plain_begin(p, apps, CANDIDATES_PER_JOB, true);
		return true;
	}
	nci_done(p);
	return false;
}

/* --- what the host has, and jobs aimed at it --- */

bool supply_begin_only(struct supply *p)
{
	if (p->round > 0)
		return false;
	p->only = (struct supply_only){ .state = ONLY_JOB };
	return true;
}

bool supply_begin_held(struct supply *p)
{
	if (p->round > 0)
		return false;
	if (p->more && p->held_read == p->in.nheld)
		return false;
	p->rng = rng_seed(p->in.seed ^ (p->more ? 4 : 1));
	p->until_enough = true;
	supply_files_begin(p, p->more ? p->in.snap->nfiles : 0, p->goal.need);
	p->files.held = true;
	return true;
}

bool supply_begin_old(struct supply *p)
{
	struct snapshot *s = p->in.snap;

	if (p->round > 0)
		return false;
	p->from = s->nfiles;
	s->search.held_left = s->search.left;
	if (!locality_takes_old(p->in.conf, p->in.req, s))
		return false;
	supply_old_begin(p, rng_seed(p->in.seed ^ 6));
	return true;
}

/* Reads jobs of the sets that the stage before added. */
static bool begin_added_sets(struct supply *p)
{
	if (p->round > 0)
		return false;
	supply_files_begin(p, p->from, p->goal.need);
	return true;
}

bool supply_begin_old_jobs(struct supply *p)
{
	return begin_added_sets(p);
}

bool supply_begin_targeted(struct supply *p)
{
	const struct snap_glance *g = &p->in.snap->glance;

	p->targeted_asked = false;
	return p->round == 0 && (!g->there || g->has_aimed);
}

/* --- files that the host lacks --- */

/*
 * True if this pass looks for files that the host lacks. The first pass does so
 * unless earlier stages already read enough; in this case, the pass in which the
 * decision first asks for more does it.
 */
static bool wants_new_files(const struct supply *p)
{
	bool out = p->in.snap->search.new_files_out;

	return p->more ? p->first_more && out : !out;
}

/* Never true if the decision asks for more. */
static bool new_files_enough(const struct supply *p)
{
	return !p->more && supply_enough(p);
}

static void new_files_begin(struct supply *p)
{
	struct snapshot *s = p->in.snap;
	size_t napps = s->cat->napps;

	s->search.unread = NEWN(p->a, bool, napps + 1);
	for (size_t i = 0; i < napps; i++)
		s->search.unread[i] = true;
	s->search.new_files_out = supply_enough(p);
	s->search.left |= s->search.new_files_out;
}

bool supply_begin_picks(struct supply *p)
{
	if (p->round > 0)
		return false;
	p->from = p->in.snap->nfiles;
	p->until_enough = true;
	if (!p->more)
		new_files_begin(p);
	if (!wants_new_files(p))
		return false;
	supply_picks_begin(p, (size_t)p->in.conf->locality_working_set_picks);
	return true;
}

bool supply_begin_pick_jobs(struct supply *p)
{
	return begin_added_sets(p);
}

/* Number of file sets that the first search looks for; 0 if the decision asks for
 * more. */
static size_t first_search_size(const struct supply *p)
{
	size_t most = (size_t)p->in.conf->locality_search_files;

	if (p->more)
		return 0;
	return most < SEARCH_FIRST ? most : SEARCH_FIRST;
}

/* Both searches draw the same start, so the second one continues where the first one
 * ended. */
bool supply_begin_few(struct supply *p)
{
	if (p->round > 0)
		return false;
	p->from = p->in.snap->nfiles;
	if (!wants_new_files(p) || new_files_enough(p))
		return false;
	supply_few_begin(p, p->rng, first_search_size(p));
	return true;
}

bool supply_begin_few_jobs(struct supply *p)
{
	return begin_added_sets(p);
}

bool supply_begin_rest(struct supply *p)
{
	size_t most = (size_t)p->in.conf->locality_search_files;
	size_t looked = p->in.snap->glance.last_ready > 0 ? first_search_size(p) : 0;

	if (p->round > 0)
		return false;
	p->from = p->in.snap->nfiles;
	if (!wants_new_files(p) || new_files_enough(p))
		return false;
	supply_search_begin(p, p->rng, most - looked);
	return true;
}

bool supply_begin_rest_jobs(struct supply *p)
{
	return begin_added_sets(p);
}

/* --- plain jobs --- */

/* Marks the apps that the previous round did not get to as unread, for the next
 * resource. */
static void plain_round_done(struct supply *p)
{
	struct snapshot *s = p->in.snap;

	for (size_t i = 0; p->plain_apps != NULL && i < s->cat->napps; i++)
		s->search.unread[i] |= p->plain_apps[i];
	p->plain_apps = NULL;
}

static bool *plain_apps_for(struct supply *p, size_t r)
{
	const struct catalog *cat = p->in.snap->cat;
	bool *unread = p->in.snap->search.unread;
	bool *apps = NEWN(p->a, bool, cat->napps + 1);

	for (size_t i = 0; i < cat->napps; i++) {
		apps[i] = unread[i] && !cat->apps[i].non_cpu_intensive &&
		          serving_app(&p->goal.apps, &cat->apps[i], r);
		unread[i] &= !apps[i];
	}
	return apps;
}

/* False from the second time on that the decision asks for more: the walk then reads
 * the plain jobs. */
static bool wants_plain(const struct supply *p)
{
	return !p->more || p->first_more;
}

/*
 * Reads the jobs of each resource from the apps that can use it: a million jobs for
 * CPUs must not hide the few for a coprocessor. CPUs come last, because they would
 * use up the job limit of the reply. If locality_scheduler_fraction is set, plain
 * jobs may go first, so they are read even if there are enough other jobs.
 */
bool supply_begin_plain(struct supply *p)
{
	struct snapshot *s = p->in.snap;
	bool always = p->more || p->in.conf->locality_scheduler_fraction > 0;
	size_t n = p->goal.apps.nresources;

	plain_round_done(p);
	p->until_enough = true;
	for (; p->round < n && wants_plain(p); p->round++) {
		size_t r = n - 1 - p->round;

		if (!supply_asks(p, r))
			continue;
		if (!always && supply_enough_for(p, r)) {
			s->search.left = true;
			continue;
		}
		p->plain.resource = r;
		p->plain_apps = plain_apps_for(p, r);
		supply_plain_begin(p, p->plain_apps, p->goal.need, true);
		return true;
	}
	return false;
}

/* Reads jobs of apps that the account excludes if there are no other candidates, so
 * that the decision can name this as the reason. Only an empty reply bears the cost. */
bool supply_begin_unwanted(struct supply *p)
{
	const struct snapshot *s = p->in.snap;
	bool *apps;

	if (p->round > 0 || snapshot_any_candidate(s))
		return false;
	apps = NEWN(p->a, bool, s->cat->napps + 1);
	for (size_t i = 0; i < s->cat->napps; i++)
		for (size_t r = 0; r < p->goal.apps.nresources; r++)
			apps[i] |= supply_asks(p, r) &&
			           serving_app(&p->goal.apps, &s->cat->apps[i], r) &&
			           !s->cat->apps[i].non_cpu_intensive;
	p->until_enough = false;
	supply_plain_begin(p, apps, p->goal.need, false);
	return true;
}

/* True if the account wants jobs of this app and a usable version of it runs on a
 * resource that the request wants work for. */
static bool may_be_offered(const struct supply *p, const struct app *app)
{
	enum app_choice choice = prefs_app_choice(&p->in.snap->project_prefs, app->id,
	    app->beta != 0, p->in.conf->distinct_beta_apps);
	bool any = false;

	for (size_t r = 0; r < p->goal.apps.nresources; r++)
		any = any || (supply_asks(p, r) && serving_app(&p->goal.apps, app, r));
	return any && !app->non_cpu_intensive &&
	       (choice == APP_SELECTED || choice == APP_OTHER);
}

/* Begins the walk that the decision asks for: around all candidates, or only those of
 * apps that use almost no CPU. */
static bool walk_once(struct supply *p, bool nci)
{
	const struct catalog *cat = p->in.snap->cat;
	bool *apps;

	if (p->round > 0)
		return false;
	apps = NEWN(p->a, bool, cat->napps + 1);
	for (size_t i = 0; i < cat->napps; i++)
		apps[i] = !p->app_refused[i] &&
		          (nci ? lacks_nci(p, &cat->apps[i]) :
				 may_be_offered(p, &cat->apps[i]));
	supply_walk_begin(p, nci, apps);
	return true;
}

bool supply_begin_nci_walk(struct supply *p)
{
	return walk_once(p, true);
}

bool supply_begin_walk(struct supply *p)
{
	/* the sets of held files come first, whose turn it is in the next pass */
	return p->held_read == p->in.nheld && walk_once(p, false);
}

/* --- workunits of candidates --- */

/* Workunits of candidates, by what the candidates' rows say about the once rule. */
struct workunits {
	int64_t *taken, *unknown;
	size_t ntaken, nunknown, taken_cap, unknown_cap;
};

static void workunits_note(
    struct arena *a, struct workunits *w, const struct job *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (jobs[i].taken > 0)
			PUSH(a, w->taken, w->ntaken, w->taken_cap) = jobs[i].workunitid;
		else if (jobs[i].taken < 0)
			PUSH(a, w->unknown, w->nunknown,
			    w->unknown_cap) = jobs[i].workunitid;
	}
}

bool supply_begin_once(struct supply *p)
{
	struct snapshot *s = p->in.snap;
	struct workunits w = { 0 };
	struct ids taken, unknown;

	if (p->round > 0 || (p->more && !p->first_more))
		return false;
	for (size_t i = 0; i < s->nfiles; i++)
		workunits_note(p->a, &w, s->files[i].jobs, s->files[i].njobs);
	workunits_note(p->a, &w, s->plain, s->nplain);
	workunits_note(p->a, &w, s->nci, s->nnci);
	taken = ids_unique(p->a, w.taken, w.ntaken);
	unknown = ids_unique(p->a, w.unknown, w.nunknown);
	s->user_wus = taken.v;
	s->nuser_wus = taken.n;
	supply_once_begin(p, unknown.v, unknown.n);
	return true;
}

bool supply_begin_drawn(struct supply *p)
{
	if (p->round > 0 || !p->in.draws)
		return false;
	supply_draw_begin(p);
	return true;
}

bool supply_begin_drawn_once(struct supply *p)
{
	const struct snapshot *s = p->in.snap;
	int64_t *ids;

	if (p->round > 0 || s->ndrawn == 0)
		return false;
	ids = NEWN(p->a, int64_t, s->ndrawn);
	for (size_t i = 0; i < s->ndrawn; i++)
		ids[i] = s->drawn[i].workunitid;
	supply_once_begin(p, ids, s->ndrawn);
	return true;
}
