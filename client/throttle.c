/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves the processors to others for a part of the time (cpu_usage_limit): running
 * programs are stopped by signals for the rest of each period.
 */
#include "client/client.h"

#include <signal.h>
#include "lib/clock.h"
#include "lib/banned.h"

enum { PERIOD_MS = 4000 };

bool
throttle_rests(double percent, int64_t ms)
{
	return percent > 0 && percent < 100 &&
	       (double)(ms % PERIOD_MS) >= PERIOD_MS * percent / 100;
}

static void
signal_running(struct client *c, int signal)
{
	for (size_t i = 0; i < c->state->nprojects; i++) {
		const struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++) {
			const struct ctask *t = &p->tasks[k];

			if (t->pid != 0 && !t->paused &&
			    version_resource(c, task_version(p, t)) == CW_CPU &&
			    !task_app(p, t)->non_cpu_intensive)
				kill(-(pid_t)t->pid, signal);
		}
	}
}

void
throttle_tasks(struct client *c)
{
	bool rests = throttle_rests(c->host_prefs.cpu_usage_limit, clock_mono_ms());

	if (rests || c->resting)
		signal_running(c, rests ? SIGSTOP : SIGCONT);
	c->resting = rests;
}
