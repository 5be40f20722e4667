/* SPDX-License-Identifier: Apache-2.0 */
/* Picks file sets at random (seeded) from the working set: sets that the snapshot
 * lacks and that the admin does not hold back. */
#include "rules/sched/supply_own.h"

#include <string.h>
#include "model/states.h"
#include "lib/banned.h"

/* Number of names to look up in each round; those of the first are nearly always
 * enough. */
static const size_t rounds[] = { 16, SUPPLY_LIST_MAX, SUPPLY_LIST_MAX,
	SUPPLY_LIST_MAX };

void
supply_picks_begin(struct supply *p, size_t want)
{
	p->picks = (struct supply_picks){ .want = want,
		.ids = NEWN(p->a, int64_t, want + 1) };
	if (want == 0 || !catalog_locality(p->in.snap->cat, p->in.conf))
		p->picks.state = PICKS_DONE;
}

bool
supply_picks_next(struct supply *p, struct supply_query *q)
{
	struct supply_picks *r = &p->picks;
	size_t left = r->nnames - r->at;

	switch (r->state) {
	case PICKS_NAMES:
		q->kind = SUPPLY_NAMES;
		return true;
	case PICKS_NAMED:
		r->part = left < rounds[r->round] ? left : rounds[r->round];
		q->kind = SUPPLY_NAMED;
		q->names = r->names + r->at;
		q->nnames = r->part;
		return true;
	case PICKS_SETS:
		supply_ask_sets(q, r->ids, r->n, SET_PICKED);
		return r->n > 0;
	default:
		return false;
	}
}

static const struct fileset *
set_named(const struct catalog *cat, const struct supply_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct app *app = cat == NULL ?
		                            NULL :
		                            catalog_app(cat, rows->sets[i].appid);

		if (strcmp(rows->sets[i].name, name) == 0 &&
		    rows->sets[i].paused == FILESET_OPEN &&
		    (app == NULL || app->drain_time == 0))
			return &rows->sets[i];
	}
	return NULL;
}

/* Takes the sets in the order of the names. A set that the host holds in part
 * becomes a pick as it is in the snapshot. */
static void
take_named(struct supply *p, const struct supply_rows *rows)
{
	struct supply_picks *r = &p->picks;

	for (size_t i = 0; i < r->part && r->n < r->want; i++) {
		const struct fileset *set = set_named(
		    p->in.snap->cat, rows, r->names[r->at + i]);
		struct snap_file *there;

		if (set == NULL)
			continue;
		there = snapshot_file(p->in.snap, set->id);
		if (there == NULL)
			r->ids[r->n++] = set->id;
		else if (!there->held)
			there->from_working_set = true;
	}
	r->at += r->part;
	r->round++;
	if (r->at >= r->nnames || r->round == N(rounds) || r->n >= r->want)
		r->state = PICKS_SETS;
}

void
supply_picks_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_picks *r = &p->picks;

	switch (r->state) {
	case PICKS_NAMES:
		r->names = rows->names;
		r->nnames = rows->n;
		if (r->nnames > 0)
			rng_shuffle(&p->rng, r->names, r->nnames, sizeof(*r->names));
		r->state = r->nnames > 0 ? PICKS_NAMED : PICKS_DONE;
		break;
	case PICKS_NAMED:
		take_named(p, rows);
		break;
	default:
		r->state = PICKS_DONE;
	}
}
