/* SPDX-License-Identifier: Apache-2.0 */
/* The weighted round-robin simulation, exact, by tables (client.md 2.3, 7). */
#include "test/unit/unit.h"

#include <math.h>
#include "lib/arena.h"
#include "rules/client/rr_sim.h"
#include "lib/banned.h"

/* Tasks of one CPU each, sizes in thirds; finish 0 = not looked at. */
static const struct worked {
	const char *what;
	double horizon;
	double share[2];
	double thirds[3]; /* A1, A2, B1 */
	double shortfall[2], total, finish[3];
} worked[] = {
#define WORKED
#include "test/unit/rr_sim.def"
#undef WORKED
};

static struct cw_task
task(int32_t project, double run_s)
{
	return (struct cw_task){ .project = project,
		.use = 1,
		.ncpus = 1,
		.remaining_s = run_s,
		.deadline = 1e9 };
}

#define NEARLY(got, want, what)                                                        \
	ck_assert_msg(fabs((got) - (want)) < 1e-12, "%s: %.15g, not %.15g", what,      \
	    (double)(got), (double)(want))

START_TEST(worked_example)
{
	const struct worked *c = &worked[_i];
	struct arena a = { 0 };
	struct cw_project p[2] = { { .share = c->share[0] }, { .share = c->share[1] } };
	struct cw_task t[3] = { task(0, c->thirds[0] / 3), task(0, c->thirds[1] / 3),
		task(1, c->thirds[2] / 3) };
	struct client_world w = { .prefs.min_s = c->horizon,
		.rsc = { { "CPU", 2, 1, 1 } },
		.nrsc = 1,
		.projects = p,
		.nprojects = 2,
		.tasks = t,
		.ntasks = 3 };
	struct rr_sim rr;

	rr_simulate(&w, &a, &rr);
	NEARLY(rr.p[0].shortfall[0], c->shortfall[0], c->what);
	NEARLY(rr.p[1].shortfall[0], c->shortfall[1], c->what);
	NEARLY(rr.r[0].shortfall, c->total, c->what);
	for (int i = 0; i < 3; i++)
		if (c->finish[i] > 0)
			NEARLY(rr.t[i].finish_s, c->finish[i], c->what);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("rr_sim", { ADD_LOOP(worked_example, N(worked)); })
