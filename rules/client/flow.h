/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One resource shared like water among streams: the capacity is given in proportion to
 * the streams' shares, none gets more than it can use, and what it leaves goes to the
 * others.  A stream is capped, and moves at a known speed, or it takes share * level;
 * so the streams that are not capped stay in order however the level changes, and
 * every change costs O(log n).
 */
#ifndef RULES_CLIENT_FLOW_H
#define RULES_CLIENT_FLOW_H

#include "lib/arena.h"
#include <stdbool.h>
#include <stdint.h>

struct stream {
	double share; /* > 0 */
	double use;   /* instances that it could use; 0 = it is not in the flow */
	double other; /* CPUs that it needs at full use (of a coprocessor's stream) */
	double vtime; /* run seconds of each of its tasks since the start, as of mark */
	double mark;  /* when v was taken: a time if capped, else a level time */
	double next_vtime; /* v at which its first task ends */
	double cap;        /* what it takes at most; set by flow_set() as is: */
	double speed;      /* of v, per second if capped, else per level time */
	bool capped;
};
struct heap { /* of streams, least key first */
	uint32_t *at, n;
};
struct flow {
	struct stream *streams;
	double ninst;           /* of the resource */
	double capacity;        /* of it for this flow now */
	double level;           /* instances per share; INFINITY: all are capped */
	double now, level_time; /* time, and the integral of level */
	double shares;          /* sum of those not capped */
	double caps;            /* sum of what the capped ones use */
	double other_capped, other_per_level;
	bool unsettled; /* the level may not fit */
	struct heap open_end, open_cap, capped_end, capped_cap;
	double *end_key, *cap_key;
	uint32_t *end_pos, *cap_pos;
};

void flow_init(struct flow *, struct arena *, size_t nstreams, double ninst);
/* The stream from now on: it uses so much, its first task ends at next_vtime of its v.
 * After all such changes of one moment: flow_settle(). */
void flow_settle(struct flow *);
void flow_set(
    struct flow *, uint32_t stream, double use, double other, double next_vtime);
/* When the next task ends if nothing changes, INFINITY if none does, and whose it is.
 */
double flow_next(const struct flow *, uint32_t *stream);
double flow_other(const struct flow *); /* CPUs that it takes now */

/* --- small, and called at every step --- */

/* The v of a stream now. */
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

/* Instances of its capacity that are not in use. */
static inline double
flow_idle(const struct flow *f)
{
	double left = f->capacity - f->caps;

	return f->open_end.n > 0 || left < 1e-9 * f->ninst ? 0 : left;
}

#endif
