/* SPDX-License-Identifier: Apache-2.0 */
/* When a host makes contact, with whom, and what the reply changes. */
#include "rules/client/policy.h"

#include <math.h>
#include "lib/banned.h"

enum { REPORT_COUNT = 64, MASTER_FETCH_PERIOD = 10, MASTER_FETCH_RETRIES = 3 };
static const double RSC_BACKOFF_MOST_S = 86400, MASTER_INTERVAL_S = 86400;
/* Between two contacts of a project, whatever the reasons. */
static const double SPACING_S = 60;

/* --- reasons --- */

enum { PATIENT_PART = 32, PATIENT_MOST_S = 7200 };

/* If the whole delay bound is shorter than the margin before deadlines, results still
 * wait for a quarter of the time that is left; for half of it, which is often long
 * enough for the next request, if the policy is patient. */
static double report_due_at(const struct client_world *w, const struct policy *policy,
    const struct cw_project *p)
{
	double due, ready = p->rpc.first_ready_at;
	double left = p->rpc.first_deadline - ready;
	double patient = policy->patient ? cw_min(left / PATIENT_PART, PATIENT_MOST_S) :
	                                   0;

	if (p->rpc.nready == 0)
		return INFINITY;
	if (p->no_new_work || p->rpc.report_now || p->rpc.nready >= REPORT_COUNT)
		return 0;
	due = p->rpc.first_deadline - cw_max(policy->report_before_s, w->prefs.min_s);
	due = cw_max(due, ready + left / (policy->patient ? 2 : 4));
	/* Results wait for others that can be reported along. */
	if (policy->report_after_s > 0)
		due = cw_min(due, ready + cw_max(policy->report_after_s, patient));
	return due;
}

static bool has_unreported_tasks(const struct client_world *w, size_t project)
{
	for (size_t i = 0; i < w->ntasks; i++)
		if (w->tasks[i].project == (int32_t)project)
			return true;
	return w->projects[project].rpc.nready > 0;
}

/* Returns why the project is due now, leaving work fetch aside; if it is not, lowers
 * *at to when it may be. */
static enum contact_why contact_due(const struct client_world *w,
    const struct policy *policy, size_t project, double *at)
{
	const struct cw_project *p = &w->projects[project];
	double report = report_due_at(w, policy, p);

	if (p->rpc.user_request)
		return p->rpc.master_pending ? CONTACT_MASTER : CONTACT_USER;
	if (p->suspended)
		return CONTACT_NONE;
	if (w->now < p->rpc.min_rpc_time) {
		*at = cw_min(*at, p->rpc.min_rpc_time);
		return CONTACT_NONE;
	}
	if (p->rpc.master_pending)
		return CONTACT_MASTER;
	if (p->rpc.never_contacted)
		return CONTACT_INIT;
	if (p->rpc.next_rpc_time > 0 &&
	    (!p->no_new_work || has_unreported_tasks(w, project))) {
		if (p->rpc.next_rpc_time <= w->now)
			return CONTACT_REQUESTED;
		*at = cw_min(*at, p->rpc.next_rpc_time);
	}
	if (p->rpc.first_deadline > p->rpc.spaced_until)
		report = cw_max(report, p->rpc.spaced_until);
	if (report <= w->now)
		return p->rpc.uploading ? CONTACT_NONE : CONTACT_RESULTS;
	*at = cw_min(*at, report);
	return CONTACT_NONE;
}

/* Rank of the reasons if several projects have one (client.md 1.3). */
static int reason_rank(enum contact_why why)
{
	static const int w[] = { [CONTACT_NONE] = 9,
		[CONTACT_MASTER] = 0,
		[CONTACT_USER] = 1,
		[CONTACT_INIT] = 2,
		[CONTACT_REQUESTED] = 3,
		[CONTACT_RESULTS] = 4,
		[CONTACT_WORK] = 5 };

	return w[why];
}

static void find_reason(
    const struct client_world *w, const struct policy *policy, struct contact *c)
{
	for (size_t i = 0; i < w->nprojects; i++) {
		enum contact_why why = contact_due(w, policy, i, &c->recheck_at);

		if (reason_rank(why) < reason_rank(c->why)) {
			c->why = why;
			c->project = (int32_t)i;
		}
		if (cw_spaced(w, i))
			c->recheck_at = cw_min(
			    c->recheck_at, w->projects[i].rpc.spaced_until);
		for (size_t r = 0; r < w->nrsc; r++)
			if (w->projects[i].rsc[r].backoff_until > w->now)
				c->recheck_at = cw_min(
				    c->recheck_at, w->projects[i].rsc[r].backoff_until);
	}
}

/* --- what to ask --- */

/* A project that is not CPU-intensive has one task at a time. */
static inline bool wants_nci(const struct client_world *w, size_t project)
{
	const struct cw_project *p = &w->projects[project];

	if (!p->nci || !cw_contactable(w, project) || cw_spaced(w, project) ||
	    p->rsc[CW_CPU].backoff_until > w->now || p->rsc[CW_CPU].no_apps)
		return false;
	for (size_t i = 0; i < w->ntasks; i++)
		if (w->tasks[i].project == (int32_t)project)
			return false;
	return true;
}

static void ask_nci(const struct client_world *w, struct contact *c)
{
	for (size_t i = 0; i < w->nprojects; i++)
		if (wants_nci(w, i)) {
			c->ask.project = (int32_t)i;
			c->ask.secs[CW_CPU] = 1;
			return;
		}
}

/* First contact: asks for one task per resource. */
static void ask_first(
    const struct client_world *w, size_t project, struct work_ask *ask)
{
	const struct cw_project *p = &w->projects[project];

	for (size_t r = 0; r < w->nrsc; r++)
		ask->secs[r] = p->no_new_work || p->suspended || p->share <= 0 ||
		                       p->rsc[r].excluded ?
		                   0 :
		                   1;
	ask->project = (int32_t)project;
}

/* The world in which a contact that is made anyhow asks for work, too: however recent
 * the last one was, and in spite of the project's delays. */
static const struct client_world *without_delay(
    const struct client_world *w, struct arena *a, size_t project)
{
	const struct cw_rpc *rpc = &w->projects[project].rpc;
	struct client_world *v;

	if (rpc->spaced_until <= w->now && rpc->min_rpc_time <= w->now)
		return w;
	v = NEWN(a, struct client_world, 1);
	*v = *w;
	v->projects = NEWN(a, struct cw_project, w->nprojects);
	for (size_t i = 0; i < w->nprojects; i++)
		v->projects[i] = w->projects[i];
	v->projects[project].rpc.spaced_until = 0;
	v->projects[project].rpc.min_rpc_time = 0;
	return v;
}

/* Asks for work along with a contact that has another reason. */
static void ask_along(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct contact *c)
{
	size_t project = (size_t)c->project;

	w = without_delay(w, a, project);
	if (wants_nci(w, project))
		c->ask.secs[CW_CPU] = 1;
	else if (cw_contactable(w, project))
		policy->piggyback(w, policy, a, rr, project, &c->ask);
}

void contact_next(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct rr_sim *rr, struct contact *c)
{
	*c = (struct contact){ CONTACT_NONE, CW_NONE, { .project = CW_NONE },
		/* A task that waits longer than this may come into danger. */
		w->now + rr->recheck_s, .idle = true };
	find_reason(w, policy, c);
	/* "RPC policy": a shortage of work comes before all reports. */
	if (c->why == CONTACT_NONE || (policy->sessions && c->why == CONTACT_RESULTS)) {
		ask_nci(w, c);
		if (c->ask.project < 0)
			policy->fetch(w, policy, a, rr, &c->ask, &c->recheck_at);
		if (c->ask.project >= 0) {
			c->why = CONTACT_WORK;
			c->project = c->ask.project;
		}
	}
	if (c->why == CONTACT_INIT)
		ask_first(w, (size_t)c->project, &c->ask);
	else if (c->why == CONTACT_USER || c->why == CONTACT_REQUESTED ||
		 c->why == CONTACT_RESULTS)
		ask_along(w, policy, a, rr, c);
	for (size_t r = 0; r < w->nrsc; r++) {
		c->ask.delay_s[r] = rr->rsc[r].busy_s;
		c->idle &= c->ask.secs[r] <= 0 || rr->rsc[r].nidle > 0;
	}
}

const char *contact_words(enum contact_why why)
{
	static const char *const words[] = { "nothing to do", "master file",
		"first contact", "asked for by the user", "asked for by the project",
		"results to report", "work is needed" };

	return words[why];
}

void contact_ready(struct cw_rpc *rpc, double at, double deadline, bool report_now)
{
	if (rpc->nready == 0 || deadline < rpc->first_deadline)
		rpc->first_deadline = deadline;
	if (rpc->nready == 0 || at < rpc->first_ready_at)
		rpc->first_ready_at = at;
	rpc->nready++;
	rpc->report_now |= report_now;
}

/* --- what the reply changes --- */

static void delay_contact(struct cw_project *p, double at)
{
	p->rpc.min_rpc_time = cw_max(p->rpc.min_rpc_time, at);
}

/* Backs off after the project's n-th failure in a row. */
static void back_off(struct client_world *w, const struct policy *policy,
    struct cw_project *p, int32_t n, struct rng *rng)
{
	const struct backoff own = { w->prefs.backoff_min_s, w->prefs.backoff_most_s };

	delay_contact(p, w->now + backoff_by_law_s(policy->backoff,
				      own.max_s > 0 ? &own : &backoff_rpc, n, rng));
}

/* s, or the longest time that a host with bounded back-offs waits, if that is less. */
static double cap_backoff_s(const struct client_world *w, double s)
{
	return w->prefs.backoff_most_s > 0 ? cw_min(s, w->prefs.backoff_most_s) : s;
}

/* client.md 3: asked for R, got no task of R. */
static void rsc_backoff(const struct client_world *w, const struct policy *policy,
    struct cw_rsc_state *s, struct rng *rng)
{
	double most = cap_backoff_s(w, RSC_BACKOFF_MOST_S);

	if (s->backoff_until > w->now)
		return; /* asked only along with another request */
	s->backoff_s = s->backoff_s > 0            ? cw_min(2 * s->backoff_s, most) :
	               w->prefs.backoff_most_s > 0 ? w->prefs.backoff_min_s :
	                                             policy->backoff_min_s;
	s->backoff_until = w->now + cw_min(most, s->backoff_s * (0.5 + rng_unit(rng)));
}

static double queue_s(const struct client_world *w)
{
	double sum = 0;

	for (size_t i = 0; i < w->ntasks; i++)
		sum += w->tasks[i].remaining_s * w->tasks[i].use;
	return sum;
}

/* A project that refused tasks because of deadlines keeps its claim until it can be
 * asked again: by then the host's back-offs are over. If it refused some for idle
 * instances, its own deadlines are the reason, and others need not wait. */
static void store_refusal(const struct client_world *w, struct cw_rpc *rpc,
    const struct contact *c, const struct reply_facts *f)
{
	bool refused = f->latency_limited, sent = false;

	for (size_t r = 0; r < w->nrsc; r++)
		sent |= f->ntasks[r] > 0;
	rpc->refuses_idle = !sent && (rpc->refuses_idle || (refused && c->idle));
	refused &= !sent && !rpc->refuses_idle;
	rpc->latency_limited_until = refused ? w->now + cw_max(f->request_delay_s,
							    1.5 * RSC_BACKOFF_MOST_S) :
	                                       0;
	rpc->refused_queue_s = refused ? queue_s(w) : 0;
}

static void store_delays(const struct client_world *w, struct cw_rpc *rpc,
    const struct contact *c, const struct reply_facts *f)
{
	rpc->min_rpc_time = f->request_delay_s > 0 ? w->now + f->request_delay_s : 0;
	rpc->next_rpc_time = f->next_rpc_delay_s > 0 ? w->now + f->next_rpc_delay_s : 0;
	/* A host whose back-offs are bounded must not wait longer than the least of
	 * them. The first contact asks for one task only, so the next may follow at
	 * once. */
	rpc->spaced_until = rpc->never_contacted ?
	                        0 :
	                        w->now +
	                            (w->prefs.backoff_most_s > 0 ?
					    cw_min(SPACING_S, w->prefs.backoff_min_s) :
					    SPACING_S);
	store_refusal(w, rpc, c, f);
}

/* "RPC policy" knows no resources: a project that had no work backs off as a whole. */
static bool brought_nothing(const struct client_world *w, const struct policy *policy,
    const struct contact *c, const struct reply_facts *f)
{
	bool asked = false, got = false;

	for (size_t r = 0; r < w->nrsc; r++) {
		asked |= c->ask.secs[r] > 0;
		got |= f->ntasks[r] > 0;
	}
	return f->in_vain || (policy->sessions && asked && !got);
}

static void resource_backoffs(struct client_world *w, const struct policy *policy,
    const struct contact *c, const struct reply_facts *f, struct rng *rng)
{
	struct cw_project *p = &w->projects[c->project];
	bool counts = c->why == CONTACT_WORK || c->why == CONTACT_RESULTS;

	for (size_t r = 0; r < w->nrsc; r++) {
		p->rsc[r].no_apps = f->no_apps[r];
		if (f->ntasks[r] > 0 || c->why == CONTACT_USER)
			p->rsc[r].backoff_s = p->rsc[r].backoff_until = 0;
		else if (counts && c->ask.secs[r] > 0)
			rsc_backoff(w, policy, &p->rsc[r], rng);
	}
}

void contact_replied(struct client_world *w, const struct policy *policy,
    const struct contact *c, const struct reply_facts *f, struct rng *rng)
{
	struct cw_project *p = &w->projects[c->project];

	if (f->project_down) {
		contact_failed(w, policy, (size_t)c->project, rng);
		delay_contact(p, w->now + f->request_delay_s);
		return;
	}
	if (!f->in_vain &&
	    (!policy->sessions || f->ntasks[CW_CPU] > 0 || c->why != CONTACT_WORK))
		p->rpc.nrpc_failures = 0;
	store_delays(w, &p->rpc, c, f);
	p->rpc.never_contacted = false;
	p->rpc.user_request = false;
	p->rpc.last_contact = w->now;
	resource_backoffs(w, policy, c, f, rng);
	if (brought_nothing(w, policy, c, f))
		back_off(w, policy, p, ++p->rpc.nrpc_failures, rng);
	if (c->why == CONTACT_WORK) {
		w->asked_at = w->now;
		if (policy->sessions)
			w->in_session = w->projects[c->project].rpc.in_session = true;
	}
	policy->account(w, policy); /* counts the new tasks; may end the session */
}

/* Results that wait for a scheduler are worth more attempts the closer their deadlines
 * are. */
static double master_interval_s(
    const struct client_world *w, const struct cw_project *p)
{
	double left = p->rpc.first_deadline - w->now;

	return p->rpc.nready > 0 && left > 0 ?
	           cw_min(MASTER_INTERVAL_S, cw_max(backoff_rpc.max_s, left / 8)) :
	           MASTER_INTERVAL_S;
}

void contact_failed(struct client_world *w, const struct policy *policy, size_t project,
    struct rng *rng)
{
	struct cw_project *p = &w->projects[project];
	int32_t n;

	p->rpc.user_request = false;
	p->rpc.in_session |= w->in_session;
	if (p->rpc.nmaster_failures >= MASTER_FETCH_RETRIES) {
		p->rpc.master_pending = true;
		delay_contact(p, w->now + cap_backoff_s(w, master_interval_s(w, p)));
		return;
	}
	n = ++p->rpc.nrpc_failures;
	if (n == MASTER_FETCH_PERIOD) { /* its schedulers may have moved */
		p->rpc.master_pending = true;
		p->rpc.min_rpc_time = 0;
		p->rpc.nrpc_failures = 0;
		p->rpc.nmaster_failures++;
		n = 1;
	}
	if (p->rpc.nurls > 0)
		p->rpc.url = (p->rpc.url + 1) % p->rpc.nurls;
	back_off(w, policy, p, n, rng);
}

void contact_master(struct client_world *w, const struct policy *policy, size_t project,
    int32_t nurls, int32_t nnew, struct rng *rng)
{
	struct cw_project *p = &w->projects[project];

	if (nurls == 0) { /* an ordinary failure; the tenth in a row counts */
		contact_failed(w, policy, project, rng);
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

void contact_task_done(struct client_world *w, const struct cw_task *t)
{
	struct cw_project *p = &w->projects[t->project];

	p->rsc[t->rsc].backoff_s = p->rsc[t->rsc].backoff_until = 0;
	p->rpc.ntask_failures = 0;
	if (t->rsc == CW_CPU) {
		/* A turn begins with the first task that started after the last one. */
		if (t->run_since >= p->acct.turn.ends)
			p->acct.turn.ends = t->run_since + w->prefs.period_s;
		p->acct.turn.ended += t->use;
	}
}

void contact_task_failed(struct client_world *w, const struct policy *policy,
    size_t project, struct rng *rng)
{
	struct cw_project *p = &w->projects[project];

	back_off(w, policy, p, ++p->rpc.ntask_failures, rng);
}
