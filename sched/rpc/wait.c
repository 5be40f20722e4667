/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on demand (locality.md 1.1 (L8)): raises need_work for the wanted files; then a
 * look every 100 ms finds out whether the generator has made a result, or has said for
 * all of them that it will not. A waiting request occupies nothing but memory, which
 * locality_max_waiters bounds.
 */
#include "sched/rpc/rpc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum {
	LOOK_FILES = 64, /* file sets looked at for one request */
	/* A trigger that nobody has claimed for so long has no generator. */
	UNANSWERED_S = 60,
	/* Requests that go on at once for one set with a new result. */
	GO_ON_MOST = 8,
};

/*
 * Returns the decision's entry for a file set; NULL if the decision did not consider
 * it.
 */
static const struct dec_file *wanted_file(const struct rpc *x, int64_t id)
{
	for (size_t i = 0; i < x->snap->nfiles; i++)
		if (x->snap->files[i].fileset_id == id)
			return &x->dec->files[i];
	return NULL;
}

/*
 * Counts the demand for file sets. A failure does not affect this host; other files
 * may then be chosen first.
 */
static void count_demand(struct rpc *x, const int64_t *ids, size_t n, int64_t now)
{
	struct fail f = { 0 };
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX)
		e = db_exec(x->db, &f, NULL, FILESETS_DEMANDED, .now = now,
		    .ids = db_ids(
			ids + i, n - i < DB_LIST_MAX ? n - i : (size_t)DB_LIST_MAX));
	if (e != OK)
		log_fail("demand", &f);
}

struct raising {                 /* of a request's triggers */
	size_t wanted, answered; /* answered: somebody may be making the work */
};

/*
 * Returns for each wanted file the age of its trigger in s, -1 = not raised. A failure
 * only means that the request waits.
 */
static int64_t *trigger_ages_wanted(
    struct rpc *x, const struct triggers *t, int64_t now)
{
	char **names = NEWN(x->a, char *, x->dec->nwant + 1);
	int64_t *age_s = NEWN(x->a, int64_t, x->dec->nwant + 1);
	struct fail f = { 0 };

	for (size_t i = 0; i < x->dec->nwant; i++) {
		const struct dec_file *df = wanted_file(x, x->dec->want[i]);

		names[i] = df == NULL ? arena_strdup(x->a, "") : df->file->name;
		age_s[i] = -1;
	}
	if (trigger_ages(
		t, x->a, TRIGGER_NEED_WORK, names, x->dec->nwant, now, age_s, &f) != OK)
		log_fail("ages of need_work triggers", &f);
	return age_s;
}

/*
 * Raises the triggers. If one cannot be raised because the disk is full, this host
 * loses its on-demand work but not its reply. Work that others await is being made
 * already. A trigger that has waited for a minute is unanswered: its generator is dead
 * or busy, or there is none.
 */
static struct raising raise_triggers(struct rpc *x)
{
	const struct triggers t = triggers_of(x->conf, x->db, NULL);
	int64_t *raised = NEWN(x->a, int64_t, x->dec->nwant + 1), now = clock_now();
	const int64_t *age_s = trigger_ages_wanted(x, &t, now);
	struct raising r = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < x->dec->nwant; i++) {
		const struct dec_file *df = wanted_file(x, x->dec->want[i]);
		struct fail f = { 0 };

		if (df == NULL)
			continue;
		if (!df->awaited &&
		    trigger_raise(&t, TRIGGER_NEED_WORK, df->file->name, &f) != OK) {
			log_fail("need_work trigger", &f);
			continue;
		}
		if (!df->awaited)
			raised[n++] = df->file->fileset_id;
		r.wanted++;
		r.answered += df->awaited || age_s[i] < UNANSWERED_S;
	}
	if (n > 0 && x->doorbells != NULL)
		doorbell_ring(x->doorbells, x->conf, DOORBELL_WORK_GENERATOR);
	count_demand(x, raised, n, now);
	return r;
}

/* --- the wait begins --- */

/* Takes a place to wait; false if all are taken. */
static bool take_waiting_place(const struct rpc *x, const struct rpc_wait *w)
{
	if (x->conf->locality_max_waiters == 0)
		return false;
	if (w->places == NULL)
		return true;
	if (atomic_fetch_add(w->places, 1) < x->conf->locality_max_waiters)
		return true;
	atomic_fetch_sub(w->places, 1);
	return false;
}

/* Notes what the request waits for; "" is the name of an unknown set. */
static void remember(struct rpc *x, struct rpc_wait *w)
{
	w->n = x->dec->nwant < LOOK_FILES ? x->dec->nwant : LOOK_FILES;
	w->sets = NEWN(w->a, int64_t, w->n + 1);
	w->names = NEWN(w->a, char *, w->n + 1);
	for (size_t i = 0; i < w->n; i++) {
		const struct dec_file *df = wanted_file(x, x->dec->want[i]);

		w->sets[i] = x->dec->want[i];
		w->names[i] = arena_strdup(w->a, df == NULL ? "" : df->file->name);
	}
	w->after = x->dec->want_after;
	w->now = x->now;
	w->seed = x->seed;
	w->start = x->start;
	w->since_ms = clock_mono_ms();
	w->until_ms = w->since_ms + x->conf->locality_scheduling_wait_period * 1000;
	w->brought = 0;
	w->ended = WAIT_NOT_YET;
}

enum err rpc_wait(struct rpc *x)
{
	struct rpc_wait *w = x->waiting;
	struct raising r = { 0 };

	if (!x->dry)
		r = raise_triggers(x);
	/* Nothing will come: nothing is raised, or nobody answers. */
	if (x->dry || (r.wanted > 0 && r.answered == 0)) {
		x->wait = WAIT_IN_VAIN;
		x->next = RPC_load;
		return OK;
	}
	if (w == NULL) {
		w = x->waiting = NEW(x->a, struct rpc_wait);
		w->a = x->a;
	}
	if (r.wanted == 0 || !take_waiting_place(x, w)) {
		x->wait = WAIT_NO_PLACE;
		x->snap->wait_possible = false;
		x->next = RPC_decide;
		return OK;
	}
	remember(x, w);
	x->next = RPC_look;
	return OK;
}

/* --- looks --- */

struct wanted {             /* a set that waits want */
	int64_t id, newest; /* newest: of its unsent results, 0 = none */
	char *name;
	bool given_up; /* the generator will make no more */
	int went_on;   /* requests that go on because of it, in this look */
};

static int wanted_order(const void *pa, const void *pb)
{
	const struct wanted *a = pa, *b = pb;

	return (a->id > b->id) - (a->id < b->id);
}

static struct wanted *wanted_set(struct wanted *sets, size_t n, int64_t id)
{
	struct wanted key = { .id = id };

	return bsearch(&key, sets, n, sizeof(key), wanted_order);
}

/* Returns the sets that any of the waits wants, by id. */
static struct wanted *collect_wanted(
    struct arena *a, struct rpc_wait *const *v, size_t nv, size_t *n)
{
	struct wanted *sets;
	size_t all = 0, kept = 0;

	for (size_t i = 0; i < nv; i++)
		all += v[i]->n;
	sets = NEWN(a, struct wanted, all + 1);
	all = 0;
	for (size_t i = 0; i < nv; i++)
		for (size_t k = 0; k < v[i]->n; k++)
			sets[all++] = (struct wanted){ .id = v[i]->sets[k],
				.name = v[i]->names[k] };
	qsort(sets, all, sizeof(*sets), wanted_order);
	for (size_t i = 0; i < all; i++)
		if (kept == 0 || sets[kept - 1].id != sets[i].id)
			sets[kept++] = sets[i];
	*n = kept;
	return sets;
}

/*
 * Looks at the triggers, then at the results, so that results made before the triggers
 * were raised are seen.
 */
static enum err look_at_sets(struct db *db, const struct conf *cf, struct arena *a,
    struct wanted *sets, size_t n, struct fail *f)
{
	const struct triggers t = triggers_of(cf, db, NULL);
	char **names = NEWN(a, char *, n + 1);
	bool *there = NEWN(a, bool, n + 1);
	int64_t *ids = NEWN(a, int64_t, n + 1), *newest = NEWN(a, int64_t, n + 1);

	for (size_t i = 0; i < n; i++) {
		names[i] = sets[i].name;
		ids[i] = sets[i].id;
	}
	TRY(trigger_there(&t, a, TRIGGER_NO_WORK_AVAILABLE, names, n, there, f));
	TRY(filesets_newest(db, a, ids, n, newest, f));
	for (size_t i = 0; i < n; i++) {
		sets[i].given_up = there[i];
		sets[i].newest = newest[i];
	}
	return OK;
}

/*
 * Has the generator said "no more" for every set? Not while the last workunit it made
 * waits for the transitioner.
 */
static enum err nothing_comes(struct db *db, const struct rpc_wait *w,
    struct wanted *sets, size_t n, bool *nothing, struct fail *f)
{
	bool unmade = false;

	*nothing = true;
	for (size_t i = 0; i < w->n; i++)
		*nothing = *nothing && wanted_set(sets, n, w->sets[i])->given_up;
	if (*nothing)
		TRY(filesets_unmade(db, w->sets, w->n, &unmade, f));
	*nothing = *nothing && !unmade;
	return OK;
}

/* Ends the wait; counting the demand as met may fail. */
static void wait_over(struct db *db, struct rpc_wait *w, enum rpc_waited how)
{
	struct fail f = { 0 };

	w->ended = how;
	w->waited_ms = clock_mono_ms() - w->since_ms;
	if (w->brought != 0 &&
	    db_exec(db, &f, NULL, FILESET_DEMAND_MET, .id = w->brought) != OK)
		log_fail("demand", &f);
	if (w->places != NULL)
		atomic_fetch_sub(w->places, 1);
}

static enum err look_for_one(
    struct db *db, struct rpc_wait *w, struct wanted *sets, size_t n, struct fail *f)
{
	bool nothing, ready = false;

	for (size_t i = 0; i < w->n; i++) {
		struct wanted *set = wanted_set(sets, n, w->sets[i]);

		if (set->newest <= w->after)
			continue;
		ready = true;
		if (set->went_on++ >= GO_ON_MOST)
			continue;
		w->brought = set->id;
		wait_over(db, w, WAIT_BROUGHT);
		return OK;
	}
	if (ready) /* but it is the turn of others */
		return OK;
	TRY(nothing_comes(db, w, sets, n, &nothing, f));
	if (nothing)
		wait_over(db, w, WAIT_IN_VAIN);
	return OK;
}

void wait_give_up(struct rpc_wait *w)
{
	if (w->ended == WAIT_NOT_YET)
		wait_over(NULL, w, WAIT_IN_VAIN);
}

void waits_end_late(struct rpc_wait *const *v, size_t n)
{
	int64_t now_ms = clock_mono_ms();

	for (size_t i = 0; i < n; i++)
		if (v[i]->ended == WAIT_NOT_YET &&
		    (proc_stopping || now_ms >= v[i]->until_ms))
			wait_over(NULL, v[i], WAIT_IN_VAIN);
}

void waits_look(
    struct db *db, const struct conf *cf, struct rpc_wait *const *v, size_t n)
{
	struct arena a = { 0 }; /* freed after each of many looks */
	struct fail f = { 0 };
	size_t nsets;
	struct wanted *sets = collect_wanted(&a, v, n, &nsets);
	enum err e;

	db_request(db); /* deliberate waiting does not count */
	e = look_at_sets(db, cf, &a, sets, nsets, &f);
	for (size_t i = 0; i < n && e == OK; i++)
		e = look_for_one(db, v[i], sets, nsets, &f);
	waits_end_late(v, n);
	if (e != OK)
		log_fail("looking for awaited work", &f);
	arena_free(&a);
}

enum err rpc_look(struct rpc *x)
{
	struct rpc_wait *w = x->waiting;

	while (w->ended == WAIT_NOT_YET) {
		clock_nap_ms(RPC_LOOK_MS);
		waits_look(x->db, x->conf, &w, 1);
	}
	x->wait = w->ended;
	x->waited_ms = w->waited_ms;
	db_request(x->db);
	x->next = RPC_parse;
	return OK;
}
