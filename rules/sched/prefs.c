/* SPDX-License-Identifier: Apache-2.0 */
/* Whose preferences are newer: the account's or the client's (protocol.md 3.4). */
#include "rules/sched/ctx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/banned.h"

double
prefs_mod_time(const char *text)
{
	const char *tag = "<mod_time>", *at = text == NULL ? NULL : strstr(text, tag);
	double t = at == NULL ? 0 : strtod(at + strlen(tag), NULL);

	return t > 0 ? t : 0;
}

/*
 * Stored only from the account's own computers: a client attached to several accounts
 * may carry the preferences of another one, and a weak key may not change the account.
 */
static bool
may_store(const struct ctx *c)
{
	const char *source = c->req->global_prefs_source_email_hash;

	return c->req->global_prefs != NULL && !c->snap->weak_auth &&
	       c->snap->email_hash != NULL && strcmp(source, c->snap->email_hash) == 0;
}

/* Nothing was changed in the future: a wrong clock must not win for years. */
static double
until_now(const struct ctx *c, double mod_time)
{
	return fmin(mod_time, (double)c->now);
}

void
prefs_exchange(struct ctx *c)
{
	const struct request *rq = c->req;
	const char *stored = c->snap->user.global_prefs;
	bool have = stored != NULL && stored[0] != '\0';
	double ours = until_now(c, prefs_mod_time(stored));
	double master = rq->global_prefs == NULL ?
	                    0 :
	                    until_now(c, rq->global_prefs_mod_time);
	double working = rq->has_working_prefs ? until_now(c, rq->prefs.mod_time) : 0;

	c->d->store_global_prefs = may_store(c) && (!have || master > ours);
	c->d->send_global_prefs = have && ours > master && ours > working;
}

enum app_choice
prefs_app(const struct ctx *c, const struct app *app)
{
	return prefs_app_choice(&c->snap->project_prefs, app->id, app->beta != 0,
	    c->conf->distinct_beta_apps);
}
