/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads plain jobs, one app after the other from a seeded start, apps that the
 * account selected first. Reads each app's urgent jobs, then those from a random
 * shard on, once around.
 */
#include "rules/sched/supply_own.h"

#include <string.h>
#include "model/states.h"
#include "lib/banned.h"

/* Rows to read first of an app: few because most hosts want few jobs, and fewer
 * still if they are locked. */
enum { FIRST_ROWS = 16, FIRST_LOCKED = 4 };

void
supply_plain_begin(struct supply *p, bool *apps, size_t most, bool wanted)
{
	static const enum app_choice of_wanted[2] = { APP_SELECTED, APP_OTHER };
	static const enum app_choice of_refused[2] = { APP_REFUSED, APP_BETA_REFUSED };
	struct snapshot *s = p->in.snap;
	size_t napps = s->cat->napps;
	struct supply_plain *r = &p->plain;
	struct job *plain;

	*r = (struct supply_plain){ .apps = apps,
		.choices = wanted ? of_wanted : of_refused,
		.first = napps > 0 ? (size_t)rng_below(&p->rng, napps) : 0,
		.most = s->nplain + most,
		.from = s->nplain,
		.resource = r->resource };
	if (s->glance.has_last && s->glance.last_ready <= READY_SENT) {
		r->i = 2 * napps; /* no job is unsent */
		return;
	}
	plain = NEWN(p->a, struct job, r->most + 1);
	if (s->nplain > 0)
		memcpy(plain, s->plain, s->nplain * sizeof(*plain));
	s->plain = plain;
}

static const struct app *
current_app(const struct supply *p)
{
	const struct catalog *c = p->in.snap->cat;

	return &c->apps[(p->plain.first + p->plain.i) % c->napps];
}

/* The app's first shard in the index; its last shard is READY_SHARDS - 1 higher. */
static int64_t
first_shard_of(const struct app *app)
{
	return -(app->id * READY_SHARDS) - READY_SHARDS;
}

static void
read_plain_app(struct supply *p, bool lock)
{
	struct supply_plain *r = &p->plain;
	size_t first = lock ? FIRST_LOCKED : FIRST_ROWS;
	size_t left = r->most - p->in.snap->nplain;

	r->lock = lock;
	r->asked = p->until_enough && first < left ? first : left;
	r->state = PLAIN_FROM_SHARD;
}

static bool
is_chosen(const struct supply *p, const struct app *app)
{
	const struct supply_plain *r = &p->plain;
	const struct catalog *c = p->in.snap->cat;
	enum app_choice choice = prefs_app_choice(&p->in.snap->project_prefs, app->id,
	    app->beta != 0, p->in.conf->distinct_beta_apps);

	return r->apps[app - c->apps] && !app_is_held_back(app) &&
	       choice == r->choices[r->i / c->napps];
}

static bool
choose_plain_app(struct supply *p)
{
	struct supply_plain *r = &p->plain;
	struct snapshot *s = p->in.snap;

	for (; r->i < 2 * s->cat->napps && s->nplain < r->most; r->i++) {
		const struct app *app = current_app(p);

		if (!is_chosen(p, app))
			continue;
		if (p->until_enough && supply_enough_plain(p)) {
			s->search.left = true;
			return false;
		}
		r->apps[app - s->cat->apps] = false;
		r->before = s->nplain;
		r->start = first_shard_of(app) +
		           (int64_t)rng_below(&p->rng, READY_SHARDS);
		read_plain_app(p, supply_locks(p, -app->id));
		return true;
	}
	return false;
}

bool
supply_plain_next(struct supply *p, struct supply_query *q)
{
	struct supply_plain *r = &p->plain;
	const struct app *app;

	if (r->state == PLAIN_CHOOSE && !choose_plain_app(p))
		return false;
	app = current_app(p);
	q->subject = -app->id;
	q->most = r->asked;
	q->lock = r->lock;
	if (r->state == PLAIN_FROM_SHARD) {
		int64_t urgent = READY_URGENT - app->id * READY_PRIORITIES;

		q->kind = SUPPLY_URGENT_FIRST;
		q->urgent_first = urgent - READY_PRIORITIES + 1;
		q->urgent_last = urgent - 1;
		q->first = r->start;
		q->last = first_shard_of(app) + READY_SHARDS - 1;
	} else {
		q->kind = SUPPLY_BETWEEN;
		q->first = first_shard_of(app);
		q->last = r->start - 1;
	}
	return true;
}

static void
append_plain(struct supply *p, const struct supply_rows *rows)
{
	struct snapshot *s = p->in.snap;

	if (rows->n > 0)
		memcpy(s->plain + s->nplain, rows->jobs, rows->n * sizeof(*s->plain));
	s->nplain += rows->n;
	s->search.left |= rows->n == p->plain.asked;
}

/* Shuffles the urgent jobs, which are the head of the same queue for every request;
 * shuffles all jobs under contention. */
static void
shuffle_jobs(struct rng *rng, bool all, struct job *v, size_t n)
{
	for (size_t i = 0, end; i < n && (all || v[i].priority > 0); i = end) {
		for (end = i; end < n && v[end].priority == v[i].priority;)
			end++;
		rng_shuffle(rng, v + i, end - i, sizeof(*v));
	}
}

static void
app_done(struct supply *p)
{
	struct supply_plain *r = &p->plain;

	if (r->lock && p->in.snap->nplain == r->before) {
		supply_unlock(p);
		read_plain_app(p, false);
		return;
	}
	r->i++;
	r->state = PLAIN_CHOOSE;
}

/* Reads again with a higher limit until there are enough. Under lock, the limit
 * grows step by step, so that no more jobs are locked than needed. */
static void
take_from_shard(struct supply *p, const struct supply_rows *rows)
{
	struct supply_plain *r = &p->plain;
	struct snapshot *s = p->in.snap;
	size_t asked = r->asked, left = r->most - r->before;
	bool all = supply_skip(p, -current_app(p)->id) != 0;

	append_plain(p, rows);
	shuffle_jobs(&p->rng, all, s->plain + s->nplain - rows->n, rows->n);
	if (rows->n == asked && asked < left && !supply_enough_plain(p)) {
		s->nplain = r->before;
		r->asked = r->lock && asked * FIRST_LOCKED < left ?
		               asked * FIRST_LOCKED :
		               left;
	} else if (rows->n == asked || r->start == first_shard_of(current_app(p))) {
		app_done(p);
	} else {
		r->asked = (r->lock ? asked : left) - rows->n;
		r->state = PLAIN_AROUND;
	}
}

void
supply_plain_take(struct supply *p, const struct supply_rows *rows)
{
	if (p->plain.state == PLAIN_FROM_SHARD) {
		take_from_shard(p, rows);
		return;
	}
	append_plain(p, rows);
	app_done(p);
}
