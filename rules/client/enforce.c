/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks start and stop now, so that the list is followed (client.md 4.4). */
#include "rules/client/policy.h"

#include <math.h>
#include <stdlib.h>
#include "lib/banned.h"

struct rank {
	uint32_t task;
	uint32_t place; /* in the list */
	int urgency;    /* 0 deadline, 1 coprocessor, 2 slice not over, 3 others */
};

/* It has run for a time slice and has a checkpoint since then. */
static bool
slice_over(const struct client_world *w, const struct cw_task *t)
{
	double end = t->run_since + w->prefs.period_s;

	return w->now >= end && t->checkpointed_at >= end;
}

static int
by_rank(const void *pa, const void *pb)
{
	const struct rank *a = pa, *b = pb;

	if (a->urgency != b->urgency)
		return a->urgency < b->urgency ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

static struct rank
rank_of(const struct client_world *w, const struct run_item *it, uint32_t place)
{
	const struct cw_task *t = &w->tasks[it->task];
	int urgency = it->edf                         ? 0 :
	              t->rsc != CW_CPU                ? 1 :
	              t->running && !slice_over(w, t) ? 2 :
	                                                3;

	return (struct rank){ it->task, place, urgency };
}

/*
 * Coprocessors are not shared beyond what they are; the CPUs are full when nothing is
 * left of them, so that the last task may take more than there is (client.md 4.2).
 */
static bool
fits(const struct client_world *w, const struct cw_task *t, double *left)
{
	double need = t->rsc == CW_CPU ? 1e-9 :
	                                 fmin(t->use, w->rsc[t->rsc].ninst) - 1e-9;

	if (left[t->rsc] < need)
		return false;
	left[t->rsc] -= t->use;
	if (t->rsc != CW_CPU)
		left[CW_CPU] -= t->ncpus;
	return true;
}

static void
note(const struct client_world *w, const struct rank *k, bool run, struct enforced *e)
{
	const struct cw_task *t = &w->tasks[k->task];
	double end = (t->running ? t->run_since : w->now) + w->prefs.period_s;

	if (run && !t->running)
		e->start[e->nstart++] = k->task;
	if (!run && t->running)
		e->stop[e->nstop++] = (struct stop_item){ k->task,
			w->prefs.leave_in_memory && t->rsc == CW_CPU };
	if (run && end > w->now)
		e->recheck_at = fmin(e->recheck_at, end);
	else if (run)
		e->at_checkpoint = true;
}

void
enforce(const struct client_world *w, const struct policy *how, struct arena *a,
    const struct run_list *list, struct enforced *e)
{
	struct rank *r = NEWN(a, struct rank, w->ntasks + 1);
	bool *listed = NEWN(a, bool, w->ntasks + 1);
	double left[CW_RSC_MOST];
	size_t n = 0;

	(void)how;
	*e = (struct enforced){ NEWN(a, uint32_t, w->ntasks + 1), 0,
		NEWN(a, struct stop_item, w->ntasks + 1), 0, INFINITY, false };
	for (size_t i = 0; i < w->nrsc; i++)
		left[i] = w->rsc[i].ninst;
	for (size_t i = 0; i < list->n; i++, n++) {
		r[n] = rank_of(w, &list->item[i], (uint32_t)n);
		listed[list->item[i].task] = true;
	}
	for (uint32_t i = 0; i < w->ntasks; i++)
		if (w->tasks[i].running && !listed[i]) {
			r[n] = rank_of(w, &(struct run_item){ i, false }, (uint32_t)n);
			n++;
		}
	qsort(r, n, sizeof(*r), by_rank);
	for (size_t i = 0; i < n; i++) {
		const struct cw_task *t = &w->tasks[r[i].task];

		note(w, &r[i], cw_runnable(w, t) && fits(w, t, left), e);
	}
}
