/* SPDX-License-Identifier: Apache-2.0 */
/* Work fetch: the rules that all policies share, one by one (client.md 4.5). */
#include "test/unit/unit.h"

#include <math.h>
#include "rules/client/policies.h"
#include "lib/banned.h"

enum { NOW = 5000 };
#define NEARLY(got, want)                                                              \
	ck_assert_msg(fabs((got) - (want)) < 1e-6, "line %d: %.12g, not %.12g",        \
	    __LINE__, (double)(got), (double)(want))

/* Two CPUs and a coprocessor, a buffer of 2000 s, two projects with up to three tasks,
 * and what a simulation says of them. */
struct host {
	struct cw_project p[2];
	struct cw_app app[3];
	struct cw_task t[3];
	struct client_world w;
	struct rr_project sim[2];
	struct rr_sim rr;
};

static struct host *two_projects(struct host *h)
{
	*h = (struct host){ .p = {
				{ .share = 1, .dcf = 1 }, { .share = 3, .dcf = 1 } } };
	h->w = (struct client_world){ .now = NOW,
		.rsc = { { "CPU", 2, 1, 0.5 }, { "GPU", 1, 4, 1 } },
		.nrsc = 2,
		.prefs = { .min_s = 1000, .extra_s = 1000, .period_s = 3600 },
		.projects = h->p,
		.nprojects = 2,
		.apps = h->app,
		.tasks = h->t };
	for (int i = 0; i < 3; i++)
		h->t[i] = (struct cw_task){
			.use = 1, .ncpus = 1, .remaining_s = 100, .deadline = 1e6
		};
	h->rr = (struct rr_sim){ .projects = h->sim };
	return h;
}

/* --- may the project be asked? --- */

static const struct policy limiting = { .miss_limit = true }, plain = { 0 };

/* For CPU tasks, and in spite of a back-off, too. */
#define ABLE(h, want)                                                                  \
	ck_assert_msg(                                                                 \
	    fetch_able(&(h)->w, &limiting, &(h)->rr, 0, 0, false) == (want) &&         \
		fetch_able(&(h)->w, &limiting, &(h)->rr, 0, 0, true) == (want),        \
	    "line %d", __LINE__)

static const struct {
	const char *what;
	struct cw_project p;
	bool cpu, gpu;
} projects[] = {
	{ "nothing in the way", { 0 }, true, true },
	{ "suspended", { .suspended = true }, false, false },
	{ "no new work", { .no_new_work = true }, false, false },
	{ "delayed", { .rpc.min_rpc_time = NOW + 1 }, false, false },
	{ "the delay is over", { .rpc.min_rpc_time = NOW }, true, true },
	{ "asked just now", { .rpc.spaced_until = NOW + 1 }, false, false },
	{ "asked a minute ago", { .rpc.spaced_until = NOW }, true, true },
	{ "not CPU-intensive", { .nci = true }, false, false },
	{ "a download stalls", { .stalled_download = true }, false, false },
	{ "a task is suspended", { .suspended_task = true }, false, false },
	{ "no apps for the CPU", { .rsc[0].no_apps = true }, false, true },
	{ "no apps for the coprocessor", { .rsc[1].no_apps = true }, true, false },
	{ "CPU excluded", { .rsc[0].excluded = true }, false, true },
	{ "coprocessor excluded", { .rsc[1].excluded = true }, true, false },
	{ "four uploads for two CPUs", { .rpc.nuploads = 4 }, true, true },
	{ "five", { .rpc.nuploads = 5 }, false, false },
};

START_TEST(projects_by_table)
{
	struct host h;

	two_projects(&h);
	h.p[0] = projects[_i].p;
	h.p[0].share = 1;
	ABLE(&h, projects[_i].cpu);
	ck_assert_msg(fetch_able(&h.w, &plain, &h.rr, 0, 1, false) == projects[_i].gpu,
	    "%s", projects[_i].what);
}
END_TEST

START_TEST(uploads_count_the_most_instances)
{
	struct host h;

	two_projects(&h)->w.rsc[1].ninst = 3;
	h.p[0].rpc.nuploads = 6;
	ABLE(&h, true);
	h.p[0].rpc.nuploads = 7;
	ABLE(&h, false);
	h.w.rsc[0].ninst = 4;
	ABLE(&h, true);
}
END_TEST

START_TEST(backoff_of_a_kind_of_processor)
{
	struct host h;

	two_projects(&h)->p[0].rsc[0].backoff_until = NOW + 1;
	ck_assert(!fetch_able(&h.w, &plain, &h.rr, 0, 0, false));
	ck_assert(fetch_able(&h.w, &plain, &h.rr, 0, 0, true));
	ck_assert(fetch_able(&h.w, &plain, &h.rr, 0, 1, false));
	h.p[0].rsc[0].backoff_until = NOW;
	ABLE(&h, true);
}
END_TEST

START_TEST(backup_project)
{
	struct host h;

	two_projects(&h)->p[0].share = 0;
	ABLE(&h, false);
	h.rr.rsc[1].nidle = 1;
	ABLE(&h, false);
	h.rr.rsc[0].nidle = 0.5;
	ABLE(&h, true);
}
END_TEST

START_TEST(a_thousand_tasks_are_enough)
{
	struct host h;

	two_projects(&h)->sim[0].nrunnable[0] = 600;
	h.sim[0].nrunnable[1] = 400;
	h.sim[1].nrunnable[0] = 5000;
	ABLE(&h, true);
	h.sim[0].nrunnable[1]++;
	ABLE(&h, false);
}
END_TEST

START_TEST(more_misses_than_instances)
{
	struct host h;

	two_projects(&h)->sim[0].misses[0] = 2;
	ABLE(&h, true);
	h.sim[0].misses[0] = 3;
	ABLE(&h, false);
	ck_assert(fetch_able(&h.w, &plain, &h.rr, 0, 0, false));
	ck_assert(fetch_able(&h.w, &limiting, &h.rr, 0, 1, false));
	h.rr.rsc[0].nidle = 0.5;
	ABLE(&h, true);
}
END_TEST

/* A limit of one task: it may have work for the buffer, and one task. */
START_TEST(limited_project)
{
	struct host h;

	two_projects(&h)->p[0].max_concurrent = 1;
	h.sim[0].queued[0] = 2000;
	ABLE(&h, true);
	h.sim[0].ntasks[0] = 1;
	ABLE(&h, false);
	h.sim[0].queued[0] = 1999;
	ABLE(&h, true);
	h.sim[0].queued[0] = 2001;
	h.p[0].max_concurrent = 2;
	h.sim[0].ntasks[0] = 2;
	ABLE(&h, true);
}
END_TEST

/* --- tasks that wait although an instance is idle --- */

static const struct {
	const char *what;
	double idle, queued;
	struct {
		int32_t project, rsc;
		bool runs, suspended, downloading, nci;
		double rss;
	} t[2]; /* of 0.5 instances each */
	bool held;
} waiting[] = {
	{ "one waits", 1, 0, { { .rsc = 0 }, { .project = 1 } }, true },
	{ "nothing is idle", 0, 0, { { .rsc = 0 }, { .project = 1 } }, false },
	{ "a part of one is", 0.5, 0, { { .rsc = 0 }, { .project = 1 } }, true },
	{ "it is another project's", 1, 0, { { .project = 1 }, { .project = 1 } },
	    false },
	{ "it is for the coprocessor", 1, 0, { { .rsc = 1 }, { .project = 1 } },
	    false },
	{ "it runs", 1, 0, { { .runs = true }, { .project = 1 } }, false },
	{ "it is suspended", 1, 0, { { .suspended = true }, { .project = 1 } }, false },
	{ "its files are missing", 1, 0, { { .downloading = true }, { .project = 1 } },
	    false },
	{ "it is not CPU-intensive", 1, 0, { { .nci = true }, { .project = 1 } },
	    false },
	{ "what runs lasts for the low-water mark", 1, 500,
	    { { .runs = true }, { .rsc = 0 } }, true },
	{ "it does not", 1, 499, { { .runs = true }, { .rsc = 0 } }, false },
	{ "it needs all memory", 1, 0, { { .runs = true, .rss = 8 }, { .project = 1 } },
	    false },
	{ "it needs more", 1, 0, { { .runs = true, .rss = 9 }, { .project = 1 } },
	    true },
};

START_TEST(held_back_by_table)
{
	struct host h;

	two_projects(&h)->w.ntasks = 2;
	h.w.prefs.ram_bytes = 8;
	h.rr.rsc[0].nidle = waiting[_i].idle;
	h.sim[0].queued[0] = waiting[_i].queued;
	for (int i = 0; i < 2; i++) {
		h.t[i].project = waiting[_i].t[i].project;
		h.t[i].rsc = waiting[_i].t[i].rsc;
		h.t[i].use = 0.5;
		h.t[i].running = waiting[_i].t[i].runs;
		h.t[i].suspended = waiting[_i].t[i].suspended;
		h.t[i].downloading = waiting[_i].t[i].downloading;
		h.t[i].nci = waiting[_i].t[i].nci;
		h.t[i].rss_bytes = waiting[_i].t[i].rss;
	}
	ck_assert_msg(fetch_held_back(&h.w, &h.rr, 0, 0) == waiting[_i].held, "%s",
	    waiting[_i].what);
	ABLE(&h, !waiting[_i].held);
}
END_TEST

/* --- how many tasks can run --- */

static const struct {
	const char *what;
	int32_t most, app[3]; /* the third app is another project's; -1: no such app */
	double ram, rss;
	size_t rsc;
	int32_t limit;
} limits[] = {
	{ "none", 0, { -1, -1, -1 }, 0, 0, 0, 0 },
	{ "the project's", 3, { -1, -1, -1 }, 0, 0, 0, 3 },
	{ "of all apps", 0, { 1, 2, -1 }, 0, 0, 0, 3 },
	{ "one app has none", 0, { 1, 0, -1 }, 0, 0, 0, 0 },
	{ "the project's is less", 2, { 1, 2, -1 }, 0, 0, 0, 2 },
	{ "one at a time", 1, { 1, 2, -1 }, 0, 0, 0, 1 },
	{ "no limit of memory", 0, { -1, -1, -1 }, 0, 5, 0, 0 },
	{ "the apps' are less", 4, { 1, 2, -1 }, 0, 0, 0, 3 },
	{ "one app has none, the project one", 4, { 0, 2, -1 }, 0, 0, 0, 4 },
	{ "another project's app", 0, { -1, -1, 5 }, 0, 0, 0, 0 },
	{ "of one app", 0, { 1, -1, 5 }, 0, 0, 0, 1 },
	{ "the other's has none", 0, { 1, 2, 0 }, 0, 0, 0, 3 },
	{ "memory for one", 0, { -1, -1, -1 }, 8, 5, 0, 1 },
	{ "memory for as many as CPUs", 0, { -1, -1, -1 }, 8, 4, 0, 0 },
	{ "on a coprocessor it does not count", 0, { -1, -1, -1 }, 8, 9, 1, 0 },
	{ "it is unknown what they need", 0, { -1, -1, -1 }, 8, 0, 0, 0 },
	{ "small units", 0, { -1, -1, -1 }, 0.8, 0.5, 0, 1 },
	{ "one always may run", 0, { -1, -1, -1 }, 8, 9, 0, 1 },
	{ "the least counts: memory", 2, { -1, -1, -1 }, 8, 5, 0, 1 },
	{ "the least counts: the project's", 1, { -1, -1, -1 }, 12, 8, 0, 1 },
};

START_TEST(limits_by_table)
{
	struct host h;

	two_projects(&h)->p[0].max_concurrent = limits[_i].most;
	h.w.prefs.ram_bytes = limits[_i].ram;
	h.p[0].acct.rss_bytes = limits[_i].rss;
	for (int i = 0; i < 3; i++)
		if (limits[_i].app[i] >= 0)
			h.app[h.w.napps++] = (struct cw_app){ i == 2,
				limits[_i].app[i] };
	ck_assert_msg(fetch_limit(&h.w, 0, limits[_i].rsc) == limits[_i].limit,
	    "%s: %d", limits[_i].what, (int)fetch_limit(&h.w, 0, limits[_i].rsc));
}
END_TEST

START_TEST(memory_for_two_of_four)
{
	struct host h;

	two_projects(&h)->w.rsc[0].ninst = 4;
	h.w.prefs.ram_bytes = 8;
	h.p[0].acct.rss_bytes = 3;
	ck_assert_int_eq(fetch_limit(&h.w, 0, 0), 2);
	h.p[0].max_concurrent = 3;
	ck_assert_int_eq(fetch_limit(&h.w, 0, 0), 2);
	h.p[0].max_concurrent = 1;
	ck_assert_int_eq(fetch_limit(&h.w, 0, 0), 1);
}
END_TEST

/* --- what is asked --- */

static const struct {
	const char *what;
	double share, idle, queued, correction, dcf;
	int32_t limit;
	double secs, inst;      /* wanted */
	double asks, asks_inst; /* asks 0: nothing */
} asks[] = {
	{ "as wanted", 1, 0, 0, 0, 1, 0, 500, 0, 500, 0 },
	{ "half a second", 1, 0, 0, 0, 1, 0, 0.5, 0, 0.5, 0 },
	{ "nothing", 1, 0, 0, 0, 1, 0, 0, 0, 0, 0 },
	{ "less than nothing", 1, 0, 0, 0, 1, 0, -5, -1, 0, 0 },
	{ "less than no instance", 1, 0, 0, 0, 1, 0, 5, -1, 5, 0 },
	{ "an instance: some work for it", 1, 0, 0, 0, 1, 0, 0, 1, 1, 1 },
	{ "half an instance", 1, 0, 0, 0, 1, 0, 0, 0.5, 1, 0.5 },
	{ "a backup project: nothing", 0, 0, 0, 0, 1, 0, 500, 1, 0, 0 },
	{ "for an idle instance", 0, 1, 0, 0, 1, 0, 500, 0, 1, 1 },
	{ "one task for several", 0, 3, 0, 0, 1, 0, 500, 3, 1, 1 },
	{ "for half of one", 0, 0.5, 0, 0, 1, 0, 500, 0, 1, 0.5 },
	{ "a small share is a share", 0.5, 0, 0, 0, 1, 0, 500, 0, 500, 0 },
	{ "a limit: until the buffer is full", 1, 0, 1500, 0, 1, 1, 900, 0, 500, 0 },
	{ "twice that", 1, 0, 1500, 0, 1, 2, 9000, 0, 2500, 0 },
	{ "less is wanted", 1, 0, 1500, 0, 1, 1, 400, 0, 400, 0 },
	{ "a limit: full", 1, 0, 2000, 0, 1, 1, 900, 0, 1, 0 },
	{ "a limit: overfull", 1, 0, 5000, 0, 1, 1, 900, 0, 1, 0 },
	{ "no limit", 1, 0, 5000, 0, 1, 0, 900, 0, 900, 0 },
	{ "estimates too low by half", 1, 0, 0, 2, 1, 0, 500, 0, 250, 0 },
	{ "too high", 1, 0, 0, 0.5, 1, 0, 500, 0, 1000, 0 },
	{ "much too low", 1, 0, 0, 1000, 1, 0, 500, 0, 1, 0 },
	{ "not plausible", 1, 0, 0, 0, 90, 0, 500, 1, 1, 1 },
	{ "nor this", 1, 0, 0, 0, 0.01, 0, 500, 0, 1, 0 },
};

START_TEST(asks_by_table)
{
	struct host h;
	struct work_ask ask = { .project = -1 };

	two_projects(&h)->p[0].share = asks[_i].share;
	h.rr.rsc[0].nidle = asks[_i].idle;
	h.sim[0].queued[0] = asks[_i].queued;
	h.p[0].correction[0] = asks[_i].correction;
	h.p[0].dcf = asks[_i].dcf;
	h.p[0].max_concurrent = asks[_i].limit;
	fetch_ask(&h.w, &h.rr, 0, 0, asks[_i].secs, asks[_i].inst, &ask);
	ck_assert_msg(fabs(ask.secs[0] - asks[_i].asks) < 1e-9 &&
			  fabs(ask.inst[0] - asks[_i].asks_inst) < 1e-9,
	    "%s: %g s, %g", asks[_i].what, ask.secs[0], ask.inst[0]);
	ck_assert_int_eq(ask.project, asks[_i].asks > 0 ? 0 : -1);
	NEARLY(ask.secs[1] + ask.inst[1], 0);
}
END_TEST

START_TEST(shares)
{
	struct host h;
	bool able[2] = { true, true };

	two_projects(&h);
	NEARLY(fetch_sum_of_shares(&h.w, able), 4);
	NEARLY(fetch_share(&h.w, able, 0), 0.25);
	NEARLY(fetch_share(&h.w, able, 1), 0.75);
	able[1] = false;
	NEARLY(fetch_share(&h.w, able, 0), 1);
	NEARLY(fetch_share(&h.w, able, 1), 0);
	h.p[0].share = 0;
	NEARLY(fetch_share(&h.w, able, 0), 0);
	h.p[0].share = 0.5;
	NEARLY(fetch_share(&h.w, able, 0), 1);
}
END_TEST

/* --- deadlines --- */

static const struct {
	const char *what;
	double bound, cushion, longest, usable;
} usable[] = {
	{ "less the margin and a task", 1000, 100, 200, 700 },
	{ "the margin is at most half", 1000, 800, 200, 300 },
	{ "a quarter counts anyway", 1000, 100, 800, 250 },
	{ "without margin", 1000, 0, 0, 1000 },
	{ "of half a second", 0.5, 0, 0, 0.5 },
	{ "unknown", 0, 100, 200, INFINITY },
};

START_TEST(usable_by_table)
{
	struct host h;
	double want = usable[_i].usable, got;

	two_projects(&h)->w.prefs.cushion_s = usable[_i].cushion;
	h.p[0].acct.delay_bound_s = usable[_i].bound;
	h.p[0].acct.longest_s = usable[_i].longest;
	got = fetch_usable_s(&h.w, 0);
	ck_assert_msg(got == want, "%s: %g", usable[_i].what, got);
	/* Two CPUs, available half of the time, all of them for this project ... */
	ck_assert_msg(fetch_in_time_s(&h.w, 0, 0) == want, "%s", usable[_i].what);
	h.p[1].acct.gave[0] = true; /* ... or a quarter */
	ck_assert_msg(fetch_in_time_s(&h.w, 0, 0) == want / 4, "%s", usable[_i].what);
	ck_assert_msg(fetch_in_time_s(&h.w, 0, 1) == want, "%s", usable[_i].what);
	h.p[1].suspended = true;
	ck_assert_msg(fetch_in_time_s(&h.w, 0, 0) == want, "%s", usable[_i].what);
	h.p[1].suspended = false;
	h.p[1].nci = true;
	ck_assert_msg(fetch_in_time_s(&h.w, 0, 0) == want, "%s", usable[_i].what);
	h.p[0].share = 0;
	ck_assert(fetch_in_time_s(&h.w, 0, 0) == INFINITY);
}
END_TEST

/* --- room beside the tasks that wait --- */

START_TEST(room_in_the_buffer)
{
	struct host h;

	two_projects(&h);
	NEARLY(fetch_room_s(&h.w, 0), 4000);
	NEARLY(fetch_room_s(&h.w, 1), 2000);
	h.w.ntasks = 3;
	h.t[0].use = 2;
	NEARLY(fetch_room_s(&h.w, 0), 4000 - 2 * 100 - 100 - 100);
	h.t[1].remaining_s = 1e6; /* counts for the buffer */
	NEARLY(fetch_room_s(&h.w, 0), 4000 - 2 * 100 - 2000 - 100);
	h.t[1].running = true;
	NEARLY(fetch_room_s(&h.w, 0), 4000 - 2 * 100 - 100);
	h.t[0].downloading = true;
	h.t[2].rsc = 1;
	NEARLY(fetch_room_s(&h.w, 0), 4000 - 2 * 100);
	NEARLY(fetch_room_s(&h.w, 1), 2000 - 100);
	h.t[0].suspended = true;
	NEARLY(fetch_room_s(&h.w, 0), 4000);
	h.t[0].suspended = false;
	h.t[0].nci = true;
	NEARLY(fetch_room_s(&h.w, 0), 4000);
	h.t[0].nci = false;
	h.t[0].remaining_s = 1e6;
	NEARLY(fetch_room_s(&h.w, 0), 0);
	h.t[0].use = 3;
	NEARLY(fetch_room_s(&h.w, 0), -2000);
}
END_TEST

/* --- when to look again --- */

START_TEST(rechecks)
{
	struct host h;
	double at = INFINITY;

	two_projects(&h)->rr.rsc[0].saturated_s = 500;
	fetch_recheck(&h.w, &h.rr, 0, 500, &at);
	ck_assert(at == INFINITY);
	fetch_recheck(&h.w, &h.rr, 0, 499.5, &at);
	NEARLY(at, NOW + 0.5);
	fetch_recheck(&h.w, &h.rr, 0, 200, &at);
	NEARLY(at, NOW + 0.5);
	fetch_recheck(&h.w, &h.rr, 1, 200, &at);
	NEARLY(at, NOW + 0.5);
}
END_TEST

START_TEST(too_soon)
{
	struct host h;
	double at = INFINITY;
	static const struct policy how = { .ask_every_s = 60 };

	two_projects(&h);
	ck_assert(!fetch_too_soon(&h.w, &how, &h.rr, &at)); /* never asked */
	h.w.asked_at = NOW - 60;
	ck_assert(!fetch_too_soon(&h.w, &how, &h.rr, &at));
	ck_assert(at == INFINITY);
	h.w.asked_at = NOW - 59;
	ck_assert(fetch_too_soon(&h.w, &how, &h.rr, &at));
	NEARLY(at, NOW + 1);
	h.w.asked_at = NOW - 10;
	ck_assert(fetch_too_soon(&h.w, &how, &h.rr, &at));
	NEARLY(at, NOW + 1);
	ck_assert(!fetch_too_soon(&h.w, &plain, &h.rr, &at));
	h.rr.rsc[1].nidle = 0.5;
	ck_assert(!fetch_too_soon(&h.w, &how, &h.rr, &at));
	h.rr.rsc[1].nidle = 0;
	h.rr.rsc[0].nidle = 0.5;
	ck_assert(!fetch_too_soon(&h.w, &how, &h.rr, &at));
	h.rr.rsc[0].nidle = 0;
	h.w.now = 1;
	h.w.asked_at = 0.5;
	ck_assert(fetch_too_soon(&h.w, &how, &h.rr, &at));
	NEARLY(at, 60.5);
}
END_TEST

UNIT_MAIN("fetch", {
	ADD_LOOP(projects_by_table, N(projects));
	ADD(uploads_count_the_most_instances);
	ADD(backoff_of_a_kind_of_processor);
	ADD(backup_project);
	ADD(a_thousand_tasks_are_enough);
	ADD(more_misses_than_instances);
	ADD(limited_project);
	ADD_LOOP(held_back_by_table, N(waiting));
	ADD_LOOP(limits_by_table, N(limits));
	ADD(memory_for_two_of_four);
	ADD_LOOP(asks_by_table, N(asks));
	ADD(shares);
	ADD_LOOP(usable_by_table, N(usable));
	ADD(room_in_the_buffer);
	ADD(rechecks);
	ADD(too_soon);
})
