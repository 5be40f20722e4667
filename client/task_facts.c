/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about a task: whether its files are here, how long it ran, will run and
 * may run, what it uses and where its slot is. */
#include <math.h>
#include <string.h>
#include "client/client.h"
#include "lib/fs.h"
#include "proto/coproc.h"
#include "lib/banned.h"

enum {
	/* A shorter time limit is taken for a mistake and replaced by: */
	LIMIT_LEAST_S = 120,
	LIMIT_ELSE_S = 12 * 3600
};

/* Bound of a task that states none (protocol.md 13.6.3). */
static const double FPOPS_BOUND = 2.4192e15;

bool task_files_ready(const struct cproject *p, const struct ctask *t, int32_t *error,
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

double task_ran_s(const struct client *c, const struct ctask *t)
{
	return t->ran_s +
	       (t->pid != 0 && !t->paused ? (double)(c->now - t->run_since) : 0);
}

static double task_static_s(
    const struct client *c, const struct cproject *p, const struct ctask *t);

static double estimates_factor(const struct cproject *p, const struct ctask *t);

double task_remaining_s(
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

int64_t task_time_limit_s(
    const struct client *c, const struct cproject *p, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app_version *v = task_version(p, t);
	double flops = v->flops > 0 ? v->flops : c->state->p_fpops;
	double bound = wu->rsc_fpops_bound > 0 ? wu->rsc_fpops_bound : FPOPS_BOUND;

	bound /= fmax(flops, 1);
	return bound < LIMIT_LEAST_S ? LIMIT_ELSE_S : (int64_t)fmin(bound, 1e15);
}

/* How long tasks really take: learned per app version, or per project where the project
 * asks for its duration correction factor. */

/* The tasks seen so far are judged anew if a factor moved by more. */
static const double MOVED = 0.05;

/* Operations of a task that states none (protocol.md 13.6.3). */
static const double FPOPS_EST = 6.048e14;

static struct cestimate *find_estimate(
    const struct cproject *p, const struct rp_app_version *v)
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

static struct cestimate *add_estimate(
    struct arena *a, struct cproject *p, const struct rp_app_version *v)
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

/* Estimated run time of the whole task, uncorrected. */
static double task_static_s(
    const struct client *c, const struct cproject *p, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app_version *v = task_version(p, t);
	double flops = v->flops > 0 ? v->flops : c->state->p_fpops;
	double ops = wu->rsc_fpops_est > 0 ? wu->rsc_fpops_est : FPOPS_EST;

	return ops / fmax(flops, 1);
}

/* Returns true over estimated run time for the task's version, 1 where the project asks
 * for a duration correction factor instead. */
static double estimates_factor(const struct cproject *p, const struct ctask *t)
{
	const struct cestimate *e = find_estimate(p, task_version(p, t));

	return !p->no_dcf || e == NULL ? 1 : estimate_factor(&e->learned);
}

double estimates_correction(struct client *c, const struct cproject *p, int32_t rsc)
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

void estimates_learn(struct client *c, struct cproject *p, const struct ctask *t)
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

int32_t version_resource(const struct client *c, const struct rp_app_version *v)
{
	const char *type = coproc_type(v->coproc_type);

	if (type == NULL || type[0] == '\0')
		return CW_CPU;
	for (size_t i = 0; i < c->options.ncoprocs; i++)
		if (strcmp(c->options.coproc[i].name, type) == 0)
			return (int32_t)i + 1;
	return -1;
}

char *slot_dir(struct client *c, const struct ctask *t)
{
	return arena_printf(&c->scratch, "%s/slots/%d", c->dir, t->slot);
}

enum err slots_make(struct client *c)
{
	return fs_make_own(
	    arena_printf(&c->scratch, "%s/slots", c->dir), 0755, &c->fail);
}
