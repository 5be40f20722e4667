/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks to start and stop now so that the run list is followed (client.md 2.5,
 * 4.4). */
#include "rules/client/policy.h"

#include <math.h>
#include "lib/banned.h"

static const double NEAR = 1e-9;

enum urgency {
	NOT_INTENSIVE,
	DEADLINE,
	COPROCESSOR_IN_SLICE,
	COPROCESSOR,
	IN_SLICE,
	OTHERS,
	URGENCIES
};
struct rank {
	uint32_t task;
	enum urgency urgency;
};
struct room { /* what is left for the tasks still to be placed */
	const struct client_world *world;
	double cpus;
	double *inst[CW_RSC_MOST]; /* coprocessors: what is free of each instance */
	double ram;                /* INFINITY: no limit */
	struct packing *small;     /* NULL: all that could run fits into memory */
	int32_t *nproject, *napp;  /* tasks placed */
};

/* The task has run for a time slice and has checkpointed since the slice ended. */
static bool slice_over(const struct client_world *w, const struct cw_task *t)
{
	double end = t->run_since + w->prefs.period_s;

	return t->checkpointed_at >= end;
}

static enum urgency urgency_of(
    const struct client_world *w, const struct cw_task *t, bool edf, bool slice)
{
	bool cpu = t->rsc == CW_CPU;

	return cw_nci(w, t) ? NOT_INTENSIVE :
	       edf          ? DEADLINE :
	       slice        ? cpu ? IN_SLICE : COPROCESSOR_IN_SLICE :
	       cpu          ? OTHERS :
	                      COPROCESSOR;
}

static struct rank rank_of(const struct client_world *w, const struct policy *policy,
    const struct run_item *it)
{
	const struct cw_task *t = &w->tasks[it->task];
	/* A slice that has only just begun gives way, on a CPU, if the policy says so:
	 * the instance may have been free only for as long as it took to fetch the
	 * tasks of the project that has a right to it. */
	bool in_slice = t->running && !slice_over(w, t) &&
	                (t->rsc != CW_CPU ||
			    w->now > t->run_since + policy->slice_gives_way_s ||
			    policy->slice_gives_way_s <= 0);

	return (struct rank){ it->task, urgency_of(w, t, it->edf, in_slice) };
}

/* --- room --- */

static size_t ninst_of(const struct client_world *w, size_t rsc)
{
	return (size_t)cw_max(1, ceil(w->rsc[rsc].ninst - NEAR));
}

static void open_room(const struct client_world *w, struct arena *a, struct room *m)
{
	*m = (struct room){ .world = w,
		.cpus = w->rsc[CW_CPU].ninst,
		.ram = w->prefs.ram_bytes > 0 ? w->prefs.ram_bytes : INFINITY,
		.small = packing_of(w, a),
		.nproject = NEWN(a, int32_t, w->nprojects),
		.napp = NEWN(a, int32_t, w->napps) };
	for (size_t r = CW_CPU + 1; r < w->nrsc; r++) {
		m->inst[r] = NEWN(a, double, ninst_of(w, r));
		for (size_t k = 0; k < ninst_of(w, r); k++)
			m->inst[r][k] = 1;
	}
}

static bool at_concurrency_limit(const struct room *m, const struct cw_task *t)
{
	int32_t most = m->world->projects[t->project].max_concurrent;

	if (most > 0 && m->nproject[t->project] >= most)
		return true;
	most = m->world->napps > 0 ? m->world->apps[t->app].max_concurrent : 0;
	return most > 0 && m->napp[t->app] >= most;
}

/* Returns the first instance for a coprocessor task: its present one if possible; for a
 * fraction of an instance, one that is shared already, so that whole instances stay
 * free for tasks that need them. -1 if the task does not fit. */
static int32_t find_device(const struct room *m, const struct cw_task *t)
{
	const double *inst = m->inst[t->rsc];
	size_t n = ninst_of(m->world, (size_t)t->rsc);
	double use = cw_min(t->use, m->world->rsc[t->rsc].ninst);
	int32_t best = CW_NONE, whole = 0;

	if (use < 1 - NEAR) {
		if (t->running && (size_t)t->device < n &&
		    inst[t->device] >= use - NEAR)
			return t->device;
		for (size_t k = 0; k < n; k++)
			if (inst[k] >= use - NEAR &&
			    (best < 0 || inst[k] < inst[best] - NEAR))
				best = (int32_t)k;
		return best;
	}
	for (size_t k = 0; k < n; k++)
		if (inst[k] >= 1 - NEAR) {
			whole++;
			if (best < 0 || (t->running && (size_t)t->device == k))
				best = (int32_t)k;
		}
	return whole >= ceil(use - NEAR) ? best : CW_NONE;
}

static void occupy_instances(struct room *m, const struct cw_task *t, int32_t device)
{
	size_t n = ninst_of(m->world, (size_t)t->rsc);
	double use = cw_min(t->use, m->world->rsc[t->rsc].ninst);

	if (use < 1 - NEAR) {
		m->inst[t->rsc][device] -= use;
		return;
	}
	m->inst[t->rsc][device] = 0;
	use -= 1;
	for (size_t k = 0; k < n && use > NEAR; k++)
		if (m->inst[t->rsc][k] >= 1 - NEAR) {
			m->inst[t->rsc][k] = 0;
			use -= 1;
		}
}

/* Takes what the task needs, if it fits. Coprocessors are never overcommitted; their
 * tasks may overcommit the CPUs by one. The CPUs are full only when nothing of them is
 * left, so the last task may overcommit them, too (client.md 4.4). */
static bool try_to_place(struct room *m, const struct cw_task *t, int32_t *device)
{
	*device = -1;
	if (cw_nci(m->world, t))
		return true;
	if (at_concurrency_limit(m, t) || t->rss_bytes > m->ram)
		return false;
	if (t->rsc == CW_CPU && m->cpus < NEAR)
		return false;
	if (t->rsc != CW_CPU) {
		if (m->cpus - t->ncpus < -1 - NEAR)
			return false;
		*device = find_device(m, t);
		if (*device < 0)
			return false;
		occupy_instances(m, t, *device);
	}
	m->cpus -= t->ncpus;
	m->ram -= t->rss_bytes;
	m->nproject[t->project]++;
	if (m->world->napps > 0)
		m->napp[t->app]++;
	return true;
}

/* Places a task unless it would take so much memory that CPUs stay idle which smaller
 * tasks could use. A task that runs within its slice or is in danger comes first,
 * whatever its size. */
static bool try_to_fit(struct room *m, struct rank r, int32_t *device)
{
	const struct cw_task *t = &m->world->tasks[r.task];

	if (r.urgency == OTHERS && m->small != NULL &&
	    packing_leaves_idle(m->small, m->ram, m->cpus, r.task))
		return false;
	if (!try_to_place(m, t, device))
		return false;
	if (m->small != NULL)
		packing_take(m->small, r.task);
	return true;
}

/* --- actions --- */

static void add_stop(const struct client_world *w, uint32_t task, struct enforced *e)
{
	const struct cw_task *t = &w->tasks[task];
	/* A coprocessor task must release the memory of its device. A task without a
	 * checkpoint would lose all of its work. */
	bool keep = t->rsc == CW_CPU &&
	            (w->prefs.leave_in_memory || t->checkpointed_at <= 0 ||
			(w->prefs.ram_bytes > 0 && t->rss_bytes > w->prefs.ram_bytes));

	e->stop[e->nstop++] = (struct stop_item){ task, keep };
}

static void add_start(uint32_t task, int32_t device, struct enforced *e)
{
	e->start[e->nstart] = task;
	e->device[e->nstart++] = device;
}

struct waiting { /* projects with tasks that could run if there were room */
	int32_t first;
	bool several;
};

/* Rechecks when the task's time slice ends, or its next one if it was continued; after
 * an expired slice, at its next checkpoint. */
static void plan_recheck(const struct client_world *w, const struct cw_task *t,
    const struct waiting *wait, struct enforced *e)
{
	double period = w->prefs.period_s, ran = t->running ? w->now - t->run_since : 0;
	bool others_wait = wait->first >= 0 &&
	                   (wait->several || wait->first != t->project);

	if (!(period > 0) || !others_wait)
		return;
	if (ran >= period && !slice_over(w, t))
		e->at_checkpoint = true;
	/* Of several slices, only the present one counts. */
	e->recheck_at = cw_min(e->recheck_at, w->now + period - fmod(ran, period));
}

/* client.md 2.5: a task chosen for its deadline replaces the running task that loses
 * least. All others wait until a running task that is not wanted checkpoints. keep[]
 * marks the wanted tasks that fit. */
static void preempt_for_deadlines(const struct client_world *w, const struct rank *r,
    size_t n, const bool *keep, struct enforced *e)
{
	for (size_t i = 0; i < n; i++) {
		double least = INFINITY;
		int32_t victim = CW_NONE;

		if (!keep[r[i].task] || w->tasks[r[i].task].running ||
		    r[i].urgency != DEADLINE)
			continue;
		for (size_t k = 0; k < n; k++) {
			const struct cw_task *t = &w->tasks[r[k].task];
			bool gone = false;

			for (size_t j = 0; j < e->nstop; j++)
				gone |= e->stop[j].task == r[k].task;
			if (t->running && !keep[r[k].task] && !gone &&
			    t->since_checkpoint_s < least) {
				least = t->since_checkpoint_s;
				victim = (int32_t)r[k].task;
			}
		}
		if (victim >= 0)
			add_stop(w, (uint32_t)victim, e);
	}
}

static void stop_at_checkpoints(const struct client_world *w, const struct rank *r,
    size_t n, const bool *keep, struct enforced *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct cw_task *t = &w->tasks[r[i].task];
		bool gone = false;

		for (size_t j = 0; j < e->nstop; j++)
			gone |= e->stop[j].task == r[i].task;
		if (!t->running || keep[r[i].task] || gone)
			continue;
		if (!cw_runnable(w, t) || t->checkpointed_at >= w->scheduled_at)
			add_stop(w, r[i].task, e);
		else
			e->at_checkpoint = true;
	}
}

/* Parameters: the ranked tasks, plus what to keep, what runs, and the room left. */
static void enforce_by_checkpoint(const struct client_world *w, struct arena *a,
    const struct rank *r, size_t n, const bool *keep, bool *run, struct room *m,
    struct enforced *e)
{
	bool *gone = NEWN(a, bool, w->ntasks);
	int32_t device;

	preempt_for_deadlines(w, r, n, keep, e);
	stop_at_checkpoints(w, r, n, keep, e);
	for (size_t i = 0; i < e->nstop; i++)
		gone[e->stop[i].task] = true;
	open_room(w, a, m);
	for (size_t i = 0; i < n; i++) {
		const struct cw_task *t = &w->tasks[r[i].task];

		run[i] = t->running && !gone[r[i].task];
		if (run[i])
			try_to_place(m, t, &device);
		if (run[i] && m->small != NULL)
			packing_take(m->small, r[i].task);
	}
	for (size_t i = 0; i < n; i++) {
		const struct cw_task *t = &w->tasks[r[i].task];

		if (t->running || !cw_runnable(w, t) || !try_to_fit(m, r[i], &device))
			continue;
		run[i] = true;
		add_start(r[i].task, device, e);
	}
}

/* --- both ways of enforcement --- */

/* Ranks the listed tasks, then the running ones that are not listed: by urgency,
 * otherwise in their order. */
static size_t rank_tasks(const struct client_world *w, const struct policy *policy,
    struct arena *a, const struct run_list *list, struct rank *r)
{
	bool *listed = NEWN(a, bool, w->ntasks);
	struct rank *all = NEWN(a, struct rank, w->ntasks);
	size_t n = 0, first[URGENCIES + 1] = { 0 };

	for (size_t i = 0; i < list->n; i++) {
		all[n++] = rank_of(w, policy, &list->item[i]);
		listed[list->item[i].task] = true;
	}
	for (uint32_t i = 0; i < w->ntasks; i++)
		if (w->tasks[i].running && !listed[i])
			all[n++] = rank_of(w, policy, &(struct run_item){ i, false });
	for (size_t i = 0; i < n; i++)
		first[all[i].urgency + 1]++;
	for (size_t u = 1; u < URGENCIES; u++)
		first[u] += first[u - 1];
	for (size_t i = 0; i < n; i++)
		r[first[all[i].urgency]++] = all[i];
	return n;
}

static bool has_free_instance(const struct room *m)
{
	for (size_t r = 0; r < m->world->nrsc; r++) {
		if (r == CW_CPU && m->cpus > NEAR)
			return true;
		for (size_t k = 0; r != CW_CPU && k < ninst_of(m->world, r); k++)
			if (m->inst[r][k] > NEAR)
				return true;
	}
	return false;
}

/* Starts tasks that the list left out, by arrival, where no listed task fits: a listed
 * task may need more instances, or more memory, than are left. Returns the new number
 * of ranked tasks. */
static size_t use_the_rest(const struct client_world *w, struct arena *a,
    struct rank *r, size_t n, bool *run, struct room *m, struct enforced *e)
{
	bool *seen = NEWN(a, bool, w->ntasks);
	int32_t device;

	for (size_t i = 0; i < n; i++)
		seen[r[i].task] = true;
	for (uint32_t i = 0; i < w->ntasks; i++) {
		struct rank left = { i, urgency_of(w, &w->tasks[i], false, false) };

		if (seen[i] || !cw_runnable(w, &w->tasks[i]) ||
		    !try_to_fit(m, left, &device))
			continue;
		r[n] = left;
		run[n++] = true;
		add_start(i, device, e);
	}
	return n;
}

static void plan_rechecks(const struct client_world *w, const struct rank *r, size_t n,
    const bool *run, struct enforced *e)
{
	struct waiting wait = { CW_NONE, false };

	for (size_t i = 0; i < n; i++) {
		const struct cw_task *t = &w->tasks[r[i].task];

		if (run[i] || !cw_runnable(w, t))
			continue;
		if (wait.first < 0)
			wait.first = t->project;
		wait.several |= wait.first != t->project;
	}
	for (size_t i = 0; i < n; i++)
		if (run[i] && r[i].urgency != NOT_INTENSIVE)
			plan_recheck(w, &w->tasks[r[i].task], &wait, e);
}

void enforce(const struct client_world *w, const struct policy *policy, struct arena *a,
    const struct run_list *list, struct enforced *e)
{
	struct rank *r = NEWN(a, struct rank, w->ntasks);
	bool *keep = NEWN(a, bool, w->ntasks), *run = NEWN(a, bool, w->ntasks);
	size_t n = rank_tasks(w, policy, a, list, r);
	struct room m;

	*e = (struct enforced){ NEWN(a, uint32_t, w->ntasks),
		NEWN(a, int32_t, w->ntasks), 0, NEWN(a, struct stop_item, w->ntasks), 0,
		INFINITY, false };
	open_room(w, a, &m);
	for (size_t i = 0; i < n; i++) {
		const struct cw_task *t = &w->tasks[r[i].task];
		int32_t device;

		run[i] = keep[r[i].task] = cw_runnable(w, t) &&
		                           try_to_fit(&m, r[i], &device);
		if (policy->victim_least_since_checkpoint)
			continue;
		if (run[i] && !t->running)
			add_start(r[i].task, device, e);
		if (!run[i] && t->running)
			add_stop(w, r[i].task, e);
	}
	if (policy->victim_least_since_checkpoint)
		enforce_by_checkpoint(w, a, r, n, keep, run, &m, e);
	if (n < w->ntasks && has_free_instance(&m))
		n = use_the_rest(w, a, r, n, run, &m, e);
	plan_rechecks(w, r, n, run, e);
}

void enforce_done(struct client_world *w, const struct rr_sim *rr)
{
	bool any = false;

	w->scheduled_at = w->now;
	for (size_t r = 0; r < w->nrsc; r++)
		any |= rr->rsc[r].missed_use > 0;
	for (size_t i = 0; i < w->ntasks && any; i++)
		if (w->tasks[i].running && rr->tasks[i].miss)
			w->tasks[i].endangered_at = w->now;
}
