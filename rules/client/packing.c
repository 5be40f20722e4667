/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks fit into memory side by side: how many CPUs can be kept busy. */
#include "rules/client/policy.h"

#include <math.h>
#include <stdlib.h>
#include "lib/banned.h"

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

static int
by_memory_per_cpu(const void *pa, const void *pb)
{
	const struct packed *a = pa, *b = pb;
	double x = a->rss * b->ncpus, y = b->rss * a->ncpus;

	return x != y ? (x < y ? -1 : 1) : (a->task > b->task) - (a->task < b->task);
}

/* A task that may start now, as far as memory is concerned. */
static bool
may_be_packed(const struct client_world *w, const struct cw_task *t)
{
	return t->rsc == CW_CPU && t->ncpus > 0 && cw_runnable(w, t) && !cw_nci(w, t) &&
	       !cw_too_big(w, t);
}

struct packing *
packing_of(const struct client_world *w, struct arena *a)
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
static double
busy_cpus(const struct packing *p, double ram, double cpus, int64_t task)
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

bool
packing_leaves_idle(const struct packing *p, double ram, double cpus, uint32_t task)
{
	const struct cw_task *t = &p->world->tasks[task];

	if ((!p->any && !p->world->small_first) || !may_be_packed(p->world, t) ||
	    t->rss_bytes > ram)
		return false;
	return cw_min(cpus, t->ncpus) +
	           busy_cpus(p, ram - t->rss_bytes, cw_max(0, cpus - t->ncpus), task) <
	       busy_cpus(p, ram, cpus, CW_NONE) - NEAR;
}

void
packing_take(struct packing *p, uint32_t task)
{
	p->taken[task] = true;
	p->any = true;
}
