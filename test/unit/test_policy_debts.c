/* SPDX-License-Identifier: Apache-2.0 */
/* The policies with debts, and classic: debts, whom they ask and for how much, with
 * values from their descriptions (client.md 1.1, 2, 3, locus-client-policies(7)). */
#include "test/unit/policy_host.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

static const double NOW = HOST_NOW, SLICE = HOST_SLICE, DAY = 86400;
/* Shares 3 and 1. */
static struct policy_host *debts_host(struct policy_host *h)
{
	policy_host(h, 3, 2, 8)->w.accounted_at = NOW - 1000;
	return h;
}

static struct cw_task *debts_task(struct policy_host *h, int32_t project, double run_s)
{
	struct cw_task *t = policy_host_task(h, project, run_s);

	t->running = true;
	return t;
}

static struct contact debts_next(struct policy_host *h, const struct policy *how)
{
	cw_tally_tasks(&h->w);
	return policy_host_next(h, how);
}

#define ASKS(h, how, who)                                                              \
	do {                                                                           \
		struct contact c_ = debts_next(h, how);                                \
                                                                                       \
		ck_assert_msg(c_.project == (who), "line %d: %d, not %d", __LINE__,    \
		    (int)c_.project, who);                                             \
	} while (0)

/* --- debts --- */

/* Long-term debts of debt1 after 0 used 1000 s: see who takes part. */
static const struct {
	const char *what;
	struct cw_project p; /* the second one */
	bool task;
	double first, second;
} debt1[] = {
	{ "may be asked for work", { .share = 1 }, false, -250, 250 },
	{ "has a task", { .share = 1, .no_new_work = true }, true, -250, 250 },
	{ "cannot run anything", { .share = 1, .no_new_work = true }, false, 0, 0 },
	{ "kept from sending by deadlines",
	    { .share = 1, .no_new_work = true, .rpc.latency_limited_until = 1e8 + 1 },
	    false, -250, 250 },
	{ "no longer",
	    { .share = 1, .no_new_work = true, .rpc.latency_limited_until = 1e8 },
	    false, 0, 0 },
	{ "not CPU-intensive", { .share = 1, .nci = true }, false, 0, 0 },
	{ "a backup project", { .share = 0 }, false, 0, 0 },
};

START_TEST(debt1_by_table)
{
	for (int k = 0; k < 2; k++) {
		struct policy_host h;
		double scale = k == 0 ? 1 : 0.01;

		debts_host(&h)->p[1] = debt1[_i].p;
		h.p[0].share *= scale;
		h.p[1].share *= scale;
		debts_task(&h, 0, 100);
		if (debt1[_i].task)
			debts_task(&h, 1, 100);
		h.p[0].used[0] = 1000;
		policy_debt1.account(&h.w, &policy_debt1);
		ck_assert_msg(fabs(h.p[0].acct.ltd[0] - debt1[_i].first) < 1e-6 &&
				  fabs(h.p[1].acct.ltd[0] - debt1[_i].second) < 1e-6,
		    "%s: %g and %g", debt1[_i].what, h.p[0].acct.ltd[0],
		    h.p[1].acct.ltd[0]);
		/* Short-term, 0 loses a quarter, and the least is shifted to 0. */
		NEARLY(h.p[0].acct.std[0], 0);
		NEARLY(h.p[1].acct.std[0], debt1[_i].task ? 500 : 0);
		NEARLY(h.p[0].used[0], 0);
	}
}
END_TEST

START_TEST(debt1_limits)
{
	struct policy_host h;

	debts_host(&h);
	debts_task(&h, 0, 100);
	debts_task(&h, 1, 100);
	h.p[1].acct.std[0] = DAY - 100;
	h.p[0].used[0] = 1000;
	policy_debt1.account(&h.w, &policy_debt1);
	NEARLY(h.p[1].acct.std[0], DAY);
	h.p[0].used[0] = 1000;
	policy_debt1.account(&h.w, &policy_debt1); /* no time has passed */
	NEARLY(h.p[0].used[0], 1000);
	h.t[0].suspended = h.t[1].suspended = true; /* nothing to run, nothing owed */
	h.w.now++;
	policy_debt1.account(&h.w, &policy_debt1);
	NEARLY(h.p[1].acct.std[0], 0);
	h.t[0].suspended = h.t[1].suspended = false;
	h.p[0].acct.std[0] = 3 * DAY;
	h.p[1].acct.std[0] = -DAY;
	h.w.now++;
	policy_debt1_upstream.account(&h.w, &policy_debt1_upstream);
	NEARLY(h.p[0].acct.std[0], DAY); /* mean 0, a day either way */
	NEARLY(h.p[1].acct.std[0], -DAY);
	h.p[0].share = h.p[1].share = 0;
	h.p[0].acct.ltd[0] = 10;
	h.p[1].acct.ltd[0] = -10;
	h.w.now++;
	policy_debt1.account(&h.w, &policy_debt1);
	NEARLY(h.p[0].acct.ltd[0], 10);
	NEARLY(h.p[0].acct.std[0], 0);
	h.p[1].nci = true; /* it takes no part in the mean */
	h.w.now++;
	policy_debt1.account(&h.w, &policy_debt1);
	NEARLY(h.p[0].acct.ltd[0], 0);
	NEARLY(h.p[1].acct.ltd[0], -10);
}
END_TEST

/* Backup projects alone take turns. */
START_TEST(backup_projects_take_turns)
{
	struct policy_host h;

	debts_host(&h);
	h.p[0].share = h.p[1].share = 0;
	debts_task(&h, 0, 100);
	debts_task(&h, 0, 100);
	debts_task(&h, 1, 100);
	debts_task(&h, 1, 100);
	policy_host_runs(&h, &policy_debt1_upstream, "acbd", __LINE__);
	arena_free(&h.a);
}
END_TEST

/* A backup project's tasks run when no other's do. */
START_TEST(backup_tasks_run_last)
{
	for (const struct policy *const *how = policies; *how != NULL; how++) {
		struct policy_host h;
		struct run_list list;

		if (*how == &policy_classic)
			continue;
		debts_host(&h)->p[0].share = 0;
		for (int i = 0; i < 6; i++)
			debts_task(&h, i / 3, 1e5)->running = false;
		h.p[0].acct.owed = 1e9;
		h.p[0].acct.std[0] = DAY / 2;
		h.p[0].acct.ltd[0] = 1e6;
		h.p[1].acct.rec = 5;
		rr_simulate(&h.w, &h.a, &h.rr);
		(*how)->order(&h.w, *how, &h.a, &h.rr, &list);
		ck_assert_uint_ge(list.n, 3);
		for (size_t i = 0; i < 3; i++)
			ck_assert_msg(list.item[i].task == 3 + i, "%s", (*how)->name);
		arena_free(&h.a);
	}
}
END_TEST

/* debtR: a debt for each processor, the greatest of which becomes 0; on average they
 * change by nothing before that. */
static const struct {
	const char *what;
	struct cw_project p; /* the second one */
	bool task;           /* for the CPU */
	double first, second;
} debtr[] = {
	{ "may be asked for work", { .share = 1 }, false, -500, 0 },
	{ "has a task", { .share = 1, .rsc[0].backoff_until = 1e8 + 1 }, true, -500,
	    0 },
	{ "backs off", { .share = 1, .rsc[0].backoff_until = 1e8 + 1 }, false, 0, 0 },
	{ "may be asked again", { .share = 1, .rsc[0].backoff_until = 1e8 }, false,
	    -500, 0 },
	{ "gave none for a day", { .share = 1, .rsc[0].backoff_s = 86400 }, false, 0,
	    0 },
	{ "for a little less", { .share = 1, .rsc[0].backoff_s = 86399 }, false, -500,
	    0 },
	{ "has no apps", { .share = 1, .rsc[0].no_apps = true }, false, 0, 0 },
	{ "excluded", { .share = 1, .rsc[0].excluded = true }, false, 0, 0 },
	{ "waits for its delay", { .share = 1, .rpc.min_rpc_time = 1e8 + 1 }, false, 0,
	    0 },
	{ "not CPU-intensive", { .share = 1, .nci = true }, true, 0, 0 },
	{ "suspended", { .share = 1, .suspended = true }, true, 0, 0 },
	{ "no new work", { .share = 1, .no_new_work = true }, true, 0, 0 },
	{ "a backup project", { .share = 0 }, true, 0, 0 },
};

START_TEST(debtr_by_table)
{
	struct policy_host h;

	debts_host(&h)->p[1] = debtr[_i].p;
	if (debtr[_i].task)
		debts_task(&h, 1, 100);
	h.p[0].used[0] = 1000;
	policy_debtr.account(&h.w, &policy_debtr);
	ck_assert_msg(fabs(h.p[0].acct.ltd[0] - debtr[_i].first) < 1e-6 &&
			  fabs(h.p[1].acct.ltd[0] - debtr[_i].second) < 1e-6,
	    "%s: %g and %g", debtr[_i].what, h.p[0].acct.ltd[0], h.p[1].acct.ltd[0]);
	NEARLY(h.p[0].used[0], 0);
	h.p[0].used[0] = 1000;
	policy_debtr.account(&h.w, &policy_debtr); /* no time has passed */
	NEARLY(h.p[0].used[0], 1000);
}
END_TEST

/* Weighted by speed: a second of the coprocessor counts as four of a CPU. */
START_TEST(debtr_counts_speed)
{
	struct policy_host h;
	struct run_list list;

	debts_host(&h)->w.nrsc = 2;
	for (int i = 0; i < 2; i++)
		debts_task(&h, i, 1e5);
	for (int k = 0; k < 2; k++) {
		h.p[0].acct.ltd[0] = k == 0 ? -3999 : -4001;
		h.p[1].acct.ltd[1] = -1000;
		rr_simulate(&h.w, &h.a, &h.rr);
		policy_debtr.order(&h.w, &policy_debtr, &h.a, &h.rr, &list);
		ck_assert_uint_eq(list.item[0].task, k);
	}
	h.w.nrsc = 1; /* a slice of one CPU is a slice of debt */
	debts_task(&h, 0, 1e5);
	debts_task(&h, 1, 1e5);
	h.p[0].acct.ltd[0] = 0;
	for (int k = 0; k < 2; k++) {
		h.p[1].acct.ltd[0] = k == 0 ? -SLICE - 1 : -SLICE + 1;
		rr_simulate(&h.w, &h.a, &h.rr);
		policy_debtr.order(&h.w, &policy_debtr, &h.a, &h.rr, &list);
		ck_assert_uint_eq(list.item[1].task, k == 0 ? 2 : 1);
	}
	arena_free(&h.a);
}
END_TEST

/* --- whom debt1 asks --- */

/* Each project that is not overworked gets its shortfall's part of what is lacking; the
 * one with the greatest debt and shortfall is asked. */
START_TEST(debt1_requests)
{
	struct policy_host h;
	struct contact c;

	c = debts_next(debts_host(&h), &policy_debt1);
	ck_assert_int_eq(c.project, 0); /* it lacks 3000 s of its own */
	NEARLY(c.ask.secs[0], 3000);
	h.p[0].acct.delay_bound_s = 400; /* debt1:deadlines: in two CPUs' time */
	NEARLY(debts_next(&h, &policy_debt1).ask.secs[0], 3000);
	h.p[1].no_new_work = true;
	NEARLY(debts_next(&h, &policy_debt1_deadlines).ask.secs[0], 800);
	h.p[1].no_new_work = false;
	h.p[0].acct.delay_bound_s = 0;
	h.p[1].acct.ltd[0] = 2001;
	c = debts_next(&h, &policy_debt1);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 1000);
	NEARLY(policy_host_along(&h, &policy_debt1, 0).secs[0], 3000);
	h.p[1].acct.ltd[0] = 1999;
	ASKS(&h, &policy_debt1, 0);
	h.p[0].acct.ltd[0] = -SLICE; /* just not overworked */
	h.p[1].acct.ltd[0] = -SLICE;
	ASKS(&h, &policy_debt1, 0);
	h.p[0].acct.ltd[0] = -SLICE - 1;
	c = debts_next(&h, &policy_debt1);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 4000);
	h.p[1].acct.ltd[0] = -SLICE - 2; /* all are: by share */
	c = debts_next(&h, &policy_debt1);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 3000);
	arena_free(&h.a);
}
END_TEST

/* All are overworked, and 0 has the tasks for its share: all of what is lacking by
 * share, or, with deadlines, to whom it is lacking. */
START_TEST(debt1_all_overworked)
{
	struct policy_host h;

	debts_host(&h)->w.rsc[0].ninst = 4;
	for (int i = 0; i < 3; i++)
		debts_task(&h, 0, 1e6);
	h.p[0].acct.ltd[0] = h.p[1].acct.ltd[0] = -SLICE - 1;
	ASKS(&h, &policy_debt1, 1);
	NEARLY(debts_next(&h, &policy_debt1).ask.secs[0], 500);
	ASKS(&h, &policy_debt1_deadlines, 1);
	NEARLY(debts_next(&h, &policy_debt1_deadlines).ask.secs[0], 2000);
	arena_free(&h.a);
}
END_TEST

/* Not within five minutes unless a CPU is idle, and not while the buffer is full. */
START_TEST(debt1_pauses)
{
	struct policy_host h;
	struct contact c;

	debts_task(debts_host(&h), 0, 1500);
	debts_task(&h, 1, 1500);
	ck_assert_int_ne(debts_next(&h, &policy_debt1).project, -1);
	h.w.asked_at = NOW - 299;
	c = debts_next(&h, &policy_debt1);
	ck_assert_int_eq(c.project, -1);
	NEARLY(c.recheck_at, NOW + 1);
	h.w.asked_at = NOW - 300;
	ck_assert_int_ne(debts_next(&h, &policy_debt1).project, -1);
	h.t[0].remaining_s = h.t[1].remaining_s = 2001;
	c = debts_next(&h, &policy_debt1);
	ck_assert_int_eq(c.project, -1);
	NEARLY(c.recheck_at, NOW + 1);
	arena_free(&h.a);
}
END_TEST

/* --- whom debtR asks --- */

/* An overworked project, by more than a day, is not asked to fill the buffer ... */
START_TEST(debtr_overworked)
{
	struct policy_host h;

	debts_task(debts_host(&h), 0, 1500);
	debts_task(&h, 0, 1500);
	h.w.nprojects = 1;
	ASKS(&h, &policy_debtr, 0);
	h.p[0].acct.ltd[0] = -DAY;
	ASKS(&h, &policy_debtr, 0);
	h.p[0].acct.ltd[0] = -DAY - 0.5;
	ASKS(&h, &policy_debtr, -1);
	h.w.prefs.extra_s = DAY; /* ... nor by more than the buffer and a slice */
	ASKS(&h, &policy_debtr, 0);
	h.p[0].acct.ltd[0] = -DAY - 1000 - SLICE;
	ASKS(&h, &policy_debtr, 0);
	h.p[0].acct.ltd[0]--;
	ASKS(&h, &policy_debtr, -1);
	h.t[0].remaining_s = 900; /* but below the low-water mark */
	ASKS(&h, &policy_debtr, 0);
	arena_free(&h.a);
}
END_TEST

/* Below the low-water mark at most the project's part of the buffer; above it, all that
 * is lacking; and a project without tasks is asked when nothing is. */
START_TEST(debtr_steps)
{
	struct policy_host h;
	struct contact c;

	c = debts_next(debts_host(&h), &policy_debtr); /* idle */
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 3000);
	NEARLY(c.ask.inst[0], 2);
	h.p[0].acct.ltd[0] = -1;
	c = debts_next(&h, &policy_debtr);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 1000);
	NEARLY(c.ask.inst[0], 1);
	debts_task(&h, 0, 900); /* below */
	debts_task(&h, 0, 900);
	c = debts_next(&h, &policy_debtr);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 1000);
	h.t[0].remaining_s = h.t[1].remaining_s = 1000; /* above */
	c = debts_next(&h, &policy_debtr);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 2000);
	h.t[0].remaining_s = h.t[1].remaining_s = 2000; /* full */
	c = debts_next(&h, &policy_debtr);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 1000);
	NEARLY(c.ask.inst[0], 1);
	debts_task(&h, 0, 2000)->running = false;
	debts_task(&h, 0, 1500)->running = false; /* room for 500 s */
	NEARLY(debts_next(&h, &policy_debtr).ask.secs[0], 500);
	h.t[3].project = 1; /* it has one */
	ASKS(&h, &policy_debtr, -1);
	ck_assert_int_eq(policy_host_along(&h, &policy_debtr, 1).project, -1);
	h.t[3].project = 0;
	NEARLY(policy_host_along(&h, &policy_debtr, 1).secs[0], 500);
	ck_assert_int_eq(policy_host_along(&h, &policy_debtr, 0).project, -1);
	arena_free(&h.a);
}
END_TEST

/* No variety while tasks in danger take every CPU. */
START_TEST(debtr_in_danger)
{
	struct policy_host h;

	debts_task(debts_host(&h), 0, 3000)->deadline = NOW + 100;
	debts_task(&h, 0, 3000);
	ASKS(&h, &policy_debtr, 1);
	h.t[1].deadline = NOW + 100;
	ASKS(&h, &policy_debtr, -1);
	arena_free(&h.a);
}
END_TEST

/* --- classic --- */

/* The greatest share over recent use; one that used nothing comes first, and of those
 * the one with the greater share; a backup project last. */
START_TEST(classic_order)
{
	struct policy_host h;

	debts_host(&h)->p[0].used[0] = 100; /* within 1000 s, evenly */
	policy_classic.account(&h.w, &policy_classic);
	NEARLY(h.p[0].acct.exp_avg_cpu,
	    100 * (1 - exp(-1000 / (7 * DAY))) / (1000 / (7 * DAY)));
	NEARLY(h.p[0].used[0], 0);
	h.p[0].acct.exp_avg_cpu = 31;
	h.p[1].acct.exp_avg_cpu = 10;
	ASKS(&h, &policy_classic, 1);
	h.p[0].acct.exp_avg_cpu = 29;
	ASKS(&h, &policy_classic, 0);
	h.p[1].acct.exp_avg_cpu = 0;
	ASKS(&h, &policy_classic, 1);
	h.p[1].acct.exp_avg_cpu = 0.2; /* 5 */
	h.p[0].acct.exp_avg_cpu = 0.9; /* 3 / 0.9 */
	ASKS(&h, &policy_classic, 1);
	h.p[0].acct.exp_avg_cpu = 0;
	ASKS(&h, &policy_classic, 0);
	h.p[1].acct.exp_avg_cpu = 0;
	h.p[1].share = 4;
	ASKS(&h, &policy_classic, 1);
	h.p[1].share = 0;
	ASKS(&h, &policy_classic, 0);
	h.p[0].acct.exp_avg_cpu = 1e9;
	ASKS(&h, &policy_classic, 0);
	arena_free(&h.a);
}
END_TEST

/* Tasks run in order of arrival, those that run first. */
START_TEST(classic_runs)
{
	struct policy_host h;
	struct run_list list;

	debts_host(&h);
	for (int i = 0; i < 5; i++)
		debts_task(&h, 0, 1e5)->running = i == 2 || i == 4;
	h.t[1].suspended = h.t[4].suspended = true;
	policy_classic.order(&h.w, &policy_classic, &h.a, &h.rr, &list);
	ck_assert_uint_eq(list.n, 3);
	ck_assert(list.item[0].task == 2 && list.item[0].edf);
	ck_assert(list.item[1].task == 0 && !list.item[1].edf);
	ck_assert(list.item[2].task == 3);
	arena_free(&h.a);
}
END_TEST

/* A session begins below the low-water mark and asks up to the high one, each project
 * once. */
START_TEST(classic_sessions)
{
	struct policy_host h;
	struct contact c;

	debts_task(debts_host(&h), 0, 1000);
	debts_task(&h, 0, 1000);
	c = debts_next(&h, &policy_classic);
	ck_assert_int_eq(c.project, -1);
	h.t[0].remaining_s = 999;
	debts_task(&h, 0, 1e6)->nci = true; /* no work for the CPUs */
	c = debts_next(&h, &policy_classic);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 4000 - 1999);
	h.t[0].remaining_s = 1001;
	h.w.in_session = h.p[0].rpc.in_session = true;
	policy_classic.account(&h.w, &policy_classic);
	c = debts_next(&h, &policy_classic);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 4000 - 2001);
	h.t[0].remaining_s = 2999;
	policy_classic.account(&h.w, &policy_classic);
	ck_assert(h.w.in_session);
	h.t[0].remaining_s = 3000;
	policy_classic.account(&h.w, &policy_classic);
	ck_assert(!h.w.in_session && !h.p[0].rpc.in_session);
	h.t[0].remaining_s = 1001;
	h.w.in_session = h.p[0].rpc.in_session = h.p[1].rpc.in_session = true;
	policy_classic.account(&h.w, &policy_classic); /* nobody is left */
	ck_assert(!h.w.in_session && !h.p[1].rpc.in_session);
	c = debts_next(&h, &policy_classic);
	ck_assert_int_eq(c.project, -1);
	NEARLY(c.recheck_at, NOW + 0.5);
	h.w.rsc[0].avail = 0.5; /* half of the time: twice the work */
	c = debts_next(&h, &policy_classic);
	ck_assert_int_eq(c.project, -1);
	NEARLY(c.recheck_at, NOW + (2001 - 1000) * 0.5);
	arena_free(&h.a);
}
END_TEST

/* A report asks for work if its project has the greatest debt. */
START_TEST(classic_reports)
{
	struct policy_host h;

	debts_host(&h)->p[0].acct.exp_avg_cpu = 31;
	h.p[1].acct.exp_avg_cpu = 10;
	NEARLY(policy_host_along(&h, &policy_classic, 1).secs[0], 4000);
	ck_assert_int_eq(policy_host_along(&h, &policy_classic, 0).project, -1);
	h.p[0].acct.exp_avg_cpu = 30;
	NEARLY(policy_host_along(&h, &policy_classic, 0).secs[0], 4000);
	NEARLY(policy_host_along(&h, &policy_classic, 1).secs[0], 4000);
	arena_free(&h.a);
}
END_TEST

UNIT_MAIN("policies with debts", {
	ADD_LOOP(debt1_by_table, N(debt1));
	ADD(debt1_limits);
	ADD(backup_projects_take_turns);
	ADD(backup_tasks_run_last);
	ADD_LOOP(debtr_by_table, N(debtr));
	ADD(debtr_counts_speed);
	ADD(debt1_requests);
	ADD(debt1_all_overworked);
	ADD(debt1_pauses);
	ADD(debtr_overworked);
	ADD(debtr_steps);
	ADD(debtr_in_danger);
	ADD(classic_order);
	ADD(classic_runs);
	ADD(classic_sessions);
	ADD(classic_reports);
})
