/* SPDX-License-Identifier: Apache-2.0 */
#include "test/sql/candidates.h"

#include "db/entity.h"
#include "rules/sched/held.h"
#include "lib/banned.h"

void candidates_begin(struct candidates *c, struct db *db, struct arena *a,
    const struct conf *cf, struct snapshot *s, struct fail *f)
{
	static const struct request none;

	*c = (struct candidates){ .f = f,
		.source = { db, a, cf, &none, s },
		.p = { .a = a,
		    .in = { .conf = cf, .req = &none, .snap = s },
		    .once = supply_once_key(cf, s) } };
}

enum err candidates_read(struct candidates *c,
    bool (*next)(struct supply *, struct supply_query *),
    void (*take)(struct supply *, const struct supply_rows *))
{
	struct supply *p = &c->p;

	for (;;) {
		struct supply_rows rows;

		p->query = (struct supply_query){ .once = p->once,
			.userid = p->in.snap->user.id };
		if (!next(p, &p->query))
			return OK;
		c->unlocked += p->unlock;
		p->unlock = false;
		TRY(supply_run(&c->source, &p->query, &rows, c->f));
		take(p, &rows);
	}
}

enum err read_jobs(struct db *db, struct arena *a, const struct conf *cf, size_t from,
    size_t need, int64_t now, struct snapshot *s, struct fail *f)
{
	struct candidates c;

	candidates_begin(&c, db, a, cf, s, f);
	c.p.in.now = now;
	supply_files_begin(&c.p, from, CANDIDATES_PER_JOB * need);
	return candidates_read(&c, supply_files_next, supply_files_take);
}

static enum err read_plain_apps(
    struct candidates *c, struct rng *rng, size_t need, bool *unread, bool wanted)
{
	enum err e;

	c->p.rng = *rng;
	supply_plain_begin(&c->p, unread, CANDIDATES_PER_JOB * need, wanted);
	e = candidates_read(c, supply_plain_next, supply_plain_take);
	*rng = c->p.rng;
	return e;
}

enum err read_plain(struct db *db, struct arena *a, const struct conf *cf,
    struct rng *rng, size_t need, bool *unread, struct snapshot *s, struct fail *f)
{
	struct candidates c;

	candidates_begin(&c, db, a, cf, s, f);
	return read_plain_apps(&c, rng, need, unread, true);
}

enum err read_unwanted(struct db *db, struct arena *a, const struct conf *cf,
    struct rng *rng, size_t need, bool *unread, struct snapshot *s, struct fail *f)
{
	struct candidates c;

	candidates_begin(&c, db, a, cf, s, f);
	return read_plain_apps(&c, rng, need, unread, false);
}

static void begin_source(struct candidates *c, const struct request *rq)
{
	c->p.in.req = c->source.req = rq;
}

enum err read_working_set(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct rng *rng, size_t k, struct snapshot *s,
    struct fail *f)
{
	struct candidates c;
	enum err e;

	candidates_begin(&c, db, a, cf, s, f);
	begin_source(&c, rq);
	c.p.rng = *rng;
	supply_picks_begin(&c.p, k);
	e = candidates_read(&c, supply_picks_next, supply_picks_take);
	*rng = c.p.rng;
	return e;
}

enum err read_searched(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct rng *rng, size_t k, struct snapshot *s,
    struct fail *f)
{
	struct candidates c;

	candidates_begin(&c, db, a, cf, s, f);
	begin_source(&c, rq);
	supply_search_begin(&c.p, *rng, k);
	return candidates_read(&c, supply_search_next, supply_search_take);
}

enum err read_old(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct rng *rng, int64_t before, struct snapshot *s,
    struct fail *f)
{
	struct candidates c;

	candidates_begin(&c, db, a, cf, s, f);
	begin_source(&c, rq);
	c.p.in.now = before + cf->locality_scheduling_send_timeout;
	supply_old_begin(&c.p, *rng);
	return candidates_read(&c, supply_search_next, supply_search_take);
}

enum err read_sets(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, const int64_t *ids, size_t n, struct snapshot *s,
    struct fail *f)
{
	struct supply_source source = { db, a, cf, rq, s };
	struct supply_query q = { 0 };
	struct supply_rows rows;

	supply_ask_sets(&q, ids, n, SET_SEARCHED);
	return supply_run(&source, &q, &rows, f);
}

enum err read_held(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, int64_t now, struct held_sets *held, struct snapshot *s,
    struct fail *f)
{
	struct set_rows *rows = NEW(a, struct set_rows);
	struct rng rng = rng_seed(1);

	held->held = request_held(a, rq);
	TRY(held_sets_read(db, a, held, 1, rows, f));
	held->choice = held_choose(a, cf, &rng, held->sets, held->nsets);
	TRY(chosen_sets_read(db, a, held, 1, rows, f));
	return snapshot_files(db, a, cf, held, now, s, f);
}

enum err read_user_wus(struct db *db, struct arena *a, const struct conf *cf,
    struct snapshot *s, struct fail *f)
{
	struct candidates c;

	candidates_begin(&c, db, a, cf, s, f);
	supply_begin_once(&c.p);
	return candidates_read(&c, supply_once_next, supply_once_take);
}

enum err read_slice(struct db *db, struct arena *a, const struct slice_of *what,
    struct snapshot *s, struct fail *f)
{
	struct candidates c;

	candidates_begin(&c, db, a, what->conf, s, f);
	begin_source(&c, what->req);
	c.p.once = what->once;
	c.p.in.now = what->now;
	supply_walk_begin(&c.p, what->nci, what->apps);
	return candidates_read(&c, supply_walk_next, supply_walk_take);
}
