/* SPDX-License-Identifier: Apache-2.0 */
/* Task choice: builds the list from which the running tasks are taken (client.md
 * 4.3). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rules/client/policy.h"
#include "lib/banned.h"

/* Divides a host by share among projects that cannot all use all of it. */

/* CPUs of the greatest CPU task that the project has; 0: it has none. */
static double cpus_of_task(const struct client_world *w, size_t project)
{
	double most = 0;

	for (size_t i = 0; i < w->ntasks; i++)
		if (w->tasks[i].project == (int32_t)project &&
		    w->tasks[i].rsc == CW_CPU)
			most = cw_max(most, w->tasks[i].ncpus);
	return most;
}

/* What a limit of its running tasks lets a project use that can use nothing but CPUs;
 * INFINITY: it has no such limit. */
static double limit_of(const struct client_world *w, size_t project)
{
	int32_t most = fetch_configured_limit(w, project);
	double cpus;

	if (most <= 0 || w->projects[project].acct.usable_mask != 1U << CW_CPU)
		return INFINITY;
	cpus = cpus_of_task(w, project);
	return cpus > 0 ? most * cpus * w->rsc[CW_CPU].flops : INFINITY;
}

/* The FLOPS of the set, without those of projects that are settled at their limits. */
static double flops_of(const struct client_world *w, unsigned set)
{
	double sum = 0;

	for (size_t r = 0; r < w->nrsc; r++)
		sum += set & 1U << r ? w->rsc[r].ninst * w->rsc[r].flops : 0;
	for (size_t i = 0; i < w->nprojects && set & 1U << CW_CPU; i++)
		if (w->projects[i].acct.limited)
			sum -= w->projects[i].acct.entitled;
	return cw_max(0, sum);
}

/* The project is not settled yet, and all resources left to it are in the set. */
static bool bound_by(const struct cw_project *p, unsigned gone, unsigned set)
{
	return p->acct.usable_mask != 0 && p->acct.entitled == 0 &&
	       ((p->acct.usable_mask & ~gone) & ~set) == 0;
}

/* What the set gives per share to the projects bound by it; -1 if there are none. */
static double level_of(const struct client_world *w, unsigned gone, unsigned set)
{
	double shares = 0;

	for (size_t i = 0; i < w->nprojects; i++)
		shares += bound_by(&w->projects[i], gone, set) ? w->projects[i].share :
		                                                 0;
	return shares > 0 ? flops_of(w, set) / shares : -1;
}

static unsigned tightest_set(const struct client_world *w, unsigned gone, double *least)
{
	unsigned all = (1U << w->nrsc) - 1, tightest = 0;

	for (unsigned set = 1; set <= all; set++) {
		double level = set & gone ? -1 : level_of(w, gone, set);

		if (level >= 0 && (tightest == 0 || level < *least)) {
			tightest = set;
			*least = level;
		}
	}
	return tightest;
}

/* Settles the projects that could use less than the level gives them. */
static bool settle_limited(struct client_world *w, unsigned gone, double level)
{
	bool any = false;

	for (size_t i = 0; i < w->nprojects; i++) {
		struct cw_project *p = &w->projects[i];
		double most;

		if (!bound_by(p, gone, ~0U))
			continue;
		most = limit_of(w, i);
		if (most >= level * p->share)
			continue;
		p->acct.entitled = most;
		p->acct.limited = any = true;
	}
	return any;
}

/* The set of resources that gives least per share to the projects restricted to it
 * binds them: they get exactly that, and the others share the rest. Four resources
 * make 15 sets. */
void entitle(struct client_world *w)
{
	unsigned gone = 0, set;
	double total = 0, level = 0;

	for (size_t i = 0; i < w->nprojects; i++) {
		w->projects[i].acct.limited = false;
		w->projects[i].acct.entitled = 0;
	}
	while ((set = tightest_set(w, gone, &level)) != 0) {
		if (settle_limited(w, gone, level))
			continue;
		for (size_t i = 0; i < w->nprojects; i++) {
			struct cw_project *p = &w->projects[i];

			if (bound_by(p, gone, set))
				p->acct.entitled = level * p->share;
		}
		gone |= set;
	}
	for (size_t i = 0; i < w->nprojects; i++)
		total += w->projects[i].acct.entitled;
	for (size_t i = 0; i < w->nprojects && total > 0; i++)
		w->projects[i].acct.entitled /= total;
}

/* Which tasks fit into memory side by side: how many CPUs can be kept busy. */

static const double NEAR = 1e-9;

struct packed {
	double rss, ncpus;
	uint32_t task;
};
struct packing {
	const struct client_world *world;
	struct packed *item;
	size_t n;
	bool *taken; /* per task */
	bool any;    /* a task has been placed */
};

static int by_memory_per_cpu(const void *pa, const void *pb)
{
	const struct packed *a = pa, *b = pb;
	double x = a->rss * b->ncpus, y = b->rss * a->ncpus;

	return x != y ? (x < y ? -1 : 1) : (a->task > b->task) - (a->task < b->task);
}

/* A task that may start now, as far as memory is concerned. */
static bool may_be_packed(const struct client_world *w, const struct cw_task *t)
{
	return t->rsc == CW_CPU && t->ncpus > 0 && cw_runnable(w, t) && !cw_nci(w, t) &&
	       !cw_too_big(w, t);
}

struct packing *packing_of(const struct client_world *w, struct arena *a)
{
	struct packing *p;
	double most = 0, all = 0;

	if (w->prefs.ram_bytes <= 0)
		return NULL;
	for (size_t i = 0; i < w->ntasks; i++)
		if (cw_runnable(w, &w->tasks[i]) && !cw_too_big(w, &w->tasks[i])) {
			most = cw_max(most, w->tasks[i].rss_bytes);
			all += w->tasks[i].rss_bytes;
		}
	/* The last task may overcommit the CPUs. */
	if (all <= w->prefs.ram_bytes ||
	    most * (w->rsc[CW_CPU].ninst + 1) <= w->prefs.ram_bytes)
		return NULL;
	p = NEW(a, struct packing);
	p->world = w;
	p->item = NEWN(a, struct packed, w->ntasks);
	p->taken = NEWN(a, bool, w->ntasks);
	for (uint32_t i = 0; i < w->ntasks; i++)
		if (may_be_packed(w, &w->tasks[i]))
			p->item[p->n++] = (struct packed){ w->tasks[i].rss_bytes,
				w->tasks[i].ncpus, i };
	qsort(p->item, p->n, sizeof(*p->item), by_memory_per_cpu);
	return p;
}

/* CPUs that the tasks not yet placed can keep busy; task is not counted. */
static double busy_cpus(const struct packing *p, double ram, double cpus, int64_t task)
{
	double left = cpus;

	for (size_t i = 0; i < p->n && left > NEAR; i++) {
		const struct packed *k = &p->item[i];

		if (p->taken[k->task] || k->task == task)
			continue;
		if (k->rss > ram)
			break;
		ram -= k->rss;
		left -= k->ncpus;
	}
	return cpus - cw_max(0, left);
}

bool packing_leaves_idle(
    const struct packing *p, double ram, double cpus, uint32_t task)
{
	const struct cw_task *t = &p->world->tasks[task];

	if ((!p->any && !p->world->small_first) || !may_be_packed(p->world, t) ||
	    t->rss_bytes > ram)
		return false;
	return cw_min(cpus, t->ncpus) +
	           busy_cpus(p, ram - t->rss_bytes, cw_max(0, cpus - t->ncpus), task) <
	       busy_cpus(p, ram, cpus, CW_NONE) - NEAR;
}

void packing_take(struct packing *p, uint32_t task)
{
	p->taken[task] = true;
	p->any = true;
}

enum { RUNNING, IN_MEMORY, STARTED, FRESH, CLASSES };

/* Runnable tasks of one project for one resource, by class, FIFO. */
struct queues {
	uint32_t head[CLASSES]; /* index + 1, as in next[]; 0: none */
};
struct turn { /* a project's claim to the next instance */
	uint32_t project;
	bool own; /* by its reserved instances */
	double prio;
};
struct choice {
	const struct client_world *world;
	const struct rr_sim *rr;
	const struct choice_params *params;
	struct queues *q;   /* nprojects * nrsc */
	struct turn *turns; /* of projects that may have tasks left */
	size_t nturns;
	uint32_t *next;           /* per task */
	bool *taken;              /* per task */
	int32_t *nproject, *napp; /* chosen so far */
	struct run_list *list;
	double total;
	bool limited;      /* some tasks may not run beside others */
	uint32_t nrunning; /* running CPU tasks that are not listed yet */
};

static bool may_choose(
    const struct client_world *w, const struct cw_task *t, int32_t rsc)
{
	return t->rsc == rsc && cw_runnable(w, t) && !cw_nci(w, t);
}

static struct queues *queues_of(const struct choice *c, size_t project, int32_t rsc)
{
	return &c->q[project * c->world->nrsc + (size_t)rsc];
}

static bool has_limits(const struct client_world *w)
{
	for (size_t i = 0; i < w->nprojects; i++)
		if (w->projects[i].max_concurrent > 0)
			return true;
	for (size_t i = 0; i < w->napps; i++)
		if (w->apps[i].max_concurrent > 0)
			return true;
	return false;
}

/* From the last task to the first, as each goes to the head of its queue. */
static void fill_queues(struct choice *c)
{
	const struct client_world *w = c->world;
	bool any_nci = false;

	for (size_t i = w->ntasks; i-- > 0;) {
		const struct cw_task *t = &w->tasks[i];
		uint32_t *head;

		if (!cw_runnable(w, t))
			continue;
		if (cw_nci(w, t)) {
			any_nci = true;
			continue;
		}
		head = &queues_of(c, (size_t)t->project, t->rsc)
		            ->head[(t->running   ? RUNNING :
				    t->in_memory ? IN_MEMORY :
				    t->started   ? STARTED :
						   FRESH)];
		c->next[i] = *head;
		*head = (uint32_t)i + 1;
		c->nrunning += t->running && t->rsc == CW_CPU;
	}
	/* Tasks that are not CPU-intensive are taken at once. */
	for (uint32_t i = 0; any_nci && i < w->ntasks; i++)
		if (cw_runnable(w, &w->tasks[i]) && cw_nci(w, &w->tasks[i]))
			c->list->item[c->list->n++] = (struct run_item){ i, false };
}

/* Listing more tasks than may run at a time would only displace others. */
static bool concurrency_full(const struct choice *c, const struct cw_task *t)
{
	int32_t most = c->world->projects[t->project].max_concurrent;

	if (!c->limited)
		return false;
	if (most > 0 && c->nproject[t->project] >= most)
		return true;
	most = c->world->napps > 0 ? c->world->apps[t->app].max_concurrent : 0;
	return most > 0 && c->napp[t->app] >= most;
}

static void choose_task(struct choice *c, size_t i, bool edf)
{
	const struct cw_task *t = &c->world->tasks[i];
	double flops = t->ncpus * c->world->rsc[CW_CPU].flops;

	if (t->rsc != CW_CPU)
		flops += t->use * c->world->rsc[t->rsc].flops;
	c->taken[i] = true;
	c->nrunning -= t->running && t->rsc == CW_CPU;
	c->nproject[t->project]++;
	if (c->world->napps > 0)
		c->napp[t->app]++;
	c->list->item[c->list->n++] = (struct run_item){ (uint32_t)i, edf };
	c->params->prio[t->project] -= c->params->bump[t->project] * flops / c->total;
	if (c->params->reserved != NULL)
		c->params->reserved[(size_t)t->project * c->world->nrsc +
				    (size_t)t->rsc] -= t->use;
}

/* --- deadlines --- */

struct urgent {
	double deadline, remaining_s;
	bool started;
	uint32_t task;
};

static int by_urgency(const void *pa, const void *pb)
{
	const struct urgent *a = pa, *b = pb;

	if (a->deadline != b->deadline)
		return a->deadline < b->deadline ? -1 : 1;
	if (a->started != b->started)
		return a->started ? -1 : 1;
	if (a->remaining_s != b->remaining_s)
		return a->remaining_s < b->remaining_s ? -1 : 1;
	return a->task < b->task ? -1 : 1;
}

/* Upstream: a running task that was in danger stays urgent for a time slice, and as
 * long as another task of its project is in danger; otherwise the two would take turns
 * (client.md 4.3). */
static bool still_urgent(const struct choice *c, const struct cw_task *t)
{
	return c->params->stay_urgent && t->running && t->endangered_at > 0 &&
	       (c->rr->projects[t->project].misses[t->rsc] > 0 ||
		   t->endangered_at + c->world->prefs.period_s > c->world->now);
}

static bool count_misses(const struct choice *c, int32_t rsc, uint32_t *misses)
{
	bool any = false;

	for (size_t p = 0; p < c->world->nprojects; p++) {
		misses[p] = c->rr->projects[p].misses[rsc];
		any |= misses[p] > 0;
	}
	for (size_t i = 0; i < c->world->ntasks && c->params->stay_urgent; i++) {
		const struct cw_task *t = &c->world->tasks[i];

		if (t->rsc == rsc && !c->rr->tasks[i].miss && still_urgent(c, t)) {
			misses[t->project]++;
			any = true;
		}
	}
	return any;
}

/* Takes the earliest deadlines among tasks that would miss, or among all tasks of
 * projects with misses, as many as there are misses. */
static double take_urgent(
    struct choice *c, struct arena *a, int32_t rsc, uint32_t *misses)
{
	struct urgent *u;
	double used = 0;
	size_t n = 0;

	if (!count_misses(c, rsc, misses))
		return 0;
	u = NEWN(a, struct urgent, c->world->ntasks);
	for (uint32_t i = 0; i < c->world->ntasks; i++) {
		const struct cw_task *t = &c->world->tasks[i];

		if (misses[t->project] > 0 && may_choose(c->world, t, rsc) &&
		    (!c->params->edf_by_task || c->rr->tasks[i].miss ||
			still_urgent(c, t)))
			u[n++] = (struct urgent){ t->deadline, t->remaining_s,
				t->started, i };
	}
	qsort(u, n, sizeof(*u), by_urgency);
	for (size_t i = 0; i < n && used < c->world->rsc[rsc].ninst - 1e-9; i++) {
		const struct cw_task *t = &c->world->tasks[u[i].task];

		if (misses[t->project] == 0 || concurrency_full(c, t))
			continue;
		misses[t->project]--;
		used += t->use;
		choose_task(c, u[i].task, true);
	}
	return used;
}

/* --- by priority --- */

static bool pop_candidate(struct choice *c, size_t project, int32_t rsc, uint32_t *task)
{
	struct queues *q = queues_of(c, project, rsc);

	for (int k = 0; k < CLASSES; k++)
		while (q->head[k] > 0) {
			*task = q->head[k] - 1;
			q->head[k] = c->next[*task];
			if (!c->taken[*task] &&
			    !concurrency_full(c, &c->world->tasks[*task]))
				return true;
		}
	return false;
}

/* A project that has a reserved instance left comes before the others. */
static struct turn turn_of(const struct choice *c, uint32_t project, int32_t rsc)
{
	const double *reserved = c->params->reserved;

	return (struct turn){ project,
		reserved != NULL &&
		    reserved[project * c->world->nrsc + (size_t)rsc] >= 1 - 1e-9,
		c->params->prio[project] };
}

/* Returns the index of the turn that comes first; if several do, of the first. */
static size_t first_turn(const struct choice *c)
{
	size_t first = 0, n = c->nturns;
	struct turn best = c->turns[0];

	for (size_t i = 1; i < n; i++) {
		const struct turn *t = &c->turns[i];

		if (t->own == best.own ? t->prio > best.prio : t->own) {
			best = *t;
			first = i;
		}
	}
	return first;
}

/* Tasks listed after enough others to fill the CPUs: they wait. */
struct surplus {
	int32_t project; /* of the first; -1: none */
	bool several;    /* projects */
};

/* Notes a task listed when the tasks before it use so many instances. Returns true if
 * further tasks would make no difference: nothing keeps the listed ones from filling
 * the CPUs, all running ones are among them, and tasks of several projects wait. */
static bool list_suffices(
    const struct choice *c, const struct cw_task *t, double used, struct surplus *s)
{
	if (!c->params->brief || t->rsc != CW_CPU || c->limited ||
	    c->world->prefs.ram_bytes > 0)
		return false;
	if (!t->running && used > c->world->rsc[CW_CPU].ninst + 1e-6) {
		s->several |= s->project >= 0 && s->project != t->project;
		s->project = t->project;
	}
	return s->several && c->nrunning == 0;
}

/* Tasks of the project are due before a time slice of others would end. */
static bool due_within_slice(const struct client_world *w, size_t project)
{
	double bound = w->projects[project].acct.delay_bound_s;

	return bound > 0 && bound < w->prefs.period_s;
}

/* Takes up to twice the instances, so that tasks which turn out not to fit have
 * substitutes. */
static void take_by_priority(struct choice *c, int32_t rsc, double used)
{
	struct surplus surplus = { CW_NONE, false };

	c->nturns = c->world->nprojects;
	for (uint32_t p = 0; p < c->nturns; p++)
		c->turns[p] = turn_of(c, p, rsc);
	while (used < 2 * c->world->rsc[rsc].ninst && c->nturns > 0) {
		size_t turn = first_turn(c);
		uint32_t project = c->turns[turn].project, i;

		if (!pop_candidate(c, project, rsc, &i)) {
			c->nturns--;
			memmove(&c->turns[turn], &c->turns[turn + 1],
			    (c->nturns - turn) * sizeof(*c->turns));
			continue;
		}
		/* A task on its project's own instance that is due before a slice of
		 * others would end does not wait for that. */
		choose_task(c, i,
		    c->turns[turn].own && c->params->hurry &&
			due_within_slice(c->world, project));
		if (list_suffices(c, &c->world->tasks[i], used, &surplus))
			return;
		used += c->world->tasks[i].use;
		c->turns[turn] = turn_of(c, project, rsc);
	}
}

/* Takes running tasks that are still within their time slice. */
static double take_slices(struct choice *c, int32_t rsc)
{
	double used = 0;

	for (size_t i = 0; i < c->world->ntasks; i++) {
		const struct cw_task *t = &c->world->tasks[i];

		if (t->running && !c->taken[i] && may_choose(c->world, t, rsc) &&
		    c->world->now < t->run_since + c->world->prefs.period_s) {
			used += t->use;
			choose_task(c, i, false);
		}
	}
	return used;
}

void choose_by_priority(const struct client_world *w, struct arena *a,
    const struct rr_sim *rr, const struct choice_params *params, struct run_list *list)
{
	struct choice c = { .world = w,
		.rr = rr,
		.params = params,
		.q = NEWN(a, struct queues, w->nprojects * w->nrsc),
		.turns = NEWN(a, struct turn, w->nprojects),
		.next = NEWN(a, uint32_t, w->ntasks),
		.taken = NEWN(a, bool, w->ntasks),
		.nproject = NEWN(a, int32_t, w->nprojects),
		.napp = NEWN(a, int32_t, w->napps),
		.list = list,
		.total = cw_total_flops(w),
		.limited = has_limits(w) };
	uint32_t *misses = NEWN(a, uint32_t, w->nprojects);

	list->item = NEWN(a, struct run_item, w->ntasks);
	list->n = 0;
	fill_queues(&c);
	/* Coprocessors before the CPU. */
	for (size_t k = 0; k < w->nrsc; k++) {
		int32_t r = (int32_t)(w->nrsc - 1 - k);
		double used = take_urgent(&c, a, r, misses);

		if (params->slice_first)
			used += take_slices(&c, r);
		take_by_priority(&c, r, used);
	}
}

/* Instances that a project keeps of its own ones. */
static double kept_instances(double own, double over, bool hurry)
{
	double whole = choose_whole(own);

	if (hurry && over <= -1)
		return ceil(own - 1e-6);
	return over < 1 ? whole : cw_max(0, whole - cw_max(1, floor(over / own)));
}

double *choose_reserved(const struct client_world *w, struct arena *a,
    const struct rr_sim *rr, const double *over)
{
	double *reserved = NEWN(a, double, w->nprojects * w->nrsc);
	bool *in = NEWN(a, bool, w->nprojects);

	for (size_t r = 0; r < w->nrsc; r++) {
		double sum;

		for (size_t i = 0; i < w->nprojects; i++)
			in[i] = rr->projects[i].nrunnable[r] > 0;
		sum = fetch_sum_of_shares(w, in);
		for (size_t i = 0; i < w->nprojects; i++) {
			double own = fetch_share_of(w, in, sum, i) * w->rsc[r].ninst;

			reserved[i * w->nrsc + r] = kept_instances(
			    own, over[i], due_within_slice(w, i));
		}
	}
	return reserved;
}
