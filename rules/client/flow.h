/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides one resource among streams like water: capacity goes to the streams in
 * proportion to their shares, no stream gets more than it can use, and what it leaves
 * goes to the others.  A stream is either capped and advances at a known speed, or
 * takes share * level.  Uncapped streams therefore keep their order however the level
 * changes, and every change costs O(log n).
 */
#ifndef RULES_CLIENT_FLOW_H
#define RULES_CLIENT_FLOW_H

#include "lib/arena.h"
#include <stdbool.h>
#include <stdint.h>

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

void flow_init(struct flow *, struct arena *, size_t nstreams, double ninst);
/* flow_set() changes a stream: use and other as in struct stream, its first task ends
 * at next_vtime.  Call flow_settle() after all changes of one moment. */
void flow_settle(struct flow *);
void flow_set(
    struct flow *, uint32_t stream, double use, double other, double next_vtime);
/* Returns when the next task ends if nothing changes, INFINITY if none does, and its
 * stream. */
double flow_next(const struct flow *, uint32_t *stream);
double flow_other(const struct flow *); /* CPUs that it takes now */

/* --- small and called at every step --- */

/* Virtual time of a stream now. */
static inline double
flow_vtime(const struct flow *f, uint32_t stream)
{
	const struct stream *s = &f->streams[stream];
	double now = s->capped ? f->now : f->level_time;

	return s->use > 0 ? s->vtime + s->speed * (now - s->mark) : s->vtime;
}

static inline void
flow_advance(struct flow *f, double now)
{
	if (f->open_end.n > 0)
		f->level_time += f->level * (now - f->now);
	f->now = now;
}

/* Instances of the capacity that no stream uses. */
static inline double
flow_idle(const struct flow *f)
{
	double left = f->capacity - f->caps;

	return f->open_end.n > 0 || left < 1e-9 * f->ninst ? 0 : left;
}

#endif
