/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws jobs for the estimate of what hosts would fetch without locality
 * (baseline_cost.h). Each draw takes the oldest unsent job of the file set that
 * follows a random place in the index.
 */
#include "rules/sched/supply_own.h"

#include "rules/sched/baseline_cost.h"
#include "lib/banned.h"

/* Continues with the next draw, or with the members once all draws are done. */
static void
draw_next(struct supply *p)
{
	struct snapshot *s = p->in.snap;

	if (p->draw.i < BASELINE_DRAWS)
		p->draw.state = DRAW_NEXT;
	else
		p->draw.state = s->ndrawn > 0 ? DRAW_MEMBERS : DRAW_DONE;
}

static void
draw_lasts_known(struct supply *p)
{
	struct snapshot *s = p->in.snap;

	p->draw.state = DRAW_DONE;
	if (s->glance.last_ready <= 0)
		return;
	s->drawn = NEWN(p->a, struct job, BASELINE_DRAWS);
	draw_next(p);
}

void
supply_draw_begin(struct supply *p)
{
	p->draw = (struct supply_draw){ .i = 0 };
	if (p->in.snap->glance.has_last)
		draw_lasts_known(p);
}

/* Ids of the file sets of the drawn jobs. */
static const int64_t *
sets_drawn(struct supply *p)
{
	const struct snapshot *s = p->in.snap;
	int64_t *ids = NEWN(p->a, int64_t, s->ndrawn);

	for (size_t i = 0; i < s->ndrawn; i++)
		ids[i] = s->drawn[i].fileset_id;
	return ids;
}

bool
supply_draw_next(struct supply *p, struct supply_query *q)
{
	const struct snapshot *s = p->in.snap;
	struct supply_draw *r = &p->draw;

	switch (r->state) {
	case DRAW_LASTS:
		supply_ask_lasts(q);
		return true;
	case DRAW_NEXT:
		q->kind = SUPPLY_NEXT_READY;
		q->after = (int64_t)rng_below(
		    &p->in.draw_rng, (uint64_t)s->glance.last_ready);
		return true;
	case DRAW_JOB:
		q->kind = SUPPLY_AFTER;
		q->ready = q->subject = r->fileset_id;
		q->once = 0;
		q->most = 1;
		return true;
	case DRAW_MEMBERS:
		q->kind = SUPPLY_MEMBERS;
		q->ids = sets_drawn(p);
		q->nids = s->ndrawn;
		return true;
	default:
		return false;
	}
}

static bool
was_drawn(const struct snapshot *s, int64_t fileset_id)
{
	for (size_t i = 0; i < s->ndrawn; i++)
		if (s->drawn[i].fileset_id == fileset_id)
			return true;
	return false;
}

void
supply_draw_take(struct supply *p, const struct supply_rows *rows)
{
	struct snapshot *s = p->in.snap;
	struct supply_draw *r = &p->draw;

	switch (r->state) {
	case DRAW_LASTS:
		supply_take_lasts(p, rows);
		draw_lasts_known(p);
		break;
	case DRAW_NEXT:
		r->fileset_id = rows->number;
		if (rows->found && !was_drawn(s, rows->number)) {
			r->state = DRAW_JOB;
			break;
		}
		r->i++;
		draw_next(p);
		break;
	case DRAW_JOB:
		if (rows->n > 0) /* else another request claimed it meanwhile */
			s->drawn[s->ndrawn++] = rows->jobs[0];
		r->i++;
		draw_next(p);
		break;
	default:
		s->drawn_members = rows->members;
		s->ndrawn_members = rows->n;
		r->state = DRAW_DONE;
	}
}
