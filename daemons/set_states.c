/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the part of the array that covers the range of ids just read. */
#include "daemons/set_states.h"

#include <string.h>
#include "lib/banned.h"

/* Returns the index of the first set with a larger id. */
static size_t
set_states_above(const struct set_states *s, int64_t id)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->v[mid].id <= id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
set_state_same(const struct row_fileset_state *a, const struct row_fileset_state *b)
{
	return a->appid == b->appid && a->paused == b->paused &&
	       a->has_unsent == b->has_unsent && a->has_open_wu == b->has_open_wu &&
	       a->has_any_wu == b->has_any_wu && a->holders == b->holders &&
	       a->dropped_time == b->dropped_time;
}

/* The texts of *from live only until the step ends, so a new name is copied. */
static bool
set_state_update(struct arena *life, struct row_fileset_state *to,
    const struct row_fileset_state *from)
{
	bool known = to->id == from->id && to->name != NULL;
	bool renamed = !known || strcmp(to->name, from->name) != 0;
	bool changed = renamed || !set_state_same(to, from);
	char *name = renamed ? arena_strdup(life, from->name) : to->name;

	*to = *from;
	to->name = name;
	return changed;
}

/* Replaces all sets with ids in (after, upto] by the n rows, ordered by id. */
static bool
set_states_replace(struct daemon_ctx *x, struct set_states *s, int64_t after,
    int64_t upto, const struct row_fileset_state *rows, size_t n)
{
	size_t from = set_states_above(s, after), to = set_states_above(s, upto),
	       rest = s->n - to;
	bool changed = to - from != n;

	for (size_t i = 0; i < n && !changed; i++)
		changed = s->v[from + i].id != rows[i].id;
	if (changed) { /* sets came or went */
		struct row_fileset_state *old = NEWN(
		    &x->a, struct row_fileset_state, s->n - from + 1);
		size_t k = 0;

		for (size_t i = from; i < s->n; i++)
			old[i - from] = s->v[i];
		while (s->cap < from + n + rest)
			s->v = arena_grow(
			    x->life, s->v, s->cap, &s->cap, sizeof(*s->v));
		s->n = from + n + rest;
		for (size_t i = 0; i < rest; i++)
			s->v[from + n + i] = old[to - from + i];
		for (size_t i = 0; i < n; i++) {
			while (k < to - from && old[k].id < rows[i].id)
				k++;
			s->v[from + i] = k < to - from && old[k].id == rows[i].id ?
			                     old[k] :
			                     (struct row_fileset_state){ 0 };
		}
	}
	for (size_t i = 0; i < n; i++)
		changed |= set_state_update(x->life, &s->v[from + i], &rows[i]);
	return changed;
}

/* Reads the next part, after id `after`; sets *last at the end of the table. */
static enum err
set_states_read_part(struct daemon_ctx *x, struct set_states *s, int64_t after,
    bool *changed, bool *last)
{
	struct row_fileset_state *rows;
	size_t n;

	TRY(fileset_states(x->db, &x->a, after, SETS_PER_LOOK, &rows, &n, &x->fail));
	*last = n < SETS_PER_LOOK;
	s->at = *last ? 0 : rows[n - 1].id;
	*changed |= set_states_replace(x, s, after, *last ? INT64_MAX : s->at, rows, n);
	return OK;
}

enum err
set_states_read_next(
    struct daemon_ctx *x, struct set_states *s, bool whole, bool *changed)
{
	bool last = false;
	int64_t next;
	enum err e;

	if (whole || !s->all)
		s->at = 0;
	do
		e = set_states_read_part(x, s, s->at, changed, &last);
	while (e == OK && (whole || !s->all) && !last);
	if (e != OK)
		return e;
	s->all = true;
	if (last)
		return OK;
	next = s->at; /* new sets have the highest ids */
	e = set_states_read_part(
	    x, s, s->n == 0 ? 0 : s->v[s->n - 1].id, changed, &last);
	s->at = next;
	return e;
}

enum err
set_states_read_named(struct daemon_ctx *x, struct set_states *s, char *const *names,
    size_t n, bool *changed)
{
	int64_t *ids = NEWN(&x->a, int64_t, n + 1);
	size_t nids = 0;

	for (size_t i = 0; i < s->n && nids < n; i++)
		if (trigger_in(names, n, s->v[i].name))
			ids[nids++] = s->v[i].id;
	for (size_t i = 0; i < nids; i += DB_LIST_MAX) {
		size_t part = nids - i < DB_LIST_MAX ? nids - i : DB_LIST_MAX, got;
		struct row_fileset_state *rows;
		TRY(fileset_states_of(
		    x->db, &x->a, ids + i, part, &rows, &got, &x->fail));
		for (size_t k = 0; k < got; k++) {
			size_t at = set_states_above(s, rows[k].id);
			if (at > 0 && s->v[at - 1].id == rows[k].id)
				*changed |= set_state_update(
				    x->life, &s->v[at - 1], &rows[k]);
		}
	}
	return OK;
}

void
set_states_note_dropped(struct set_states *s, const char *name, int64_t now)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].name == name)
			s->v[i].dropped_time = now;
}
