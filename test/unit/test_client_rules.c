/* SPDX-License-Identifier: Apache-2.0 */
/* How long a host stays away, how long a task takes, and what the rules record of a
 * contact. */
#include "test/unit/unit.h"

#include <math.h>
#include "lib/arena.h"
#include "rules/client/policies.h"
#include "lib/banned.h"

/* client.md 1.2: doubled with each failure up to a cap, then cut by up to a half. */
static const struct {
	const struct backoff *b;
	int n;
	double most;
} backoffs[] = {
	{ &backoff_rpc, 1, 120 },
	{ &backoff_rpc, 2, 240 },
	{ &backoff_rpc, 7, 7680 },
	{ &backoff_rpc, 8, 14400 },
	{ &backoff_rpc, 10, 14400 },
	{ &backoff_rpc, 1000000, 14400 },
	{ &backoff_transfer, 1, 240 },
	{ &backoff_transfer, 7, 15360 },
	{ &backoff_transfer, 8, 21600 },
};

START_TEST(backoff_by_table)
{
	struct rng rng = rng_seed(42), same = rng_seed(42);

	for (int k = 0; k < 100; k++)
		ck_assert_double_eq(backoff_s(backoffs[_i].b, backoffs[_i].n, &rng),
		    backoffs[_i].most * (1 + rng_unit(&same)) / 2);
}
END_TEST

#define NEARLY(got, want)                                                              \
	ck_assert_msg(fabs((got) - (want)) < 1e-6, "line %d: %.12g, not %.12g",        \
	    __LINE__, (double)(got), (double)(want))

static const struct {
	struct run_facts f;
	double dcf, left;
} estimates[] = {
	/* static elapsed fraction at    exact  no_dcf   dcf  left */
	{ { 1000, 0, 0, 0, false, false }, 1, 1000 },
	{ { 1000, 0, 0, 0, false, false }, 2, 2000 },
	{ { 1000, 0, 0, 0, false, true }, 2, 1000 },
	{ { 1000, 500, 0.5, 500, false, false }, 1, 500 },
	{ { 1000, 1000, 0.5, 1000, false, false }, 1, 500 },
	{ { 1000, 1000, 0.5, 1000, true, false }, 1, 1000 },
	{ { 1000, 2000, 0.5, 2000, false, false }, 1, 2000 },
	{ { 1000, 700, 1, 700, false, false }, 1, 0 },
	{ { 1000, 300, 0.2, 200, false, false }, 1, 700 },
	/* No progress is known: elapsed / (1 - exp(-elapsed / static)) in all. */
	{ { 1000, 1000, 0, 0, false, false }, 1, 1000 / (M_E - 1) },
	{ { 1000, 0.5, 0.5, 0.5, true, false }, 1, 0.5 },
};

/* The mean of the first ten tasks, then of about the last ten. */
START_TEST(corrections_are_learned)
{
	struct correction c = { 0 }, other = { 4, 5 };
	const struct correction *const both[] = { &c, &other };

	NEARLY(estimate_factor(&c), 1);
	NEARLY(estimate_mean_factor(both, 1), 1);
	estimate_learn(&c, 100, 1000);
	NEARLY(estimate_factor(&c), 10);
	estimate_learn(&c, 100, 2000);
	NEARLY(estimate_factor(&c), 15);
	estimate_learn(&c, 0, 2000); /* no estimate, nothing learned */
	estimate_learn(&c, 100, 0);
	NEARLY(estimate_factor(&c), 15);
	NEARLY(estimate_mean_factor(both, 2), (2 * 15 + 5 * 4) / 7.0);
	for (int i = 0; i < 8; i++)
		estimate_learn(&c, 100, 1500);
	NEARLY(estimate_factor(&c), 15);
	estimate_learn(&c, 100, 500);
	NEARLY(estimate_factor(&c), 14);
	for (int i = 0; i < 100; i++)
		estimate_learn(&c, 100, 1e9);
	NEARLY(estimate_factor(&c), 100);
	for (int i = 0; i < 100; i++)
		estimate_learn(&c, 1e9, 1);
	NEARLY(estimate_factor(&c), 0.01);
	other = (struct correction){ 0 };
	estimate_learn(&other, 0.5, 0.25); /* tasks of less than a second */
	NEARLY(estimate_factor(&other), 0.5);
}
END_TEST

/* Gaps teach how much work to hold; those of less than a minute do not count. */
START_TEST(gaps_are_remembered)
{
	struct cw_gaps g = { 0 }, minute = { 0 };

	for (int i = 0; i < 3; i++) {
		estimate_gaps(&minute, 59.5, false);
		estimate_gaps(&minute, 60, true);
		ck_assert_int_eq(minute.ngaps, i);
		estimate_gaps(&minute, 60, false);
		estimate_gaps(&minute, 60, true);
		ck_assert_int_eq(minute.ngaps, i + 1);
	}
	NEARLY(estimate_gap_buffer_s(&minute), 60);
	for (int i = 0; i < 30; i++) {
		estimate_gaps(&minute, 60, false);
		estimate_gaps(&minute, 60, true);
	}
	estimate_gaps(&minute, 1060, false); /* one of ten, as far as it counts */
	estimate_gaps(&minute, 60, true);
	NEARLY(minute.mean_s, 160);
	estimate_gaps(&minute, 160 + 1000, false); /* and each after it */
	estimate_gaps(&minute, 60, true);
	NEARLY(minute.mean_s, 260);
	for (int i = 0; i < 3; i++) {
		NEARLY(estimate_gap_buffer_s(&g),
		    i == 0 ? 0 :
		    i == 1 ? 3600 :
			     3.5 * 3600); /* the third may be longer */
		estimate_gaps(&g, 1800, false);
		estimate_gaps(&g, 1800, false);
		estimate_gaps(&g, 7200, true);
		estimate_gaps(&g, 50, false);
		estimate_gaps(&g, 7200, true);
	}
	NEARLY(g.mean_s, 3600);
	ck_assert(fabs(estimate_gap_buffer_s(&g) - 3600) < 1);
	estimate_gaps(&g, 7 * 3600, false);
	ck_assert(fabs(estimate_gap_buffer_s(&g) - 3600) < 1); /* not yet over */
	estimate_gaps(&g, 1, true);
	NEARLY(g.mean_s, 2.5 * 3600);
	ck_assert(
	    fabs(estimate_gap_buffer_s(&g) - 3600 * (2.5 + 2.5 * sqrt(6.75))) < 1);
	for (int i = 0; i < 20; i++) {
		estimate_gaps(&g, 20 * 86400, false);
		estimate_gaps(&g, 1, true);
	}
	NEARLY(estimate_gap_buffer_s(&g), 10 * 86400);
}
END_TEST

START_TEST(estimates_by_table)
{
	NEARLY(estimate_remaining_s(&estimates[_i].f, estimates[_i].dcf),
	    estimates[_i].left);
}
END_TEST

START_TEST(duration_correction)
{
	NEARLY(estimate_dcf(1, 100, 200), 2);
	NEARLY(estimate_dcf(1, 100, 100), 1);
	NEARLY(estimate_dcf(1, 100, 50), 0.95);
	NEARLY(estimate_dcf(1, 100, 5), 0.9905);
	NEARLY(estimate_dcf(1, 100, 1e6), 100);
	NEARLY(estimate_dcf(1, 100, 10), 0.91); /* just a tenth */
	NEARLY(estimate_dcf(1, 100, 15), 0.915);
	NEARLY(estimate_dcf(2, 100, 150), 1.95); /* three quarters of the estimate */
	NEARLY(estimate_dcf(2, 100, 10), 1.981);
	NEARLY(estimate_dcf(0.01, 1e9, 1), 0.01);
	ck_assert(estimate_trusted(0.02) && estimate_trusted(80));
	ck_assert(!estimate_trusted(0.019) && !estimate_trusted(80.1));
}
END_TEST

/* client.md 4.7: after 10 days the old value counts 1/e. */
START_TEST(fractions)
{
	const double days = 86400, e = exp(-1);
	struct cw_fractions f = { 1, 1, 1 };

	estimate_fractions(&f, 10 * days, 0, true);
	ck_assert(f.active == 1 && f.gpu_active == 1);
	NEARLY(f.on, e);
	estimate_fractions(&f, 15 * days, 0, true);
	NEARLY(f.on, e);
	estimate_fractions(&f, 0, 10 * days, false);
	NEARLY(f.on, 1 - e + e * e);
	NEARLY(f.active, e);
	NEARLY(f.gpu_active, e);
	for (int i = 0; i < 1000; i++) /* the number of steps makes no difference */
		estimate_fractions(&f, 0, days / 50, true);
	NEARLY(f.active, 1 - (1 - e) * exp(-2));
	estimate_fractions(&f, 0, 1e9, true);
	ck_assert(f.on <= 1 && f.active <= 1);
	f.on = 1;
	estimate_fractions(&f, 14 * days, 0, true);
	NEARLY(f.on, exp(-1.4));
}
END_TEST

/* --- what is recorded of a contact --- */

enum { NOW = 5000, MOST = 1000000000 };

struct one { /* a host with a CPU and a coprocessor, and one or two projects */
	struct arena a;
	struct cw_project p[2];
	struct cw_task t[2];
	struct client_world w;
	struct rr_sim rr;
	struct rng rng;
};

static struct one *one_project(struct one *o)
{
	*o = (struct one){ .p = { { .name = "A", .share = 1, .dcf = 1 },
			       { .name = "B", .share = 1, .dcf = 1 } },
		.rng = rng_seed(1) };
	o->w = (struct client_world){ .now = NOW,
		.rsc = { { "CPU", 1, 1, 1 }, { "GPU", 1, 4, 1 } },
		.nrsc = 2,
		.prefs = { .min_s = 1000, .extra_s = 1000, .period_s = 3600 },
		.projects = o->p,
		.nprojects = 1,
		.tasks = o->t };
	o->t[0] = o->t[1] = (struct cw_task){
		.use = 1, .ncpus = 1, .remaining_s = MOST, .deadline = 3.0 * MOST
	};
	return o;
}

static struct contact next_by(struct one *o, const struct policy *how)
{
	struct contact c;

	rr_simulate(&o->w, &o->a, &o->rr);
	contact_next(&o->w, how, &o->a, &o->rr, &c);
	return c;
}

static struct contact next(struct one *o)
{
	return next_by(o, &policy_rec);
}

static void replied(struct one *o, enum contact_why why, const struct work_ask *ask,
    const struct reply_facts *f)
{
	struct contact c = { why, 0, *ask, INFINITY, false };

	contact_replied(&o->w, &policy_rec, &c, f, &o->rng);
}

static const struct work_ask nothing, both = { .secs = { 10, 10 } };
#define WITHIN(got, least, most) ck_assert((got) >= (least) && (got) <= (most))

START_TEST(delays_of_a_reply)
{
	struct one o;
	struct cw_rpc *r = &one_project(&o)->p[0].rpc;

	r->min_rpc_time = 9000;
	r->nrpc_failures = 3;
	r->never_contacted = r->user_request = true;
	replied(&o, CONTACT_INIT, &nothing,
	    &(struct reply_facts){ .request_delay_s = 50,
		.next_rpc_delay_s = 99,
		.latency_limited = true });
	NEARLY(r->min_rpc_time, NOW + 50);
	NEARLY(r->next_rpc_time, NOW + 99);
	NEARLY(r->latency_limited_until, NOW + 129600);
	NEARLY(r->last_contact, NOW);
	ck_assert(!r->never_contacted && !r->user_request && r->nrpc_failures == 0);
	NEARLY(o.w.asked_at, 0);
	r->nrpc_failures = 3;
	replied(
	    &o, CONTACT_WORK, &nothing, &(struct reply_facts){ .no_apps[1] = true });
	NEARLY(r->min_rpc_time, 0);
	NEARLY(r->next_rpc_time, 0);
	NEARLY(r->latency_limited_until, 0);
	NEARLY(o.w.asked_at, NOW);
	ck_assert_int_eq(r->nrpc_failures, 0);
	ck_assert(!o.p[0].rsc[0].no_apps && o.p[0].rsc[1].no_apps);
	ck_assert(!o.w.in_session && !r->in_session);
	arena_free(&o.a);
}
END_TEST

/* Who refuses tasks because of deadlines keeps its claim, but not if it does so for
 * idle instances. */
static const struct {
	const char *what;
	double was; /* the claim, from now; -1: none for that reason */
	bool limited, idle;
	uint32_t ntasks;
	double is;
} claims[] = {
	{ "refused: for the longest back-off", 0, true, false, 0, 129600 },
	{ "refused again: anew", 100, true, false, 0, 129600 },
	{ "nothing refused", 100, false, false, 0, 0 },
	{ "refused for idle instances: no claim", 0, true, true, 0, -1 },
	{ "nor one of before", 100, true, true, 0, -1 },
	{ "nor any once the instances are busy", -1, true, false, 0, -1 },
	{ "nor after a report", -1, false, false, 0, -1 },
	{ "until it sends tasks", -1, false, true, 1, 0 },
};

START_TEST(claims_by_table)
{
	struct one o;
	struct cw_rpc *r = &one_project(&o)->p[0].rpc;
	struct contact c = { CONTACT_WORK, 0, both, INFINITY, claims[_i].idle };
	struct cw_task tasks[] = { { .use = 2, .remaining_s = 70 },
		{ .use = 0.5, .remaining_s = 10 } };

	o.w.tasks = tasks;
	o.w.ntasks = N(tasks);
	r->latency_limited_until = claims[_i].was > 0 ? NOW + claims[_i].was : 0;
	r->refuses_idle = claims[_i].was < 0;
	contact_replied(&o.w, &policy_rec, &c,
	    &(struct reply_facts){ .latency_limited = claims[_i].limited,
		.ntasks = { claims[_i].ntasks } },
	    &o.rng);
	ck_assert_msg(
	    r->latency_limited_until == (claims[_i].is > 0 ? NOW + claims[_i].is : 0) &&
		r->refuses_idle == (claims[_i].is < 0),
	    "%s: %.0f", claims[_i].what, r->latency_limited_until);
	NEARLY(r->refused_queue_s, claims[_i].is > 0 ? 2 * 70 + 0.5 * 10 : 0);
	arena_free(&o.a);
}
END_TEST

/* Delays and bounds may be shorter than a second. */
START_TEST(delays_of_half_a_second)
{
	struct one o;
	struct cw_project *p = &one_project(&o)->p[0];

	replied(&o, CONTACT_INIT, &nothing,
	    &(struct reply_facts){ .request_delay_s = 0.5, .next_rpc_delay_s = 0.5 });
	NEARLY(p->rpc.min_rpc_time, NOW + 0.5);
	NEARLY(p->rpc.next_rpc_time, NOW + 0.5);
	o.w.prefs.backoff_min_s = 0.25;
	o.w.prefs.backoff_most_s = 0.5;
	replied(&o, CONTACT_WORK, &both, &(struct reply_facts){ 0 });
	NEARLY(p->rsc[0].backoff_s, 0.25);
	NEARLY(p->rpc.spaced_until, NOW + 0.25);
	p->rsc[0].backoff_until = 0;
	replied(&o, CONTACT_WORK, &both, &(struct reply_facts){ 0 });
	NEARLY(p->rsc[0].backoff_s, 0.5);
	contact_failed(&o.w, &policy_rec, 0, &o.rng);
	WITHIN(p->rpc.min_rpc_time, NOW + 0.25, NOW + 0.5);
	p->rpc.nmaster_failures = 3;
	p->rpc.min_rpc_time = 0;
	contact_failed(&o.w, &policy_rec, 0, &o.rng);
	NEARLY(p->rpc.min_rpc_time, NOW + 0.5);
	arena_free(&o.a);
}
END_TEST

/* Two kinds of answers that count as failures. */
START_TEST(answers_that_do_not_count)
{
	struct one o;
	struct cw_rpc *r = &one_project(&o)->p[0].rpc;

	r->never_contacted = r->user_request = true;
	r->nrpc_failures = 1;
	replied(&o, CONTACT_INIT, &nothing,
	    &(struct reply_facts){ .project_down = true, .request_delay_s = 1000 });
	ck_assert(r->nrpc_failures == 2 && r->never_contacted && !r->user_request);
	NEARLY(r->min_rpc_time, NOW + 1000);
	r->min_rpc_time = 0;
	replied(&o, CONTACT_INIT, &nothing,
	    &(struct reply_facts){ .project_down = true, .request_delay_s = 1 });
	ck_assert_int_eq(r->nrpc_failures, 3);
	WITHIN(r->min_rpc_time, NOW + 240, NOW + 480);
	replied(
	    &o, CONTACT_RESULTS, &nothing, &(struct reply_facts){ .in_vain = true });
	ck_assert_int_eq(r->nrpc_failures, 4);
	WITHIN(r->min_rpc_time, NOW + 480, NOW + 960);
	arena_free(&o.a);
}
END_TEST

/* client.md 3: a request for work of a kind that brought none. */
static const struct {
	enum contact_why why;
	double asked;
	uint32_t ntasks;
	bool off, clear; /* the backoff starts; the backoff ends */
} kinds[] = {
	{ CONTACT_WORK, 10, 0, true, false },
	{ CONTACT_RESULTS, 10, 0, true, false },
	{ CONTACT_REQUESTED, 10, 0, false, false },
	{ CONTACT_INIT, 10, 0, false, false },
	{ CONTACT_USER, 10, 0, false, true },
	{ CONTACT_USER, 0, 0, false, true },
	{ CONTACT_WORK, 0, 0, false, false },
	{ CONTACT_WORK, 10, 1, false, true },
	{ CONTACT_RESULTS, 0, 1, false, true },
};

START_TEST(backoff_of_a_kind)
{
	struct one o;
	struct cw_rsc_state *s = &one_project(&o)->p[0].rsc[1];
	struct work_ask ask = { .secs[1] = kinds[_i].asked };
	struct reply_facts f = { .ntasks[1] = kinds[_i].ntasks };

	replied(&o, kinds[_i].why, &ask, &f);
	NEARLY(s->backoff_s, kinds[_i].off ? 600 : 0);
	if (kinds[_i].off)
		WITHIN(s->backoff_until, NOW + 300, NOW + 900);
	NEARLY(o.p[0].rsc[0].backoff_s, 0);
	s->backoff_s = 700;
	s->backoff_until = NOW; /* it has just ended */
	replied(&o, kinds[_i].why, &ask, &f);
	NEARLY(s->backoff_s, kinds[_i].off ? 1400 : kinds[_i].clear ? 0 : 700);
	s->backoff_s = 700;
	s->backoff_until = NOW + 1; /* asked along with another kind */
	replied(&o, kinds[_i].why, &ask, &f);
	NEARLY(s->backoff_s, kinds[_i].clear ? 0 : 700);
	NEARLY(s->backoff_until, kinds[_i].clear ? 0 : NOW + 1);
	arena_free(&o.a);
}
END_TEST

/* A client with short backoffs uses its own bounds for all of them. */
START_TEST(backoffs_with_short_bounds)
{
	struct one o;
	struct cw_project *p = &one_project(&o)->p[0];

	o.w.prefs.backoff_min_s = 1;
	o.w.prefs.backoff_most_s = 8;
	replied(&o, CONTACT_WORK, &both, &(struct reply_facts){ 0 });
	NEARLY(p->rsc[0].backoff_s, 1);
	for (int i = 0; i < 5; i++) {
		p->rsc[0].backoff_until = 0;
		replied(&o, CONTACT_WORK, &both, &(struct reply_facts){ 0 });
	}
	NEARLY(p->rsc[0].backoff_s, 8);
	WITHIN(p->rsc[0].backoff_until, NOW + 4, NOW + 8);
	contact_failed(&o.w, &policy_rec, 0, &o.rng);
	WITHIN(p->rpc.min_rpc_time, NOW + 1, NOW + 2);
	p->rpc.nmaster_failures = 3;
	contact_failed(&o.w, &policy_rec, 0, &o.rng);
	NEARLY(p->rpc.min_rpc_time, NOW + 8);
	arena_free(&o.a);
}
END_TEST

START_TEST(schedulers_and_master_file)
{
	struct one o;
	struct cw_rpc *r = &one_project(&o)->p[0].rpc;

	contact_failed(&o.w, &policy_rec, 0, &o.rng);
	ck_assert_int_eq(r->url, 0); /* no URL is known */
	r->nurls = 3;
	r->user_request = true;
	r->nrpc_failures = 0;
	for (int i = 1; i <= 9; i++) {
		contact_failed(&o.w, &policy_rec, 0, &o.rng);
		ck_assert_int_eq(r->url, i % 3);
		ck_assert(!r->user_request && !r->master_pending);
	}
	contact_failed(&o.w, &policy_rec, 0, &o.rng);
	ck_assert(r->master_pending && r->nrpc_failures == 0);
	ck_assert_int_eq(r->nmaster_failures, 1);
	WITHIN(r->min_rpc_time, NOW + 60, NOW + 120);
	r->nrpc_failures = 4;
	contact_master(&o.w, &policy_rec, 0, 2, 0, &o.rng);
	ck_assert(!r->master_pending && r->nmaster_failures == 0 && r->nurls == 2);
	ck_assert(r->nrpc_failures == 4 && r->min_rpc_time > NOW);
	contact_master(&o.w, &policy_rec, 0, 1, 1, &o.rng);
	ck_assert(r->nrpc_failures == 0 && r->nurls == 1);
	NEARLY(r->min_rpc_time, 0);
	arena_free(&o.a);
}
END_TEST

START_TEST(tasks_that_fail_and_end)
{
	struct one o;
	struct cw_project *p = &one_project(&o)->p[0];

	contact_task_failed(&o.w, &policy_rec, 0, &o.rng);
	WITHIN(p->rpc.min_rpc_time, NOW + 60, NOW + 120);
	contact_task_failed(&o.w, &policy_rec, 0, &o.rng);
	WITHIN(p->rpc.min_rpc_time, NOW + 120, NOW + 240);
	ck_assert_int_eq(p->rpc.nrpc_failures, 0);
	p->rpc.min_rpc_time = NOW + 9000; /* the contact is not made earlier */
	contact_task_failed(&o.w, &policy_rec, 0, &o.rng);
	NEARLY(p->rpc.min_rpc_time, NOW + 9000);
	p->rsc[0] = p->rsc[1] = (struct cw_rsc_state){ 600, NOW + 600, false, false };
	contact_task_done(&o.w, &(struct cw_task){ .rsc = 1 });
	NEARLY(p->rsc[0].backoff_until, NOW + 600);
	NEARLY(p->rsc[1].backoff_until + p->rsc[1].backoff_s, 0);
	ck_assert_int_eq(p->rpc.ntask_failures, 0);
}
END_TEST

START_TEST(results_that_wait)
{
	struct cw_rpc r = { .first_ready_at = 1, .first_deadline = 1 };

	contact_ready(&r, 20, 200, false);
	ck_assert(r.first_ready_at == 20 && r.first_deadline == 200);
	contact_ready(&r, 10, 100, true);
	contact_ready(&r, 30, 300, false);
	ck_assert(r.first_ready_at == 10 && r.first_deadline == 100);
	ck_assert(r.nready == 3 && r.report_now);
}
END_TEST

/* Which reason is due, with one result that can wait and enough work. */
START_TEST(reasons_one_by_one)
{
	struct one o;
	struct cw_project *p = &one_project(&o)->p[0];

	o.w.ntasks = 2;
	o.t[1].rsc = 1;
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	ck_assert_int_eq(next(&o).project, -1);
	ck_assert_int_eq(next(&o).ask.project, -1);
	contact_ready(&p->rpc, NOW, MOST, false);
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	NEARLY(next(&o).recheck_at, NOW + 3600);
	{
		struct policy quick = policy_rec;

		quick.report_after_s = 0.5;
		NEARLY(next_by(&o, &quick).recheck_at, NOW + 0.5);
	}
	p->no_new_work = true; /* waiting gains nothing */
	ck_assert_int_eq(next(&o).why, CONTACT_RESULTS);
	p->no_new_work = false;
	p->rpc.report_now = true;
	ck_assert_int_eq(next(&o).why, CONTACT_RESULTS);
	p->rpc.uploading = true;
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	p->rpc.uploading = p->rpc.report_now = false;
	p->rpc.next_rpc_time = NOW + 7;
	NEARLY(next(&o).recheck_at, NOW + 7);
	o.w.now = 0.75;
	p->rpc.next_rpc_time = 0.5;
	ck_assert_int_eq(next(&o).why, CONTACT_REQUESTED);
	o.w.now = NOW;
	p->rpc.next_rpc_time = NOW;
	ck_assert_int_eq(next(&o).why, CONTACT_REQUESTED);
	p->rpc.min_rpc_time = NOW + 3;
	NEARLY(next(&o).recheck_at, NOW + 3);
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	p->rpc.min_rpc_time = NOW;
	p->rpc.master_pending = true;
	ck_assert_int_eq(next(&o).why, CONTACT_MASTER);
	p->suspended = true;
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	p->rpc.user_request = true; /* overrides all waiting but for the master file */
	p->rpc.min_rpc_time = NOW + 1;
	ck_assert_int_eq(next(&o).why, CONTACT_MASTER);
	contact_master(&o.w, &policy_rec, 0, 1, 0, &o.rng);
	ck_assert_int_eq(next(&o).why, CONTACT_USER);
	arena_free(&o.a);
}
END_TEST

static void give_reason(struct cw_rpc *r, enum contact_why why)
{
	*r = (struct cw_rpc){ .master_pending = why == CONTACT_MASTER,
		.user_request = why == CONTACT_USER,
		.never_contacted = why == CONTACT_INIT,
		.next_rpc_time = why == CONTACT_REQUESTED ? NOW : 0,
		.nready = why == CONTACT_RESULTS,
		.report_now = why == CONTACT_RESULTS };
}

/* Of two projects' reasons the first in order wins, whichever project comes first
 * (client.md 1.3). */
START_TEST(the_first_of_two_reasons)
{
	static const enum contact_why order[] = { CONTACT_MASTER, CONTACT_USER,
		CONTACT_INIT, CONTACT_REQUESTED, CONTACT_RESULTS };
	struct one o;

	one_project(&o)->w.nprojects = 2;
	for (size_t i = 0; i < N(order); i++)
		for (size_t k = i; k < N(order); k++)
			for (size_t first = 0; first < 2; first++) {
				struct contact c;

				give_reason(&o.p[first].rpc, order[i]);
				give_reason(&o.p[1 - first].rpc, order[k]);
				c = next(&o);
				ck_assert_int_eq(c.why, order[i]);
				ck_assert_int_eq(c.project, i == k ? 0 : first);
			}
	arena_free(&o.a);
}
END_TEST

/* Each contact tells the project when one of its tasks could start. */
START_TEST(busy_until)
{
	struct one o;

	give_reason(&one_project(&o)->p[0].rpc, CONTACT_RESULTS);
	o.w.ntasks = 2;
	o.t[0].remaining_s = 5000;
	o.t[1].remaining_s = 7000;
	o.t[0].deadline = o.t[1].deadline = NOW + 1;
	o.t[1].rsc = 1;
	o.t[1].ncpus = 0;
	NEARLY(next(&o).ask.delay_s[0], 5000);
	NEARLY(next(&o).ask.delay_s[1], 7000);
	arena_free(&o.a);
}
END_TEST

/* Are instances of all that is asked for idle? */
START_TEST(asked_for_idle_instances)
{
	struct one o;

	give_reason(&one_project(&o)->p[0].rpc, CONTACT_INIT);
	ck_assert(next(&o).idle);
	o.w.ntasks = 1; /* on the CPU */
	ck_assert(!next(&o).idle);
	o.p[0].rsc[0].excluded = true;
	ck_assert(next(&o).idle);
	arena_free(&o.a);
}
END_TEST

/* A contact for any reason also asks for work. */
START_TEST(work_along_with_other_reasons)
{
	struct one o;
	struct cw_project *p = &one_project(&o)->p[0];

	give_reason(&p->rpc, CONTACT_RESULTS);
	ck_assert(next(&o).ask.secs[0] > 1);
	give_reason(&p->rpc, CONTACT_USER);
	p->rpc.min_rpc_time = NOW + 1; /* the user does not wait */
	ck_assert(next(&o).ask.secs[0] > 1);
	o.w.now = 0; /* not even at the beginning */
	ck_assert(next(&o).ask.secs[0] > 1);
	p->rpc.min_rpc_time = 0;
	p->rpc.spaced_until = 1;
	ck_assert(next(&o).ask.secs[0] > 1);
	o.w.now = NOW;
	give_reason(&p->rpc, CONTACT_MASTER); /* this contact reaches no scheduler */
	NEARLY(next(&o).ask.secs[0], 0);
	arena_free(&o.a);
}
END_TEST

/* With no-new-work, the contact that a project requested is made only while the host
 * has a task or result of it. */
START_TEST(requested_without_new_work)
{
	struct one o;
	struct cw_project *p = &one_project(&o)->p[0];

	p->no_new_work = true;
	p->rpc.next_rpc_time = NOW;
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	o.w.ntasks = 1;
	ck_assert_int_eq(next(&o).why, CONTACT_REQUESTED);
	o.t[0].project = 1;
	o.w.nprojects = 2;
	o.p[1].no_new_work = true;
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	p->rpc.nready = 1;
	ck_assert_int_eq(next(&o).why, CONTACT_REQUESTED);
	arena_free(&o.a);
}
END_TEST

START_TEST(first_contact_and_one_task_at_a_time)
{
	struct one o;
	struct cw_project *p = &one_project(&o)->p[0];

	p->rpc.never_contacted = true;
	p->rsc[1].excluded = true;
	NEARLY(next(&o).ask.secs[0], 1);
	NEARLY(next(&o).ask.secs[1], 0);
	p->no_new_work = true;
	NEARLY(next(&o).ask.secs[0], 0);
	arena_free(&o.a);
	one_project(&o)->p[0].nci = true;
	ck_assert_int_eq(next(&o).why, CONTACT_WORK);
	NEARLY(next(&o).ask.secs[0], 1);
	NEARLY(next(&o).ask.secs[1], 0);
	p->rsc[0].no_apps = true;
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	p->rsc[0].no_apps = false;
	p->rsc[0].backoff_until = NOW + 5;
	NEARLY(next(&o).recheck_at, NOW + 5);
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	p->rsc[0].backoff_until = NOW;
	ck_assert_int_eq(next(&o).why, CONTACT_WORK);
	p->rpc.min_rpc_time = NOW + 1;
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	p->rpc.min_rpc_time = NOW;
	p->rpc.spaced_until = NOW + 1;
	ck_assert_int_eq(next(&o).why, CONTACT_NONE);
	NEARLY(next(&o).recheck_at, NOW + 1);
	p->rpc.spaced_until = NOW;
	o.w.nprojects = 2; /* comes before a shortfall */
	ck_assert_int_eq(next(&o).project, 0);
	NEARLY(next(&o).ask.secs[0], 1);
	o.w.nprojects = 1;
	p->rpc.report_now = true;
	p->rpc.nready = 1;
	ck_assert_int_eq(next(&o).why, CONTACT_RESULTS);
	NEARLY(next(&o).ask.secs[0], 1);
	o.w.ntasks = 1;
	NEARLY(next(&o).ask.secs[0], 0);
	arena_free(&o.a);
}
END_TEST

/* "RPC policy": a project that has no work is left alone, and asked once in a session.
 */
START_TEST(sessions)
{
	struct one o;
	struct cw_rpc *r = &one_project(&o)->p[0].rpc;
	struct contact c = { CONTACT_WORK, 0, both, INFINITY, false };

	o.w.nprojects = 2;
	contact_replied(&o.w, &policy_classic, &c, &(struct reply_facts){ 0 }, &o.rng);
	ck_assert_int_eq(r->nrpc_failures, 1);
	NEARLY(r->min_rpc_time, NOW + 60);
	ck_assert(o.w.in_session && r->in_session);
	ck_assert_int_eq(next_by(&o, &policy_classic).project, 1);
	give_reason(&o.p[1].rpc, CONTACT_RESULTS); /* a shortfall comes first */
	ck_assert_int_eq(next_by(&o, &policy_classic).why, CONTACT_WORK);
	ck_assert_int_eq(next(&o).why, CONTACT_RESULTS);
	for (int k = 0; k < 2; k++) {
		c.why = CONTACT_RESULTS;
		c.ask = (struct work_ask){ .secs[0] = k == 0 ? 10 : 0,
			.secs[1] = k == 1 ? 10 : 0 };
		r->nrpc_failures = 3;
		contact_replied(
		    &o.w, &policy_classic, &c, &(struct reply_facts){ 0 }, &o.rng);
		ck_assert_int_eq(r->nrpc_failures, 1);
	}
	give_reason(&o.p[1].rpc, CONTACT_USER);
	ck_assert_int_eq(next_by(&o, &policy_classic).why, CONTACT_USER);
	c.why = CONTACT_WORK;
	c.ask = both;
	r->nrpc_failures = 3;
	contact_replied(&o.w, &policy_classic, &c, &(struct reply_facts){ 0 }, &o.rng);
	ck_assert_int_eq(r->nrpc_failures, 4);
	contact_replied(
	    &o.w, &policy_classic, &c, &(struct reply_facts){ .ntasks[0] = 1 }, &o.rng);
	ck_assert_int_eq(r->nrpc_failures, 0);
	c.why = CONTACT_RESULTS;
	c.ask = nothing;
	contact_replied(&o.w, &policy_classic, &c, &(struct reply_facts){ 0 }, &o.rng);
	ck_assert_int_eq(r->nrpc_failures, 0);
	c.why = CONTACT_WORK;
	contact_replied(
	    &o.w, &policy_classic, &c, &(struct reply_facts){ .ntasks[0] = 1 }, &o.rng);
	ck_assert_int_eq(r->nrpc_failures, 0);
	NEARLY(r->min_rpc_time, 0);
	arena_free(&o.a);
}
END_TEST

UNIT_MAIN("client rules", {
	ADD_LOOP(backoff_by_table, N(backoffs));
	ADD(corrections_are_learned);
	ADD(gaps_are_remembered);
	ADD_LOOP(estimates_by_table, N(estimates));
	ADD(duration_correction);
	ADD(fractions);
	ADD(delays_of_a_reply);
	ADD_LOOP(claims_by_table, N(claims));
	ADD(delays_of_half_a_second);
	ADD(answers_that_do_not_count);
	ADD_LOOP(backoff_of_a_kind, N(kinds));
	ADD(backoffs_with_short_bounds);
	ADD(schedulers_and_master_file);
	ADD(tasks_that_fail_and_end);
	ADD(results_that_wait);
	ADD(reasons_one_by_one);
	ADD(the_first_of_two_reasons);
	ADD(busy_until);
	ADD(asked_for_idle_instances);
	ADD(work_along_with_other_reasons);
	ADD(requested_without_new_work);
	ADD(first_contact_and_one_task_at_a_time);
	ADD(sessions);
})
