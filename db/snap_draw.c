/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs for the estimate of what hosts would fetch without locality. */
#include "db/snap_sets.h"

#include "db/stmts.h"
#include "lib/banned.h"

/* The oldest unsent job of the set that follows a random place of the index; got false:
 * it has been taken meanwhile, or the set is here. */
static enum err
draw(struct db *db, struct arena *a, int64_t after, const struct snap_file *have,
    size_t nhave, struct job *job, bool *got, struct fail *f)
{
	int64_t id;
	struct job *rows = NULL;
	size_t n = 0;
	enum err e = db_number(db, f, &id, NEXT_READY, .after = after);

	*got = false;
	if (e != OK)
		return e == E_NOTFOUND ? OK : e;
	for (size_t i = 0; i < nhave; i++)
		if (have[i].fileset_id == id)
			return OK;
	e = db_query(db, a, f, &rows, &n, JOBS_AFTER, .once = 0, .ready = id,
	    .after = 0, .max = 1);
	*got = e == OK && n > 0;
	if (*got)
		*job = *rows;
	return e;
}

enum err
snapshot_draw(struct db *db, struct arena *a, const struct request *rq, struct rng *rng,
    size_t k, struct snapshot *s, struct fail *f)
{
	struct snap_file *sets = NEWN(a, struct snap_file, k + 1);
	struct snapshot t = { 0 };
	struct held held;
	int64_t last;
	enum err e = snapshot_last_ready(db, a, s, &last, f);

	if (e != OK || k == 0 || last <= 0)
		return e;
	s->drawn = NEWN(a, struct job, k);
	for (size_t i = 0; i < k && e == OK; i++) {
		bool got;

		e = draw(db, a, (int64_t)rng_below(rng, (uint64_t)last), sets,
		    s->ndrawn, &s->drawn[s->ndrawn], &got, f);
		if (e == OK && got)
			sets[s->ndrawn].fileset_id = s->drawn[s->ndrawn].fileset_id,
			s->ndrawn++;
	}
	if (e != OK || s->ndrawn == 0)
		return e;
	held = held_names(a, rq);
	e = snap_members_add(db, a, &held, sets, s->ndrawn, &t, f);
	s->drawn_members = t.members;
	s->ndrawn_members = t.nmembers;
	return e;
}
