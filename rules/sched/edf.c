/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks start in the order of their deadlines, each as soon as enough instances are
 * free; none overtakes another. With whole instances this is the greedy rule: use the
 * instance that is free first.
 */
#include "rules/sched/edf.h"

#include <string.h>
#include "lib/banned.h"

static const double ROUNDING =
    1e-6; /* tolerance in instances: three thirds add up to one */

/* --- running tasks: a heap by end time, the next one to end on top --- */

struct edf_running {
	double end, usage;
};

static void
edf_heap_push(struct edf_running *h, size_t *n, struct edf_running x)
{
	size_t i = (*n)++;

	for (; i > 0 && h[(i - 1) / 2].end > x.end; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = x;
}

static struct edf_running
edf_heap_pop(struct edf_running *h, size_t *n)
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
static void
edf_simulate(struct edf *e, const struct edf_task *t, size_t n, double *done)
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

static bool
edf_is_late(const struct edf *e, const struct edf_task *t, double done)
{
	return done > (double)(t->deadline - e->now);
}

/* Position of a task with this deadline: behind all that are due no later. */
static size_t
edf_place(const struct edf *e, int64_t deadline)
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

static void
edf_make_room(struct edf *e)
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

static void
edf_refresh(struct edf *e)
{
	edf_make_room(e);
	if (e->ndone != e->n)
		edf_simulate(e, e->tasks, e->n, e->done);
	e->ndone = e->n;
}

struct edf
edf_new(struct arena *a, int64_t now, double instances)
{
	return (struct edf){ .a = a, .now = now, .instances = instances };
}

void
edf_add(struct edf *e, struct edf_task t)
{
	size_t at = edf_place(e, t.deadline);

	PUSH(e->a, e->tasks, e->n, e->cap) = t;
	memmove(&e->tasks[at + 1], &e->tasks[at], (e->n - 1 - at) * sizeof(*e->tasks));
	e->tasks[at] = t;
	e->any_refused = false;
}

static bool
edf_is_harder(const struct edf_task *t, const struct edf_task *than)
{
	return t->remaining >= than->remaining && t->usage >= than->usage &&
	       t->deadline <= than->deadline;
}

/* Tasks before the new one are not affected by it.  When the others would end without
 * it matters only if one is late. */
static bool
edf_fits(struct edf *e, const struct edf_task *x)
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

bool
edf_accepts(struct edf *e, struct edf_task t)
{
	if (e->any_refused && edf_is_harder(&t, &e->refused))
		return false;
	if (edf_fits(e, &t))
		return true;
	e->refused = t;
	e->any_refused = true;
	return false;
}

size_t
edf_misses(struct edf *e)
{
	size_t n = 0;

	edf_refresh(e);
	for (size_t i = 0; i < e->n; i++)
		n += edf_is_late(e, &e->tasks[i], e->done[i]);
	return n;
}
