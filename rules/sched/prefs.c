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

static void serving_mark(struct serving *s, const struct app *app, size_t r)
{
	if (app != NULL && !app->deprecated && r < s->nresources)
		s->v[(size_t)(app - s->cat->apps) * s->nresources + r] = true;
}

/* Resource of the versions of a class, SIZE_MAX if none of them can be sent. */
static size_t class_resource(
    const struct request *rq, const struct catalog *cat, const char *plan_class)
{
	const struct plan_class *pc = plan_class_named(cat->classes, plan_class);

	if (plan_class[0] == '\0')
		return 0;
	if (!rq->client_cap_plan_class || pc == NULL || pc->disabled)
		return SIZE_MAX;
	return plan_class_resource(pc, rq);
}

struct serving serving_of(
    struct arena *a, const struct request *rq, const struct catalog *cat)
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

bool serving_app(const struct serving *s, const struct app *app, size_t r)
{
	return app != NULL && r < s->nresources &&
	       s->v[(size_t)(app - s->cat->apps) * s->nresources + r];
}

bool serving_any(const struct serving *s, size_t r)
{
	bool any = false;

	for (size_t i = 0; i < s->cat->napps; i++)
		any = any || serving_app(s, &s->cat->apps[i], r);
	return any;
}

double prefs_mod_time(const char *text)
{
	const char *tag = "<mod_time>", *at = text == NULL ? NULL : strstr(text, tag);
	double t = at == NULL ? 0 : strtod(at + strlen(tag), NULL);

	return t > 0 ? t : 0;
}

/* Limits a time to now: a wrong clock must not win for years. */
static double not_in_future(const struct ctx *c, double mod_time)
{
	return fmin(mod_time, (double)c->now);
}

void prefs_exchange(struct ctx *c)
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
	/*
	 * Only from the account's own computers: a client attached to several accounts
	 * may carry the preferences of another one, and a weak key may not change the
	 * account.
	 */
	bool own = rq->global_prefs != NULL && !c->snap->weak_auth &&
	           c->snap->email_hash != NULL &&
	           strcmp(rq->global_prefs_source_email_hash, c->snap->email_hash) == 0;

	c->d->store_global_prefs = own && (!have || master > ours);
	c->d->send_global_prefs = have && ours > master && ours > working;
}

static const char no_number[] = " is not a number (use a decimal point) and is ignored";

/*
 * Reports invalid factors on the number of devices, for the plan classes that use them.
 */
static void say_bad_factors(struct ctx *c)
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

void prefs_say_bad(struct ctx *c)
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

enum app_choice prefs_app(const struct ctx *c, const struct app *app)
{
	return prefs_app_choice(&c->snap->project_prefs, app->id, app->beta != 0,
	    c->conf->distinct_beta_apps);
}
