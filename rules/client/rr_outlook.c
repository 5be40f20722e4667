/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be told of the round-robin simulation without running it. A host that has
 * plenty of work and distant deadlines is the usual case, and there bounds suffice:
 *
 *	- At any time a project gets at least its share of a resource, or all that it
 *	  can use: its pace. When a task ends, no more of its project's work has been
 *	  done than what was ahead of it and what all instances do in its run time.
 *	- No task ends before its remaining run time has passed, and by time h all
 *	  instances have done no more work than h each.
 *
 * As time passes the bounds become no worse: what runs has less left to do. Makes no
 * statement where limits or memory decide what runs.
 */
#include "rules/client/rr_sim.h"

#include <math.h>
#include "lib/banned.h"

static const double SURE_S = 1; /* more than rounding can amount to */
/* For how long a busy host is said to stay busy: a part of a time slice, or of that. */
static const double CALM_PARTS = 4, CALM_LEAST_S = 10;
enum { VAIN_MOST = 4 };

struct queue_bound {  /* tasks of one project for one resource */
	double use;   /* instances that its tasks could take */
	double work;  /* of all tasks, in instance-seconds of wall time */
	double ahead; /* of the tasks before the present one */
	double pace;  /* instances that it gets at least */
};
struct resource_bound {
	double shares;              /* of the projects with tasks */
	double use_least, use_most; /* of a task */
	double cpus_most;           /* that an instance of a coprocessor takes */
	double work, pace;
};
struct part { /* a task that takes part */
	const struct cw_task *task;
	struct queue_bound *queue;
	double run_s; /* wall time */
};
struct outlook {
	const struct client_world *world;
	struct queue_bound *queues; /* nprojects * nrsc */
	struct resource_bound rsc[CW_RSC_MOST];
	struct part *parts;
	size_t nparts;
	double rss_bytes; /* of all tasks */
};

/* May the task have to wait for other reasons than a lack of instances, or has its
 * project no pace? */
static bool is_limited(const struct client_world *w, const struct cw_task *t)
{
	const struct cw_project *p = &w->projects[t->project];

	return p->max_concurrent > 0 || p->share <= 0 ||
	       (w->napps > 0 && w->apps[t->app].max_concurrent > 0);
}

static void count_part(struct outlook *o, const struct cw_task *t, struct rr_sim *out)
{
	const struct client_world *w = o->world;
	size_t rsc = (size_t)t->rsc;
	struct queue_bound *q = &o->queues[(size_t)t->project * w->nrsc + rsc];
	struct resource_bound *b = &o->rsc[rsc];
	struct rr_project *p = &out->projects[t->project];
	double run = t->remaining_s / w->rsc[rsc].avail;

	o->parts[o->nparts++] = (struct part){ t, q, run };
	if (p->ntasks[rsc]++ == 0)
		b->shares += w->projects[t->project].share;
	p->nrunnable[rsc] += cw_runnable(w, t);
	p->queued[rsc] += t->remaining_s * t->use;
	q->use += t->use;
	q->work += run * t->use;
	b->work += run * t->use;
	b->use_least = b->use_most > 0 ? cw_min(b->use_least, t->use) : t->use;
	b->use_most = cw_max(b->use_most, t->use);
	if (rsc != CW_CPU)
		b->cpus_most = cw_max(b->cpus_most, t->ncpus / t->use);
	o->rss_bytes += t->rss_bytes;
}

static bool count_parts(struct outlook *o, struct rr_sim *out)
{
	const struct client_world *w = o->world;

	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];

		if (!rr_takes_part(w, t))
			continue;
		if (is_limited(w, t))
			return false;
		count_part(o, t, out);
	}
	return w->prefs.ram_bytes <= 0 || o->rss_bytes <= w->prefs.ram_bytes;
}

/* Coprocessor tasks take their CPUs before CPU tasks do. */
static void set_paces(struct outlook *o, struct rr_sim *out)
{
	const struct client_world *w = o->world;
	double cpus = w->rsc[CW_CPU].ninst;

	for (size_t r = CW_CPU + 1; r < w->nrsc; r++)
		cpus -= w->rsc[r].ninst * o->rsc[r].cpus_most;
	for (size_t p = 0; p < w->nprojects; p++)
		for (size_t r = 0; r < w->nrsc; r++) {
			struct queue_bound *q = &o->queues[p * w->nrsc + r];
			double most = r == CW_CPU ? cw_max(cpus, 0) : w->rsc[r].ninst;

			out->projects[p].used[r] = cw_min(q->use, w->rsc[r].ninst);
			o->rsc[r].pace = most;
			q->pace = most * w->projects[p].share / o->rsc[r].shares;
		}
}

/* Returns the time by which the task has certainly ended, from now, if work has to be
 * done by then at this pace: until there are no more tasks than instances for them at
 * that pace, and then the task runs at full speed. */
static double end_at_pace_s(const struct part *p, double work, double pace)
{
	return work / pace + cw_max(0, p->run_s * (1 - p->task->use / pace));
}

/* The same, with the project's work at its pace, or all work of the resource at that of
 * all instances. */
static double latest_end_s(const struct outlook *o, const struct part *p)
{
	const struct resource_bound *b = &o->rsc[p->task->rsc];
	double ninst = o->world->rsc[p->task->rsc].ninst;
	double work = p->queue->ahead + p->run_s * (ninst + b->use_most);

	p->queue->ahead += p->run_s * p->task->use;
	return cw_min(end_at_pace_s(p, cw_min(p->queue->work, work), p->queue->pace),
	    end_at_pace_s(p, b->work, b->pace));
}

static bool all_in_time(struct outlook *o, struct rr_outlook *l)
{
	const struct client_world *w = o->world;

	l->in_time_until = l->recheck_at = INFINITY;
	for (size_t i = 0; i < o->nparts; i++) {
		const struct part *p = &o->parts[i];
		double cushion = rr_cushion_s(w, p->task);
		double spare = p->task->deadline - cushion - w->now -
		               latest_end_s(o, p) - SURE_S;

		if (!(spare >= 0)) /* nor may it be NaN */
			return false;
		l->in_time_until = cw_min(l->in_time_until, w->now + spare);
		l->recheck_at = cw_min(
		    l->recheck_at, w->now + rr_recheck_s(cushion, spare));
	}
	return true;
}

/*
 * By a simulation. As long as all tasks for a resource use as much of it, and no
 * coprocessor takes CPUs, each task ends the earlier the less there is to do: whenever
 * another task has less left, no project has more tasks to run, so none gets less, and
 * no task gets a smaller part of what its project gets.
 */
static bool all_end_in_time(
    struct outlook *o, struct arena *a, struct rr_outlook *l, struct rr_sim *rr)
{
	const struct client_world *w = o->world;
	bool sure = true;

	rr_simulate(w, a, rr);
	for (size_t r = 0; r < w->nrsc; r++)
		sure = sure && o->rsc[r].use_least == o->rsc[r].use_most &&
		       o->rsc[r].cpus_most <= 0;
	l->in_time_until = w->now + rr->spare_s - SURE_S;
	l->recheck_at = w->now + rr->recheck_s - SURE_S;
	return sure && rr->spare_s > SURE_S;
}

/* What was to end in time still does if there is no more to do than then. */
static bool ends_in_time_still(
    const struct client_world *w, const struct rr_outlook *before, struct rr_outlook *l)
{
	if (!before->valid || w->growth == 0 || w->growth != before->growth ||
	    w->now > before->in_time_until)
		return false;
	l->in_time_until = before->in_time_until;
	l->recheck_at = before->recheck_at;
	return true;
}

/* --- how long all instances are busy --- */

struct load {        /* on one resource */
	double use;  /* of tasks that last until h */
	double work; /* before h */
	double use_most;
};

/*
 * Are all instances busy until h, from any time within the next wait seconds? At the
 * first idle instance of a resource every unfinished task runs, and these take fewer
 * than all instances. So the others must have ended; their work, and what of the
 * unfinished ones counts as work before h, is less than 2 h of all instances. While
 * the time passes, the instances, overcommitted by a task and one more, do some of it.
 */
static bool all_busy(const struct client_world *w, double h, double wait)
{
	struct load load[CW_RSC_MOST] = { { 0 } };
	double fall[CW_RSC_MOST];
	bool busy = true;

	for (size_t r = 0; r < w->nrsc; r++)
		fall[r] = CW_REMAINING_FALLS * wait / w->rsc[r].avail;
	for (size_t i = 0; i < w->ntasks; i++) {
		const struct cw_task *t = &w->tasks[i];
		double run = t->remaining_s / w->rsc[t->rsc].avail, use = t->use;
		struct load *l = &load[t->rsc];

		if (!rr_takes_part(w, t))
			continue;
		if (run >= h + fall[t->rsc])
			l->use += use;
		l->work += use * cw_min(run, h);
		l->use_most = cw_max(l->use_most, use);
	}
	for (size_t r = 0; r < w->nrsc; r++) {
		double all = w->rsc[r].ninst * (1 + 1e-6);

		busy = busy &&
		       (load[r].use >= all ||
			   load[r].work >=
			       2 * all * h + fall[r] * (all + 1 + load[r].use_most));
	}
	return busy;
}

/* Until the buffer is at its low-water mark, s seconds later. */
static double low_water_s(const struct client_world *w, double s)
{
	return cw_max(s, 0) + w->prefs.min_s + SURE_S;
}

bool rr_outlook_lasts(const struct client_world *w, const struct rr_outlook *l)
{
	return l->valid && cw_unchanged(w, l->version) && w->now <= l->calm_until &&
	       w->now <= l->in_time_until && w->prefs.min_s <= l->min_s;
}

bool rr_outlook_holds(
    const struct client_world *w, const struct rr_outlook *l, double s)
{
	return w->now + s <= l->recheck_at &&
	       (w->now + s <= l->calm_until || all_busy(w, low_water_s(w, s), 0));
}

/* Returns for how long the instances are busy if nothing changes; -1 if they are not
 * now. With limited memory the queues' lengths matter exactly. */
static double calm_s(const struct client_world *w)
{
	double s = w->prefs.period_s / CALM_PARTS;

	if (w->prefs.ram_bytes <= 0)
		for (; s >= CALM_LEAST_S; s /= CALM_PARTS)
			if (all_busy(w, low_water_s(w, s), s))
				return s;
	return all_busy(w, low_water_s(w, 0), 0) ? 0 : -1;
}

/* Returns true if the bounds suffice; sets *simulated if rr is a simulation already. */
static bool find_outlook(
    const struct client_world *w, struct arena *a, struct rr_sim *rr, bool *simulated)
{
	struct outlook o = { .world = w,
		.queues = NEWN(a, struct queue_bound, w->nprojects * w->nrsc),
		.parts = NEWN(a, struct part, w->ntasks) };
	struct rr_sim out = { .projects = NEWN(a, struct rr_project, w->nprojects),
		.tasks = NEWN(a, struct rr_task, w->ntasks),
		.recheck_s = INFINITY,
		.outlook = { .valid = true,
		    .version = w->version,
		    .growth = w->growth,
		    .min_s = w->prefs.min_s } };
	struct rr_outlook *l = &out.outlook;
	double calm;

	for (size_t r = 0; r < w->nrsc; r++)
		out.rsc[r].saturated_s = INFINITY;
	if (!count_parts(&o, &out) || (calm = calm_s(w)) < 0)
		return false;
	set_paces(&o, &out);
	l->calm_until = w->now + calm;
	if (!ends_in_time_still(w, &rr->outlook, l) && !all_in_time(&o, l)) {
		*simulated = true;
		if (!all_end_in_time(&o, a, l, rr))
			return false;
	}
	*rr = out;
	return true;
}

void rr_predict(const struct client_world *w, struct arena *a, struct rr_sim *rr)
{
	const struct rr_outlook before = rr->outlook;
	bool simulated = false;

	if (before.nskip > 0) {
		rr_simulate(w, a, rr);
		rr->outlook.nvain = before.nvain;
		rr->outlook.nskip = before.nskip - 1;
		return;
	}
	if (find_outlook(w, a, rr, &simulated))
		return;
	if (!simulated)
		rr_simulate(w, a, rr);
	/* The bounds do not suffice, and probably will not the next times. */
	rr->outlook.nvain = before.nvain < VAIN_MOST ? before.nvain + 1 : VAIN_MOST;
	rr->outlook.nskip = (1U << rr->outlook.nvain) - 1;
}
