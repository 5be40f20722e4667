/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which version of an app a host gets: its platforms in order, the fastest usable
 * version (server.md 2.11), or the client's own with an anonymous platform.
 */
#include "rules/sched/ctx.h"

#include <math.h>
#include <string.h>
#include "rules/sched/quota.h"
#include "lib/banned.h"

enum { ANONYMOUS_CPU = 2, PER_APP = 1000000 };

size_t
version_resource(const struct request *rq, const char *type)
{
	if (type == NULL || type[0] == '\0')
		return 0;
	for (size_t r = 0; r < rq->nresources; r++)
		if (rq->resources[r].type != NULL &&
		    strcmp(rq->resources[r].type, type) == 0)
			return r;
	return SIZE_MAX;
}

/* Largest memory of a 32-bit process, by the system of the primary platform
 * (wire.md 3.12). */
static const struct {
	const char *part; /* of the platform's name */
	double gib;
} limits_32bit[] = { { "linux", 3 }, { "darwin", 4 }, { "solaris", 4 }, { "", 2 } };

static bool
needs_64bit(const struct request *rq, double memory_bound)
{
	const char *primary = rq->nplatforms > 0 ? rq->platforms[0] : "";
	size_t i = 0;

	while (strstr(primary, limits_32bit[i].part) == NULL)
		i++;
	return memory_bound > limits_32bit[i].gib * 1073741824.0;
}

/* Older rows and options hold major * 100 + minor. */
static int64_t
full_version(int64_t v)
{
	return v < 10000 ? v * 100 : v;
}

static bool
client_fits(const struct request *rq, const struct app_version *v)
{
	if (v->min_core_version > 0 && rq->version < full_version(v->min_core_version))
		return false;
	return v->max_core_version <= 0 ||
	       rq->version <= full_version(v->max_core_version);
}

/*
 * What a job of this plan class uses.  Only sequential versions have no class; a class
 * is usable if the client knows classes and the project has a specification of it.
 */
static bool
plan_class_use(const struct request *rq, const struct app_version *v, struct pick *p)
{
	(void)rq;
	p->resource = 0;
	p->usage = p->avg_ncpus = 1;
	return v->plan_class[0] == '\0';
}

/*
 * Noise spreads hosts over versions of which little is known.  With locality it is off:
 * all versions are for the same platforms (seed 003, L17), and choices are to be
 * repeatable.
 */
static double
noise(struct ctx *c, const struct host_app_version *hav)
{
	double n = hav != NULL && hav->pfc_n > 1 ? hav->pfc_n : 1;

	if (c->conf->locality_scheduling)
		return 1;
	return fmax(
	    0.1, 1 + c->conf->version_select_random_factor * rng_gauss(c->rng) / n);
}

/* What is left of the daily quota after what this reply sends already. */
static int32_t
quota_left(const struct ctx *c, const struct app_version *v)
{
	const struct host_app_version *hav = estimate_find(
	    c->snap->havs, c->snap->nhavs, v->id);
	int32_t sent = 0;

	for (size_t i = 0; i < c->d->nsends; i++)
		sent += c->d->sends[i].version == v &&
		        !c->d->sends[i].expect_in_progress;
	return quota_room(c->conf, hav, c->m.ncpus) - sent;
}

static enum reason
version_usable(
    struct ctx *c, const struct choice *q, const struct app_version *v, struct pick *p)
{
	const struct host_app_version *hav = estimate_find(
	    c->snap->havs, c->snap->nhavs, v->id);
	enum reason why;

	if (q->pinned_version_id != 0 && v->id != q->pinned_version_id)
		return WHY_NO_APP_VERSION;
	if (q->pinned_version_id == 0 && v->deprecated)
		return WHY_NO_APP_VERSION;
	if (q->pinned_num != 0 && v->version_num != q->pinned_num)
		return WHY_NO_APP_VERSION;
	if (!plan_class_use(c->req, v, p))
		return WHY_NO_APP_VERSION;
	if (!client_fits(c->req, v))
		return WHY_CLIENT_TOO_OLD;
	if ((why = limits_resource(c, p->resource)) != WHY_NONE)
		return why;
	if (!q->resend && quota_left(c, v) <= 0)
		return WHY_DAILY_QUOTA;
	p->version = v;
	p->client_version = -1;
	p->speed = estimate_speed(&c->m, hav, v, p->avg_ncpus);
	p->score = p->speed.flops * noise(c, hav);
	return WHY_NONE;
}

/* A refusal for want of anything but a version says more than "there is none". */
static void
remember(enum reason *why, enum reason now)
{
	if (*why == WHY_NO_APP_VERSION)
		*why = now;
}

static void
try_platform(struct ctx *c, struct choice *q, int64_t platformid)
{
	const struct catalog *cat = c->snap->cat;

	for (size_t i = 0; i < cat->nversions; i++) {
		const struct app_version *v = &cat->versions[i];
		struct pick p = { .app = q->pick.app };
		enum reason why;

		if (v->appid != q->appid || v->platformid != platformid)
			continue;
		why = version_usable(c, q, v, &p);
		if (why != WHY_NONE) {
			if (q->why != WHY_NONE)
				remember(&q->why, why);
		} else if (q->why != WHY_NONE || p.score > q->pick.score) {
			q->why = WHY_NONE;
			q->pick = p;
		}
	}
}

static void
choose_by_platform(struct ctx *c, struct choice *q)
{
	const struct request *rq = c->req;

	for (size_t i = 0; i < rq->nplatforms; i++) {
		const struct platform *pl = catalog_platform_named(
		    c->snap->cat, rq->platforms[i]);

		if (pl == NULL || (q->need_64bit && strstr(pl->name, "64") == NULL))
			continue;
		try_platform(c, q, pl->id);
		if (q->why == WHY_NONE && c->conf->prefer_primary_platform)
			return;
	}
}

/* The statistics of a client's own version are kept per app and resource type. */
static struct speed
client_speed(const struct ctx *c, int64_t appid, const struct rq_app_version *v)
{
	const struct host_app_version *hav = estimate_find(
	    c->snap->havs, c->snap->nhavs, PER_APP * appid + ANONYMOUS_CPU);
	struct speed s = estimate_speed(&c->m, hav, NULL, v->avg_ncpus);

	if (s.source == SPEED_BENCHMARK && v->flops > 0)
		s = (struct speed){ v->flops, SPEED_CLIENT };
	return s;
}

static void
choose_of_client(struct ctx *c, struct choice *q)
{
	const struct request *rq = c->req;

	for (size_t i = 0; i < rq->napp_versions; i++) {
		const struct rq_app_version *v = &rq->app_versions[i];
		struct pick p = { .app = q->pick.app, .client_version = (int32_t)i };
		enum reason why;

		if (v->app_name == NULL || strcmp(v->app_name, p.app->name) != 0 ||
		    (q->pinned_num != 0 && v->version_num != q->pinned_num))
			continue;
		p.resource = version_resource(rq, v->coproc_type);
		if (p.resource == SIZE_MAX)
			continue;
		p.avg_ncpus = v->avg_ncpus > 0 ? v->avg_ncpus : 1;
		p.usage = p.resource == 0 ? p.avg_ncpus : v->coproc_count;
		p.speed = client_speed(c, q->appid, v);
		p.score = p.speed.flops;
		why = limits_resource(c, p.resource);
		if (why != WHY_NONE) {
			if (q->why != WHY_NONE)
				remember(&q->why, why);
		} else if (q->why != WHY_NONE || p.score > q->pick.score) {
			q->why = WHY_NONE;
			q->pick = p;
		}
	}
}

static bool
same_question(const struct choice *a, const struct choice *b)
{
	return a->appid == b->appid && a->pinned_version_id == b->pinned_version_id &&
	       a->pinned_num == b->pinned_num && a->need_64bit == b->need_64bit &&
	       a->resend == b->resend;
}

/* A choice holds while its resource is wanted and, for new jobs, the quota lasts. */
static bool
still_holds(const struct ctx *c, const struct choice *q)
{
	if (limits_resource(c, q->pick.resource) != WHY_NONE)
		return false;
	return q->resend || q->pick.version == NULL ||
	       quota_left(c, q->pick.version) > 0;
}

enum reason
version_choose(struct ctx *c, const struct job *j, bool resend, struct pick *p)
{
	const struct app *app = catalog_app(c->snap->cat, j->appid);
	struct choice q = {
		.appid = j->appid, .pinned_num = j->app_version_num, .resend = resend
	};

	if (app == NULL)
		return WHY_NO_APP_VERSION;
	if (app->deprecated) /* says nothing of other apps: the search goes on */
		return WHY_PAUSED;
	if (!resend && prefs_app(c, app) == APP_REFUSED)
		return WHY_APP_NOT_SELECTED;
	if (!resend && prefs_app(c, app) == APP_BETA_REFUSED)
		return WHY_BETA;
	q.pinned_version_id = app->homogeneous_app_version ? j->app_version_id : 0;
	q.need_64bit = needs_64bit(c->req, j->rsc_memory_bound);
	for (size_t i = 0; i < c->nchoices; i++)
		if (same_question(&c->choices[i], &q) &&
		    still_holds(c, &c->choices[i])) {
			*p = c->choices[i].pick;
			return WHY_NONE;
		}
	q.pick.app = app;
	q.why = WHY_NO_APP_VERSION;
	if (c->req->nplatforms > 0 && strcmp(c->req->platforms[0], "anonymous") == 0)
		choose_of_client(c, &q);
	else
		choose_by_platform(c, &q);
	if (q.why == WHY_NONE)
		PUSH(c->a, c->choices, c->nchoices, c->choices_cap) = q;
	*p = q.pick;
	return q.why;
}

void
version_no_rsc_apps(struct ctx *c)
{
	const struct request *rq = c->req;
	const struct catalog *cat = c->snap->cat;
	bool cpu = false;

	for (size_t i = 0; i < cat->nversions; i++)
		cpu = cpu || cat->versions[i].plan_class[0] == '\0';
	if (!cpu ||
	    rq->nresources < 2) /* all of them: the client would never come back */
		return;
	c->d->no_rsc_apps = NEWN(c->a, char *, rq->nresources);
	for (size_t r = 1; r < rq->nresources; r++)
		if (rq->resources[r].type != NULL && rq->resources[r].type[0] != '\0')
			c->d->no_rsc_apps[c->d->nno_rsc_apps++] = rq->resources[r].type;
}
