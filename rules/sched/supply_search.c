/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds file sets that the host lacks by a walk over the ids of sets with unsent
 * jobs, from a seeded start, once around. Where work is made on demand, sets without
 * unsent jobs that may get some follow (locality.md 1.1 (L8)). The same walk finds
 * old work.
 */
#include "rules/sched/supply_own.h"

#include <stdlib.h>
#include "model/states.h"
#include "lib/banned.h"

enum {
	GAP = 16,           /* a gap of more ids than this counts as long */
	OLD_LOOKED_AT = 16, /* sets whose oldest job is looked at */
	OLD_MOST = 4,       /* sets whose jobs are read */
};

/* --- the walk over sets with unsent jobs --- */

static void
walk_begin(struct supply *p)
{
	struct supply_search *r = &p->search;
	int64_t last = p->in.snap->glance.last_ready;

	r->start = r->at = (int64_t)rng_below(&r->rng, (uint64_t)last + 1);
	r->state = SEARCH_NEXT;
}

static bool
walk_continues(const struct supply *p)
{
	const struct supply_search *r = &p->search;

	return r->step < r->want + p->in.snap->nfiles + 2 && r->n < r->want;
}

/*
 * Draws the start once more if it fell into a long gap. All starts in the gap would
 * find the set behind it, and all these requests would want its first jobs; the new
 * start lies anywhere from this set on.
 */
static bool
redraw_start(struct supply_search *r, int64_t next, int64_t last)
{
	if (r->step != 0 || next - r->start <= GAP || next >= last)
		return false;
	r->start = next - 1 + (int64_t)rng_below(&r->rng, (uint64_t)(last - next) + 1);
	r->at = r->start;
	return true;
}

/* Takes the next set of the walk; false if the walk is done. */
static bool
take_next(struct supply *p, const struct supply_rows *rows)
{
	struct supply_search *r = &p->search;
	const struct snapshot *s = p->in.snap;
	int64_t next = rows->number;

	if (!rows->found && r->wrapped)
		return false;
	if (!rows->found) {
		r->wrapped = true;
		r->at = 0;
	} else if (!redraw_start(r, next, s->glance.last_ready)) {
		if (r->wrapped && next > r->start)
			return false;
		if (snapshot_file(s, next) == NULL)
			r->ids[r->n++] = next;
		r->at = next;
	}
	r->step++;
	return walk_continues(p);
}

/* --- sets that may get work --- */

/* Starts at a set not known to be given up, so that a host excluded from all
 * existing work does not starve. */
static void
makeable_begin(struct supply *p)
{
	struct supply_search *r = &p->search;
	int64_t last = p->in.snap->glance.last_fileset;

	r->at = last > 0 ? (int64_t)rng_below(&r->rng, (uint64_t)last) : 0;
	r->seen = r->n;
	r->state = SEARCH_START;
}

static bool
has_id(const int64_t *ids, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void
take_makeable(struct supply *p, const struct supply_rows *rows)
{
	struct supply_search *r = &p->search;

	for (size_t i = 0; i < rows->n && r->n < r->want; i++) {
		int64_t id = rows->pairs[i].id;

		if (rows->pairs[i].value != 0 &&
		    snapshot_file(p->in.snap, id) == NULL && !has_id(r->ids, r->n, id))
			r->ids[r->n++] = id;
	}
	r->seen += rows->n;
	r->turn++;
	if (r->turn == N(r->starts) || r->seen >= r->want)
		r->state = SEARCH_SETS;
}

/* --- old work --- */

static int
age_order(const void *pa, const void *pb)
{
	const struct supply_pair *a = pa, *b = pb;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Keeps the sets whose oldest job was created before the timeout, the oldest first. */
static void
take_oldest(struct supply *p, const struct supply_rows *rows)
{
	struct supply_search *r = &p->search;
	int64_t before = p->in.now - p->in.conf->locality_scheduling_send_timeout;
	size_t old = 0;

	if (rows->n > 0)
		qsort(rows->pairs, rows->n, sizeof(*rows->pairs), age_order);
	for (size_t i = 0; i < rows->n; i++)
		if (rows->pairs[i].value > 0 && rows->pairs[i].value < before)
			r->ids[old++] = rows->pairs[i].id;
	r->n = old;
	r->state = SEARCH_SETS;
}

/* --- the whole search --- */

static void
walk_done(struct supply *p)
{
	struct supply_search *r = &p->search;

	if (r->old) {
		r->state = r->n > 0 ? SEARCH_OLDEST : SEARCH_DONE;
		return;
	}
	/* there may be more sets */
	p->in.snap->search.left |= r->n > 0 && r->n == r->want;
	if (r->n < r->want && p->in.conf->locality_scheduling_wait_period > 0 &&
	    catalog_locality(p->in.snap->cat, p->in.conf))
		makeable_begin(p);
	else
		r->state = SEARCH_SETS;
}

/* Continues once the end of the index is known. */
static void
search_lasts_known(struct supply *p)
{
	struct supply_search *r = &p->search;
	bool ready = p->in.snap->glance.last_ready > 0;

	if (r->want == 0 || (r->only_ready && !ready))
		r->state = SEARCH_DONE;
	else if (ready)
		walk_begin(p);
	else
		walk_done(p);
}

static void
search_begin(struct supply *p, struct supply_search r)
{
	r.ids = NEWN(p->a, int64_t, r.want + 1);
	p->search = r;
	if (p->in.snap->glance.has_last)
		search_lasts_known(p);
}

void
supply_search_begin(struct supply *p, struct rng rng, size_t want)
{
	search_begin(p, (struct supply_search){ .rng = rng, .want = want });
}

void
supply_few_begin(struct supply *p, struct rng rng, size_t want)
{
	search_begin(
	    p, (struct supply_search){ .rng = rng, .only_ready = true, .want = want });
}

void
supply_old_begin(struct supply *p, struct rng rng)
{
	search_begin(p,
	    (struct supply_search){
		.rng = rng, .old = true, .only_ready = true, .want = OLD_LOOKED_AT });
}

bool
supply_search_next(struct supply *p, struct supply_query *q)
{
	struct supply_search *r = &p->search;

	switch (r->state) {
	case SEARCH_LASTS:
		supply_ask_lasts(q);
		return true;
	case SEARCH_NEXT:
		q->kind = SUPPLY_NEXT_READY;
		q->after = r->at;
		return true;
	case SEARCH_START:
		q->kind = SUPPLY_NOT_GIVEN_UP;
		q->after = r->at;
		q->last = p->in.snap->glance.last_fileset;
		return true;
	case SEARCH_MAKEABLE:
		q->kind = SUPPLY_MAKEABLE;
		q->after = r->starts[r->turn];
		q->most = r->want;
		return true;
	case SEARCH_OLDEST:
		q->kind = SUPPLY_OLDEST;
		q->ids = r->ids;
		q->nids = r->n;
		return true;
	case SEARCH_SETS:
		supply_ask_sets(q, r->ids, r->n, SET_SEARCHED);
		q->open_only = true;
		q->most = r->old && r->n > OLD_MOST ? OLD_MOST : r->n;
		return r->n > 0;
	default:
		return false;
	}
}

void
supply_search_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_search *r = &p->search;

	switch (r->state) {
	case SEARCH_LASTS:
		supply_take_lasts(p, rows);
		search_lasts_known(p);
		break;
	case SEARCH_NEXT:
		if (!take_next(p, rows))
			walk_done(p);
		break;
	case SEARCH_START:
		r->starts[0] = rows->number - 1;
		r->state = rows->found ? SEARCH_MAKEABLE : SEARCH_SETS;
		break;
	case SEARCH_MAKEABLE:
		take_makeable(p, rows);
		break;
	case SEARCH_OLDEST:
		take_oldest(p, rows);
		break;
	default:
		r->state = SEARCH_DONE;
	}
}
