/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weighted round-robin simulation (client.md 2.2 in its exact, work-conserving
 * form): predicts what becomes of the queued tasks if each resource is shared at every
 * instant among the projects in proportion to their shares. A project takes no more
 * than its running tasks can use, and the surplus goes to the others; within a project
 * the running tasks advance evenly, and the others wait in order of arrival. Tasks
 * that do not fit into memory together run one after the other, and the CPUs that this
 * leaves unused count as idle; but with small_first small tasks of others use them.
 * Leaves out tasks that need more memory than there is.
 */
#ifndef RULES_CLIENT_RR_SIM_H
#define RULES_CLIENT_RR_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "rules/client/world.h"

/*
 * Divides one resource among streams like water: capacity goes to the streams in
 * proportion to their shares, no stream gets more than it can use, and what it leaves
 * goes to the others. A stream is either capped and advances at a known speed, or
 * takes share * level. Uncapped streams therefore keep their order however the level
 * changes, and every change costs O(log n).
 */

struct stream {
	double share; /* > 0 */
	double use;   /* instances that it could use; 0 = not in the flow */
	double other; /* CPUs that a coprocessor's stream needs at full use */
	/* Virtual time: run seconds of each of its tasks since the start, as of
	 * mark. */
	double vtime;
	/* When vtime was taken: a time if capped, otherwise a level time. */
	double mark;
	double next_vtime; /* vtime at which its first task ends */
	/* Instances that it takes at most; flow_set() derives cap and speed. */
	double cap;
	/* Of vtime, per second if capped, otherwise per level time. */
	double speed;
	bool capped;
};
struct heap { /* of streams, least key first */
	uint32_t *at, n;
};
struct flow {
	struct stream *streams;
	double ninst;    /* of the resource */
	double capacity; /* instances available to this flow now */
	/* Instances per share; INFINITY: all streams are capped. */
	double level;
	double now, level_time; /* current time, and the integral of level over it */
	double shares;          /* sum over the uncapped streams */
	double caps;            /* sum of cap over the capped streams */
	double other_capped, other_per_level;
	bool unsettled; /* the level may no longer fit */
	struct heap open_end, open_cap, capped_end, capped_cap;
	double *end_key, *cap_key;
	uint32_t *end_pos, *cap_pos;
};

/* --- small and called at every step --- */

/* Virtual time of a stream now. */
static inline double flow_vtime(const struct flow *f, uint32_t stream)
{
	const struct stream *s = &f->streams[stream];
	double now = s->capped ? f->now : f->level_time;

	return s->use > 0 ? s->vtime + s->speed * (now - s->mark) : s->vtime;
}

static inline void flow_advance(struct flow *f, double now)
{
	if (f->open_end.n > 0)
		f->level_time += f->level * (now - f->now);
	f->now = now;
}

/* Instances of the capacity that no stream uses. */
static inline double flow_idle(const struct flow *f)
{
	double left = f->capacity - f->caps;

	return f->open_end.n > 0 || left < 1e-9 * f->ninst ? 0 : left;
}

struct rr_resource {
	double shortfall; /* idle instance-seconds from now to the end of the buffer */
	double nidle;     /* instances idle now */
	double saturated_s; /* time from now until the first instance is idle */
	/* Time for which all instances are busy with tasks that would miss (by EDF). */
	double busy_s;
	double missed_use; /* instances that tasks which would miss could use */
};
struct rr_project {
	/* Entitled instance-seconds up to the end of the buffer that it cannot use. */
	double shortfall[CW_RSC_MOST];
	double queued[CW_RSC_MOST];   /* instance-seconds of queued work */
	double used[CW_RSC_MOST];     /* instances that its queue takes now */
	uint32_t ntasks[CW_RSC_MOST]; /* nearly runnable */
	uint32_t nrunnable[CW_RSC_MOST];
	uint32_t misses[CW_RSC_MOST];
};
struct rr_task {
	double finish_s; /* from now; 0 for tasks outside the simulation */
	bool miss;       /* not finished by its deadline less the cushion */
};
/* What is certain without a simulation. Times are the shell's. */
struct rr_outlook {
	bool valid; /* otherwise the simulation was run */
	/* Attempts in vain in a row, and how often not to try again at all. */
	uint32_t nvain, nskip;
	uint64_t version, growth; /* of the world */
	double min_s;             /* low-water mark */
	double calm_until;        /* no instance is idle before then */
	/* All tasks end in time if, by then at the latest, there is no more to do. */
	double in_time_until;
	double recheck_at; /* the simulation wants to run again by then, or later */
};
struct rr_sim {
	struct rr_resource rsc[CW_RSC_MOST];
	struct rr_project *projects; /* nprojects */
	struct rr_task *tasks;       /* ntasks */
	/* When to simulate again without an event, from now: a task that does not run
	 * loses a second of slack each second. Not before half of its cushion would be
	 * gone. INFINITY: never. */
	double recheck_s;
	double
	    spare_s; /* the least by which a task meets its deadline; INFINITY: none */
	struct rr_outlook outlook; /* from rr_predict() */
};

/* Runs in O(n log n) for n tasks and projects. The buffer is prefs.min_s +
 * prefs.extra_s of wall time; availability stretches the tasks. Leaves out tasks that
 * are suspended or not CPU-intensive. */
void rr_simulate(const struct client_world *, struct arena *, struct rr_sim *);

/* --- rr_outlook.c --- */
/*
 * Fills in what the simulation would say, without one, if it is certain that no task
 * misses its deadline and that no instance becomes idle before the buffer is at its
 * low-water mark. Then outlook is valid, and all members are as rr_simulate() sets
 * them except finish_s, shortfall, spare_s (0), saturated_s and recheck_s (INFINITY:
 * later than matters, see rr_outlook_holds()). Otherwise simulates. Pass the last
 * prediction, or zeroes; its arrays may be gone. O(n), or as rr_simulate().
 */
void rr_predict(const struct client_world *, struct arena *, struct rr_sim *);
/* Is the prediction still what rr_predict() would say? */
bool rr_outlook_lasts(const struct client_world *, const struct rr_outlook *);
/* Is it certain that, by a simulation now, the buffer would not be at its low-water
 * mark within the next s seconds, and recheck_s would be no less? O(n) at most. */
bool rr_outlook_holds(const struct client_world *, const struct rr_outlook *, double s);

/* --- the terms of both --- */

/* Does the task take part in the simulation? */
static inline bool rr_takes_part(const struct client_world *w, const struct cw_task *t)
{
	return cw_nearly_runnable(w, t) && !cw_nci(w, t) && !cw_too_big(w, t);
}

/* A task should finish by its deadline less the cushion, but the cushion never exceeds
 * half of the task's time (the server's rule, rules/sched/workload.c). In s. */
static inline double rr_cushion_s(const struct client_world *w, const struct cw_task *t)
{
	double half = (t->deadline - t->received_at) / 2;

	return cw_min(w->prefs.cushion_s, cw_max(half, 0));
}

/* Returns when to look at a task again that is to finish spare seconds before that
 * time: from now, in s. */
static inline double rr_recheck_s(double cushion, double spare)
{
	return cw_max(spare, cw_min(cw_max(cushion / 2, 60), 600));
}

#endif
