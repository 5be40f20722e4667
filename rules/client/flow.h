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
	double v;     /* run seconds of each of its tasks since the start, as of mark */
	double mark;  /* when v was taken: a time if capped, else a level time */
	double next_v; /* v at which its first task ends */
	bool capped;
};
struct heap { /* of streams, least key first */
	uint32_t *at, n;
};
struct flow {
	struct stream *s;
	double ninst;      /* of the resource */
	double capacity;   /* of it for this flow now */
	double level;      /* instances per share; INFINITY: all are capped */
	double t, level_t; /* time, and the integral of level */
	double shares;     /* sum of those not capped */
	double caps;       /* sum of what the capped ones use */
	double other_capped, other_per_level;
	struct heap open_end, open_cap, capped_end, capped_cap;
	double *end_key, *cap_key;
	uint32_t *end_pos, *cap_pos;
};

void flow_init(struct flow *, struct arena *, size_t nstreams, double ninst);
/* The stream from now on: it uses so much, its first task ends at next_v of its v. */
void flow_set(struct flow *, uint32_t stream, double use, double other, double next_v);
double flow_v(const struct flow *, uint32_t stream); /* its v now */
void flow_capacity(struct flow *, double capacity);
/* When the next task ends if nothing changes, INFINITY if none does, and whose it is.
 */
double flow_next(const struct flow *, uint32_t *stream);
void flow_advance(struct flow *, double t);
double flow_idle(const struct flow *);  /* instances of its capacity not in use */
double flow_other(const struct flow *); /* CPUs that it takes now */

#endif
