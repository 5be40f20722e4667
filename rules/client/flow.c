/* SPDX-License-Identifier: Apache-2.0 */
/* Water filling: the level, and which stream ends a task first. */
#include "rules/client/flow.h"

#include <math.h>
#include "rules/client/world.h"
#include "lib/banned.h"

static const double EPSILON = 1e-9;

/* --- heaps of streams, by key[] --- */

static void
heap_place(struct heap *h, uint32_t *pos, uint32_t i, uint32_t stream)
{
	h->at[i] = stream;
	pos[stream] = i;
}

static void
heap_sift_up(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	uint32_t s = h->at[i];

	while (i > 0 && key[s] < key[h->at[(i - 1) / 2]]) {
		heap_place(h, pos, i, h->at[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_place(h, pos, i, s);
}

static void
heap_sift_down(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	uint32_t s = h->at[i];

	for (;;) {
		uint32_t k = 2 * i + 1;

		if (k + 1 < h->n && key[h->at[k + 1]] < key[h->at[k]])
			k++;
		if (k >= h->n || key[h->at[k]] >= key[s])
			break;
		heap_place(h, pos, i, h->at[k]);
		i = k;
	}
	heap_place(h, pos, i, s);
}

static void
heap_insert(struct heap *h, const double *key, uint32_t *pos, uint32_t stream)
{
	h->at[h->n] = stream;
	heap_sift_up(h, key, pos, h->n++);
}

static void
heap_remove(struct heap *h, const double *key, uint32_t *pos, uint32_t stream)
{
	uint32_t i = pos[stream], last = h->at[--h->n];

	if (i == h->n)
		return;
	h->at[i] = last;
	pos[last] = i;
	heap_sift_up(h, key, pos, i);
	heap_sift_down(h, key, pos, pos[last]);
}

/* --- streams --- */

/* Derives the keys: when the stream's first task ends, and the level at which it is
 * capped. */
static void
set_keys(struct flow *f, uint32_t i)
{
	struct stream *s = &f->streams[i];
	double threshold;

	s->cap = cw_min(s->use, f->ninst);
	s->speed = (s->capped ? s->cap : s->share) / s->use;
	threshold = s->cap / s->share;
	f->end_key[i] = s->mark + (s->next_vtime - s->vtime) / s->speed;
	f->cap_key[i] = s->capped ? -threshold : threshold;
}

/* Adds the stream to the sums, or takes it out with times -1. */
static void
add_to_sums(struct flow *f, const struct stream *s, double times)
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
leave_flow(struct flow *f, uint32_t i)
{
	struct stream *s = &f->streams[i];
	struct heap *end = s->capped ? &f->capped_end : &f->open_end;

	s->vtime = flow_vtime(f, i);
	heap_remove(end, f->end_key, f->end_pos, i);
	heap_remove(
	    s->capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
	add_to_sums(f, s, -1);
	if (end->n == 0) /* discard what rounding left */
		*(s->capped ? &f->caps : &f->shares) = 0;
}

static void
enter_flow(struct flow *f, uint32_t i, bool capped)
{
	struct stream *s = &f->streams[i];

	s->capped = capped;
	s->mark = capped ? f->now : f->level_time;
	set_keys(f, i);
	heap_insert(capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
	heap_insert(capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
	add_to_sums(f, s, 1);
}

static double
find_level(const struct flow *f)
{
	double left = f->capacity - f->caps;

	if (f->open_end.n > 0)
		return left / f->shares;
	return left >= -EPSILON * f->ninst ? INFINITY : -INFINITY;
}

/* Each move raises the level, so no stream moves twice: a stream that becomes capped
 * uses less than the level gave it, and one that becomes uncapped leaves what it had
 * beyond the level. */
void
flow_settle(struct flow *f)
{
	f->unsettled = false;
	for (;;) {
		uint32_t i;

		f->level = find_level(f);
		if (f->open_cap.n > 0 &&
		    f->cap_key[i = f->open_cap.at[0]] <= f->level * (1 + 1e-14)) {
			leave_flow(f, i);
			enter_flow(f, i, true);
		} else if (f->capped_cap.n > 0 && -f->cap_key[i = f->capped_cap.at[0]] >
						      f->level * (1 + 1e-9)) {
			leave_flow(f, i);
			enter_flow(f, i, false);
		} else
			break;
	}
}

void
flow_init(struct flow *f, struct arena *a, size_t n, double ninst)
{
	uint32_t *u = NEWN(a, uint32_t, 6 * n);
	double *d = NEWN(a, double, 2 * n);

	*f = (struct flow){ .streams = NEWN(a, struct stream, n),
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

/* Restores the heap after the stream's key changed. */
static void
heap_update(struct heap *h, const double *key, uint32_t *pos, uint32_t i)
{
	if (h->n == 1)
		return;
	heap_sift_up(h, key, pos, pos[i]);
	heap_sift_down(h, key, pos, pos[i]);
}

/* The stream's first task was replaced. */
static void
update_end_key(struct flow *f, uint32_t i)
{
	const struct stream *s = &f->streams[i];

	f->end_key[i] = s->mark + (s->next_vtime - s->vtime) / s->speed;
	heap_update(
	    s->capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
}

static void
change_use(struct flow *f, uint32_t i, double use, double other)
{
	struct stream *s = &f->streams[i];

	s->vtime = flow_vtime(f, i);
	s->mark = s->capped ? f->now : f->level_time;
	add_to_sums(f, s, -1);
	s->use = use;
	s->other = other;
	set_keys(f, i);
	add_to_sums(f, s, 1);
	heap_update(
	    s->capped ? &f->capped_end : &f->open_end, f->end_key, f->end_pos, i);
	heap_update(
	    s->capped ? &f->capped_cap : &f->open_cap, f->cap_key, f->cap_pos, i);
}

void
flow_set(struct flow *f, uint32_t i, double use, double other, double next_vtime)
{
	struct stream *s = &f->streams[i];

	s->next_vtime = next_vtime;
	if (s->use == use && s->other == other) {
		if (use > 0)
			update_end_key(f, i);
		return;
	}
	f->unsettled = true;
	if (s->use > 0 && use > 0) {
		change_use(f, i, use, other);
		return;
	}
	if (s->use > 0)
		leave_flow(f, i);
	s->use = use;
	s->other = other;
	if (use > 0)
		enter_flow(f, i, s->capped);
}

double
flow_next(const struct flow *f, uint32_t *stream)
{
	double open = INFINITY, capped = INFINITY;

	if (f->open_end.n > 0 && f->level > 0)
		open = f->now +
		       (f->end_key[f->open_end.at[0]] - f->level_time) / f->level;
	if (f->capped_end.n > 0)
		capped = f->end_key[f->capped_end.at[0]];
	if (open == INFINITY && capped == INFINITY)
		return INFINITY;
	*stream = open < capped ? f->open_end.at[0] : f->capped_end.at[0];
	return cw_max(f->now, cw_min(open, capped));
}

double
flow_other(const struct flow *f)
{
	double open = f->open_end.n > 0 ? f->level * f->other_per_level : 0;

	return open + (f->capped_end.n > 0 ? f->other_capped : 0);
}
