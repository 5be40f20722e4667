/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Would a job end in time on this host (scheduling.md 2.6, 2.7)? If the client lists
 * the tasks of all its projects, they are simulated, earliest deadline first; else the
 * job waits until an instance is free, according to the client. All deadlines here are
 * absolute times.
 */
#include "rules/sched/workload.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include "model/catalog.h"
#include "rules/sched/ctx.h"
#include "lib/banned.h"

/*
 * If a resource has more tasks than this, they are not simulated, as that would take
 * too long.
 */
enum { TASKS_SIMULATED = 2000, DAY_S = 86400 };
static const double TIME_MOST = 4102444800.0; /* latest deadline: the year 2100 */
static const double REMAINING_MOST = 1e9;     /* s of a task */
static const double HARD_APP_WEIGHT = -1, HARD_APP_FACTOR = 1.3;

/* The types of coprocessor that the list of tasks can name (protocol.md 1.8). */
static const struct {
	enum resource_kind kind;
	size_t usage; /* offset in rq_in_progress */
} listed[] = {
	{ RESOURCE_NVIDIA, offsetof(struct rq_in_progress, ncudas) },
	{ RESOURCE_AMD, offsetof(struct rq_in_progress, natis) },
	{ RESOURCE_INTEL, offsetof(struct rq_in_progress, nintel_gpus) },
};

/*
 * The resource that a task waits for, and how many instances: its coprocessor if it
 * uses one, as it seldom waits for its CPU part. SIZE_MAX: the host has no such
 * resource.
 */
static size_t resource_of_task(
    const struct request *rq, const struct rq_in_progress *t, double *usage)
{
	for (size_t i = 0; i < N(listed); i++) {
		memcpy(usage, (const char *)t + listed[i].usage, sizeof(*usage));
		if (*usage > 0)
			return request_resource(rq, resource_names[listed[i].kind]);
	}
	*usage = t->avg_ncpus > 0 ? t->avg_ncpus : 1;
	return 0;
}

static bool resource_is_listed(const struct rq_resource *r, size_t at)
{
	bool found = at == 0;

	for (size_t i = 0; i < N(listed); i++)
		found |= strcmp(r->type, resource_names[listed[i].kind]) == 0;
	return found;
}

/*
 * A host should report before it goes offline, for which its owner's work buffer is a
 * measure; but no job loses more than half of its time that way.
 */
static int64_t task_due(const struct ctx *c, int64_t deadline)
{
	const struct rq_prefs *p = prefs_in_force(c->req, c->snap);
	double left = (double)(deadline - c->now),
	       buffer = p->work_buf_min_days * DAY_S;

	if (!(buffer > 0) || left <= 0)
		return deadline;
	return deadline - (int64_t)fmin(buffer, left / 2);
}

static void workload_add_listed(struct ctx *c, const struct rq_in_progress *t)
{
	double usage, deadline = t->report_deadline, left = t->time_remaining;
	size_t r = resource_of_task(c->req, t, &usage);

	if (r == SIZE_MAX || !(left > 0))
		return;
	deadline = deadline > 0 ? fmin(deadline, TIME_MOST) : 0;
	edf_add(&c->queues[r].edf,
	    (struct edf_task){ task_due(c, (int64_t)deadline),
		fmin(left, REMAINING_MOST) /
		    (r == 0 ? c->m.availability : c->m.coproc_availability),
		usage });
}

void workload_begin(struct ctx *c)
{
	const struct request *rq = c->req;

	c->queues = NEWN(c->a, struct queue, c->work.n);
	for (size_t r = 0; r < c->work.n; r++) {
		double own = rq->resources[r].estimated_delay;
		double cpu = rq->estimated_delay > 0 ? rq->estimated_delay : 0;

		c->queues[r] = (struct queue){ .delay_s = own >= 0 ? own : cpu,
			.edf = edf_new(c->a, c->now, limits_instances(c, r)),
			.simulated = rq->has_in_progress &&
			             rq->nin_progress <= TASKS_SIMULATED &&
			             resource_is_listed(&rq->resources[r], r) };
	}
	for (size_t i = 0; rq->has_in_progress && i < rq->nin_progress &&
			   rq->nin_progress <= TASKS_SIMULATED;
	     i++)
		workload_add_listed(c, &rq->in_progress[i]);
}

void workload_add(
    struct ctx *c, size_t r, double runtime_s, double usage, int64_t deadline)
{
	struct queue *q = &c->queues[r];

	q->delay_s += runtime_s * usage / limits_instances(c, r);
	if (q->simulated)
		edf_add(&q->edf,
		    (struct edf_task){ task_due(c, deadline), runtime_s, usage });
}

bool workload_meets(
    struct ctx *c, const struct pick *p, double runtime_s, int64_t deadline)
{
	struct queue *q = &c->queues[p->resource];
	bool hard = p->app->weight == HARD_APP_WEIGHT;

	if (c->conf->ignore_delay_bound || p->app->non_cpu_intensive)
		return true;
	if (hard && c->snap->host.total_credit <= 0)
		return false;
	if (c->conf->deadline_spares_idle && !hard &&
	    (q->simulated ? q->edf.n == 0 : q->delay_s <= 0)) /* idle */
		return true;
	if (hard)
		runtime_s *= HARD_APP_FACTOR;
	if (q->simulated)
		return edf_accepts(&q->edf,
		    (struct edf_task){ task_due(c, deadline), runtime_s, p->usage });
	return q->delay_s + runtime_s <= (double)(deadline - c->now);
}

/*
 * Tasks start in the order of their deadlines, each as soon as enough instances are
 * free; none overtakes another. With whole instances this is the greedy rule: use the
 * instance that is free first.
 */

static const double ROUNDING =
    1e-6; /* tolerance in instances: three thirds add up to one */

/* --- running tasks: a heap by end time, the next one to end on top --- */

struct edf_running {
	double end, usage;
};

static void edf_heap_push(struct edf_running *h, size_t *n, struct edf_running x)
{
	size_t i = (*n)++;

	for (; i > 0 && h[(i - 1) / 2].end > x.end; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = x;
}

static struct edf_running edf_heap_pop(struct edf_running *h, size_t *n)
{
	struct edf_running top = h[0], x = h[--*n];
	size_t i = 0;

	for (size_t child = 1; child < *n; child = 2 * i + 1) {
		if (child + 1 < *n && h[child + 1].end < h[child].end)
			child++;
		if (h[child].end >= x.end)
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = x;
	return top;
}

/* --- the simulation --- */

/* Computes when each of the n tasks, started in this order, ends: seconds from now. */
static void edf_simulate(
    struct edf *e, const struct edf_task *t, size_t n, double *done)
{
	struct edf_running *h = e->running;
	double at = 0, idle = e->instances;
	size_t nh = 0;

	for (size_t i = 0; i < n; i++) {
		double usage = t[i].usage < e->instances ? t[i].usage : e->instances;

		while (nh > 0 && idle < usage - ROUNDING) {
			struct edf_running r = edf_heap_pop(h, &nh);

			at = at > r.end ? at : r.end;
			idle += r.usage;
		}
		done[i] = at + t[i].remaining;
		idle -= usage;
		edf_heap_push(h, &nh, (struct edf_running){ done[i], usage });
	}
}

static bool edf_is_late(const struct edf *e, const struct edf_task *t, double done)
{
	return done > (double)(t->deadline - e->now);
}

/* Position of a task with this deadline: behind all that are due no later. */
static size_t edf_place(const struct edf *e, int64_t deadline)
{
	size_t from = 0, end = e->n;

	while (from < end) {
		size_t mid = (from + end) / 2;

		if (e->tasks[mid].deadline > deadline)
			end = mid;
		else
			from = mid + 1;
	}
	return from;
}

static void edf_make_room(struct edf *e)
{
	if (e->room > e->n)
		return;
	e->room = 2 * e->n + 1;
	e->trial = NEWN(e->a, struct edf_task, e->room);
	e->trial_done = NEWN(e->a, double, e->room);
	e->running = NEWN(e->a, struct edf_running, e->room);
	e->done = NEWN(e->a, double, e->room);
	e->ndone = 0;
}

static void edf_refresh(struct edf *e)
{
	edf_make_room(e);
	if (e->ndone != e->n)
		edf_simulate(e, e->tasks, e->n, e->done);
	e->ndone = e->n;
}

struct edf edf_new(struct arena *a, int64_t now, double instances)
{
	return (struct edf){ .a = a, .now = now, .instances = instances };
}

void edf_add(struct edf *e, struct edf_task t)
{
	size_t at = edf_place(e, t.deadline);

	PUSH(e->a, e->tasks, e->n, e->cap) = t;
	memmove(&e->tasks[at + 1], &e->tasks[at], (e->n - 1 - at) * sizeof(*e->tasks));
	e->tasks[at] = t;
	e->any_refused = false;
}

/* Tasks before the new one are not affected by it. When the others would end without
 * it matters only if one is late. */
static bool edf_fits(struct edf *e, const struct edf_task *x)
{
	size_t at = edf_place(e, x->deadline);
	double *done;

	edf_make_room(e);
	done = e->trial_done;
	for (size_t i = 0; i <= e->n; i++)
		e->trial[i] = i < at ? e->tasks[i] : i == at ? *x : e->tasks[i - 1];
	edf_simulate(e, e->trial, e->n + 1, done);
	if (edf_is_late(e, x, done[at]))
		return false;
	for (size_t i = at; i < e->n; i++) {
		if (!edf_is_late(e, &e->tasks[i], done[i + 1]))
			continue;
		edf_refresh(e);
		if (done[i + 1] > e->done[i])
			return false;
	}
	return true;
}

bool edf_accepts(struct edf *e, struct edf_task t)
{
	/* A task that is harder than one refused does not fit either. */
	if (e->any_refused && t.remaining >= e->refused.remaining &&
	    t.usage >= e->refused.usage && t.deadline <= e->refused.deadline)
		return false;
	if (edf_fits(e, &t))
		return true;
	e->refused = t;
	e->any_refused = true;
	return false;
}

size_t edf_misses(struct edf *e)
{
	size_t n = 0;

	edf_refresh(e);
	for (size_t i = 0; i < e->n; i++)
		n += edf_is_late(e, &e->tasks[i], e->done[i]);
	return n;
}
