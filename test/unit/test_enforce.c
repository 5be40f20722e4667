/* SPDX-License-Identifier: Apache-2.0 */
/* Which instances of a coprocessor its tasks get, and which tasks keep running
 * (client.md 4.4). */
#include "test/unit/unit.h"

#include <math.h>
#include "rules/client/policies.h"
#include "lib/banned.h"

enum { TASKS = 4, NONE = -1, STOPPED = -2 };

/* Tasks in the order of the list; a running task runs on instance "at". */
static const struct {
	const char *what;
	struct {
		double use;
		int32_t at; /* NONE: not running */
	} task[TASKS];
	int32_t device[TASKS]; /* instance it is started on; NONE: unchanged; STOPPED */
} devices[] = {
	{ "one each", { { 1, NONE }, { 1, NONE }, { 1, NONE } }, { 0, 1, NONE } },
	{ "as many as there are", { { 2, NONE }, { 1, NONE } }, { 0, NONE } },
	{ "no room for a task of two", { { 1, NONE }, { 2, NONE }, { 1, NONE } },
	    { 0, NONE, 1 } },
	{ "halves share", { { 0.5, NONE }, { 0.5, NONE }, { 1, NONE } }, { 0, 0, 1 } },
	{ "the fuller device first",
	    { { 0.3, NONE }, { 0.8, NONE }, { 0.2, NONE }, { 0.5, NONE } },
	    { 0, 1, 1, 0 } },
	{ "a running task keeps its device", { { 1, 1 }, { 1, NONE } }, { NONE, 0 } },
	{ "a running half keeps its device", { { 0.5, 1 }, { 0.5, NONE }, { 1, NONE } },
	    { NONE, 1, 0 } },
};

START_TEST(devices_by_table)
{
	struct arena a = { 0 };
	struct cw_project p = { .share = 1, .dcf = 1 };
	struct cw_task t[TASKS] = { { 0 } };
	struct client_world w = { .now = 10,
		.rsc = { { "CPU", 1, 1, 1 }, { "GPU", 2, 4, 1 } },
		.nrsc = 2,
		.prefs = { .period_s = 3600 },
		.projects = &p,
		.nprojects = 1,
		.tasks = t };
	struct run_item item[TASKS];
	struct run_list list = { .item = item };
	struct enforced e;
	int32_t got[TASKS] = { NONE, NONE, NONE, NONE };

	for (uint32_t i = 0; i < TASKS && devices[_i].task[i].use > 0; i++) {
		int32_t at = devices[_i].task[i].at;

		t[w.ntasks++] = (struct cw_task){ .rsc = 1,
			.use = devices[_i].task[i].use,
			.remaining_s = 100,
			.deadline = 1e6,
			.running = at != NONE,
			.device = at };
		item[list.n++] = (struct run_item){ i, false };
	}
	enforce(&w, &policy_rec, &a, &list, &e);
	for (size_t i = 0; i < e.nstart; i++)
		got[e.start[i]] = e.device[i];
	for (size_t i = 0; i < e.nstop; i++)
		got[e.stop[i].task] = STOPPED;
	for (size_t i = 0; i < w.ntasks; i++)
		ck_assert_msg(got[i] == devices[_i].device[i], "%s: task %zu: %d",
		    devices[_i].what, i, (int)got[i]);
	arena_free(&a);
}
END_TEST

/* Tasks of one CPU each on four CPUs and 8 GB, in the order of the list: a task gives
 * way if smaller ones can keep the CPUs busy that it would leave idle. */
static const struct {
	const char *what;
	double gb[6];
	bool edf[6], running[6]; /* running: within its time slice */
	bool runs[6];
} memories[] = {
	{ "one great task beside three small ones", { 5, 5, 1, 1, 1, 1 }, { false },
	    { false }, { true, false, true, true, true } },
	{ "the second leaves two CPUs idle, small tasks would not",
	    { 3, 3, 1.5, 1.5, 1.5, 1.5 }, { false }, { false },
	    { true, false, true, true, true } },
	{ "no small task would use the CPUs", { 3, 3, 3, 3, 3, 3 }, { false },
	    { false }, { true, true } },
	{ "a task in danger comes first, whatever it leaves",
	    { 1.5, 3, 3, 1.5, 1.5, 1.5 }, { false, true, true }, { false },
	    { true, true, true } },
	{ "so does one within its slice", { 3, 3, 1.5, 1.5, 1.5, 1.5 }, { false },
	    { true, true }, { true, true, true } },
	{ "what needs more than there is does not run", { 9, 1, 1, 1, 1, 1 }, { false },
	    { false }, { false, true, true, true, true } },
};

START_TEST(memory_by_table)
{
	for (const struct policy *const *how = policies; *how != NULL; how++) {
		struct arena a = { 0 };
		struct cw_project p = { .share = 1, .dcf = 1 };
		struct cw_task t[6] = { { 0 } };
		struct client_world w = { .now = 60,
			.rsc = { { "CPU", 4, 1, 1 } },
			.nrsc = 1,
			.prefs = { .period_s = 3600, .ram_bytes = 8 },
			.projects = &p,
			.nprojects = 1,
			.tasks = t,
			.ntasks = 6 };
		struct run_item item[6];
		struct run_list list = { .item = item, .n = 6 };
		struct enforced e;
		bool runs[6] = { false };

		for (uint32_t i = 0; i < 6; i++) {
			t[i] = (struct cw_task){ .use = 1,
				.ncpus = 1,
				.remaining_s = 100,
				.deadline = 1e6,
				.rss_bytes = memories[_i].gb[i],
				.running = memories[_i].running[i] };
			runs[i] = t[i].running;
			item[i] = (struct run_item){ i, memories[_i].edf[i] };
		}
		enforce(&w, *how, &a, &list, &e);
		for (size_t i = 0; i < e.nstart; i++)
			runs[e.start[i]] = true;
		for (size_t i = 0; i < e.nstop; i++)
			runs[e.stop[i].task] = false;
		for (size_t i = 0; i < w.ntasks; i++)
			ck_assert_msg(runs[i] == memories[_i].runs[i],
			    "%s, %s: task %zu", (*how)->name, memories[_i].what, i);
		arena_free(&a);
	}
}
END_TEST

UNIT_MAIN("enforce", {
	ADD_LOOP(devices_by_table, N(devices));
	ADD_LOOP(memory_by_table, N(memories));
})
