/* SPDX-License-Identifier: Apache-2.0 */
/* Work fetch: the rules that all policies share (client.md 4.5). */
#include <math.h>
#include "rules/client/policy.h"
#include "lib/banned.h"

/* How long a host stays away after failures (client.md 1.2). */

enum { EXPONENT_MOST = 10 };

const struct backoff backoff_rpc = { 60, 14400 };
const struct backoff backoff_transfer = { 120, 21600 };

static int exponent(int n)
{
	return n > EXPONENT_MOST ? EXPONENT_MOST : n;
}

double backoff_s(const struct backoff *b, int n, struct rng *rng)
{
	double s = b->min_s * ldexp(1, exponent(n));

	return fmin(s, b->max_s) * (0.5 + 0.5 * rng_unit(rng));
}

/* 2003: uniform in [MIN, min(MAX, e^n)); MIN while e^n is less than MIN. */
static double uniform_s(const struct backoff *b, int n, struct rng *rng)
{
	double top = fmin(b->max_s, exp(exponent(n)));

	return top <= b->min_s ? b->min_s : b->min_s + (top - b->min_s) * rng_unit(rng);
}

double backoff_by_law_s(
    enum backoff_law law, const struct backoff *b, int n, struct rng *rng)
{
	switch (law) {
	case BACKOFF_2003:
		return uniform_s(b, n, rng);
	case BACKOFF_2002:
		return 100 * ldexp(1, exponent(n));
	default:
		return backoff_s(b, n, rng);
	}
}

enum { RUNNABLE_MOST = 1000 };

/* Too many uploads wait for the network; more work would only add to them. */
static bool uploads_wait(const struct client_world *w, const struct cw_project *p)
{
	double most = 0;

	for (size_t r = 0; r < w->nrsc; r++)
		most = cw_max(most, w->rsc[r].ninst);
	return p->rpc.nuploads > 2 * most;
}

static bool has_enough(
    const struct client_world *w, const struct rr_sim *rr, size_t project)
{
	uint32_t n = 0;

	for (size_t r = 0; r < w->nrsc; r++)
		n += rr->projects[project].nrunnable[r];
	return n > RUNNABLE_MOST;
}

bool fetch_held_back(
    const struct client_world *w, const struct rr_sim *rr, size_t project, size_t rsc)
{
	bool waits = false;
	double run = 0;

	if (rr->rsc[rsc].nidle <= 0)
		return false;
	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];

		if (t->project != (int32_t)project || t->rsc != (int32_t)rsc ||
		    !cw_runnable(w, t) || cw_nci(w, t))
			continue;
		if (cw_too_big(w, t))
			return true;
		waits |= !t->running;
		run += t->running ? t->use : 0;
	}
	return waits && rr->projects[project].queued[rsc] >= run * w->prefs.min_s;
}

int32_t fetch_configured_limit(const struct client_world *w, size_t project)
{
	int32_t most = w->projects[project].max_concurrent, sum = 0;

	for (size_t i = 0; i < w->napps; i++) {
		if (w->apps[i].project != (int32_t)project)
			continue;
		if (w->apps[i].max_concurrent <= 0)
			return most;
		sum += w->apps[i].max_concurrent;
	}
	return sum > 0 && (most <= 0 || sum < most) ? sum : most;
}

int32_t fetch_limit(const struct client_world *w, size_t project, size_t rsc)
{
	double rss = w->projects[project].acct.rss_bytes, ram = w->prefs.ram_bytes;
	int32_t most = fetch_configured_limit(w, project), fit;

	if (rsc != CW_CPU || ram <= 0 || rss <= 0 || ram / rss >= w->rsc[rsc].ninst)
		return most;
	fit = (int32_t)cw_max(1, floor(ram / rss));
	return most > 0 && most < fit ? most : fit;
}

/* What the project can still run within the buffer under its limit, in
 * instance-seconds, assuming one instance per task. */
static double room_by_limit(
    const struct client_world *w, const struct rr_sim *rr, size_t project, size_t rsc)
{
	int32_t most = fetch_limit(w, project, rsc);

	return most <= 0 ? INFINITY :
	                   most * fetch_buffer_s(w) - rr->projects[project].queued[rsc];
}

/* The project may not be asked for this resource now, whatever it could send. */
static bool not_to_be_asked(const struct client_world *w, size_t project, size_t rsc)
{
	const struct cw_project *p = &w->projects[project];
	const struct cw_rsc_state *s = &p->rsc[rsc];

	return !cw_contactable(w, project) || cw_spaced(w, project) || p->nci ||
	       p->stalled_download || p->suspended_task || s->no_apps || s->excluded ||
	       uploads_wait(w, p);
}

bool fetch_able(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, size_t project, size_t rsc, bool ignore_backoff)
{
	const struct cw_project *p = &w->projects[project];
	const struct cw_rsc_state *s = &p->rsc[rsc];

	if (not_to_be_asked(w, project, rsc))
		return false;
	if (p->share <= 0 && rr->rsc[rsc].nidle <= 0)
		return false;
	if (room_by_limit(w, rr, project, rsc) <= 0 &&
	    rr->projects[project].ntasks[rsc] >= (uint32_t)fetch_limit(w, project, rsc))
		return false; /* more could not run within the buffer */
	if (policy->miss_limit &&
	    rr->projects[project].misses[rsc] > w->rsc[rsc].ninst &&
	    rr->rsc[rsc].nidle <= 0)
		return false;
	return !has_enough(w, rr, project) && !fetch_held_back(w, rr, project, rsc) &&
	       (ignore_backoff || s->backoff_until <= w->now);
}

double fetch_sum_of_shares(const struct client_world *w, const bool *able)
{
	double sum = 0;

	for (size_t i = 0; i < w->nprojects; i++)
		sum += able[i] ? w->projects[i].share : 0;
	return sum;
}

double fetch_share(const struct client_world *w, const bool *able, size_t project)
{
	return fetch_share_of(w, able, fetch_sum_of_shares(w, able), project);
}

/* Parameters: a request has both seconds and instances. */
void fetch_ask(const struct client_world *w, const struct rr_sim *rr, size_t project,
    size_t rsc, double secs, double inst, struct work_ask *ask)
{
	const struct cw_project *p = &w->projects[project];

	if (p->share <=
	    0) { /* a backup project gets one task at a time, for an idle instance */
		inst = cw_min(1, rr->rsc[rsc].nidle);
		secs = 0;
	}
	secs = cw_min(secs, cw_max(1, room_by_limit(w, rr, project, rsc)));
	inst = cw_max(0, inst);
	if (inst > 0)
		secs = cw_max(secs, 1);
	if (secs <= 0)
		return;
	ask->project = (int32_t)project;
	/* The project counts in seconds of its estimates. */
	if (p->correction[rsc] > 0)
		secs = cw_max(1, secs / p->correction[rsc]);
	ask->secs[rsc] = estimate_trusted(p->dcf) ? secs : 1;
	ask->inst[rsc] = inst;
}

/* Leaves out the time of one task, because other projects may be owed more for a while.
 * If that leaves little, a quarter of the delay bound counts anyway; otherwise the
 * project would never be asked. */
double fetch_usable_s(const struct client_world *w, size_t project)
{
	const struct cw_acct *c = &w->projects[project].acct;
	double early = cw_max(
	    c->delay_bound_s - w->prefs.cushion_s, c->delay_bound_s / 2);

	return c->delay_bound_s > 0 ?
	           cw_max(early - c->longest_s, c->delay_bound_s / 4) :
	           INFINITY;
}

double fetch_in_time_s(const struct client_world *w, size_t project, size_t rsc)
{
	double usable = fetch_usable_s(w, project), sum = 0;

	if (usable >= INFINITY || w->projects[project].share <= 0)
		return INFINITY;
	for (size_t i = 0; i < w->nprojects; i++) {
		const struct cw_project *p = &w->projects[i];

		if (!p->suspended && !p->nci && (p->acct.gave[rsc] || i == project))
			sum += p->share;
	}
	return usable * w->rsc[rsc].avail * w->projects[project].share / sum *
	       w->rsc[rsc].ninst;
}

double fetch_room_s(const struct client_world *w, size_t rsc)
{
	double horizon = fetch_buffer_s(w), room = horizon * w->rsc[rsc].ninst;

	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];

		if (t->rsc == (int32_t)rsc && !t->running && cw_nearly_runnable(w, t) &&
		    !cw_nci(w, t))
			room -= t->use * cw_min(t->remaining_s, horizon);
	}
	return room;
}

void fetch_recheck(const struct client_world *w, const struct rr_sim *rr, size_t rsc,
    double s, double *at)
{
	double until = rr->rsc[rsc].saturated_s - s;

	if (until > 0)
		*at = cw_min(*at, w->now + until);
}

bool fetch_too_soon(const struct client_world *w, const struct policy *policy,
    const struct rr_sim *rr, double *at)
{
	for (size_t r = 0; r < w->nrsc; r++)
		if (rr->rsc[r].nidle > 0)
			return false;
	if (w->asked_at <= 0 || w->now >= w->asked_at + policy->ask_every_s)
		return false;
	*at = cw_min(*at, w->asked_at + policy->ask_every_s);
	return true;
}
