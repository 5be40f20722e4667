/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apps that use almost no CPU (app.non_cpu_intensive): every host has one job of each
 * of them at a time, whether it asks for work or not, and its other work does not count
 * against it (scheduling.md 2.14).
 */
#include "rules/sched/ctx.h"

#include <string.h>
#include "lib/banned.h"

bool
nci_job(const struct ctx *c, const struct job *j)
{
	const struct app *app = catalog_app(c->snap->cat, j->appid);

	return app != NULL && app->non_cpu_intensive != 0;
}

static bool
is_reported(const struct request *rq, const char *name)
{
	for (size_t i = 0; i < rq->nreports; i++)
		if (strcmp(rq->reports[i].name, name) == 0)
			return true;
	return false;
}

bool
decide_app_on_host(const struct request *rq, const struct snapshot *s, int64_t appid)
{
	for (size_t i = 0; i < s->nin_progress; i++)
		if (s->in_progress[i].appid == appid &&
		    !is_reported(rq, s->in_progress[i].name))
			return true;
	for (size_t i = 0; s->others != NULL && i < rq->nother_results; i++)
		if (s->others[i].owner != 0 && s->others[i].appid == appid)
			return true;
	return false;
}

bool
nci_taken(const struct ctx *c, int64_t appid)
{
	if (decide_app_on_host(c->req, c->snap, appid))
		return true;
	for (size_t i = 0; i < c->d->nsends; i++)
		if (c->d->sends[i].job->appid == appid)
			return true;
	return false;
}
