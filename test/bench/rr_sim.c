/* SPDX-License-Identifier: Apache-2.0 */
/* Measures one round-robin simulation of 10,000 queued tasks, by number of projects. */
#include <stdio.h>
#include "lib/clock.h"
#include "lib/rng.h"
#include "rules/client/rr_sim.h"
#include "lib/banned.h"

enum { TASKS = 10000, RUNS = 5 };

static void fill_queue(struct client_world *w, struct rng *rng)
{
	for (size_t p = 0; p < w->nprojects; p++)
		w->projects[p] = (struct cw_project){ .share = 1 + rng_unit(rng) };
	for (size_t i = 0; i < w->ntasks; i++) {
		struct cw_task *t = &w->tasks[i];

		*t = (struct cw_task){ .project = (int32_t)rng_below(rng, w->nprojects),
			.use = 1,
			.ncpus = 1,
			.remaining_s = 100 * rng_unit(rng),
			.deadline = 1e5 * rng_unit(rng) };
		if (w->nrsc > 1 && i % 3 == 0) {
			t->rsc = 1;
			t->ncpus = 0.1;
		}
	}
}

/* Returns the minimum of several runs, which other processes disturbed least. */
static double least_ms(const struct client_world *w, struct arena *a)
{
	double least = 1e9;

	for (int i = 0; i < RUNS; i++) {
		double began = clock_cpu_ms(), ms;
		struct rr_sim rr;

		rr_simulate(w, a, &rr);
		ms = clock_cpu_ms() - began;
		least = ms < least ? ms : least;
		arena_reset(a);
	}
	return least;
}

int main(void)
{
	static struct cw_task tasks[TASKS];
	static struct cw_project projects[TASKS];
	struct arena a = { 0 };
	struct rng rng = rng_seed(1);

	printf("%-28s %8s %8s\n", "10,000 queued tasks", "CPU ms", "+GPU ms");
	for (size_t n = 1; n <= TASKS; n *= 10) {
		struct client_world w = { .prefs = { .min_s = 8640, .extra_s = 43200 },
			.rsc = { { "CPU", 8, 1, 1 }, { "GPU", 2, 1, 1 } },
			.nrsc = 1,
			.projects = projects,
			.nprojects = n,
			.tasks = tasks,
			.ntasks = TASKS };
		double ms[2];

		for (w.nrsc = 1; w.nrsc <= 2; w.nrsc++) {
			fill_queue(&w, &rng);
			ms[w.nrsc - 1] = least_ms(&w, &a);
		}
		printf("of %5zu projects %12s %8.2f %8.2f\n", n, "", ms[0], ms[1]);
	}
	arena_free(&a);
	return 0;
}
