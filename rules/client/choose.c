/* SPDX-License-Identifier: Apache-2.0 */
/* Task choice: builds the list from which the running tasks are taken (client.md
 * 4.3). */
#include "rules/client/policy.h"

#include <math.h>
#include <stdlib.h>
#include "lib/banned.h"

enum { RUNNING, IN_MEMORY, STARTED, FRESH, CLASSES };
enum { NO_TASK = -1 };

struct queues { /* runnable tasks of one project, a FIFO for each class */
	int32_t head[CLASSES], tail[CLASSES];
};
struct choice {
	const struct client_world *world;
	const struct rr_sim *rr;
	const struct choice_params *params;
	struct queues *q;         /* per project */
	int32_t *next;            /* per task */
	bool *taken;              /* per task */
	int32_t *nproject, *napp; /* chosen so far */
	struct run_list *list;
	double total;
};

static int
queue_class_of(const struct cw_task *t)
{
	return t->running   ? RUNNING :
	       t->in_memory ? IN_MEMORY :
	       t->started   ? STARTED :
	                      FRESH;
}

static bool
may_choose(const struct client_world *w, const struct cw_task *t, int32_t rsc)
{
	return t->rsc == rsc && cw_runnable(w, t) && !cw_nci(w, t);
}

static void
fill_queues(struct choice *c, int32_t rsc)
{
	for (size_t p = 0; p < c->world->nprojects; p++)
		for (int k = 0; k < CLASSES; k++)
			c->q[p].head[k] = c->q[p].tail[k] = NO_TASK;
	for (size_t i = 0; i < c->world->ntasks; i++) {
		const struct cw_task *t = &c->world->tasks[i];
		struct queues *q = &c->q[t->project];
		int k = queue_class_of(t);

		c->next[i] = NO_TASK;
		if (c->taken[i] || !may_choose(c->world, t, rsc))
			continue;
		if (q->tail[k] == NO_TASK)
			q->head[k] = (int32_t)i;
		else
			c->next[q->tail[k]] = (int32_t)i;
		q->tail[k] = (int32_t)i;
	}
}

/* Listing more tasks than may run at a time would only displace others. */
static bool
concurrency_full(const struct choice *c, const struct cw_task *t)
{
	int32_t most = c->world->projects[t->project].max_concurrent;

	if (most > 0 && c->nproject[t->project] >= most)
		return true;
	most = c->world->napps > 0 ? c->world->apps[t->app].max_concurrent : 0;
	return most > 0 && c->napp[t->app] >= most;
}

static void
choose_task(struct choice *c, size_t i, bool edf)
{
	const struct cw_task *t = &c->world->tasks[i];
	double flops = t->ncpus * c->world->rsc[CW_CPU].flops;

	if (t->rsc != CW_CPU)
		flops += t->use * c->world->rsc[t->rsc].flops;
	c->taken[i] = true;
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

static int
by_urgency(const void *pa, const void *pb)
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
static bool
still_urgent(const struct choice *c, const struct cw_task *t)
{
	return c->params->stay_urgent && t->running && t->endangered_at > 0 &&
	       (c->rr->projects[t->project].misses[t->rsc] > 0 ||
		   t->endangered_at + c->world->prefs.period_s > c->world->now);
}

static bool
count_misses(const struct choice *c, int32_t rsc, uint32_t *misses)
{
	bool any = false;

	for (size_t p = 0; p < c->world->nprojects; p++) {
		misses[p] = c->rr->projects[p].misses[rsc];
		any |= misses[p] > 0;
	}
	for (size_t i = 0; i < c->world->ntasks; i++) {
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
static double
take_urgent(struct choice *c, struct arena *a, int32_t rsc, uint32_t *misses)
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

static int32_t
pop_candidate(struct choice *c, size_t project)
{
	struct queues *q = &c->q[project];

	for (int k = 0; k < CLASSES; k++)
		while (q->head[k] != NO_TASK) {
			int32_t i = q->head[k];

			q->head[k] = c->next[i];
			if (!concurrency_full(c, &c->world->tasks[i]))
				return i;
		}
	return NO_TASK;
}

static bool
has_queued(const struct queues *q)
{
	return q->head[RUNNING] != NO_TASK || q->head[IN_MEMORY] != NO_TASK ||
	       q->head[STARTED] != NO_TASK || q->head[FRESH] != NO_TASK;
}

/* Among projects with tasks, one that has a reserved instance left comes before the
 * others. */
static int32_t
top_project(const struct choice *c, int32_t rsc)
{
	const double *reserved = c->params->reserved, *prio = c->params->prio;
	int32_t top = NO_TASK;
	bool top_own = false;

	for (size_t p = 0; p < c->world->nprojects; p++) {
		bool own = reserved != NULL &&
		           reserved[p * c->world->nrsc + (size_t)rsc] >= 1 - 1e-9;

		if (!has_queued(&c->q[p]) || (top >= 0 && top_own && !own))
			continue;
		if (top < 0 || (own && !top_own) || prio[p] > prio[top]) {
			top = (int32_t)p;
			top_own = own;
		}
	}
	return top;
}

/* Takes up to twice the instances, so that tasks which turn out not to fit have
 * substitutes. */
static void
take_by_priority(struct choice *c, int32_t rsc, double used)
{
	while (used < 2 * c->world->rsc[rsc].ninst) {
		int32_t top = top_project(c, rsc), i;

		if (top < 0)
			return;
		i = pop_candidate(c, (size_t)top);
		if (i < 0)
			continue;
		used += c->world->tasks[i].use;
		choose_task(c, (size_t)i, false);
	}
}

/* Takes running tasks that are still within their time slice. */
static double
take_slices(struct choice *c, int32_t rsc)
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

static void
take_all_nci(struct choice *c)
{
	for (size_t i = 0; i < c->world->ntasks; i++)
		if (cw_nci(c->world, &c->world->tasks[i]) &&
		    cw_runnable(c->world, &c->world->tasks[i])) {
			c->taken[i] = true;
			c->list->item[c->list->n++] = (struct run_item){ (uint32_t)i,
				false };
		}
}

void
choose_by_priority(const struct client_world *w, struct arena *a,
    const struct rr_sim *rr, const struct choice_params *params, struct run_list *list)
{
	struct choice c = { w, rr, params, NEWN(a, struct queues, w->nprojects + 1),
		NEWN(a, int32_t, w->ntasks + 1), NEWN(a, bool, w->ntasks + 1),
		NEWN(a, int32_t, w->nprojects + 1), NEWN(a, int32_t, w->napps + 1),
		list, cw_total_flops(w) };
	uint32_t *misses = NEWN(a, uint32_t, w->nprojects + 1);

	list->item = NEWN(a, struct run_item, w->ntasks + 1);
	list->n = 0;
	take_all_nci(&c);
	/* Coprocessors before the CPU. */
	for (size_t k = 0; k < w->nrsc; k++) {
		int32_t r = (int32_t)(w->nrsc - 1 - k);
		double used = take_urgent(&c, a, r, misses);

		if (params->slice_first)
			used += take_slices(&c, r);
		fill_queues(&c, r);
		take_by_priority(&c, r, used);
	}
}

double *
choose_reserved(const struct client_world *w, struct arena *a, const struct rr_sim *rr,
    const bool *over)
{
	double *reserved = NEWN(a, double, w->nprojects * w->nrsc + 1);
	bool *in = NEWN(a, bool, w->nprojects + 1);

	for (size_t r = 0; r < w->nrsc; r++) {
		for (size_t i = 0; i < w->nprojects; i++)
			in[i] = rr->projects[i].nrunnable[r] > 0;
		for (size_t i = 0; i < w->nprojects; i++) {
			double own = fetch_share(w, in, i) * w->rsc[r].ninst;

			reserved[i * w->nrsc + r] = fmax(
			    0, floor(own + 1e-6) - (over[i] ? 1 : 0));
		}
	}
	return reserved;
}
