/* SPDX-License-Identifier: Apache-2.0 */
/* The host's rules one by one: debts, contact, which tasks run (client.md 7). */
#include "test/unit/unit.h"

#include <math.h>
#include "lib/arena.h"
#include "rules/client/policies.h"
#include "lib/banned.h"

static const double H = 3600, DAY = 86400;

#define NEARLY(got, want)                                                              \
	ck_assert_msg(fabs((got) - (want)) < 1e-6, "line %d: %.12g, not %.12g",        \
	    __LINE__, (double)(got), (double)(want))

/* Two CPUs and two projects, by default without tasks. */
struct small {
	struct arena a;
	struct cw_project p[2];
	struct cw_task t[8];
	struct client_world w;
	struct rr_sim rr;
	struct rng rng;
};

static struct small *small_world(struct small *s)
{
	*s = (struct small){ .p = { { .name = "A", .share = 75, .dcf = 1 },
				 { .name = "B", .share = 25, .dcf = 1 } },
		.rng = rng_seed(1) };
	s->w = (struct client_world){ .rsc = { { "CPU", 2, 1, 1 }, { "GPU", 2, 4, 1 } },
		.nrsc = 1,
		.prefs = { .min_s = DAY / 10, .extra_s = DAY / 2, .period_s = H },
		.projects = s->p,
		.nprojects = 2,
		.tasks = s->t };
	return s;
}

static struct cw_task *add_task(
    struct small *s, int32_t project, double run_s, double deadline)
{
	struct cw_task *t = &s->t[s->w.ntasks++];

	*t = (struct cw_task){ .id = (uint32_t)s->w.ntasks,
		.project = project,
		.use = 1,
		.ncpus = 1,
		.remaining_s = run_s,
		.deadline = deadline };
	return t;
}

static struct contact next_contact(struct small *s, const struct policy *how)
{
	struct contact c;

	how->account(&s->w, how);
	rr_simulate(&s->w, &s->a, &s->rr);
	contact_next(&s->w, how, &s->a, &s->rr, &c);
	return c;
}

/* The plain policies, then their variants. */
static const struct policy *all_policies(int i)
{
	int n = 0;

	while (policies[n] != NULL)
		n++;
	return i < n ? policies[i] : policy_variants[i - n];
}

static int count_policies(void)
{
	int n = 0;

	while (all_policies(n) != NULL)
		n++;
	return n;
}

/* --- amounts --- */

START_TEST(t4_debts_after_forty_minutes)
{
	static const struct {
		const struct policy *how;
		double std[2];
	} cases[] = { { &policy_debt1, { 600, 0 } },
		{ &policy_debt1_upstream, { 300, -300 } },
		{ &policy_debtr, { 0, 0 } } };

	for (size_t i = 0; i < N(cases); i++) {
		struct small s;

		small_world(&s);
		add_task(&s, 0, H, DAY);
		add_task(&s, 1, H, DAY);
		s.p[0].used[0] = 25 * 60;
		s.p[1].used[0] = 15 * 60;
		s.w.now = 1200;
		cases[i].how->account(&s.w, cases[i].how);
		/* debtR's greatest debt is 0 */
		NEARLY(s.p[0].acct.ltd[0], i < 2 ? 300 : 0);
		NEARLY(s.p[1].acct.ltd[0], i < 2 ? -300 : -600);
		NEARLY(s.p[0].acct.std[0], cases[i].std[0]);
		NEARLY(s.p[1].acct.std[0], cases[i].std[1]);
		arena_free(&s.a);
	}
}
END_TEST

/* The balance is the same however often it is updated; it decays by a factor of e in a
 * week. */
START_TEST(averages_do_not_depend_on_steps)
{
	struct small s, m;

	small_world(&s);
	small_world(&m);
	s.p[0].used[0] = m.p[0].used[0] = DAY;
	s.w.now = m.w.now = DAY;
	policy_rec.account(&s.w, &policy_rec);
	policy_rec.account(&m.w, &policy_rec);
	s.w.now = 11 * DAY;
	policy_rec.account(&s.w, &policy_rec);
	for (int k = 1; k <= 1000; k++) {
		m.w.now = DAY + 10 * DAY * k / 1000;
		policy_rec.account(&m.w, &policy_rec);
	}
	NEARLY(s.p[0].acct.rec, m.p[0].acct.rec);
	NEARLY(s.p[0].acct.rec, (1 - exp2(-0.1)) / 2);
	small_world(&s);
	s.p[0].acct.exp_avg_cpu = 1000;
	s.w.now = 7 * DAY;
	policy_classic.account(&s.w, &policy_classic);
	NEARLY(s.p[0].acct.exp_avg_cpu, 1000 / exp(1));
}
END_TEST

/* --- contact --- */

/* The bounds of the n-th gap in a row (client.md 1.2). */
static void band(enum backoff_law law, int n, double *least, double *most)
{
	*most = law == BACKOFF_NOW  ? fmin(14400, 60 * ldexp(1, n)) :
	        law == BACKOFF_2003 ? fmax(60, fmin(14400, exp(n))) :
	                              100 * ldexp(1, n);
	*least = law == BACKOFF_NOW ? *most / 2 : law == BACKOFF_2003 ? 60 : *most;
}

/* T13: no server answers for 30 days. */
START_TEST(t13_thirty_days_without_an_answer)
{
	const struct policy *how = all_policies(_i);
	struct small s;
	int failures = 0, fetches = 0, daily = 0;

	small_world(&s);
	s.w.nprojects = 1;
	while (s.w.now < 30 * DAY) {
		struct contact c = next_contact(&s, how);
		double before = s.w.now, gap, least, most;

		ck_assert_int_eq(c.why == CONTACT_MASTER, failures >= 10);
		if (c.why == CONTACT_MASTER) {
			contact_master(&s.w, how, 0, 0, 0, &s.rng);
			fetches++;
		} else
			contact_failed(&s.w, how, 0, &s.rng);
		failures++;
		c = next_contact(&s, how);
		ck_assert_int_eq(c.why, CONTACT_NONE);
		gap = s.p[0].rpc.min_rpc_time - before;
		if (failures > 30) {
			NEARLY(gap, DAY);
			daily++;
		} else {
			band(how->backoff, failures % 10 == 0 ? 1 : failures % 10,
			    &least, &most);
			ck_assert(gap >= least - 1e-6 && gap <= most + 1e-6);
		}
		s.w.now = s.p[0].rpc.min_rpc_time;
		arena_reset(&s.a);
	}
	ck_assert_int_eq(fetches, failures - 10);
	ck_assert_int_gt(daily, 25);
	arena_free(&s.a);
}
END_TEST

/* T13: the web server answers but the schedulers do not: every tenth failure fetches
 * the master file. */
START_TEST(t13_master_file_every_tenth_failure)
{
	struct small s;
	int failures = 0, fetches = 0;

	small_world(&s);
	s.w.nprojects = 1;
	while (failures < 100) {
		struct contact c = next_contact(&s, &policy_rec);

		if (c.why == CONTACT_MASTER) {
			fetches++;
			ck_assert_int_eq(failures, 10 * fetches);
			contact_master(&s.w, &policy_rec, 0, 1, 0, &s.rng);
		} else if (c.why == CONTACT_NONE)
			s.w.now = s.p[0].rpc.min_rpc_time;
		else {
			failures++;
			contact_failed(&s.w, &policy_rec, 0, &s.rng);
		}
		arena_reset(&s.a);
	}
	ck_assert_int_eq(fetches, 9);
	arena_free(&s.a);
}
END_TEST

/* T14: no contact before the delay is over; each "no work" doubles the backoff. */
START_TEST(t14_no_work)
{
	const struct policy *how = all_policies(_i);
	struct small s;
	struct contact c;
	struct reply_facts f = { .request_delay_s = 1000 };
	double interval = how->backoff_min_s;

	if (how->sessions) /* "RPC policy" has no backoff per processor type */
		return;
	small_world(&s);
	s.w.nprojects = 1;
	for (int k = 0; k < 12; k++) {
		double from, gap;

		c = next_contact(&s, how);
		ck_assert_int_eq(c.why, CONTACT_WORK);
		from = s.w.now;
		contact_replied(&s.w, how, &c, &f, &s.rng);
		s.w.now += 999;
		ck_assert_int_eq(next_contact(&s, how).why, CONTACT_NONE);
		gap = s.p[0].rsc[0].backoff_until - from;
		ck_assert_msg(
		    gap >= interval / 2 && gap <= fmin(DAY, interval * 1.5) + 1e-6,
		    "%g after %g", gap, interval);
		s.w.now = fmax(from + 1000, s.p[0].rsc[0].backoff_until);
		interval = fmin(DAY, 2 * interval);
		arena_reset(&s.a);
	}
	f.ntasks[0] = 1;
	s.w.now += DAY;
	c = next_contact(&s, how);
	contact_replied(&s.w, how, &c, &f, &s.rng);
	NEARLY(s.p[0].rsc[0].backoff_s, 0);
	arena_free(&s.a);
}
END_TEST

/* After three times ten failures one attempt a day; more if results wait. */
START_TEST(t13_results_wait_for_a_scheduler)
{
	static const double none = -9, left_h[] = { none, 400, 80, 8, 0, -5 },
			    hours[] = { 24, 24, 10, 4, 24, 24 };

	for (size_t i = 0; i < N(left_h); i++) {
		struct small s;

		small_world(&s);
		s.w.now = 100 * DAY;
		s.p[0].rpc.nmaster_failures = 3;
		if (left_h[i] != none)
			contact_ready(
			    &s.p[0].rpc, s.w.now, s.w.now + left_h[i] * H, false);
		contact_failed(&s.w, policies[0], 0, &s.rng);
		NEARLY(s.p[0].rpc.min_rpc_time - s.w.now, hours[i] * H);
		arena_free(&s.a);
	}
}
END_TEST

/* T15, T16: when results are reported; no work is wanted. */
static const struct {
	const char *what;
	const struct policy *how;
	uint32_t nready;
	double ready_at, deadline, now;
	enum contact_why why;
	double again_at; /* if why is CONTACT_NONE */
} reports[] = {
#define REPORTS
#include "test/unit/policy.def"
#undef REPORTS
};

START_TEST(t15_t16_reports)
{
	struct small s;
	struct contact c;

	small_world(&s);
	s.p[0].rpc.nready = reports[_i].nready;
	s.p[0].rpc.first_ready_at = reports[_i].ready_at * H;
	s.p[0].rpc.first_deadline = reports[_i].deadline * H;
	s.w.now = reports[_i].now * H;
	s.w.prefs.min_s = s.w.prefs.extra_s = 0;
	add_task(&s, 0, 100 * DAY, 1000 * DAY);
	add_task(&s, 1, 100 * DAY, 1000 * DAY);
	c = next_contact(&s, reports[_i].how);
	ck_assert_msg(
	    c.why == reports[_i].why, "%s: %s", reports[_i].what, contact_words(c.why));
	if (c.why == CONTACT_NONE)
		ck_assert_msg(c.recheck_at <= reports[_i].again_at * H + 1e-6,
		    "%s: again at %g", reports[_i].what, c.recheck_at / H);
	arena_free(&s.a);
}
END_TEST

/* The host leaves a minute between two contacts of a project, unless a result would
 * miss its deadline or the user asks; less if its back-offs are bounded. */
START_TEST(contacts_are_spaced)
{
	for (const struct policy *const *how = policies; *how != NULL; how++) {
		struct small s;
		struct contact first, c;
		struct reply_facts f = { .ntasks = { 1 } };

		small_world(&s);
		s.w.now = DAY;
		s.w.nprojects = 1;
		first = next_contact(&s, *how);
		ck_assert_int_eq(first.why, CONTACT_WORK);
		contact_replied(&s.w, *how, &first, &f, &s.rng);
		c = next_contact(&s, *how);
		ck_assert_msg(c.why == CONTACT_NONE && c.recheck_at <= DAY + 60,
		    "%s: again at once", (*how)->name);
		contact_ready(&s.p[0].rpc, s.w.now, DAY + 61, true);
		ck_assert_int_eq(next_contact(&s, *how).why, CONTACT_NONE);
		s.p[0].rpc.first_deadline = DAY + 59;
		ck_assert_int_eq(next_contact(&s, *how).why, CONTACT_RESULTS);
		s.p[0].rpc.nready = 0;
		s.p[0].rpc.report_now = false;
		s.p[0].rpc.user_request = true;
		ck_assert_int_eq(next_contact(&s, *how).why, CONTACT_USER);
		s.p[0].rpc.user_request = false;
		/* A contact that is made anyhow asks for work, too. */
		s.p[0].rpc.next_rpc_time = DAY;
		c = next_contact(&s, *how);
		ck_assert_int_eq(c.why, CONTACT_REQUESTED);
		ck_assert_msg(
		    c.ask.secs[CW_CPU] > 0, "%s: no work asked", (*how)->name);
		s.p[0].rpc.next_rpc_time = 0;
		s.w.now = DAY + 60;
		ck_assert_int_eq(next_contact(&s, *how).why, CONTACT_WORK);
		s.w.prefs.backoff_min_s = 2;
		s.w.prefs.backoff_most_s = 9;
		contact_replied(&s.w, *how, &first, &f, &s.rng);
		NEARLY(s.p[0].rpc.spaced_until, s.w.now + 2);
		arena_free(&s.a);
	}
}
END_TEST

/* Which reason comes first, and what prevents contact. */
START_TEST(reasons_for_contact)
{
	struct small s;

	small_world(&s);
	s.p[0].rpc.nready = 64;
	s.p[1].rpc.user_request = s.p[1].suspended = true;
	s.p[1].rpc.min_rpc_time = DAY;
	ck_assert_int_eq(next_contact(&s, &policy_rec).why, CONTACT_USER);
	s.p[1].rpc.user_request = false;
	ck_assert_int_eq(next_contact(&s, &policy_rec).project, 0);
	s.p[0].rpc.uploading = true;
	s.p[1].suspended = false;
	s.p[1].rpc.never_contacted = true;
	s.p[1].rpc.min_rpc_time = 0;
	ck_assert_int_eq(next_contact(&s, &policy_rec).why, CONTACT_INIT);
	NEARLY(next_contact(&s, &policy_rec).ask.secs[0], 1);
	s.p[1].share = 0;
	NEARLY(next_contact(&s, &policy_rec).ask.secs[0], 0);
	s.p[1].rpc.never_contacted = false;
	s.p[1].rpc.next_rpc_time = 10;
	s.w.now = 10;
	ck_assert_int_eq(next_contact(&s, &policy_rec).why, CONTACT_REQUESTED);
	s.p[1].no_new_work = true;
	ck_assert_int_ne(next_contact(&s, &policy_rec).why, CONTACT_REQUESTED);
	for (int i = CONTACT_NONE; i <= CONTACT_WORK; i++)
		for (int k = CONTACT_NONE; k < i; k++)
			ck_assert_str_ne(contact_words((enum contact_why)i),
			    contact_words((enum contact_why)k));
	arena_free(&s.a);
}
END_TEST

/* --- which tasks run --- */

static struct enforced policy_choose(struct small *s, const struct policy *how)
{
	struct run_list list;
	struct enforced e;

	rr_simulate(&s->w, &s->a, &s->rr);
	how->order(&s->w, how, &s->a, &s->rr, &list);
	enforce(&s->w, how, &s->a, &list, &e);
	return e;
}

static bool starts(const struct enforced *e, uint32_t task)
{
	for (size_t i = 0; i < e->nstart; i++)
		if (e->start[i] == task)
			return true;
	return false;
}

static void policy_run(struct cw_task *t, double since)
{
	t->running = t->started = true;
	t->run_since = since;
	t->checkpointed_at = since + 1;
}

/* A slice ends when its time is over and a checkpoint was made after that, on CPUs and
 * on coprocessors. */
START_TEST(slices)
{
	for (const struct policy *const *how = policies; *how != NULL; how++) {
		struct small s;
		struct enforced e;

		if (*how == &policy_classic)
			continue; /* it preempts nothing */
		small_world(&s);
		s.w.rsc[0].ninst = s.w.rsc[1].ninst = 1;
		s.w.nrsc = 2;
		s.w.now = H / 2;
		policy_run(add_task(&s, 1, DAY, 100 * DAY), 0);
		add_task(&s, 0, DAY, 100 * DAY);
		s.t[0].rsc = s.t[1].rsc = _i;
		s.p[1].acct = (struct cw_acct){
			.rec = 1, .ltd = { -2 * DAY, -2 * DAY }, .owed = -2 * DAY
		};
		s.p[0].acct = (struct cw_acct){ .std = { DAY, DAY },
			.ltd = { 2 * DAY, 2 * DAY },
			.owed = 2 * DAY };
		e = policy_choose(&s, *how);
		ck_assert_msg(e.nstop == 0, "%s: in its slice", (*how)->name);
		NEARLY(e.recheck_at, H);
		s.t[0].run_since = s.w.now - 11;
		ck_assert_uint_eq(policy_choose(&s, *how).nstop, 0);
		s.t[0].run_since = s.w.now - 10; /* a slice that has only just begun */
		ck_assert_uint_eq(policy_choose(&s, *how).nstop,
		    *how == &policy_window && _i == CW_CPU);
		s.t[0].run_since = 0;
		s.w.now = s.w.scheduled_at = H + 10;
		e = policy_choose(&s, *how);
		ck_assert_msg(e.nstop == 0, "%s: no checkpoint", (*how)->name);
		ck_assert(e.at_checkpoint);
		s.t[0].checkpointed_at = H + 10;
		e = policy_choose(&s, *how);
		ck_assert_msg(e.nstop == 1 && starts(&e, 1), "%s: its slice is over",
		    (*how)->name);
		ck_assert(!e.stop[0].keep);
		s.w.prefs.leave_in_memory = true;
		ck_assert(policy_choose(&s, *how).stop[0].keep == (_i == CW_CPU));
		arena_free(&s.a);
	}
}
END_TEST

/* A task at risk of missing its deadline does not wait for a slice to end; it preempts
 * the task that loses less work. */
START_TEST(deadlines)
{
	for (const struct policy *const *how = policies; *how != NULL; how++) {
		struct small s;
		struct enforced e;

		if (*how == &policy_classic)
			continue;
		small_world(&s);
		s.w.now = H / 2;
		policy_run(add_task(&s, 0, DAY, 100 * DAY), 0);
		policy_run(add_task(&s, 0, DAY, 100 * DAY), 0);
		s.t[0].since_checkpoint_s = 500;
		s.t[1].since_checkpoint_s = 5;
		add_task(&s, 1, H, 1.2 * H + s.w.now);
		s.w.rsc[0].avail = 0.5;
		e = policy_choose(&s, *how);
		ck_assert_msg(e.nstop == 1 && starts(&e, 2), "%s", (*how)->name);
		ck_assert_uint_eq(e.stop[0].task, 1);
		arena_free(&s.a);
	}
}
END_TEST

START_TEST(limits)
{
	struct small s;
	struct enforced e;
	struct cw_app apps[2] = { { 0, 1 }, { 1, 0 } };

	small_world(&s);
	for (int i = 0; i < 3; i++)
		add_task(&s, 0, H, 100 * DAY);
	ck_assert_uint_eq(policy_choose(&s, &policy_rec).nstart, 2);
	s.p[0].max_concurrent = 1;
	ck_assert_uint_eq(policy_choose(&s, &policy_rec).nstart, 1);
	s.p[0].max_concurrent = 0;
	s.w.apps = apps;
	s.w.napps = 2;
	ck_assert_uint_eq(policy_choose(&s, &policy_rec).nstart, 1);
	s.w.napps = 0;
	s.w.prefs.ram_bytes = 10;
	s.t[0].rss_bytes = 11;
	s.t[1].rss_bytes = 6;
	s.t[2].rss_bytes = 4;
	e = policy_choose(&s, &policy_rec);
	ck_assert(e.nstart == 2 && !starts(&e, 0));
	s.t[1].suspended = true;
	e = policy_choose(&s, &policy_rec);
	ck_assert(e.nstart == 1 && starts(&e, 2));
	s.p[1].nci = true;
	add_task(&s, 1, H, 100 * DAY);
	e = policy_choose(&s, &policy_rec);
	ck_assert(e.nstart == 2 && starts(&e, 3));
	s.p[0].suspended = true;
	ck_assert_uint_eq(policy_choose(&s, &policy_rec).nstart, 1);
	arena_free(&s.a);
}
END_TEST

START_TEST(coprocessors)
{
	struct small s;
	struct enforced e;

	small_world(&s);
	s.w.nrsc = 2;
	for (int i = 0; i < 4; i++) {
		struct cw_task *t = add_task(&s, 0, H, 100 * DAY);

		t->rsc = 1;
		t->use = i < 3 ? 0.6 : 0.4;
		t->ncpus = 0.1;
	}
	e = policy_choose(
	    &s, &policy_rec); /* 0.6 and 0.4 on one device, 0.6 on the other */
	ck_assert(e.nstart == 3 && starts(&e, 3));
	ck_assert_int_ne(e.device[0], e.device[1]);
	for (int i = 0; i < 4; i++)
		s.t[i].ncpus = 1.6; /* at most one CPU may be overcommitted */
	ck_assert_uint_eq(policy_choose(&s, &policy_rec).nstart, 1);
	s.t[0].use = 2;
	s.t[0].ncpus = 0.1;
	e = policy_choose(&s, &policy_rec);
	ck_assert(starts(&e, 0));
	arena_free(&s.a);
}
END_TEST

/* Entitlement: A can use only the coprocessor, B both, C only the CPUs. */
static const struct {
	double share[3], flops; /* of one coprocessor; two CPUs of 1 */
	unsigned can[3];
	double part[3];
} entitled[] = {
#define ENTITLED
#include "test/unit/policy.def"
#undef ENTITLED
};

START_TEST(entitlement_by_table)
{
	struct cw_project p[4] = { 0 };
	struct client_world w = { .rsc = { { "CPU", 2, 1, 1 },
				      { "GPU", 1, entitled[_i].flops, 1 } },
		.nrsc = 2,
		.projects = p,
		.nprojects = 3 };

	for (int i = 0; i < 3; i++) {
		p[i].share = entitled[_i].share[i];
		p[i].acct.usable_mask = entitled[_i].can[i];
	}
	p[3] = p[2]; /* it is behind the end */
	entitle(&w);
	for (int i = 0; i < 3; i++)
		NEARLY(p[i].acct.entitled, entitled[_i].part[i]);
	p[3].acct.entitled = 7;
	entitle(&w);
	NEARLY(p[3].acct.entitled, 7);
}
END_TEST

/* A limit of running tasks also limits what a project of CPU tasks is entitled to:
 * eight CPUs, three projects with equal shares, a coprocessor of 4 in the last cases.
 */
static const struct {
	const char *what;
	int32_t limit;
	double ncpus; /* of the first project's tasks; 0: it has none */
	unsigned can; /* the first project; the others can use all */
	size_t nrsc;
	double parts[3], of;
} limited[] = {
	{ "no limit", 0, 1, 1, 1, { 8, 8, 8 }, 24 },
	{ "one of eight CPUs", 1, 1, 1, 1, { 1, 3.5, 3.5 }, 8 },
	{ "for a task of two CPUs", 1, 2, 1, 1, { 2, 3, 3 }, 8 },
	{ "more than its share", 3, 1, 1, 1, { 8, 8, 8 }, 24 },
	{ "its tasks are unknown", 1, 0, 1, 1, { 8, 8, 8 }, 24 },
	{ "beside a coprocessor", 1, 1, 1, 2, { 1, 5.5, 5.5 }, 12 },
	{ "which it could use, too", 1, 1, 3, 2, { 4, 4, 4 }, 12 },
};

START_TEST(entitled_within_limits)
{
	struct cw_project p[3] = { 0 };
	struct cw_task t = { .ncpus = limited[_i].ncpus };
	struct client_world w = { .rsc = { { "CPU", 8, 1, 1 }, { "GPU", 1, 4, 1 } },
		.nrsc = limited[_i].nrsc,
		.projects = p,
		.nprojects = 3,
		.tasks = &t,
		.ntasks = 1 };

	for (int i = 0; i < 3; i++) {
		p[i].share = 1;
		p[i].acct.usable_mask = (1U << w.nrsc) - 1;
	}
	p[0].acct.usable_mask = limited[_i].can;
	p[0].max_concurrent = limited[_i].limit;
	entitle(&w);
	for (int i = 0; i < 3; i++)
		ck_assert_msg(fabs(p[i].acct.entitled -
				   limited[_i].parts[i] / limited[_i].of) < 1e-9,
		    "%s: %d has %g", limited[_i].what, i, p[i].acct.entitled);
}
END_TEST

/* Backup projects, tasks that are not CPU-intensive, implausible estimates. */
START_TEST(what_is_asked)
{
	struct small s;
	struct contact c;

	small_world(&s);
	s.p[0].share = 0;
	ck_assert_int_eq(next_contact(&s, &policy_rec).project, 1);
	s.p[1].no_new_work = true;
	c = next_contact(&s, &policy_rec); /* T20: one task for each idle instance */
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 1);
	NEARLY(c.ask.inst[0], 1);
	add_task(&s, 1, H, 100 * DAY);
	add_task(&s, 1, H, 100 * DAY);
	ck_assert_int_eq(next_contact(&s, &policy_rec).why, CONTACT_NONE);
	s.p[0].nci = true;
	c = next_contact(&s, &policy_rec);
	ck_assert_int_eq(c.project, 0);
	arena_free(&s.a);
	small_world(&s);
	s.p[0].dcf = 90;
	s.w.nprojects = 1;
	NEARLY(next_contact(&s, &policy_rec).ask.secs[0], 1);
	s.p[0].dcf = 1;
	NEARLY(next_contact(&s, &policy_rec).ask.secs[0], 2 * 0.6 * DAY);
	s.p[0].rpc.nuploads = 5;
	ck_assert_int_eq(next_contact(&s, &policy_rec).why, CONTACT_NONE);
	arena_free(&s.a);
}
END_TEST

/* What window asks of project B, for the CPU, along with another contact. */
static const struct window_case {
	const char *what;
	double avail, owed[2]; /* owed: in hours of a CPU */
	double
	    bound[2]; /* delay bound of each project's tasks, in hours; 0: 100 days */
	struct {
		int32_t project, rsc;
		double hours, use, ncpus;
		bool running;
	} task[3];
	double secs;
	int32_t nfailures; /* contacts with A in a row */
} window_cases[] = {
#define WINDOW
#include "test/unit/policy.def"
#undef WINDOW
};

static void window_world(struct small *s, const struct window_case *c)
{
	small_world(s);
	s->w.nrsc = 2;
	for (int i = 0; i < 2; i++) {
		s->w.rsc[i].avail = c->avail;
		s->p[i].acct = (struct cw_acct){ .known = true,
			.owed = c->owed[i] * H,
			.delay_bound_s = c->bound[i] * H,
			.gave = { true, true } };
	}
	s->p[1].rsc[1].no_apps = true;
	s->p[0].rpc.nrpc_failures = c->nfailures;
	for (size_t i = 0; i < N(c->task) && c->task[i].hours > 0; i++) {
		struct cw_task *t = add_task(
		    s, c->task[i].project, c->task[i].hours * H, 100 * DAY);

		t->rsc = c->task[i].rsc;
		t->use = c->task[i].use;
		t->ncpus = c->task[i].ncpus;
		t->running = c->task[i].running;
	}
	policy_window.account(&s->w, &policy_window);
	rr_simulate(&s->w, &s->a, &s->rr);
}

START_TEST(what_window_asks)
{
	const struct window_case *c = &window_cases[_i];
	struct work_ask ask = { .project = -1 };
	struct small s;

	window_world(&s, c);
	policy_window.piggyback(&s.w, &policy_window, &s.a, &s.rr, 1, &ask);
	ck_assert_msg(
	    fabs(ask.secs[0] - c->secs * H) < 1, "%s: %g h", c->what, ask.secs[0] / H);
	arena_free(&s.a);
}
END_TEST

/* A CPU and as many kinds of coprocessors as there may be. */
static void four_kinds(struct small *s)
{
	small_world(s)->w.nrsc = CW_RSC_MOST;
	for (int r = 0; r < CW_RSC_MOST; r++) {
		struct cw_task *t = add_task(s, r % 2, 5 * DAY, 1000 * DAY);

		s->w.rsc[r] = (struct cw_resource){ "ONE", 1, 1 + r, 1 };
		t->rsc = r;
		t->ncpus = r == 0 ? 1 : 0;
		t->rss_bytes = 1;
	}
}

START_TEST(every_kind_of_processor_is_used)
{
	const struct policy *how = all_policies(_i);
	struct reply_facts none = { .request_delay_s = 0 };
	struct small s;
	struct enforced e;
	struct contact c;

	four_kinds(&s);
	s.w.ntasks = 0;
	s.w.now = DAY;
	c = next_contact(&s, how);
	ck_assert_int_eq(c.why, CONTACT_WORK);
	ck_assert_ptr_null(c.ask.why);
	contact_replied(&s.w, how, &c, &none, &s.rng);
	for (int r = 0; r < CW_RSC_MOST; r++)
		ck_assert(how->sessions || c.ask.secs[r] <= 0 ||
			  s.p[c.project].rsc[r].backoff_s > 0);
	arena_free(&s.a);
	four_kinds(&s);
	e = policy_choose(&s, how);
	ck_assert_uint_eq(e.nstart, CW_RSC_MOST);
	for (uint32_t i = 0; i < s.w.ntasks; i++) {
		ck_assert(starts(&e, i));
		policy_run(&s.t[i], 0);
		NEARLY(s.rr.rsc[i].nidle, 0);
		NEARLY(s.rr.rsc[i].saturated_s, 5 * DAY);
	}
	cw_accrue(&s.w, 100);
	s.w.now = 100;
	enforce_done(&s.w, &s.rr);
	how->account(&s.w, how);
	for (int r = 0; r < CW_RSC_MOST; r++)
		NEARLY(s.p[0].used[r] + s.p[1].used[r], 0);
	s.p[0].rpc.user_request = true;
	ck_assert_int_eq(next_contact(&s, how).why, CONTACT_USER);
	s.p[0].rpc.user_request = false;
	s.p[0].rpc.never_contacted = true;
	c = next_contact(&s, how);
	ck_assert_int_eq(c.why, CONTACT_INIT);
	ck_assert_ptr_null(c.ask.why);
	for (int r = 0; r < CW_RSC_MOST; r++)
		NEARLY(c.ask.secs[r], 1);
	rr_predict(&s.w, &s.a, &s.rr);
	arena_free(&s.a);
}
END_TEST

/* A's tasks take 5 of 8 GB each, B's 1 GB: one of A's leaves a CPU to B, which used too
 * much and is asked for tasks that occupy both CPUs until the low-water mark. */
START_TEST(window_keeps_small_tasks)
{
	static const struct window_case c = { "memory", 1, { 1000, -1000 }, { 0, 0 },
		{ { 0, 0, 20, 1, 1, true }, { 0, 0, 20, 1, 1, false } }, 4.8, 0 };

	for (int ram = 0; ram <= 16; ram += 8) {
		struct work_ask ask = { .project = -1 };
		struct small s;

		window_world(&s, &c);
		s.w.prefs.ram_bytes = ram;
		s.p[0].acct.rss_bytes = 5;
		s.p[1].acct.rss_bytes = 1;
		policy_window.piggyback(&s.w, &policy_window, &s.a, &s.rr, 1, &ask);
		ck_assert_msg(fabs(ask.secs[0] - (ram == 8 ? c.secs * H : 0)) < 1,
		    "%d GB: %g h", ram, ask.secs[0] / H);
		arena_free(&s.a);
	}
}
END_TEST

/* A coprocessor is free, and the waiting task takes two. */
START_TEST(window_fills_a_free_coprocessor)
{
	struct small s;
	struct contact c;

	for (int use = 1; use <= 2; use++) {
		struct cw_task *t;

		small_world(&s);
		s.w.nrsc = 2;
		for (int i = 0; i < 6; i++) {
			t = add_task(&s, i % 2, 100 * H, 100 * DAY);
			t->rsc = i < 4 ? CW_CPU : 1;
		}
		t->use = use;
		s.t[0].running = s.t[1].running = s.t[4].running = true;
		for (int i = 0; i < 2; i++)
			s.p[i].acct.known = true;
		c = next_contact(&s, &policy_window);
		ck_assert_int_eq(c.why, use == 2 ? CONTACT_WORK : CONTACT_NONE);
		NEARLY(c.ask.inst[1], use == 2 ? 1 : 0);
		NEARLY(c.ask.secs[1], use == 2 ? 1 : 0);
		arena_free(&s.a);
	}
}
END_TEST

/* Of its two CPUs, a project gives up one if it used too much by a slice, and the other
 * one if by two slices on each. */
START_TEST(window_gives_up_instances)
{
	static const int32_t third[] = { 1, 0, 0, 0,
		1 }; /* project of the third task */
	struct small s;
	struct run_list list;

	for (int n = 0; n < (int)N(third); n++) {
		small_world(&s);
		s.w.rsc[0].ninst = 4;
		s.p[0].share = s.p[1].share = 1;
		for (int i = 0; i < 8; i++)
			add_task(&s, i % 2, 10 * H, 100 * DAY);
		s.p[0].acct = (struct cw_acct){ .known = true, .owed = -(n + 0.5) * H };
		s.p[1].acct.known = true;
		policy_window.account(&s.w, &policy_window);
		rr_simulate(&s.w, &s.a, &s.rr);
		policy_window.order(&s.w, &policy_window, &s.a, &s.rr, &list);
		ck_assert_int_eq(s.t[list.item[0].task].project, 1);
		ck_assert_int_eq(s.t[list.item[1].task].project, n == 0 ? 0 : 1);
		ck_assert_msg(s.t[list.item[2].task].project == third[n],
		    "%d slices: %d", n, s.t[list.item[2].task].project);
		arena_free(&s.a);
	}
}
END_TEST

START_TEST(the_table)
{
	ck_assert_ptr_eq(policies[0], &policy_window);
	ck_assert_ptr_eq(policy_find("debtR"), &policy_debtr);
	ck_assert_ptr_eq(policy_find("debt1:upstream"), &policy_debt1_upstream);
	ck_assert_ptr_null(policy_find("none"));
	for (int n = 1; n <= 10; n++) {
		struct rng rng = rng_seed((uint64_t)n);
		double s = backoff_by_law_s(BACKOFF_2003, &backoff_rpc, n, &rng);

		NEARLY(backoff_by_law_s(BACKOFF_2002, &backoff_rpc, n, &rng),
		    100 * ldexp(1, n));
		ck_assert(n > 4 ? s >= 60 && s <= fmin(14400, exp(n)) : s <= 60);
	}
}
END_TEST

UNIT_MAIN("policy", {
	ADD(t4_debts_after_forty_minutes);
	ADD(averages_do_not_depend_on_steps);
	ADD_LOOP(t13_thirty_days_without_an_answer, count_policies());
	ADD(t13_master_file_every_tenth_failure);
	ADD(t13_results_wait_for_a_scheduler);
	ADD_LOOP(t14_no_work, count_policies());
	ADD_LOOP(t15_t16_reports, N(reports));
	ADD(contacts_are_spaced);
	ADD(reasons_for_contact);
	ADD_LOOP(slices, 2); /* CPU, coprocessor */
	ADD(deadlines);
	ADD(limits);
	ADD(coprocessors);
	ADD_LOOP(entitlement_by_table, N(entitled));
	ADD_LOOP(entitled_within_limits, N(limited));
	ADD(what_is_asked);
	ADD_LOOP(what_window_asks, N(window_cases));
	ADD(window_keeps_small_tasks);
	ADD(window_fills_a_free_coprocessor);
	ADD(window_gives_up_instances);
	ADD_LOOP(every_kind_of_processor_is_used, count_policies());
	ADD(the_table);
})
