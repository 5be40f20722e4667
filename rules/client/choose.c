/* SPDX-License-Identifier: Apache-2.0 */
/* Task choice: the list from which the running tasks are taken (client.md 4.3). */
#include "rules/client/policy.h"

#include <math.h>
#include "lib/banned.h"

enum { RUNNING, IN_MEMORY, STARTED, FRESH, CLASSES };
enum { NO_TASK = -1 };

struct queues { /* of the runnable tasks of one project, by class, FIFO */
	int32_t head[CLASSES], tail[CLASSES];
};
struct choice {
	const struct client_world *w;
	const struct rr_sim *rr;
	struct queues *q; /* per project */
	int32_t *next;    /* per task */
	bool *taken;      /* per task */
	double *prio;     /* per project */
	const double *bump;
	struct run_list *list;
	double total;
};

static int
class_of(const struct cw_task *t)
{
	return t->running   ? RUNNING :
	       t->in_memory ? IN_MEMORY :
	       t->started   ? STARTED :
	                      FRESH;
}

static void
fill_queues(struct choice *c, int32_t rsc)
{
	for (size_t p = 0; p < c->w->nprojects; p++)
		for (int k = 0; k < CLASSES; k++)
			c->q[p].head[k] = c->q[p].tail[k] = NO_TASK;
	for (size_t i = 0; i < c->w->ntasks; i++) {
		const struct cw_task *t = &c->w->tasks[i];
		struct queues *q = &c->q[t->project];
		int k = class_of(t);

		c->next[i] = NO_TASK;
		if (t->rsc != rsc || !cw_runnable(c->w, t) ||
		    c->w->projects[t->project].nci)
			continue;
		if (q->tail[k] == NO_TASK)
			q->head[k] = (int32_t)i;
		else
			c->next[q->tail[k]] = (int32_t)i;
		q->tail[k] = (int32_t)i;
	}
}

static void
take(struct choice *c, size_t i, bool edf)
{
	const struct cw_task *t = &c->w->tasks[i];
	double flops = t->ncpus * c->w->rsc[CW_CPU].flops;

	if (t->rsc != CW_CPU)
		flops += t->use * c->w->rsc[t->rsc].flops;
	c->taken[i] = true;
	c->list->item[c->list->n++] = (struct run_item){ (uint32_t)i, edf };
	c->prio[t->project] -= c->bump[t->project] * flops / c->total;
}

static bool
sooner(const struct cw_task *a, const struct cw_task *b)
{
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	if (a->started != b->started)
		return a->started;
	return a->remaining_s < b->remaining_s;
}

/* The earliest deadlines of projects that would miss some, as many as these. */
static double
take_urgent(struct choice *c, int32_t rsc, uint32_t *misses)
{
	double used = 0;

	while (used < c->w->rsc[rsc].ninst - 1e-9) {
		int32_t first = NO_TASK;

		for (size_t i = 0; i < c->w->ntasks; i++) {
			const struct cw_task *t = &c->w->tasks[i];

			if (t->rsc == rsc && misses[t->project] > 0 && !c->taken[i] &&
			    cw_runnable(c->w, t) &&
			    (first < 0 || sooner(t, &c->w->tasks[first])))
				first = (int32_t)i;
		}
		if (first < 0)
			break;
		misses[c->w->tasks[first].project]--;
		used += c->w->tasks[first].use;
		take(c, (size_t)first, true);
	}
	return used;
}

static int32_t
pop(struct choice *c, size_t project)
{
	struct queues *q = &c->q[project];

	for (int k = 0; k < CLASSES; k++)
		while (q->head[k] != NO_TASK) {
			int32_t i = q->head[k];

			q->head[k] = c->next[i];
			if (!c->taken[i])
				return i;
		}
	return NO_TASK;
}

static bool
has_more(const struct queues *q)
{
	bool more = false;

	for (int k = 0; k < CLASSES; k++)
		more |= q->head[k] != NO_TASK;
	return more;
}

/* Up to twice the instances, so that what cannot run after all has substitutes. */
static void
take_by_priority(struct choice *c, int32_t rsc, double used)
{
	while (used < 2 * c->w->rsc[rsc].ninst) {
		int32_t top = NO_TASK, i;

		for (size_t p = 0; p < c->w->nprojects; p++)
			if (has_more(&c->q[p]) &&
			    (top < 0 || c->prio[p] > c->prio[top]))
				top = (int32_t)p;
		if (top < 0)
			return;
		i = pop(c, (size_t)top);
		if (i < 0)
			continue;
		used += c->w->tasks[i].use;
		take(c, (size_t)i, false);
	}
}

void
choose_by_priority(const struct client_world *w, struct arena *a,
    const struct rr_sim *rr, double *prio, const double *bump, struct run_list *list)
{
	struct choice c = { w, rr, NEWN(a, struct queues, w->nprojects + 1),
		NEWN(a, int32_t, w->ntasks + 1), NEWN(a, bool, w->ntasks + 1), prio,
		bump, list, cw_total_flops(w) };
	uint32_t *misses = NEWN(a, uint32_t, w->nprojects + 1);

	list->item = NEWN(a, struct run_item, w->ntasks + 1);
	list->n = 0;
	for (size_t k = 0; k < w->nrsc; k++) {
		int32_t r = (int32_t)(w->nrsc - 1 -
				      k); /* coprocessors before the CPU */

		for (size_t p = 0; p < w->nprojects; p++)
			misses[p] = rr->p[p].misses[r];
		fill_queues(&c, r);
		take_by_priority(&c, r, take_urgent(&c, r, misses));
	}
}
