/* SPDX-License-Identifier: Apache-2.0 */
/* A resource shared like water: the level, and who comes to the end of a task first. */
#include "rules/client/flow.h"

#include <math.h>
#include "rules/client/world.h"
#include "lib/banned.h"

static const double EPSILON = 1e-9;

/* --- heaps of streams, by key[] --- */

static void
place(struct heap *h, uint32_t *pos, uint32_t i, uint32_t stream)
{
	h->at[i] = stream;
	pos[stream] = i;
}

static void
up(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	uint32_t s = h->at[i];

	while (i > 0 && key[s] < key[h->at[(i - 1) / 2]]) {
		place(h, pos, i, h->at[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	place(h, pos, i, s);
}

static void
down(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	uint32_t s = h->at[i];

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k + 1 < h->n && key[h->at[k + 1]] < key[h->at[k]])
			k++;
		if (k >= h->n || key[h->at[k]] >= key[s])
			break;
		place(h, pos, i, h->at[k]);
		i = k;
	}
	place(h, pos, i, s);
}

static void
insert(struct heap *h, const double *key, uint32_t *pos, uint32_t stream)
{
	h->at[h->n] = stream;
	up(h, key, pos, h->n++);
}

static void
drop(struct heap *h, const double *key, uint32_t *pos, uint32_t stream)
{
	uint32_t i = pos[stream], last = h->at[--h->n];

	if (i == h->n)
		return;
	h->at[i] = last;
	pos[last] = i;
	up(h, key, pos, i);
	down(h, key, pos, pos[last]);
}

/* --- streams --- */

/* When its first task ends, and at which level it is capped. */
static void
set_keys(struct flow *f, uint32_t i)
{
	struct stream *s = &f->s[i];
	double threshold;

	s->cap = cw_min(s->use, f->ninst);
	s->speed = (s->capped ? s->cap : s->share) / s->use;
	threshold = s->cap / s->share;
	f->end_key[i] = s->mark + (s->next_v - s->v) / s->speed;
	f->cap_key[i] = s->capped ? -threshold : threshold;
}

/* Its part in the sums, once or taken off. */
static void
count(struct flow *f, const struct stream *s, double times)
{
	double other = times * s->other * s->speed;

	if (s->capped) {
		f->caps += times * s->cap;
		f->other_capped += other;
	} else {
		f->shares += times * s->share;
		f->other_per_level += other;
	}
}

static void
leave(struct flow *f, uint32_t i)
{
	struct stream *s = &f->s[i];
	struct heap *end = s->capped ? &f->capped_end : &f->open_end;

	s->v = flow_v(f, i);
	drop(end, f->end_key, f->end_pos, i);
	drop(s->capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
	count(f, s, -1);
	if (end->n == 0) /* no rests of rounding */
		*(s->capped ? &f->caps : &f->shares) = 0;
}

static void
enter(struct flow *f, uint32_t i, bool capped)
{
	struct stream *s = &f->s[i];

	s->capped = capped;
	s->mark = capped ? f->t : f->level_t;
	set_keys(f, i);
	insert(capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
	insert(capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
	count(f, s, 1);
}

static double
find_level(const struct flow *f)
{
	double left = f->capacity - f->caps;

	if (f->open_end.n > 0)
		return left / f->shares;
	return left >= -EPSILON * f->ninst ? INFINITY : -INFINITY;
}

/*
 * Each move raises the level, so none comes back: a stream that is capped uses less
 * than the level gave it, one that is uncapped leaves what it had beyond the level.
 */
void
flow_settle(struct flow *f)
{
	f->unsettled = false;
	for (;;) {
		uint32_t i;

		f->level = find_level(f);
		if (f->open_cap.n > 0 &&
		    f->cap_key[i = f->open_cap.at[0]] <= f->level * (1 + 1e-14)) {
			leave(f, i);
			enter(f, i, true);
		} else if (f->capped_cap.n > 0 &&
			   -f->cap_key[i = f->capped_cap.at[0]] >
			       f->level * (1 + 1e-9) &&
			   f->level < INFINITY) {
			leave(f, i);
			enter(f, i, false);
		} else
			break;
	}
}

void
flow_init(struct flow *f, struct arena *a, size_t n, double ninst)
{
	uint32_t *u = NEWN(a, uint32_t, 6 * n + 1);
	double *d = NEWN(a, double, 2 * n + 1);

	*f = (struct flow){ .s = NEWN(a, struct stream, n + 1),
		.ninst = ninst,
		.capacity = ninst,
		.level = INFINITY,
		.open_end = { u, 0 },
		.open_cap = { u + n, 0 },
		.capped_end = { u + 2 * n, 0 },
		.capped_cap = { u + 3 * n, 0 },
		.end_key = d,
		.cap_key = d + n,
		.end_pos = u + 4 * n,
		.cap_pos = u + 5 * n };
}

/* The stream has its place in the heap, with another key. */
static void
shift(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	if (h->n == 1)
		return;
	up(h, key, pos, pos[i]);
	down(h, key, pos, pos[i]);
}

/* It has one task for another. */
static void
next_end(struct flow *f, uint32_t i)
{
	const struct stream *s = &f->s[i];

	f->end_key[i] = s->mark + (s->next_v - s->v) / s->speed;
	shift(s->capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
}

static void
change(struct flow *f, uint32_t i, double use, double other)
{
	struct stream *s = &f->s[i];

	s->v = flow_v(f, i);
	s->mark = s->capped ? f->t : f->level_t;
	count(f, s, -1);
	s->use = use;
	s->other = other;
	set_keys(f, i);
	count(f, s, 1);
	shift(s->capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
	shift(s->capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
}

void
flow_set(struct flow *f, uint32_t i, double use, double other, double next_v)
{
	struct stream *s = &f->s[i];

	s->next_v = next_v;
	if (s->use == use && s->other == other) {
		if (use > 0)
			next_end(f, i);
		return;
	}
	f->unsettled = true;
	if (s->use > 0 && use > 0) {
		change(f, i, use, other);
		return;
	}
	if (s->use > 0)
		leave(f, i);
	s->use = use;
	s->other = other;
	if (use > 0)
		enter(f, i, s->capped);
}

double
flow_next(const struct flow *f, uint32_t *stream)
{
	double open = INFINITY, capped = INFINITY;

	if (f->open_end.n > 0 && f->level > 0)
		open = f->t + (f->end_key[f->open_end.at[0]] - f->level_t) / f->level;
	if (f->capped_end.n > 0)
		capped = f->end_key[f->capped_end.at[0]];
	if (open == INFINITY && capped == INFINITY)
		return INFINITY;
	*stream = open < capped ? f->open_end.at[0] : f->capped_end.at[0];
	return cw_max(f->t, cw_min(open, capped));
}

double
flow_other(const struct flow *f)
{
	double open = f->open_end.n > 0 ? f->level * f->other_per_level : 0;

	return open + (f->capped_end.n > 0 ? f->other_capped : 0);
}
