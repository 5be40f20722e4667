/* SPDX-License-Identifier: Apache-2.0 */
/* How long tasks really take: learned per app version, or per project where the project
 * asks for its duration correction factor. */
#include "client/client.h"

#include <math.h>
#include <string.h>
#include "lib/banned.h"

/* The tasks seen so far are judged anew if a factor moved by more. */
static const double MOVED = 0.05;

/* Operations of a task that states none (protocol.md 13.6.3). */
static const double FPOPS_EST = 6.048e14;

static struct cestimate *
find_estimate(const struct cproject *p, const struct rp_app_version *v)
{
	for (size_t i = 0; i < p->nestimates; i++) {
		struct cestimate *e = &p->estimates[i];

		if (e->version_num == v->version_num &&
		    strcmp(e->app_name, v->app_name) == 0 &&
		    strcmp(e->plan_class, v->plan_class) == 0)
			return e;
	}
	return NULL;
}

static struct cestimate *
add_estimate(struct arena *a, struct cproject *p, const struct rp_app_version *v)
{
	struct cestimate *all = NEWN(a, struct cestimate, p->nestimates + 1);

	if (p->nestimates > 0)
		memcpy(all, p->estimates, p->nestimates * sizeof(*all));
	p->estimates = all;
	all[p->nestimates] = (struct cestimate){ .app_name = arena_strdup(
						     a, v->app_name),
		.plan_class = arena_strdup(a, v->plan_class),
		.version_num = v->version_num };
	return &all[p->nestimates++];
}

double
task_static_s(const struct client *c, const struct cproject *p, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app_version *v = task_version(p, t);
	double flops = v->flops > 0 ? v->flops : c->state->p_fpops;
	double ops = wu->rsc_fpops_est > 0 ? wu->rsc_fpops_est : FPOPS_EST;

	return ops / fmax(flops, 1);
}

double
estimates_factor(const struct cproject *p, const struct ctask *t)
{
	const struct cestimate *e = find_estimate(p, task_version(p, t));

	return !p->no_dcf || e == NULL ? 1 : estimate_factor(&e->learned);
}

double
estimates_correction(struct client *c, const struct cproject *p, int32_t rsc)
{
	const struct correction **of = NEWN(
	    &c->scratch, const struct correction *, p->nversions + 1);
	size_t n = 0;

	for (size_t i = 0; p->no_dcf && i < p->nversions; i++) {
		const struct cestimate *e = find_estimate(p, &p->versions[i]);

		if (e != NULL && version_resource(c, &p->versions[i]) == rsc)
			of[n++] = &e->learned;
	}
	return estimate_mean_factor(of, n);
}

void
estimates_learn(struct client *c, struct cproject *p, const struct ctask *t)
{
	const struct rp_app_version *v = task_version(p, t);
	double static_s = task_static_s(c, p, t), was;
	struct cestimate *e;

	if (!p->no_dcf) {
		p->dcf = estimate_dcf(p->dcf, static_s, t->elapsed_s);
		return;
	}
	e = find_estimate(p, v);
	if (e == NULL)
		e = add_estimate(&c->keep, p, v);
	was = estimate_factor(&e->learned);
	estimate_learn(&e->learned, static_s, t->elapsed_s);
	if (fabs(estimate_factor(&e->learned) / was - 1) > MOVED)
		p->acct.longest_s = 0; /* as of the old factor */
}
