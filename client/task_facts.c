/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about a task: whether its files are here, how long it ran, will run and
 * may run. */
#include "client/client.h"

#include <math.h>
#include "lib/banned.h"

enum {
	/* A shorter time limit is taken for a mistake and replaced by: */
	LIMIT_LEAST_S = 120,
	LIMIT_ELSE_S = 12 * 3600
};

/* Bound of a task that states none (protocol.md 13.6.3). */
static const double FPOPS_BOUND = 2.4192e15;

bool
task_files_ready(const struct cproject *p, const struct ctask *t, int32_t *error,
    const char **failed)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app_version *v = task_version(p, t);
	struct {
		const struct rp_file_ref *refs;
		size_t n;
	} both[] = { { v->refs, v->nrefs }, { wu->refs, wu->nrefs } };
	bool ready = true;

	*error = 0;
	for (size_t k = 0; k < N(both); k++)
		for (size_t i = 0; i < both[k].n; i++) {
			const struct cfile *f = state_file(
			    p, both[k].refs[i].file_name);

			if (f->status == FS_FAILED) {
				*error = f->error;
				*failed = f->info.name;
			}
			ready = ready && f->status == FS_PRESENT;
		}
	return ready;
}

double
task_ran_s(const struct client *c, const struct ctask *t)
{
	return t->ran_s +
	       (t->pid != 0 && !t->paused ? (double)(c->now - t->run_since) : 0);
}

double
task_remaining_s(
    const struct client *c, const struct cproject *p, const struct ctask *t)
{
	struct run_facts f = { .static_s = task_static_s(c, p, t) *
		                           estimates_factor(p, t),
		.elapsed_s = task_ran_s(c, t),
		.fraction_done = t->fraction_done,
		.fraction_elapsed_s = t->fraction_ran_s,
		.exact = task_app(p, t)->fraction_done_exact,
		.no_dcf = p->no_dcf };

	return fmax(estimate_remaining_s(&f, p->dcf), 1);
}

int64_t
task_time_limit_s(
    const struct client *c, const struct cproject *p, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app_version *v = task_version(p, t);
	double flops = v->flops > 0 ? v->flops : c->state->p_fpops;
	double bound = wu->rsc_fpops_bound > 0 ? wu->rsc_fpops_bound : FPOPS_BOUND;

	bound /= fmax(flops, 1);
	return bound < LIMIT_LEAST_S ? LIMIT_ELSE_S : (int64_t)fmin(bound, 1e15);
}
