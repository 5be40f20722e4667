/* SPDX-License-Identifier: Apache-2.0 */
/* Policy window: the balance, what runs, and the plan of the buffer, with values from
 * its description (rules/client/window.c, locus-client-policies(7)). */
#include "test/unit/policy_host.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

static const double NOW = HOST_NOW, SLICE = HOST_SLICE, H = 3600, DAY = 86400;
/* Shares 3 and 1, balances of 0. */
static struct policy_host *window_host(struct policy_host *h)
{
	policy_host(h, 3, 1, 4);
	h->p[0].acct.known = h->p[1].acct.known = true;
	return h;
}

static void account_now(struct policy_host *h)
{
	policy_window.account(&h->w, &policy_window);
}

/* --- the balance --- */

START_TEST(owed_is_entitlement_less_use)
{
	struct policy_host h;

	window_host(&h)->w.rsc[0].flops = 2;
	h.p[0].used[0] = 100;
	h.p[1].acct.owed = 7;
	account_now(&h);
	NEARLY(h.p[0].acct.owed, 0.75 * 200 - 200);
	NEARLY(h.p[1].acct.owed, 7 + 0.25 * 200);
	NEARLY(h.p[0].used[0], 0);
	account_now(&h);
	NEARLY(h.p[0].acct.owed, -50);
	h.w.nrsc = 2; /* a coprocessor of 4 beside CPUs of 4; both count */
	h.p[0].used[0] = 10;
	h.p[0].used[1] = 20;
	account_now(&h);
	NEARLY(h.p[0].acct.owed, -50 + 0.75 * 100 - 100);
	NEARLY(h.p[1].acct.owed, 57 + 0.25 * 100);
	h.p[0].suspended = true; /* entitled to nothing */
	h.p[1].used[1] = 10;
	account_now(&h);
	NEARLY(h.p[0].acct.owed, -75);
	NEARLY(h.p[1].acct.owed, 82);
}
END_TEST

/* What a backup project uses counts as taken from the others, unless memory kept them
 * from using it. */
START_TEST(owed_beside_a_backup_project)
{
	struct policy_host h;

	window_host(&h)->w.prefs.ram_bytes = 8;
	h.p[0].acct.rss_bytes = 4;
	h.p[1].share = 0;
	h.p[1].used[0] = 100;
	account_now(&h);
	NEARLY(h.p[0].acct.owed, 100);
	h.p[0].acct.rss_bytes = 4.1; /* two do not fit */
	h.p[0].used[0] = 10;
	h.p[1].used[0] = 100;
	account_now(&h);
	NEARLY(h.p[0].acct.owed, 100);
}
END_TEST

START_TEST(a_year_at_most)
{
	struct policy_host h;
	const double most = 366 * DAY * 2;

	window_host(&h)->p[0].acct.owed = most - 10;
	h.p[1].acct.owed = -most + 10;
	h.p[1].used[0] = 100;
	account_now(&h);
	NEARLY(h.p[0].acct.owed, most);
	NEARLY(h.p[1].acct.owed, -most);
	h.p[0].used[0] = 100;
	account_now(&h);
	NEARLY(h.p[0].acct.owed, most - 25);
	NEARLY(h.p[1].acct.owed, -most + 25);
}
END_TEST

/* Level with the project that is owed most for its share, of those that can use
 * something. */
START_TEST(new_projects)
{
	struct policy_host h;

	window_host(&h)->w.nprojects = 3;
	h.p[0].acct.owed = 60;
	h.p[1].acct.owed = 15;
	h.p[2].share = 2;
	account_now(&h);
	ck_assert(h.p[2].acct.known);
	NEARLY(h.p[2].acct.owed, 40);
	h.p[2].acct.known = false;
	h.p[0].suspended = true;
	account_now(&h);
	NEARLY(h.p[2].acct.owed, 30);
	h.p[2].acct.known = false;
	h.p[1].acct.owed = -15;
	account_now(&h);
	NEARLY(h.p[2].acct.owed, -30);
	h.p[2].acct.known = h.p[0].acct.known = h.p[1].acct.known = false;
	h.p[0].suspended = false;
	account_now(&h);
	NEARLY(h.p[0].acct.owed, 0);
	NEARLY(h.p[2].acct.owed, 0);
}
END_TEST

static const struct {
	const char *what;
	struct cw_project p;
	bool task; /* it has a CPU task */
	unsigned can;
} users[] = {
	{ "may be asked for all", { .share = 1 }, false, 3 },
	{ "a backup project", { .share = 0 }, true, 0 },
	{ "not CPU-intensive", { .share = 1, .nci = true }, false, 0 },
	{ "suspended", { .share = 1, .suspended = true }, true, 0 },
	{ "CPU excluded", { .share = 1, .rsc[0].excluded = true }, true, 2 },
	{ "no new work", { .share = 1, .no_new_work = true }, false, 0 },
	{ "no new work, but a task", { .share = 1, .no_new_work = true }, true, 1 },
	{ "no apps for the CPU", { .share = 1, .rsc[0].no_apps = true }, false, 2 },
	{ "but a task", { .share = 1, .rsc[0].no_apps = true }, true, 3 },
	{ "does not answer for ten days",
	    { .share = 1, .rpc = { .nrpc_failures = 1, .last_contact = 1e8 - 864000 } },
	    false, 3 },
	{ "for longer",
	    { .share = 1, .rpc = { .nrpc_failures = 1, .last_contact = 1e8 - 864001 } },
	    false, 0 },
	{ "was not contacted for longer", { .share = 1, .rpc.last_contact = 1 }, false,
	    3 },
	{ "gave none when asked", { .share = 1, .rsc[0].backoff_s = 0.5 }, false, 2 },
	{ "gave some before",
	    { .share = 1, .rsc[0].backoff_s = 21599, .acct.gave[0] = true }, false, 3 },
	{ "but none for hours",
	    { .share = 1, .rsc[0].backoff_s = 21600, .acct.gave[0] = true }, false, 2 },
	{ "deadlines keep it from sending",
	    { .share = 1,
		.rpc.latency_limited_until = 1e8 + 1,
		.rsc = { { .backoff_s = 600 }, { .backoff_s = 600 } } },
	    false, 1 },
	{ "it gave tasks for the coprocessor",
	    { .share = 1,
		.rpc.latency_limited_until = 1e8 + 1,
		.rsc = { { .backoff_s = 30000 }, { .backoff_s = 30000 } },
		.acct.gave[1] = true },
	    false, 3 },
	{ "they no longer do",
	    { .share = 1,
		.rpc.latency_limited_until = 1e8,
		.rsc = { { .backoff_s = 600 }, { .backoff_s = 600 } } },
	    false, 0 },
};

START_TEST(users_by_table)
{
	struct policy_host h;

	window_host(&h)->w.nrsc = 2;
	h.p[1] = users[_i].p;
	if (users[_i].task)
		policy_host_task(&h, 1, 100);
	account_now(&h);
	ck_assert_msg(h.p[1].acct.usable_mask == users[_i].can, "%s: %u",
	    users[_i].what, h.p[1].acct.usable_mask);
}
END_TEST

/* --- what runs --- */

#define RUNS(h, want) policy_host_runs(h, &policy_window, want, __LINE__)

START_TEST(order_of_tasks)
{
	struct policy_host h;

	window_host(&h);
	for (int i = 0; i < 6; i++)
		policy_host_task(&h, i / 3, 1e5);
	/* One CPU is the first's; a slice counts a third of what it does for the other.
	 */
	RUNS(&h, "adbc");
	h.p[1].acct.owed = 1e6;
	RUNS(&h, "adef");
	h.p[0].acct.owed = 3e6 + 3 * 1100; /* less than a slice more, for its share */
	RUNS(&h, "adbc");
	h.p[0].acct.owed = 3e6 + 3 * 1300;
	RUNS(&h, "abdc");
	h.p[1].acct.owed = 0;
	RUNS(&h, "abcd");
	h.p[0].acct.owed = -SLICE + 1;
	RUNS(&h, "adbc");
	h.p[0].acct.owed = -SLICE; /* its own CPU is no longer its own */
	RUNS(&h, "dabc");
	h.p[0].acct.owed = -SLICE - 1; /* nor is the second place */
	RUNS(&h, "dabe");
	h.p[0].acct.owed = 0;
	h.p[0].share = 0; /* a backup project comes last */
	RUNS(&h, "defa");
	h.p[0].acct.owed = 1e9;
	RUNS(&h, "defa");
	arena_free(&h.a);
}
END_TEST

/* The second project is owed more. The first has run two tasks, of which one has
 * ended: times are in s before now; the turn before it ended at turn_end. */
static const struct {
	const char *what;
	double run_since, turn_end, later; /* later: after the end of the task */
	int32_t rsc;
	const char *order;
} turns[] = {
	{ "goes on with another task", 900, 1e5, 0, CW_CPU, "abde" },
	{ "as long as it takes to start it", 900, 1e5, 10, CW_CPU, "abde" },
	{ "for no longer", 900, 1e5, 11, CW_CPU, "adef" },
	{ "its slice is over", HOST_SLICE, 1e5, 0, CW_CPU, "adef" },
	{ "almost", HOST_SLICE - 1, 1e5, 0, CW_CPU, "abde" },
	{ "the slice began with an earlier task", 900, -1, 0, CW_CPU, "abde" },
	{ "and is over", 900, 0, 0, CW_CPU, "adef" },
	{ "and was over when the task started", 900, 900, 0, CW_CPU, "abde" },
	{ "coprocessors do not count", 900, 1e5, 0, CW_CPU + 1, "adef" },
};

START_TEST(projects_take_turns)
{
	struct policy_host h;
	struct cw_task ended = { .rsc = turns[_i].rsc, .use = 1 };

	window_host(&h)->w.nrsc = 2;
	for (int i = 0; i < 6; i++)
		policy_host_task(&h, i / 3, 1e5);
	h.t[0].running = true;
	h.p[1].acct.owed = 1e6;
	h.p[0].acct.turn.ends = NOW - turns[_i].turn_end;
	ended.run_since = NOW - turns[_i].run_since;
	contact_task_done(&h.w, &ended);
	account_now(&h);
	h.w.now += turns[_i].later;
	account_now(&h);
	policy_host_runs(&h, &policy_window, turns[_i].order, _i);
	arena_free(&h.a);
}
END_TEST

/* --- the plan of the buffer --- */

static struct work_ask plan_for(struct policy_host *h, size_t project)
{
	struct work_ask ask = { .project = -1 };

	account_now(h);
	rr_simulate(&h->w, &h->a, &h->rr);
	policy_window.piggyback(&h->w, &policy_window, &h->a, &h->rr, project, &ask);
	return ask;
}

/* What the projects' parts lack, in s. */
static void lacks(struct policy_host *h, double first, double second, int line)
{
	double got[] = { plan_for(h, 0).secs[0], plan_for(h, 1).secs[0] };

	ck_assert_msg(fabs(got[0] - first) < 1e-6 && fabs(got[1] - second) < 1e-6,
	    "line %d: %.9g and %.9g, not %.9g and %.9g", line, got[0], got[1], first,
	    second);
	ck_assert_int_eq(plan_for(h, 1).project, second > 0 ? 1 : -1);
}
#define LACKS(h, first, second) lacks(h, first, second, __LINE__)

/* The buffer is divided so that using it up would bring all balances to zero. */
START_TEST(buffer_by_balances)
{
	struct policy_host h;

	window_host(&h);
	LACKS(&h, 3000, 1000);
	h.p[1].acct.owed = 0.5;
	LACKS(&h, 2999.625, 1000.375);
	h.p[1].acct.owed = 400;
	LACKS(&h, 2700, 1300);
	h.w.rsc[0].flops = 2; /* 400 operations take 200 s */
	LACKS(&h, 2850, 1150);
	h.p[1].acct.owed = -2 * SLICE;
	LACKS(&h, 3000, 1000);
	h.w.rsc[0].flops = 1;
	h.p[1].acct.owed = -10; /* no reason to ask for less */
	LACKS(&h, 3000, 1000);
	h.p[1].acct.owed = -SLICE;
	LACKS(&h, 3000, 1000);
	h.p[1].acct.owed = -SLICE - 400;
	LACKS(&h, 3300, 700);
	h.p[1].acct.owed = -SLICE - 10000; /* not less than nothing */
	LACKS(&h, 4000, 0);
	h.p[1].acct.owed = 0;
	h.p[0].suspended = true;
	LACKS(&h, 0, 4000);
	h.p[0].suspended = false;
	h.p[1].share = 0; /* now a backup project, with a claim of old */
	h.p[1].acct.owed = 400;
	LACKS(&h, 4000, 0);
	arena_free(&h.a);
}
END_TEST

/* Tasks at hand count, for no longer than the buffer; who has more than its part is set
 * aside. */
START_TEST(buffer_with_tasks)
{
	struct policy_host h;

	policy_host_task(window_host(&h), 0, 500)->running = true;
	LACKS(&h, 2500, 1000);
	h.t[0].use = h.t[0].ncpus = 2;
	LACKS(&h, 2000, 1000);
	h.t[0].use = h.t[0].ncpus = 1;
	h.t[0].remaining_s = 1e6;
	LACKS(&h, 1000, 1000);
	h.t[0].downloading = true;
	LACKS(&h, 1000, 1000);
	h.t[0].nci = true;
	LACKS(&h, 3000, 1000);
	h.t[0].nci = h.t[0].downloading = false;
	policy_host_task(&h, 0, 1500);
	h.t[0].remaining_s = 1900;
	LACKS(&h, 0, 600);
	policy_host_task(&h, 1, 100);
	LACKS(&h, 0, 500);
	h.t[2].remaining_s = 540; /* less than a tenth of its part is lacking */
	LACKS(&h, 0, 0);
	h.t[1].suspended = true;
	LACKS(&h, 1100, 460);
	arena_free(&h.a);
}
END_TEST

/* A project with close deadlines gets what it can do in time: at the pace of its part
 * of the buffer, or of the host if it is owed work, and at that of its share plus what
 * it is owed. What that leaves of the low-water mark goes to the others. */
START_TEST(buffer_and_deadlines)
{
	struct policy_host h;

	window_host(&h)->p[1].acct.delay_bound_s = 400;
	LACKS(&h, 3000, 200); /* 1000 * 400 / 2000 */
	h.p[1].acct.owed = 100;
	LACKS(&h, 2925, 300);
	h.p[1].acct.owed = 1000; /* two CPUs for 400 s */
	LACKS(&h, 2250, 800);
	h.w.rsc[0].avail = 0.5; /* the host pauses: 2500 * 200 / 2000 */
	LACKS(&h, 2000, 250);
	h.w.rsc[0].avail = 1;
	h.w.nprojects = 3; /* a backup project */
	h.p[2].share = 0;
	LACKS(&h, 2250, 350);
	h.p[2].share = 1;
	h.w.nprojects = 2;
	h.p[1].acct.owed = 0;
	h.p[0].acct.delay_bound_s = 800; /* 3000 * 800 / 2000 */
	LACKS(&h, 1200, 200);
	h.p[1].acct.delay_bound_s = 0; /* 2000 s are the low-water mark */
	LACKS(&h, 1200, 1000);
	h.p[0].acct.delay_bound_s = 400;
	LACKS(&h, 600, 1400);
	h.p[1].acct.delay_bound_s = 2000;
	LACKS(&h, 600, 1400);
	h.p[1].acct.delay_bound_s = 0;
	h.p[1].rpc.nrpc_failures = 1; /* it does not answer: its part is not counted */
	LACKS(&h, 600, 1000);
	h.p[1].rpc.nrpc_failures = 0;
	h.w.nprojects = 3;
	h.p[2].acct.known =
	    true; /* shares 3, 1, 1 of 4000: 2400 * 400 / 2000, 800, 800 */
	h.p[0].acct.delay_bound_s = 200;
	LACKS(&h, 240, 880);
	h.p[2].rpc.nrpc_failures = 1;
	h.p[2].rpc.last_contact = NOW;
	LACKS(&h, 240, 1760);
	h.p[2].rpc.nrpc_failures = 0;
	h.p[2].rpc.master_pending = true;
	LACKS(&h, 240, 1760);
	arena_free(&h.a);
}
END_TEST

/* A project that has no task and is owed work gets its part although others have more
 * than theirs, as far as there is room beside the tasks that wait. */
START_TEST(taskless_projects)
{
	struct policy_host h;

	window_host(&h)->p[1].acct.owed = 10;
	for (int i = 0; i < 2; i++)
		policy_host_task(&h, 0, 1e6)->running = true;
	LACKS(&h, 0, 1000);
	h.p[1].acct.owed = 0.5;
	LACKS(&h, 0, 1000);
	h.p[1].acct.owed = 0;
	LACKS(&h, 0, 0);
	h.p[1].acct.owed = 10;
	policy_host_task(&h, 0, 2000);
	policy_host_task(&h, 0, 1400);
	LACKS(&h, 0, 600);
	h.t[3].remaining_s = 2000;
	LACKS(&h, 0, 0);
	h.w.ntasks = 2;
	policy_host_task(&h, 1, 0.5); /* it has one, if only for half a second */
	LACKS(&h, 0, 0);
	arena_free(&h.a);
}
END_TEST

/* So does one with too few tasks for the whole instances of its share, unless it used
 * too much by a slice. */
START_TEST(too_few_tasks)
{
	struct policy_host h;

	window_host(&h)->p[1].share = 3;
	for (int i = 0; i < 2; i++)
		policy_host_task(&h, 0, 1e6)->running = true;
	policy_host_task(&h, 1, 999);
	LACKS(&h, 0, 1001);
	h.t[2].remaining_s = 1000; /* the low-water mark of one CPU */
	LACKS(&h, 0, 0);
	h.t[2].remaining_s = 500;
	LACKS(&h, 0, 1500);
	h.p[1].acct.owed = -SLICE + 1;
	LACKS(&h, 0, 1500);
	h.p[1].acct.owed = -SLICE;
	LACKS(&h, 0, 0);
	h.w.rsc[0].flops = 2;
	h.p[1].acct.owed = -2 * SLICE + 1;
	LACKS(&h, 0, 1500);
	h.w.rsc[0].flops = 1;
	h.p[1].acct.owed = 0;
	h.p[1].share = 2.9; /* not one whole CPU */
	LACKS(&h, 0, 0);
	arena_free(&h.a);
}
END_TEST

/* Two CPUs: great tasks are asked for as far as small ones can use the other CPU beside
 * them; the project with the smallest tasks gets enough for both CPUs until the
 * low-water mark, unless a backup project has smaller ones. */
static const struct {
	const char *what;
	double ram, rss[3], backoff_s; /* of the backup project, the third */
	double lacks[2];
} memory[] = {
	{ "no limit", 0, { 6, 1 }, 0, { 3000, 1000 } },
	{ "all fit", 12, { 6, 1 }, 0, { 3000, 1000 } },
	{ "one great task fits beside a small one", 7, { 6, 1 }, 0, { 2000, 2000 } },
	{ "none does", 6.9, { 6, 1 }, 0, { 0, 2000 } },
	{ "beside a task of the backup project", 6.5, { 6, 1, 0.5 }, 0,
	    { 2000, 1000 } },
	{ "which has none now", 6.5, { 6, 1, 0.5 }, 600, { 0, 2000 } },
	{ "its needs are unknown", 6.5, { 6, 1, -1 }, 0, { 2000, 1000 } },
	{ "the needs of one are unknown", 6.5, { 6, 0 }, 0, { 2000, 1000 } },
};

START_TEST(memory_by_table)
{
	struct policy_host h;

	window_host(&h)->w.prefs.ram_bytes = memory[_i].ram;
	h.p[2].share = 0;
	h.p[2].rsc[0].backoff_s = memory[_i].backoff_s;
	h.w.nprojects = memory[_i].rss[2] != 0 ? 3 : 2;
	for (size_t i = 0; i < 3; i++)
		h.p[i].acct.rss_bytes = fmax(0, memory[_i].rss[i]);
	lacks(&h, memory[_i].lacks[0], memory[_i].lacks[1], _i);
	arena_free(&h.a);
}
END_TEST

/* Backup projects that cannot be asked for small tasks. */
static const struct cw_project no_help[] = {
	{ .suspended = true },
	{ .no_new_work = true },
	{ .rsc[0].no_apps = true },
	{ .rsc[0].excluded = true },
	{ .rpc.nrpc_failures = 1 },
};

START_TEST(backup_projects_without_help)
{
	struct policy_host h;

	window_host(&h)->w.prefs.ram_bytes = 6.5;
	h.w.nprojects = 3;
	h.p[2] = no_help[_i];
	h.p[0].acct.rss_bytes = 6;
	h.p[1].acct.rss_bytes = 1;
	h.p[2].acct.rss_bytes = 0.5;
	lacks(&h, 0, 2000, _i);
	arena_free(&h.a);
}
END_TEST

/* --- whom to ask, and when --- */

static struct contact window_next(struct policy_host *h)
{
	account_now(h);
	return policy_host_next(h, &policy_window);
}

/* The one that lacks the greatest part of what it should have. */
START_TEST(whom_to_ask)
{
	struct policy_host h;
	struct contact c;

	policy_host_task(window_host(&h), 0, 1400);
	policy_host_task(&h, 1, 500);
	c = window_next(&h); /* 1600 of 3000, 500 of 1000 */
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 1600);
	NEARLY(c.ask.inst[0], 1); /* 1.5 CPUs, and a task on one */
	h.t[1].remaining_s = 400;
	c = window_next(&h); /* 1600 of 3000, 600 of 1000 */
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 600);
	h.p[1].rsc[0].backoff_until = NOW + 1;
	ck_assert_int_eq(window_next(&h).project, 0);
	arena_free(&h.a);
}
END_TEST

/* No task for an instance that a limit keeps from the project. */
START_TEST(instances_within_limits)
{
	struct policy_host h;

	window_host(&h)->p[0].max_concurrent = 1;
	NEARLY(plan_for(&h, 0).inst[0], 1); /* not 2, its part of the two CPUs */
	policy_host_task(&h, 0, 100);
	NEARLY(plan_for(&h, 0).inst[0], 0);
	arena_free(&h.a);
}
END_TEST

/* While the buffer is above its low-water mark, only a project whose own part is below
 * that, or that has too few tasks for its CPUs. */
START_TEST(when_to_ask)
{
	struct policy_host h;

	window_host(&h);
	for (int i = 0; i < 2; i++)
		policy_host_task(&h, 0, 1200);
	policy_host_task(&h, 1, 600);
	ck_assert_int_eq(
	    window_next(&h).why, CONTACT_NONE); /* 2400 of 3000, 600 of 1000 */
	h.t[2].remaining_s = 499; /* less than half is the low-water mark */
	ck_assert_int_eq(window_next(&h).project, 1);
	h.t[2].remaining_s = 500;
	ck_assert_int_eq(window_next(&h).why, CONTACT_NONE);
	h.t[0].remaining_s = h.t[1].remaining_s =
	    760; /* below the mark: 2020 of 4000 */
	ck_assert_int_eq(window_next(&h).why, CONTACT_NONE);
	h.t[0].remaining_s = h.t[1].remaining_s = 740;
	ck_assert_int_ne(window_next(&h).why, CONTACT_NONE);
	h.w.ntasks = 2;
	h.t[0].remaining_s = 1e6; /* 0 has one task for 1.5 CPUs, but lacks 100 s */
	h.t[1].project = 1;
	h.t[1].remaining_s = 1900;
	ck_assert_int_eq(window_next(&h).why, CONTACT_NONE);
	h.t[1].remaining_s = 1700;
	ck_assert_int_eq(window_next(&h).project, 0);
	arena_free(&h.a);
}
END_TEST

/* For an idle instance, whatever the balances: who lacks instances of its share, then
 * who is owed most; a backup project last. */
START_TEST(idle_instances)
{
	struct policy_host h;
	struct contact c;

	window_host(&h);
	h.w.prefs.min_s = h.w.prefs.extra_s = 0; /* no part lacks anything */
	c = window_next(&h);
	ck_assert_int_eq(c.why, CONTACT_WORK);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 1);
	NEARLY(c.ask.inst[0], 2);
	h.p[1].acct.owed = 1;
	h.p[0].share = 9;
	ck_assert_int_eq(
	    window_next(&h).project, 0); /* 1.8 CPUs, and not even half of one */
	h.p[0].share = h.p[1].share = 3;
	ck_assert_int_eq(window_next(&h).project, 1); /* one each */
	h.p[0].acct.owed = 2;
	ck_assert_int_eq(window_next(&h).project, 0);
	h.p[0].share = 9; /* for its share this is less; 1.5 CPUs, and 0.5 */
	policy_host_task(&h, 0, 100)->running = true;
	ck_assert_int_eq(window_next(&h).project, 1);
	h.p[0].share = 0;
	h.p[0].acct.owed = 1e9;
	ck_assert_int_eq(window_next(&h).project, 1);
	h.p[1].no_new_work = true;
	c = window_next(&h);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.inst[0], 1);
	arena_free(&h.a);
}
END_TEST

/* While a great task waits for memory, the first task is small, and small ones of a
 * project that used too much by a slice do not keep it waiting: a backup project comes
 * before it. */
START_TEST(idle_for_want_of_memory)
{
	struct policy_host h;

	window_host(&h)->w.prefs.ram_bytes = 8;
	for (int i = 0; i < 2; i++)
		policy_host_task(&h, 0, 5000)->rss_bytes = 5;
	h.t[0].running = true;
	h.p[1].acct.rss_bytes = 1;
	h.p[1].acct.owed = -SLICE + 1;
	ck_assert_int_eq(window_next(&h).project, 1);
	NEARLY(plan_for(&h, 1).secs[0], 2000); /* not the part of the other one, too */
	h.w.prefs.min_s = h.w.prefs.extra_s = 0;
	h.w.nprojects = 3;
	h.p[2].share = 0;
	ck_assert_int_eq(window_next(&h).project, 1);
	h.p[1].acct.owed = -SLICE - 1;
	ck_assert_int_eq(window_next(&h).project, 2);
	h.t[1].suspended = true; /* none waits, and one great task runs at a time */
	ck_assert_int_eq(window_next(&h).project, 1);
	arena_free(&h.a);
}
END_TEST

/* A project with too few tasks that is owed none now will be owed some in time. */
/* The second project refused tasks because of deadlines, and backs off. Three times 50
 * s of the first one's tasks are left. */
static const struct {
	const char *what;
	double queue_s, claim_s; /* of the refusal; from now */
	bool asked;
} refusals[] = {
	{ "most of the tasks are done", 301, 1, true },
	{ "half of them are left", 300, 1, false },
	{ "it has no claim any more", 301, 0, false },
};

START_TEST(refusals_by_table)
{
	struct policy_host h;

	window_host(&h)->p[0].no_new_work = true;
	for (int i = 0; i < 3; i++)
		policy_host_task(&h, 0, 50)->running = i < 2;
	h.p[1].acct.gave[0] = true;
	h.p[1].rsc[0].backoff_s = 86400;
	h.p[1].rsc[0].backoff_until = NOW + 9000;
	h.p[1].rpc.latency_limited_until = NOW + refusals[_i].claim_s;
	h.p[1].rpc.refused_queue_s = refusals[_i].queue_s;
	account_now(&h);
	ck_assert_msg(policy_host_next(&h, &policy_window).why ==
			  (refusals[_i].asked ? CONTACT_WORK : CONTACT_NONE),
	    "%s", refusals[_i].what);
	arena_free(&h.a);
}
END_TEST

START_TEST(when_to_look_again)
{
	struct policy_host h;

	window_host(&h)->p[1].acct.owed = -2 * SLICE;
	for (int i = 0; i < 3; i++)
		policy_host_task(&h, 0, 1e6);
	ck_assert_int_eq(window_next(&h).why, CONTACT_NONE);
	NEARLY(window_next(&h).recheck_at, NOW + SLICE);
	policy_host_task(&h, 1, 500); /* half a CPU at the low-water mark */
	ck_assert(window_next(&h).recheck_at > NOW + SLICE);
	h.t[3].remaining_s = 499;
	NEARLY(window_next(&h).recheck_at, NOW + SLICE);
	h.p[1].suspended = true; /* it has no part */
	ck_assert(window_next(&h).recheck_at > NOW + SLICE);
	arena_free(&h.a);
	window_host(&h)->p[0].acct.owed = -2 * SLICE; /* it may be any of them */
	for (int i = 0; i < 3; i++)
		policy_host_task(&h, 1, 1e6);
	NEARLY(window_next(&h).recheck_at, NOW + SLICE);
	arena_free(&h.a);
}
END_TEST

/* A request to a project counts for all processors, those with a back-off too. */
START_TEST(all_processors)
{
	struct policy_host h;
	struct contact c;

	window_host(&h)->w.nrsc = 2;
	h.p[1].rsc[0].excluded = true;
	h.p[0].rsc[1].backoff_until = NOW + H;
	c = window_next(&h);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 4000);
	NEARLY(c.ask.secs[1], 1500); /* three quarters of the coprocessor */
	NEARLY(c.ask.inst[1], 1);
	h.p[0].rsc[1].no_apps = true;
	c = window_next(&h);
	NEARLY(c.ask.secs[1], 0);
	NEARLY(plan_for(&h, 1).secs[1], 2000);
	arena_free(&h.a);
}
END_TEST

UNIT_MAIN("policy window", {
	ADD(owed_is_entitlement_less_use);
	ADD(owed_beside_a_backup_project);
	ADD(a_year_at_most);
	ADD(new_projects);
	ADD_LOOP(users_by_table, N(users));
	ADD(order_of_tasks);
	ADD_LOOP(projects_take_turns, N(turns));
	ADD(buffer_by_balances);
	ADD(buffer_with_tasks);
	ADD(buffer_and_deadlines);
	ADD(taskless_projects);
	ADD(too_few_tasks);
	ADD_LOOP(memory_by_table, N(memory));
	ADD_LOOP(backup_projects_without_help, N(no_help));
	ADD(whom_to_ask);
	ADD(instances_within_limits);
	ADD(when_to_ask);
	ADD(idle_instances);
	ADD(idle_for_want_of_memory);
	ADD_LOOP(refusals_by_table, N(refusals));
	ADD(when_to_look_again);
	ADD(all_processors);
})
