/* SPDX-License-Identifier: Apache-2.0 */
/* Task choice: the order of the run list (client.md 4.3). */
#include "test/unit/unit.h"

#include <ctype.h>
#include <string.h>
#include "lib/rng.h"
#include "rules/client/policies.h"
#include "lib/banned.h"

enum { NOW = 10000, SLICE = 3600, PROJECTS = 9, TASKS = 20 };

/* A host with tasks of one CPU, up to nine projects of equal priority, and what a
 * simulation says of them. */
struct host {
	struct arena a;
	struct cw_project p[PROJECTS];
	struct cw_app app[2];
	struct cw_task t[TASKS];
	struct client_world w;
	struct rr_project sim[PROJECTS];
	struct rr_task verdict[TASKS];
	struct rr_sim rr;
	double prio[PROJECTS], bump[PROJECTS], reserved[2 * PROJECTS];
	struct choice_params how;
};

static struct host *cpus(struct host *h, double n)
{
	*h = (struct host){ .p = { { .share = 1 }, { .share = 1 }, { .share = 1 } } };
	h->w = (struct client_world){ .now = NOW,
		.rsc = { { "CPU", n, 1, 1 }, { "GPU", 1, 4, 1 } },
		.nrsc = 1,
		.prefs = { .period_s = SLICE },
		.projects = h->p,
		.nprojects = 3,
		.apps = h->app,
		.tasks = h->t };
	h->rr = (struct rr_sim){ .projects = h->sim, .tasks = h->verdict };
	return h;
}

static struct cw_task *list_task(struct host *h, int32_t project)
{
	struct cw_task *t = &h->t[h->w.ntasks++];

	*t = (struct cw_task){ .project = project,
		.use = 1,
		.ncpus = 1,
		.remaining_s = 100,
		.deadline = 1e6 };
	return t;
}

/* n tasks of this project. */
static void line_of_tasks(struct host *h, int32_t project, int n)
{
	while (n-- > 0)
		list_task(h, project);
}

/* The list: a is the first task, A if it was chosen because of its deadline. */
static const char *list_of(struct host *h)
{
	static char s[TASKS + 1];
	double prio[PROJECTS], reserved[2 * PROJECTS];
	struct choice_params how = h->how;
	struct run_list list;

	memcpy(prio, h->prio, sizeof(prio));
	memcpy(reserved, h->reserved, sizeof(reserved));
	how.prio = prio;
	how.bump = h->bump;
	how.reserved = how.reserved != NULL ? reserved : NULL;
	choose_by_priority(&h->w, &h->a, &h->rr, &how, &list);
	ck_assert_uint_le(list.n, TASKS);
	for (size_t i = 0; i < list.n; i++) {
		s[i] = (char)('a' + list.item[i].task);
		if (list.item[i].edf)
			s[i] = (char)toupper(s[i]);
	}
	s[list.n] = '\0';
	return s;
}

#define LIST(h, want)                                                                  \
	do {                                                                           \
		const char *got = list_of(h);                                          \
                                                                                       \
		ck_assert_msg(strcmp(got, want) == 0, "line %d: %s, not %s", __LINE__, \
		    got, want);                                                        \
	} while (0)

/* --- by priority --- */

/* Running before in memory before started before fresh; then by arrival. */
START_TEST(within_a_project)
{
	struct host h;

	line_of_tasks(cpus(&h, 8), 0, 8);
	h.t[6].running = h.t[6].started = true;
	h.t[4].running = true;
	h.t[5].in_memory = h.t[5].started = true;
	h.t[2].in_memory = true;
	h.t[7].started = h.t[1].started = true;
	LIST(&h, "egcfbhad");
	arena_free(&h.a);
}
END_TEST

START_TEST(what_is_not_listed)
{
	struct host h;

	line_of_tasks(cpus(&h, 8), 0, 3);
	h.t[0].suspended = true;
	h.t[1].downloading = true;
	LIST(&h, "c");
	h.p[0].suspended = true;
	LIST(&h, "");
	h.t[0].suspended = h.p[0].suspended = false;
	h.t[0].nci = true; /* before all others */
	line_of_tasks(&h, 1, 2);
	h.prio[1] = 1;
	LIST(&h, "adec");
	h.p[1].nci = true;
	LIST(&h, "adec");
	h.prio[0] = 2;
	h.t[4].suspended = true;
	LIST(&h, "adc");
	arena_free(&h.a);
}
END_TEST

/* Up to twice the instances. */
START_TEST(length)
{
	struct host h;

	line_of_tasks(cpus(&h, 2), 0, 6);
	LIST(&h, "abcd");
	h.t[0].use = 2;
	LIST(&h, "abc");
	h.t[0].use = 0.5;
	LIST(&h, "abcde");
	h.t[0].use = 5;
	LIST(&h, "a");
	arena_free(&h.a);
}
END_TEST

/* A chosen task lowers its project's priority by its part of the host. */
START_TEST(turns)
{
	struct host h;

	line_of_tasks(cpus(&h, 4), 0, 4);
	line_of_tasks(&h, 1, 4);
	LIST(&h, "abcdefgh"); /* the first project wins a tie */
	h.prio[1] = 0.1;
	LIST(&h, "efghabcd");
	h.bump[0] = h.bump[1] = 0.8; /* 0.2 for each of four CPUs */
	LIST(&h, "eafbgchd");
	h.prio[1] = 0.3;
	LIST(&h, "efagbhcd");
	h.t[4].ncpus = h.t[4].use = 2;
	LIST(&h, "eafbgch");
	h.bump[1] = 0;
	LIST(&h, "efghabc");
	arena_free(&h.a);
}
END_TEST

/* The greatest priority first, however many projects there are. */
START_TEST(many_projects)
{
	struct rng rng = rng_seed((uint64_t)_i);
	struct host h;
	const char *s;
	double least = 2;

	cpus(&h, TASKS)->w.nprojects = 1 + (size_t)_i % PROJECTS;
	for (size_t i = 0; i < h.w.nprojects; i++) {
		h.prio[i] = (double)rng_below(&rng, 6) / 8;
		list_task(&h, (int32_t)i);
	}
	s = list_of(&h);
	ck_assert_uint_eq(strlen(s), h.w.nprojects);
	for (size_t i = 0; s[i] != '\0'; i++) {
		ck_assert(h.prio[s[i] - 'a'] < least ||
			  (h.prio[s[i] - 'a'] == least && s[i] > s[i - 1]));
		least = h.prio[s[i] - 'a'];
	}
	arena_free(&h.a);
}
END_TEST

/* Coprocessors before the CPU; their tasks count with both. */
START_TEST(coprocessors_first)
{
	struct host h;

	line_of_tasks(cpus(&h, 4), 0, 2);
	h.w.nrsc = 2;
	list_task(&h, 0)->rsc = 1;
	list_task(&h, 1);
	LIST(&h, "cabd");
	h.w.rsc[0].flops = 3; /* of 16, with a coprocessor of 4 */
	h.prio[0] = 16;
	h.bump[0] = 16; /* c takes 3 + 4, a and b take 3 each */
	h.prio[1] = 5.9;
	LIST(&h, "cabd");
	h.prio[1] = 6.1;
	LIST(&h, "cadb");
	h.prio[1] = 8.9;
	LIST(&h, "cadb");
	h.prio[1] = 9.1;
	LIST(&h, "cdab");
	h.t[2].ncpus = 0.5; /* 1.5 + 4 */
	h.prio[1] = 10.4;
	LIST(&h, "cadb");
	h.prio[1] = 10.6;
	LIST(&h, "cdab");
	h.t[2].use = 0.5; /* 1.5 + 2 */
	LIST(&h, "cadb");
	h.prio[1] = 12.6;
	LIST(&h, "cdab");
	h.prio[1] = 5.9;
	h.t[0].ncpus = h.t[0].use = 2; /* 6 */
	LIST(&h, "cabd");
	h.prio[1] = 6.6;
	LIST(&h, "cadb");
	arena_free(&h.a);
}
END_TEST

/* Not more than may run at a time: others would wait behind them. */
START_TEST(limits)
{
	struct host h;

	line_of_tasks(cpus(&h, 4), 0, 3);
	list_task(&h, 1);
	h.p[0].max_concurrent = 2;
	LIST(&h, "abd");
	h.p[0].max_concurrent = 3;
	LIST(&h, "abcd");
	h.p[0].max_concurrent = 0;
	h.w.napps = 2;
	h.app[0].max_concurrent = 1;
	h.w.napps = 1;
	LIST(&h, "a");
	h.w.napps = 2;
	h.t[1].app = h.t[3].app = 1;
	LIST(&h, "abd");
	h.app[0].max_concurrent = 2;
	LIST(&h, "abcd");
	h.app[0].max_concurrent = 0;
	h.app[1].max_concurrent = 1;
	LIST(&h, "abc");
	h.p[1].max_concurrent = 1;
	h.t[3].app = 0;
	LIST(&h, "abcd");
	h.p[2].max_concurrent = 1;
	h.w.napps = 0;
	LIST(&h, "abcd");
	arena_free(&h.a);
}
END_TEST

/* A project with a reserved instance comes before the others, whatever its priority. */
START_TEST(reserved_instances)
{
	struct host h;

	line_of_tasks(cpus(&h, 2), 0, 3);
	line_of_tasks(&h, 1, 3);
	h.prio[0] = 1;
	h.reserved[1] = 1;
	LIST(&h, "abcd");
	h.how.reserved = h.reserved;
	LIST(&h, "dabc");
	h.reserved[1] = 2;
	LIST(&h, "deab");
	h.t[3].use = 2;
	LIST(&h, "dab");
	h.t[3].use = 1;
	h.reserved[1] = 0.99;
	LIST(&h, "abcd");
	h.reserved[1] = 0;
	h.reserved[0] = 1; /* both: by priority */
	h.reserved[1] = 1;
	LIST(&h, "adbc");
	h.prio[1] = 2;
	LIST(&h, "daef");
	h.w.nrsc = 2; /* of the coprocessor, which it cannot use */
	h.prio[1] = 0;
	memset(h.reserved, 0, sizeof(h.reserved));
	h.reserved[1 * 2 + 1] = 1;
	LIST(&h, "abcd");
	h.reserved[1 * 2 + 0] = 1;
	LIST(&h, "dabc");
	arena_free(&h.a);
}
END_TEST

/* On a reserved instance, a task that is due before a slice of others would end is
 * chosen as if it were in danger. */
START_TEST(reserved_for_tasks_in_a_hurry)
{
	struct host h;

	line_of_tasks(cpus(&h, 2), 0, 3);
	line_of_tasks(&h, 1, 3);
	h.prio[0] = 1;
	h.reserved[1] = 1;
	h.how.reserved = h.reserved;
	h.how.hurry = true;
	h.p[1].acct.delay_bound_s = h.w.prefs.period_s - 1;
	LIST(&h, "Dabc");
	h.how.hurry = false;
	LIST(&h, "dabc");
	h.how.hurry = true;
	h.p[1].acct.delay_bound_s++;
	LIST(&h, "dabc");
	h.p[1].acct.delay_bound_s = 0; /* unknown */
	LIST(&h, "dabc");
	arena_free(&h.a);
}
END_TEST

/* The whole instances of a share, fewer of a project that used too much by slices; more
 * of one that is owed a slice and whose tasks are due within one. */
static const struct {
	double share, over, delay_bound_s,
	    reserved; /* of four instances; of 8 shares */
} reserves[] = {
	{ 4, 0, 0, 2 },
	{ 5, 0, 0, 2 },
	{ 5, 1, 0, 1 },
	{ 5, 5, 0, 0 },
	{ 5, -1, 0, 2 },
	{ 5, -1, 3599, 3 },
	{ 5, -1, 3600, 2 },
	{ 5, -0.9, 3599, 2 },
	{ 4, -1, 3599, 2 },
};

START_TEST(reserves_by_table)
{
	struct host h;
	double over[PROJECTS] = { reserves[_i].over };

	line_of_tasks(cpus(&h, 4), 0, 1);
	line_of_tasks(&h, 1, 1);
	h.w.prefs.period_s = 3600;
	h.p[0].share = reserves[_i].share;
	h.p[1].share = 8 - reserves[_i].share;
	h.p[0].acct.delay_bound_s = reserves[_i].delay_bound_s;
	rr_simulate(&h.w, &h.a, &h.rr);
	ck_assert_double_eq(
	    choose_reserved(&h.w, &h.a, &h.rr, over)[0], reserves[_i].reserved);
	arena_free(&h.a);
}
END_TEST

/* Running tasks within their slices come before priorities. */
START_TEST(slices_first)
{
	struct host h;

	line_of_tasks(cpus(&h, 2), 0, 2);
	line_of_tasks(&h, 1, 3);
	h.prio[0] = 1;
	h.t[3].running = h.t[4].running = true;
	h.t[3].run_since = NOW - SLICE;
	h.t[4].run_since = NOW - SLICE + 1;
	LIST(&h, "abde");
	h.how.slice_first = true;
	LIST(&h, "eabd");
	h.t[4].use = 2;
	LIST(&h, "eab");
	h.t[4].suspended = true;
	LIST(&h, "abdc");
	h.t[4].suspended = false;
	h.verdict[4].miss = true;
	h.sim[1].misses[0] = 1;
	LIST(&h, "Cea");
	arena_free(&h.a);
}
END_TEST

/* --- deadlines --- */

/* The earliest deadline first; then started tasks, then short ones, then by arrival. */
START_TEST(by_urgency)
{
	struct host h;

	line_of_tasks(cpus(&h, 6), 0, 6);
	h.sim[0].misses[0] = 6;
	LIST(&h, "ABCDEF");
	h.t[5].deadline = 1e5;
	LIST(&h, "FABCDE");
	h.t[3].started = true;
	LIST(&h, "FDABCE");
	h.t[2].remaining_s = 50;
	LIST(&h, "FDCABE");
	h.t[1].started = true;
	h.t[1].remaining_s = 200;
	LIST(&h, "FDBCAE");
	h.w.nprojects = 1;
	LIST(&h, "FDBCAE");
	arena_free(&h.a);
}
END_TEST

/* As many of a project as would miss, as far as there are instances. */
START_TEST(as_many_as_would_miss)
{
	struct host h;

	line_of_tasks(cpus(&h, 3), 0, 3);
	line_of_tasks(&h, 1, 2);
	h.t[1].deadline = 1e5;
	h.verdict[2].miss = true;
	h.sim[0].misses[0] = 1;
	LIST(&h, "Bacde");
	h.how.edf_by_task = true;
	LIST(&h, "Cabde");
	h.how.edf_by_task = false;
	h.sim[0].misses[0] = 2;
	LIST(&h, "BAcde");
	h.t[1].downloading = h.t[2].downloading = true; /* no more than there are */
	LIST(&h, "Ade");
	h.t[1].downloading = h.t[2].downloading = false;
	h.sim[1].misses[0] = 1;
	h.t[4].deadline = 1e4;
	LIST(&h, "EBAcd");
	h.t[4].use = 2;
	LIST(&h, "EBacd");
	h.t[4].use = 3;
	LIST(&h, "Eabc");
	h.t[4].suspended = true;
	LIST(&h, "BADc");
	h.t[3].nci = true;
	LIST(&h, "dBAc");
	h.t[3].nci = false;
	h.p[0].max_concurrent = 1;
	LIST(&h, "BD");
	h.sim[1].misses[0] = 0; /* of the coprocessor */
	h.sim[1].misses[1] = 1;
	LIST(&h, "Bd");
	arena_free(&h.a);
}
END_TEST

/* Upstream: a running task that was in danger stays urgent for a slice, and while
 * others of its project are in danger. */
START_TEST(urgent_tasks_stay_urgent)
{
	struct host h;

	line_of_tasks(cpus(&h, 2), 0, 1);
	line_of_tasks(&h, 1, 2);
	h.t[2].endangered_at = NOW - SLICE + 1;
	h.t[2].running = true;
	h.how.edf_by_task = true;
	LIST(&h, "acb");
	h.how.stay_urgent = true;
	LIST(&h, "Cab");
	h.t[2].running = false;
	LIST(&h, "abc");
	h.t[2].running = true;
	h.t[2].endangered_at = NOW - SLICE;
	LIST(&h, "acb");
	h.sim[1].misses[0] = 1;
	h.verdict[1].miss = true;
	LIST(&h, "BCa");
	h.t[2].endangered_at = 0;
	LIST(&h, "Bac");
	h.verdict[1].miss = false;
	h.verdict[2].miss = true;
	h.t[2].endangered_at = NOW - 1; /* counts once */
	h.how.edf_by_task = false;
	LIST(&h, "Bac");
	h.sim[1].misses[0] = 0;
	h.verdict[2].miss = false;
	h.w.nrsc = 2;
	h.t[2].rsc = 1;
	LIST(&h, "Cab");
	arena_free(&h.a);
}
END_TEST

/* --- a list that may end early --- */

/* The list ends when tasks of two projects wait behind full CPUs, unless a running task
 * is still to come, or something else than the CPUs decides what runs. */
START_TEST(brief_lists)
{
	struct host h;

	line_of_tasks(cpus(&h, 4), 0, 9);
	line_of_tasks(&h, 1, 9);
	h.bump[0] = h.bump[1] = 4;
	LIST(&h, "ajbkcldm");
	h.how.brief = true;
	LIST(&h, "ajbkcld"); /* l and d wait */
	h.t[0].running = true;
	LIST(&h, "ajbkcld");
	h.t[0].running = false;
	h.w.prefs.ram_bytes = 0.5;
	LIST(&h, "ajbkcldm");
	h.w.prefs.ram_bytes = 0;
	h.w.napps = 2;
	LIST(&h, "ajbkcld");
	h.app[1].max_concurrent = 1;
	LIST(&h, "ajbkcldm");
	h.w.napps = 0;
	h.p[2].max_concurrent = 1;
	LIST(&h, "ajbkcldm");
	h.p[2].max_concurrent = 0;
	h.prio[2] = -100;
	list_task(&h, 2)->running = true;
	LIST(&h, "ajbkcldm");
	h.t[18].running = false;
	LIST(&h, "ajbkcld");
	h.w.nrsc = 2;
	h.t[18].rsc = 1;
	h.t[18].running = true;
	LIST(&h, "sajbkcld");
	h.prio[0] = 99; /* only one project's tasks wait */
	LIST(&h, "sabcdefgh");
	h.prio[0] = 2.5; /* j runs, so it does not wait */
	h.t[9].running = true;
	LIST(&h, "sabcdefjg");
	h.t[9].running = false;
	LIST(&h, "sabcdefj");
	arena_free(&h.a);
}
END_TEST

/* Not for coprocessors, of which there may be more than CPUs. */
START_TEST(brief_lists_of_coprocessors)
{
	struct host h;

	line_of_tasks(cpus(&h, 1), 0, 4);
	line_of_tasks(&h, 1, 4);
	for (int i = 0; i < 8; i++)
		h.t[i].rsc = 1;
	h.w.nrsc = 2;
	h.w.rsc[1].ninst = 4;
	h.bump[0] = h.bump[1] = 1;
	h.how.brief = true;
	LIST(&h, "aebfcgdh");
	arena_free(&h.a);
}
END_TEST

UNIT_MAIN("choose", {
	ADD(within_a_project);
	ADD(what_is_not_listed);
	ADD(length);
	ADD(turns);
	ADD_LOOP(many_projects, 100);
	ADD(coprocessors_first);
	ADD(limits);
	ADD(reserved_instances);
	ADD(reserved_for_tasks_in_a_hurry);
	ADD_LOOP(reserves_by_table, N(reserves));
	ADD(slices_first);
	ADD(by_urgency);
	ADD(as_many_as_would_miss);
	ADD(urgent_tasks_stay_urgent);
	ADD(brief_lists);
	ADD(brief_lists_of_coprocessors);
})
