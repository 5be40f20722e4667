/* SPDX-License-Identifier: Apache-2.0 */
/* Every policy decides by the projects, tasks and resources that there are, and not by
 * what is behind the ends of their arrays; nor does it change that. */
#include "test/unit/unit.h"

#include <string.h>
#include "rules/client/policies.h"
#include "lib/banned.h"

enum { PROJECTS = 3, TASKS = 6, WORLDS = 40 };

struct host {
	struct cw_project p[PROJECTS + 1];
	struct cw_app app[2];
	struct cw_task t[TASKS + 1];
	struct client_world w;
};
struct decision {
	struct run_list list;
	struct enforced e;
	struct contact c;
	struct work_ask along[PROJECTS];
};

static double ends_unit(struct rng *rng, double most)
{
	return most * rng_unit(rng);
}

static struct cw_project any_project(struct rng *rng)
{
	struct cw_project p = { .name = "P",
		.share = (double)rng_below(rng, 4),
		.dcf = 1,
		.acct = { .rec = ends_unit(rng, 3),
		    .std = { ends_unit(rng, 9e4) },
		    .exp_avg_cpu = ends_unit(rng, 100),
		    .owed = ends_unit(rng, 2e4) - 1e4,
		    .known = rng_below(rng, 4) > 0,
		    .delay_bound_s = rng_below(rng, 2) == 0 ? 0 :
		                                              ends_unit(rng, 9000) },
		.rpc.nready = (uint32_t)rng_below(rng, 2) };

	for (int r = 0; r < CW_RSC_MOST; r++) {
		p.acct.ltd[r] = -ends_unit(rng, 1e5);
		p.used[r] = ends_unit(rng, 1000);
		p.acct.gave[r] = rng_below(rng, 2) == 0;
		p.rsc[r].backoff_s = rng_below(rng, 3) == 0 ? 600 : 0;
	}
	return p;
}

static struct cw_task any_task(struct rng *rng, int32_t nprojects)
{
	bool gpu = rng_below(rng, 3) == 0, runs = rng_below(rng, 2) == 0;

	return (
	    struct cw_task){ .project = (int32_t)rng_below(rng, (uint64_t)nprojects),
		.rsc = gpu,
		.use = 1,
		.ncpus = gpu ? 0.1 : 1,
		.remaining_s = ends_unit(rng, 4000),
		.received_at = 1e6,
		.deadline = 1e6 + ends_unit(rng, 20000),
		.running = runs,
		.started = runs,
		.run_since = 1e6 - 4000,
		.checkpointed_at = 1e6 - 10 };
}

/* The same world for the same seed; behind the ends is nothing, or more of the kind. */
static void any_world(struct host *h, uint64_t seed, bool behind)
{
	struct rng rng = rng_seed(seed);

	*h = (struct host){ .p = { { .share = 0 } } };
	h->w = (struct client_world){ .now = 1e6,
		.accounted_at = 1e6 - 1000,
		.scheduled_at = 1e6 - 60,
		.rsc = { { "CPU", 2, 1, 1 }, { "GPU", 1, 4, 1 } },
		.nrsc = 2,
		.prefs = { .min_s = 1000, .extra_s = 1000, .period_s = 3600 },
		.projects = h->p,
		.nprojects = PROJECTS,
		.apps = h->app,
		.napps = 1,
		.tasks = h->t,
		.ntasks = TASKS };
	for (int i = 0; i < PROJECTS; i++)
		h->p[i] = any_project(&rng);
	for (int i = 0; i < TASKS; i++)
		h->t[i] = any_task(&rng, PROJECTS);
	if (!behind)
		return;
	h->p[PROJECTS] = any_project(&rng);
	h->p[PROJECTS].share = 50;
	h->p[PROJECTS].acct.owed = 1e6;
	h->p[PROJECTS].rpc.user_request = true;
	h->t[TASKS] = any_task(&rng, PROJECTS);
	h->t[TASKS].running = h->t[TASKS].started = rng_below(&rng, 2) == 0;
	h->t[TASKS].deadline = 1e6;
	h->w.rsc[2] = (struct cw_resource){ "NONE", 5, 7, 1 };
	h->app[1] = (struct cw_app){ 0, 1 };
}

static struct decision decision_of(
    struct host *h, const struct policy *how, struct arena *a)
{
	struct decision d = { .list = { .n = 0 } };
	struct rr_sim rr;

	how->account(&h->w, how);
	rr_simulate(&h->w, a, &rr);
	how->order(&h->w, how, a, &rr, &d.list);
	enforce(&h->w, how, a, &d.list, &d.e);
	contact_next(&h->w, how, a, &rr, &d.c);
	for (size_t i = 0; i < PROJECTS; i++) {
		d.along[i].project = -1;
		how->piggyback(&h->w, how, a, &rr, i, &d.along[i]);
	}
	return d;
}

static void same_ask(const struct work_ask *a, const struct work_ask *b)
{
	ck_assert_int_eq(a->project, b->project);
	ck_assert_mem_eq(a->secs, b->secs, sizeof(a->secs));
	ck_assert_mem_eq(a->inst, b->inst, sizeof(a->inst));
	ck_assert_mem_eq(a->delay_s, b->delay_s, sizeof(a->delay_s));
}

static void same_decision(const struct decision *a, const struct decision *b)
{
	ck_assert_uint_eq(a->list.n, b->list.n);
	for (size_t i = 0; i < a->list.n; i++) {
		ck_assert_uint_eq(a->list.item[i].task, b->list.item[i].task);
		ck_assert(a->list.item[i].edf == b->list.item[i].edf);
	}
	ck_assert_uint_eq(a->e.nstart, b->e.nstart);
	for (size_t i = 0; i < a->e.nstart; i++)
		ck_assert(
		    a->e.start[i] == b->e.start[i] && a->e.device[i] == b->e.device[i]);
	ck_assert_uint_eq(a->e.nstop, b->e.nstop);
	for (size_t i = 0; i < a->e.nstop; i++)
		ck_assert(a->e.stop[i].task == b->e.stop[i].task &&
			  a->e.stop[i].keep == b->e.stop[i].keep);
	ck_assert(a->e.recheck_at == b->e.recheck_at);
	ck_assert(a->e.at_checkpoint == b->e.at_checkpoint);
	ck_assert(a->c.why == b->c.why && a->c.project == b->c.project);
	ck_assert(a->c.recheck_at == b->c.recheck_at);
	same_ask(&a->c.ask, &b->c.ask);
	for (int i = 0; i < PROJECTS; i++)
		same_ask(&a->along[i], &b->along[i]);
}

static void ends_of_policy(const struct policy *how, struct arena *a)
{
	for (uint64_t seed = 0; seed < WORLDS; seed++) {
		struct host without, with, before;
		struct decision d, e;

		any_world(&without, seed, false);
		any_world(&with, seed, true);
		any_world(&before, seed, true);
		d = decision_of(&without, how, a);
		e = decision_of(&with, how, a);
		same_decision(&d, &e);
		ck_assert_mem_eq(without.p, with.p, PROJECTS * sizeof(*with.p));
		ck_assert_mem_eq(
		    &with.p[PROJECTS], &before.p[PROJECTS], sizeof(with.p[PROJECTS]));
		for (int i = 0; i < PROJECTS; i++)
			for (int r = 2; r < CW_RSC_MOST; r++) {
				ck_assert(with.p[i].used[r] == before.p[i].used[r]);
				ck_assert(
				    with.p[i].acct.ltd[r] == before.p[i].acct.ltd[r]);
			}
		arena_reset(a);
	}
}

START_TEST(what_is_behind_the_ends)
{
	struct arena a = { 0 };

	for (const struct policy *const *how = policies; *how != NULL; how++)
		ends_of_policy(*how, &a);
	for (const struct policy *const *how = policy_variants; *how != NULL; how++)
		ends_of_policy(*how, &a);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("ends", { ADD(what_is_behind_the_ends); })
