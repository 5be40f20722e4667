/* SPDX-License-Identifier: Apache-2.0 */
/* When a host makes contact, with whom, and what the answer changes. */
#include "rules/client/policy.h"

#include <math.h>
#include "rules/client/client_rules.h"
#include "lib/banned.h"

enum {
	REPORT_AFTER_S = 3600,
	REPORT_BEFORE_S = 86400,
	REPORT_COUNT = 64,
	MASTER_FETCH_PERIOD = 10,
	MASTER_FETCH_RETRIES = 3
};
static const double RSC_BACKOFF_MOST_S = 86400, MASTER_INTERVAL_S = 86400;

static double
report_due_at(const struct client_world *w, const struct cw_project *p)
{
	double before = p->rpc.first_deadline - fmax(REPORT_BEFORE_S, w->prefs.min_s);

	if (p->rpc.nready == 0)
		return INFINITY;
	if (p->no_new_work || p->rpc.report_now || p->rpc.nready >= REPORT_COUNT)
		return 0;
	return fmin(p->rpc.first_ready_at + REPORT_AFTER_S, before);
}

/* Why the project is contacted now, its work aside; else when it may be. */
static enum contact_why
due(const struct client_world *w, const struct cw_project *p, double *at)
{
	double report = report_due_at(w, p);

	if (p->rpc.user_request)
		return CONTACT_USER;
	if (p->suspended)
		return CONTACT_NONE;
	if (w->now < p->rpc.min_rpc_time) {
		*at = fmin(*at, p->rpc.min_rpc_time);
		return CONTACT_NONE;
	}
	if (p->rpc.master_pending)
		return CONTACT_MASTER;
	if (p->rpc.never_contacted)
		return CONTACT_INIT;
	if (p->rpc.next_rpc_time > 0 && p->rpc.next_rpc_time <= w->now)
		return CONTACT_REQUESTED;
	if (p->rpc.next_rpc_time > 0)
		*at = fmin(*at, p->rpc.next_rpc_time);
	if (report <= w->now)
		return p->rpc.uploading ? CONTACT_NONE : CONTACT_RESULTS;
	*at = fmin(*at, report);
	return CONTACT_NONE;
}

void
contact_next(const struct client_world *w, const struct policy *how, struct arena *a,
    const struct rr_sim *rr, struct contact *c)
{
	*c = (struct contact){ CONTACT_NONE, -1, { .project = -1 }, INFINITY };
	for (size_t i = 0; i < w->nprojects && c->why == CONTACT_NONE; i++) {
		c->why = due(w, &w->projects[i], &c->recheck_at);
		c->project = c->why == CONTACT_NONE ? -1 : (int32_t)i;
		for (size_t r = 0; r < w->nrsc; r++)
			if (w->projects[i].rsc[r].backoff_until > w->now)
				c->recheck_at = fmin(
				    c->recheck_at, w->projects[i].rsc[r].backoff_until);
	}
	if (c->why == CONTACT_NONE) {
		how->fetch(w, how, a, rr, &c->ask, &c->recheck_at);
		if (c->ask.project >= 0) {
			c->why = CONTACT_WORK;
			c->project = c->ask.project;
		}
	} else if (c->why != CONTACT_MASTER)
		how->piggyback(w, how, a, rr, (size_t)c->project, &c->ask);
	for (size_t r = 0; r < w->nrsc; r++)
		c->ask.delay_s[r] = rr->r[r].busy_s;
}

const char *
contact_words(enum contact_why why)
{
	static const char *const words[] = { "nothing to do", "master file",
		"first contact", "asked for by the user", "asked for by the project",
		"results to report", "work is needed" };

	return words[why];
}

static void
later(struct cw_project *p, double at)
{
	p->rpc.min_rpc_time = fmax(p->rpc.min_rpc_time, at);
}

/* client.md 3: asked for R, got no task of R. */
static void
rsc_backoff(const struct client_world *w, const struct policy *how,
    struct cw_rsc_state *s, struct rng *rng)
{
	if (s->backoff_until > w->now)
		return; /* the request was made along with another */
	s->backoff_s = s->backoff_s <= 0 ? how->backoff_min_s :
	                                   fmin(2 * s->backoff_s, RSC_BACKOFF_MOST_S);
	s->backoff_until = w->now + fmin(RSC_BACKOFF_MOST_S,
					s->backoff_s * (0.5 + rng_unit(rng)));
}

void
contact_replied(struct client_world *w, const struct policy *how,
    const struct contact *c, const struct reply_facts *f, struct rng *rng)
{
	struct cw_project *p = &w->projects[c->project];

	if (f->project_down) {
		contact_failed(w, how, (size_t)c->project, rng);
		later(p, w->now + f->request_delay_s);
		return;
	}
	p->rpc.nrpc_failures = 0;
	p->rpc.min_rpc_time = f->request_delay_s > 0 ? w->now + f->request_delay_s : 0;
	p->rpc.next_rpc_time = f->next_rpc_delay_s > 0 ? w->now + f->next_rpc_delay_s :
	                                                 0;
	p->rpc.latency_limited_until = f->latency_limited ?
	                                   w->now + f->request_delay_s :
	                                   0;
	p->rpc.never_contacted = false;
	p->rpc.user_request = false;
	p->rpc.last_contact = w->now;
	for (size_t r = 0; r < w->nrsc; r++) {
		p->rsc[r].no_apps = f->no_apps[r];
		if (f->ntasks[r] > 0)
			p->rsc[r].backoff_s = p->rsc[r].backoff_until = 0;
		else if (c->ask.secs[r] > 0)
			rsc_backoff(w, how, &p->rsc[r], rng);
	}
}

void
contact_failed(
    struct client_world *w, const struct policy *how, size_t project, struct rng *rng)
{
	struct cw_project *p = &w->projects[project];

	(void)how;
	p->rpc.user_request = false;
	if (p->rpc.nrpc_failures == MASTER_FETCH_PERIOD) {
		p->rpc.master_pending = true;
		p->rpc.min_rpc_time = 0;
		p->rpc.nrpc_failures = 0;
		p->rpc.nmaster_failures++;
	}
	if (p->rpc.nmaster_failures >= MASTER_FETCH_RETRIES) {
		p->rpc.master_pending = true;
		later(p, w->now + MASTER_INTERVAL_S);
		return;
	}
	p->rpc.nrpc_failures++;
	later(p, w->now + backoff_s(&backoff_rpc, p->rpc.nrpc_failures, rng));
}

void
contact_master(struct client_world *w, const struct policy *how, size_t project,
    int32_t nurls, int32_t nnew, struct rng *rng)
{
	struct cw_project *p = &w->projects[project];

	if (nurls == 0) {
		p->rpc.nmaster_failures++;
		contact_failed(w, how, project, rng);
		return;
	}
	p->rpc.master_pending = false;
	p->rpc.nmaster_failures = 0;
	p->rpc.nurls = nurls;
	if (nnew > 0) {
		p->rpc.min_rpc_time = 0;
		p->rpc.nrpc_failures = 0;
	}
}

void
contact_task_failed(
    struct client_world *w, const struct policy *how, size_t project, struct rng *rng)
{
	contact_failed(w, how, project, rng);
}

void
contact_task_done(
    struct client_world *w, const struct policy *how, size_t project, int32_t rsc)
{
	struct cw_rsc_state *s = &w->projects[project].rsc[rsc];

	(void)how;
	s->backoff_s = s->backoff_until = 0;
}
