/* SPDX-License-Identifier: Apache-2.0 */
/* The words of client.md 0: which tasks and projects count, and what is counted of
 * them. */
#include "test/unit/unit.h"

#include <math.h>
#include "rules/client/policy.h"
#include "lib/banned.h"

enum { NOW = 5000 };
#define NEARLY(got, want)                                                              \
	ck_assert_msg(fabs((got) - (want)) < 1e-6, "line %d: %.12g, not %.12g",        \
	    __LINE__, (double)(got), (double)(want))

/* Two projects, and two tasks of the first. */
struct terms {
	struct cw_project p[2];
	struct cw_task t[2];
	struct client_world w;
};

static struct terms *two_tasks(struct terms *m)
{
	*m = (struct terms){ .p = { { .share = 1 }, { .share = 1 } } };
	m->w = (struct client_world){ .now = NOW,
		.rsc = { { "CPU", 2, 3, 1 }, { "GPU", 4, 5, 1 } },
		.nrsc = 2,
		.projects = m->p,
		.nprojects = 2,
		.tasks = m->t,
		.ntasks = 2 };
	m->t[0] = (struct cw_task){
		.use = 3, .ncpus = 3, .remaining_s = 10, .deadline = NOW + 100
	};
	m->t[1] = (struct cw_task){ .rsc = 1,
		.use = 4,
		.ncpus = 0.25,
		.remaining_s = 20,
		.deadline = NOW + 100 };
	return m;
}

/* --- contactable, potentially runnable --- */

static const struct {
	const char *what;
	struct cw_project p;
	bool contactable, sharing, with_a_task; /* sharing: without tasks */
} projects[] = {
	{ "nothing in the way", { 0 }, true, true, true },
	{ "suspended", { .suspended = true }, false, false, false },
	{ "no new work", { .no_new_work = true }, false, false, true },
	{ "master file", { .rpc.master_pending = true }, false, false, true },
	{ "delayed", { .rpc.min_rpc_time = NOW + 1 }, false, false, true },
	{ "the delay is over", { .rpc.min_rpc_time = NOW }, true, true, true },
	{ "kept from sending by deadlines",
	    { .no_new_work = true, .rpc.latency_limited_until = NOW + 1 }, false, true,
	    true },
	{ "no longer", { .no_new_work = true, .rpc.latency_limited_until = NOW }, false,
	    false, true },
	{ "not CPU-intensive", { .nci = true }, true, false, false },
	{ "not CPU-intensive, kept from sending",
	    { .nci = true, .rpc.latency_limited_until = NOW + 1 }, true, false, false },
};

START_TEST(projects_by_table)
{
	struct terms m;
	bool sharing[2];

	two_tasks(&m)->p[1] = projects[_i].p;
	ck_assert_msg(cw_contactable(&m.w, 1) == projects[_i].contactable, "%s",
	    projects[_i].what);
	cw_potentially_runnable(&m.w, sharing);
	ck_assert_msg(sharing[1] == projects[_i].sharing, "%s", projects[_i].what);
	m.t[0].project = 1;
	m.t[0].downloading = true;
	cw_potentially_runnable(&m.w, sharing);
	ck_assert_msg(
	    sharing[1] == projects[_i].with_a_task, "%s: task", projects[_i].what);
}
END_TEST

static const struct {
	const char *what;
	struct cw_task t;
	bool counts;
} tasks[] = {
	{ "runnable", { 0 }, true },
	{ "downloading", { .downloading = true }, true },
	{ "suspended", { .suspended = true }, false },
	{ "not CPU-intensive", { .nci = true }, false },
};

START_TEST(tasks_by_table)
{
	struct terms m;
	bool sharing[2];

	two_tasks(&m)->t[0] = tasks[_i].t;
	m.t[1].project = 1;
	m.p[0].no_new_work = true;
	cw_potentially_runnable(&m.w, sharing);
	ck_assert_msg(sharing[0] == tasks[_i].counts, "%s", tasks[_i].what);
}
END_TEST

/* --- use --- */

/* A task uses its instances for as long as it runs, on a coprocessor also its CPUs. */
START_TEST(use_of_running_tasks)
{
	struct terms m;

	two_tasks(&m);
	cw_accrue(&m.w, 10);
	NEARLY(m.p[0].used[0] + m.p[0].used[1], 0);
	m.t[0].running = true;
	cw_accrue(&m.w, 10);
	NEARLY(m.p[0].used[0], 30);
	NEARLY(m.p[0].used[1], 0);
	m.t[1].running = true;
	m.t[0].nci = true;
	cw_accrue(&m.w, 10);
	NEARLY(m.p[0].used[0], 32.5);
	NEARLY(m.p[0].used[1], 40);
	NEARLY(m.p[1].used[0], 0);
	NEARLY(cw_total_flops(&m.w), 2 * 3 + 4 * 5);
}
END_TEST

/* --- what the tasks tell of their projects --- */

START_TEST(tally_of_tasks)
{
	struct terms m;
	const struct cw_acct *a = &two_tasks(&m)->p[0].acct;

	m.t[0].received_at = NOW - 100;
	m.t[1].received_at = NOW - 50;
	m.t[1].suspended = true;
	m.t[0].rss_bytes = 7;
	m.t[1].rss_bytes = 1; /* on a coprocessor */
	cw_tally_tasks(&m.w);
	ck_assert(a->gave[0] && a->gave[1] && !m.p[1].acct.gave[0]);
	ck_assert_uint_eq(a->runnable_mask, 1);
	NEARLY(a->delay_bound_s, 150);
	NEARLY(a->longest_s, 20);
	NEARLY(a->rss_bytes, 7);
	m.t[1].suspended = false;
	m.t[1].rsc = 0;
	m.t[1].rss_bytes = 0; /* unknown */
	m.t[1].deadline = NOW + 200;
	m.t[0].downloading = true;
	cw_tally_tasks(&m.w);
	ck_assert_uint_eq(a->runnable_mask, 1);
	NEARLY(a->delay_bound_s, 150);
	NEARLY(a->rss_bytes, 7);
	m.t[0].rsc = 1;
	m.t[0].remaining_s = 5;
	m.t[1].remaining_s = 5;
	m.t[1].rss_bytes = 0.5;
	cw_tally_tasks(&m.w);
	ck_assert_uint_eq(a->runnable_mask, 3);
	NEARLY(a->rss_bytes, 0.5);
	NEARLY(a->longest_s, 20); /* so far */
	m.t[1].rss_bytes = 0.75;
	cw_tally_tasks(&m.w);
	NEARLY(a->rss_bytes, 0.5); /* the smallest so far */
	m.p[0].suspended = true;
	cw_tally_tasks(&m.w);
	ck_assert_uint_eq(a->runnable_mask, 0);
}
END_TEST

/* What is not CPU-intensive tells nothing; a bound may be short. */
START_TEST(tally_of_odd_tasks)
{
	struct terms m;

	two_tasks(&m);
	m.t[0].project = m.t[1].project = 1;
	m.t[0].nci = m.t[1].nci = true;
	cw_tally_tasks(&m.w);
	ck_assert(!m.p[1].acct.gave[0] && m.p[1].acct.runnable_mask == 0);
	NEARLY(m.p[1].acct.delay_bound_s, 0);
	NEARLY(m.p[1].acct.longest_s, 0);
	m.t[0].nci = false;
	m.t[0].deadline = m.t[0].received_at + 0.5;
	cw_tally_tasks(&m.w);
	NEARLY(m.p[1].acct.delay_bound_s, 0.5);
	m.t[0].deadline = m.t[0].received_at + 100;
	cw_tally_tasks(&m.w);
	NEARLY(m.p[1].acct.delay_bound_s, 0.5);
}
END_TEST

/* A shell that counts its changes has the tasks looked at only after one. */
START_TEST(tally_after_changes)
{
	struct terms m;

	two_tasks(&m);
	cw_tally_tasks(&m.w);
	m.t[1].suspended = true;
	cw_tally_tasks(&m.w); /* version 0: always */
	ck_assert_uint_eq(m.p[0].acct.runnable_mask, 1);
	cw_grew(&m.w);
	m.t[1].suspended = false;
	cw_tally_tasks(&m.w);
	ck_assert_uint_eq(m.p[0].acct.runnable_mask, 3);
	m.t[1].suspended = true;
	cw_tally_tasks(&m.w);
	ck_assert_uint_eq(m.p[0].acct.runnable_mask, 3);
	cw_changed(&m.w);
	cw_tally_tasks(&m.w);
	ck_assert_uint_eq(m.p[0].acct.runnable_mask, 1);
}
END_TEST

UNIT_MAIN("client terms", {
	ADD_LOOP(projects_by_table, N(projects));
	ADD_LOOP(tasks_by_table, N(tasks));
	ADD(use_of_running_tasks);
	ADD(tally_of_tasks);
	ADD(tally_of_odd_tasks);
	ADD(tally_after_changes);
})
