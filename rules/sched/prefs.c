/* SPDX-License-Identifier: Apache-2.0 */
/* Which preferences are newer, the account's or the client's (protocol.md 3.4)? */
#include "rules/sched/prefs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "model/plan_class.h"
#include "rules/say.h"
#include "rules/sched/ctx.h"
#include "rules/sched/plan_class.h"
#include "lib/banned.h"

/* Makes one pass over all versions. */

static void
serving_mark(struct serving *s, const struct app *app, size_t r)
{
	if (app != NULL && !app->deprecated && r < s->nresources)
		s->v[(size_t)(app - s->cat->apps) * s->nresources + r] = true;
}

/* Resource of the versions of a class, SIZE_MAX if none of them can be sent. */
static size_t
class_resource(
    const struct request *rq, const struct catalog *cat, const char *plan_class)
{
	const struct plan_class *pc = plan_class_named(cat->classes, plan_class);

	if (plan_class[0] == '\0')
		return 0;
	if (!rq->client_cap_plan_class || pc == NULL || pc->disabled)
		return SIZE_MAX;
	return plan_class_resource(pc, rq);
}

struct serving
serving_of(struct arena *a, const struct request *rq, const struct catalog *cat)
{
	struct serving s = { .cat = cat, .nresources = rq->nresources };
	int64_t *ids = NEWN(a, int64_t, rq->nplatforms + 1);
	size_t nids = 0;

	s.v = NEWN(a, bool, cat->napps * rq->nresources + 1);
	if (request_is_anonymous(rq)) {
		for (size_t i = 0; i < rq->napp_versions; i++)
			serving_mark(&s,
			    catalog_app_named(cat, rq->app_versions[i].app_name),
			    request_resource(rq, rq->app_versions[i].coproc_type));
		return s;
	}
	for (size_t i = 0; i < rq->nplatforms; i++) {
		const struct platform *p = catalog_platform_named(
		    cat, rq->platforms[i]);

		if (p != NULL)
			ids[nids++] = p->id;
	}
	for (size_t i = 0; i < cat->nversions; i++) {
		const struct app_version *v = &cat->versions[i];
		bool ours = false;

		for (size_t k = 0; k < nids; k++)
			ours = ours || ids[k] == v->platformid;
		if (ours && !v->deprecated)
			serving_mark(&s, catalog_app(cat, v->appid),
			    class_resource(rq, cat, v->plan_class));
	}
	return s;
}

bool
serving_app(const struct serving *s, const struct app *app, size_t r)
{
	return app != NULL && r < s->nresources &&
	       s->v[(size_t)(app - s->cat->apps) * s->nresources + r];
}

bool
serving_any(const struct serving *s, size_t r)
{
	bool any = false;

	for (size_t i = 0; i < s->cat->napps; i++)
		any = any || serving_app(s, &s->cat->apps[i], r);
	return any;
}

double
prefs_mod_time(const char *text)
{
	const char *tag = "<mod_time>", *at = text == NULL ? NULL : strstr(text, tag);
	double t = at == NULL ? 0 : strtod(at + strlen(tag), NULL);

	return t > 0 ? t : 0;
}

/*
 * Are the client's preferences to be stored? Only from the account's own computers: a
 * client attached to several accounts may carry the preferences of another one, and a
 * weak key may not change the account.
 */
static bool
may_store_prefs(const struct ctx *c)
{
	const char *source = c->req->global_prefs_source_email_hash;

	return c->req->global_prefs != NULL && !c->snap->weak_auth &&
	       c->snap->email_hash != NULL && strcmp(source, c->snap->email_hash) == 0;
}

/* Limits a time to now: a wrong clock must not win for years. */
static double
not_in_future(const struct ctx *c, double mod_time)
{
	return fmin(mod_time, (double)c->now);
}

void
prefs_exchange(struct ctx *c)
{
	const struct request *rq = c->req;
	const char *stored = c->snap->user.global_prefs;
	bool have = stored != NULL && stored[0] != '\0';
	double ours = not_in_future(c, prefs_mod_time(stored));
	double master = rq->global_prefs == NULL ?
	                    0 :
	                    not_in_future(c, rq->global_prefs_mod_time);
	double working = rq->has_working_prefs ? not_in_future(c, rq->prefs.mod_time) :
	                                         0;

	c->d->store_global_prefs = may_store_prefs(c) && (!have || master > ours);
	c->d->send_global_prefs = have && ours > master && ours > working;
}

static const char no_number[] = " is not a number (use a decimal point) and is ignored";

/*
 * Reports invalid factors on the number of devices, for the plan classes that use them.
 */
static void
say_bad_factors(struct ctx *c)
{
	const struct plan_classes *all = c->snap->cat->classes;
	struct names said = { 0 };

	for (size_t i = 0; all != NULL && i < all->n; i++) {
		const struct plan_class *pc = &all->classes[i];
		const char *text = plan_class_bad_factor(
		    c->a, pc, c->snap->project_prefs.text);
		struct say s;

		if (text == NULL || !names_put(c->a, &said, pc->gpu_utilization_tag, 0))
			continue;
		s = say_new(c->a);
		say_str(&s, "<");
		say_str(&s, pc->gpu_utilization_tag);
		say_str(&s, "> \"");
		say_str(&s, text);
		say_str(&s, "\"");
		decision_say(c, false, "Your project preferences: ", s.p, no_number);
	}
}

void
prefs_say_bad(struct ctx *c)
{
	const struct snapshot *s = c->snap;

	if (!c->d->work_wanted)
		return;
	if (s->account_prefs.bad != NULL)
		decision_say(
		    c, false, "Your preferences: ", s->account_prefs.bad, no_number);
	if (s->project_prefs.bad != NULL)
		decision_say(c, false,
		    "Your project preferences: ", s->project_prefs.bad, no_number);
	say_bad_factors(c);
}

enum app_choice
prefs_app(const struct ctx *c, const struct app *app)
{
	return prefs_app_choice(&c->snap->project_prefs, app->id, app->beta != 0,
	    c->conf->distinct_beta_apps);
}

/*
 * Decides when the search for fitting jobs continues beyond the candidates read so far:
 * a request reads at most search_rows of them, and the next request continues there.
 */

/*
 * A satisfied resource is no reason to look for other apps; most requests end this way.
 */
static bool
is_satisfied(enum reason why)
{
	return why == WHY_RSC_NOT_WANTED || why == WHY_IN_PROGRESS_LIMIT;
}

void
search_note(struct ctx *c, const struct job *j, enum reason why, bool of_job)
{
	const struct app *app = catalog_app(c->snap->cat, j->appid);

	if (!of_job && !is_satisfied(why) && app != NULL)
		c->app_refused[app - c->snap->cat->apps] = true;
	if (nci_job(c, j))
		c->nci_refused |= of_job && why != WHY_APP_ONCE;
	else
		c->job_refused |= of_job;
}

/*
 * Are jobs of the app wanted, and does it have a version for a resource that is wanted?
 */
static bool
may_be_sent(const struct ctx *c, const struct app *app)
{
	enum app_choice choice = prefs_app(c, app);
	bool any = false;

	if (app_is_held_back(app) || app->non_cpu_intensive)
		return false;
	if (choice != APP_SELECTED && choice != APP_OTHER)
		return false;
	for (size_t r = 0; r < c->work.n; r++)
		any = any || (limits_resource(c, r) == WHY_NONE &&
				 serving_app(&c->serving, app, r) &&
				 !prefs_refuse_device(
				     &c->snap->project_prefs, &c->req->resources[r]));
	return any;
}

bool
search_another_app(const struct ctx *c)
{
	const struct catalog *cat = c->snap->cat;
	bool any = false;

	for (size_t i = 0; i < cat->napps && !any; i++)
		any = !c->app_refused[i] && may_be_sent(c, &cat->apps[i]);
	return any;
}

/* Was something refused for a reason that says nothing about jobs not read yet? */
static bool
others_may_fit(const struct ctx *c)
{
	bool app = false;

	for (size_t i = 0; i < c->snap->cat->napps; i++)
		app = app || c->app_refused[i];
	return c->job_refused || (app && !c->no_app_version && search_another_app(c));
}

/*
 * Before a wait, and when more jobs of held files are to come, only files that the host
 * has are of use: new files and plain jobs come afterwards.
 */
static bool
waits(const struct ctx *c)
{
	return c->d->nwant > 0 || c->could_not_wait || c->more_to_come;
}

static bool
goes_on(struct ctx *c, const struct snap_search *s)
{
	bool more = s->rows < (size_t)c->conf->search_rows;

	if (!more && c->conf->search_rows > 0)
		c->d->counts[WHY_SEARCH_LIMIT]++;
	return more;
}

/* Is there an app that uses almost no CPU of which a job was tried without success? */
static bool
nci_lacks(const struct ctx *c)
{
	bool any = false;

	for (size_t i = 0; i < c->snap->nnci && !any; i++)
		any = !nci_taken(c, c->snap->nci[i].appid);
	return any && c->nci_refused;
}

void
search_on(struct ctx *c)
{
	const struct snap_search *s = &c->snap->search, *nci = &c->snap->nci_search;

	if (nci->left && nci_lacks(c))
		c->d->more_nci = goes_on(c, nci);
	if (c->d->work_wanted && (waits(c) ? s->held_left : s->left) &&
	    others_may_fit(c) && limits_more(c) == WHY_NONE)
		c->d->more = goes_on(c, s);
}

/*
 * Jobs behind those that satisfied a request were not tried, so the last slice is read
 * again.
 */
static struct place
next_place(const struct snap_search *s, bool satisfied)
{
	if (satisfied)
		return s->before;
	return s->left ? s->at : (struct place){ 0 };
}

void
search_keep(struct ctx *c)
{
	const struct snap_search *s = &c->snap->search, *nci = &c->snap->nci_search;
	const struct host *h = &c->snap->host;
	bool elsewhere = (c->could_not_wait || c->more_to_come) && !s->held_left;

	c->d->cursor = (struct place){ h->search_ready, h->search_id };
	c->d->nci_cursor = (struct place){ h->nci_ready, h->nci_id };
	if (s->began && !elsewhere)
		c->d->cursor = next_place(s, limits_more(c) != WHY_NONE);
	if (nci->began)
		c->d->nci_cursor = next_place(nci, !nci_lacks(c));
}
