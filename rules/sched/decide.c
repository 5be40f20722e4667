/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of service (locality.md 3). This file only connects the rules; each rule
 * has a file of its own.
 */
#include "rules/sched/decide.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rules/sched/ctx.h"
#include "lib/banned.h"

/* Treats the drawn jobs like the first ones of the reply, but sends nothing. */

enum { ONE_IN = 16 };

bool baseline_cost_due(int64_t hostid, int64_t seqno, struct rng *rng)
{
	*rng = rng_seed(
	    (uint64_t)hostid * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)seqno);
	return rng_below(rng, ONE_IN) == 0 && hostid != 0;
}

size_t baseline_cost_jobs(const struct decision *d, int64_t *bytes_needed)
{
	size_t n = 0;

	*bytes_needed = 0;
	for (size_t i = 0; i < d->nsends; i++) {
		const struct dec_send *s = &d->sends[i];

		if (s->job->fileset_id <= 0 || s->expect_in_progress)
			continue;
		*bytes_needed += s->bytes_needed;
		n++;
	}
	return n;
}

static bool drawn_job_fits(struct ctx *c, const struct job *j)
{
	struct snap_file file = { .fileset_id = j->fileset_id };
	struct fitting f;
	struct choice q;
	bool fit = false;

	if (fit_workunit(c, j, false) != WHY_NONE)
		return false;
	for (size_t i = 0; i < c->snap->nmembers; i++)
		if (c->snap->members[i].fileset_id == j->fileset_id)
			file.bytes += c->snap->members[i].bytes;
	q = version_choose(c, j, false);
	for (size_t i = 0; q.why == WHY_NONE && i < q.npicks && !fit; i++)
		fit = fit_host(c, j, &q.picks[i], &file, false, &f) == WHY_NONE;
	return fit;
}

/*
 * Sets d->baseline from the drawn jobs; runs before anything is sent, and affects
 * nothing else.
 */
static void baseline_cost_measure(const struct ctx *real)
{
	struct snapshot snap = *real->snap;
	struct ctx c = *real;
	struct rng rng;
	struct dec_baseline *w = &real->d->baseline;
	double sum = 0;

	if (snap.ndrawn == 0)
		return;
	baseline_cost_due(snap.host.id, real->req->rpc_seqno, &rng);
	snap.members = snap.drawn_members;
	snap.nmembers = snap.ndrawn_members;
	c.snap = &snap;
	c.rng = &rng; /* the decision's own draws must not depend on this */
	c.d = NEW(c.a, struct decision);
	c.larges = larges_of(c.a, &snap);
	c.choices = NULL;
	c.nchoices = c.choices_cap = 0;
	*w = (struct dec_baseline){ .drawn = snap.ndrawn };
	for (size_t i = 0; i < snap.ndrawn; i++)
		if (drawn_job_fits(&c, &snap.drawn[i])) {
			w->fit++;
			sum += (double)larges_missing(
			    &c.larges, snap.drawn[i].fileset_id);
		}
	w->mean_bytes = w->fit == 0 ? 0 : (int64_t)(sum / (double)w->fit + 0.5);
}

struct rank {
	int32_t priority;
	size_t i;
};

static int compare_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

/* Tries the plain jobs of the apps that the account selected, or of the others. */
static void serve_plain_apps(struct ctx *c, const struct rank *order, bool others)
{
	for (size_t i = 0; i < c->snap->nplain && limits_more(c) == WHY_NONE; i++) {
		const struct job *j = &c->snap->plain[order[i].i];
		const struct app *app = catalog_app(c->snap->cat, j->appid);

		if ((app != NULL && prefs_app(c, app) == APP_OTHER) == others)
			candidate_try(c, SEND_PLAIN, j, NULL);
	}
}

static void serve_plain(struct ctx *c)
{
	/*
	 * Sorts the plain jobs by priority (scheduling.md 2.13), otherwise keeping
	 * their order.
	 */
	struct rank *v = NEWN(c->a, struct rank, c->snap->nplain + 1);

	for (size_t i = 0; i < c->snap->nplain; i++)
		v[i] = (struct rank){ c->snap->plain[i].priority, i };
	qsort(v, c->snap->nplain, sizeof(*v), compare_rank);
	const struct rank *order = v;

	serve_plain_apps(c, order, false);
	if (c->snap->project_prefs.allow_non_preferred_apps)
		serve_plain_apps(c, order, true);
}

static void serve_all(struct ctx *c)
{
	bool plain_first;

	lost_resend(c);
	for (size_t i = 0; i < c->snap->ntargeted && limits_more(c) == WHY_NONE; i++) {
		const struct job *j = &c->snap->targeted[i];

		candidate_try(c, SEND_TARGETED, j, lost_file(c, j));
	}
	/*
	 * In a project with both kinds of jobs, a random draw may put plain ones first
	 * (locality.md 3).
	 */
	double fraction = c->conf->locality_scheduler_fraction;

	plain_first = fraction > 0 && c->snap->nplain > 0 &&
	              rng_unit(c->rng) >= fraction;
	if (plain_first)
		serve_plain(c);
	locality_serve(c);
	if (!plain_first && c->d->nwant == 0)
		serve_plain(c);
}

/*
 * The caller will wait or read on, and decide again: drop everything in this round that
 * could be taken for an answer.
 */
static void keep_only_question(struct ctx *c)
{
	struct decision *d = c->d;

	d->nsends = d->ndeletes = d->nexpire = d->nmessages = d->nskips = 0;
	memset(d->counts, 0, sizeof(d->counts));
	for (size_t i = 0; i < c->snap->nfiles; i++)
		d->files[i].sent = d->files[i].refused = d->files[i].mark_no_work = 0;
	d->request_delay = 0;
	d->why = d->more || d->more_nci ? WHY_SEARCH_LIMIT : WHY_WAITING;
	if (d->more || d->more_nci)
		d->nwant = 0;
}

static void decide_begin(struct ctx *c, const int64_t *lost, size_t nlost)
{
	const struct request *rq = c->req;
	bool any = false;

	c->d = NEW(c->a, struct decision);
	c->m = machine_of(c->conf, rq, c->snap);
	c->work = work_req_new(c->a, rq);
	/*
	 * Determines which resources some app can use: requests for the others are no
	 * reason to continue (scheduling.md 2.3). If no app can use any, candidates
	 * provide the reason.
	 */
	c->serving = serving_of(c->a, c->req, c->snap->cat);
	c->locality = catalog_locality(c->snap->cat, c->conf);
	c->d->apps_refused = c->app_refused = NEWN(c->a, bool, c->snap->cat->napps + 1);
	c->has_apps = NEWN(c->a, bool, c->work.n);
	for (size_t r = 0; r < c->work.n; r++) {
		c->has_apps[r] = serving_any(&c->serving, r);
		any = any || c->has_apps[r];
	}
	for (size_t r = 0; r < c->work.n && !any; r++)
		c->has_apps[r] = true;
	c->disk = c->m.disk;
	workload_begin(c);
	c->most_sends = limits_per_rpc(c->conf, rq, &c->m);
	c->lost = ids_unique(c->a, lost, nlost);
	c->user_wus = ids_unique(c->a, c->snap->user_wus, c->snap->nuser_wus);
	limits_count_in_progress(c);
	c->held = request_held(c->a, rq);
	c->listed = request_accounted(c->a, rq);
	const struct snapshot *s = c->snap;

	c->larges = larges_of(c->a, s);
	c->d->files = NEWN(c->a, struct dec_file, s->nfiles + 1);
	for (size_t i = 0; i < s->nfiles; i++) {
		c->d->files[i] = (struct dec_file){ .file = &s->files[i],
			.state = fileset_state(c->conf, &s->files[i]),
			.why = WHY_NOT_WANTED };
	}
	delete_begin(c);
}

/*
 * Requests a log until it is stored, and requests all of it: clients take 0 for "none"
 * (protocol.md 2.1).
 */
static void ask_for_logs(struct ctx *c)
{
	const struct request *rq = c->req;
	const struct snapshot *s = c->snap;

	if (!rq->host.present)
		return;
	if (c->conf->request_time_stats_log && !s->has_time_stats_log &&
	    rq->time_stats_log == NULL)
		c->d->send_time_stats_log = 1;
	if (c->conf->request_job_log && !s->has_job_log && rq->job_log == NULL)
		c->d->send_job_log = 1;
}

/* Returns why no more was sent, if work was wanted. */
static enum reason why_no_more(const struct ctx *c)
{
	enum reason why = c->d->work_wanted ? limits_more(c) : c->d->rest;

	if (c->d->work_wanted && why == WHY_NONE && c->no_app_version)
		why = WHY_NO_APP_VERSION;
	return why == WHY_NONE && c->more_to_come ? WHY_WAITING : why;
}

double decide_interval_s(const struct conf *cf)
{
	double interval = (double)cf->min_sendwork_interval;

	return interval > 0 ? fmax(interval * 1.01, interval + 1) : 0;
}

/* Parameters: everything that the decision may depend on. */
struct decision *decide(struct arena *a, const struct conf *cf,
    const struct request *rq, const struct snapshot *snap, int64_t now, struct rng *rng,
    const int64_t *lost, size_t nlost)
{
	struct ctx c = {
		.a = a, .conf = cf, .req = rq, .snap = snap, .now = now, .rng = rng
	};
	enum reason gate;

	decide_begin(&c, lost, nlost);
	report_all(&c);
	prefs_exchange(&c);
	gate = limits_gate(&c);
	c.d->work_wanted = gate == WHY_NONE && work_req_needed(&c.work);
	c.d->why = gate;
	if (gate == WHY_NONE && !snap->account_full) {
		/* Sends one job of each app that uses almost no CPU, if the host has
		 * none of it. */
		for (size_t i = 0; i < c.snap->nnci; i++) {
			const struct job *j = &c.snap->nci[i];

			if (!nci_taken(&c, j->appid))
				candidate_try(&c, SEND_PLAIN, j, NULL);
		}
	}
	if (c.d->work_wanted) {
		baseline_cost_measure(&c);
		serve_all(&c);
	}
	search_on(&c);
	if (c.d->more || c.d->more_nci || c.d->nwant > 0) {
		keep_only_question(&c);
		return c.d;
	}
	search_keep(&c);
	c.d->rest = why_no_more(&c);
	owner_moves(&c);
	lost_abort(&c);
	ask_for_logs(&c);
	c.d->no_work_deadlines = c.d->work_wanted && c.d->nsends == 0 &&
	                         c.d->counts[WHY_DEADLINE] > 0;
	delete_orders(&c);
	version_no_rsc_apps(&c);
	messages_why(&c);
	prefs_say_bad(&c);
	decision_delay(&c, decide_interval_s(cf));
	return c.d;
}

bool decide_wants_work(const struct conf *cf, const struct request *rq)
{
	return !cf->dont_send_jobs && !rq->dont_send_work && work_req_asks(rq);
}
