/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when the search for fitting jobs continues beyond the candidates read so far:
 * a request reads at most search_rows of them, and the next request continues there.
 */
#include "rules/sched/ctx.h"

#include "lib/banned.h"

void search_note(struct ctx *c, const struct job *j, enum reason why, bool of_job)
{
	const struct app *app = catalog_app(c->snap->cat, j->appid);

	/* A satisfied resource is no reason to look for other apps; most requests end
	 * this way. */
	if (!of_job && why != WHY_RSC_NOT_WANTED && why != WHY_IN_PROGRESS_LIMIT &&
	    app != NULL)
		c->app_refused[app - c->snap->cat->apps] = true;
	if (nci_job(c, j))
		c->nci_refused |= of_job && why != WHY_APP_ONCE;
	else
		c->job_refused |= of_job;
}

/*
 * Are jobs of the app wanted, and does it have a version for a resource that is wanted?
 */
static bool may_be_sent(const struct ctx *c, const struct app *app)
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

bool search_another_app(const struct ctx *c)
{
	const struct catalog *cat = c->snap->cat;
	bool any = false;

	for (size_t i = 0; i < cat->napps && !any; i++)
		any = !c->app_refused[i] && may_be_sent(c, &cat->apps[i]);
	return any;
}

/* Was something refused for a reason that says nothing about jobs not read yet? */
static bool others_may_fit(const struct ctx *c)
{
	bool app = false;

	for (size_t i = 0; i < c->snap->cat->napps; i++)
		app = app || c->app_refused[i];
	return c->job_refused || (app && !c->no_app_version && search_another_app(c));
}

static bool goes_on(struct ctx *c, const struct snap_search *s)
{
	bool more = s->rows < (size_t)c->conf->search_rows;

	if (!more && c->conf->search_rows > 0)
		c->d->counts[WHY_SEARCH_LIMIT]++;
	return more;
}

/* Is there an app that uses almost no CPU of which a job was tried without success? */
static bool nci_lacks(const struct ctx *c)
{
	bool any = false;

	for (size_t i = 0; i < c->snap->nnci && !any; i++)
		any = !nci_taken(c, c->snap->nci[i].appid);
	return any && c->nci_refused;
}

void search_on(struct ctx *c)
{
	const struct snap_search *s = &c->snap->search, *nci = &c->snap->nci_search;
	/*
	 * Before a wait, and when more jobs of held files are to come, only files that
	 * the host has are of use: new files and plain jobs come afterwards.
	 */
	bool waits = c->d->nwant > 0 || c->could_not_wait || c->more_to_come;

	if (nci->left && nci_lacks(c))
		c->d->more_nci = goes_on(c, nci);
	if (c->d->work_wanted && (waits ? s->held_left : s->left) &&
	    others_may_fit(c) && limits_more(c) == WHY_NONE)
		c->d->more = goes_on(c, s);
}

/*
 * Jobs behind those that satisfied a request were not tried, so the last slice is read
 * again.
 */
static struct place next_place(const struct snap_search *s, bool satisfied)
{
	if (satisfied)
		return s->before;
	return s->left ? s->at : (struct place){ 0 };
}

void search_keep(struct ctx *c)
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
