/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot's file sets: how one is added, picks of the working set, and the
 * deterministic search.  Only names that are in the file table go any further.
 */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "lib/order.h"
#include "db/snap_sets.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "trigger/cache.h"
#include "model/states.h"
#include "lib/banned.h"

enum {
	FILE_ABSENT = 0,
	GAP = 16,           /* longer ones, in ids, are long */
	OLD_LOOKED_AT = 16, /* sets of which the age of the work is read */
	OLD_MOST = 4,       /* of which its jobs are */
};

struct held
held_names(struct arena *a, const struct request *rq)
{
	struct held h = { .names = NEWN(a, const char *, rq->nfiles + 1) };
	size_t n = 0;

	for (size_t i = 0; i < rq->nfiles; i++)
		if (rq->files[i].status >= FILE_ABSENT && rq->files[i].name != NULL)
			h.names[h.n++] = rq->files[i].name;
	if (h.n > 0)
		qsort(h.names, h.n, sizeof(*h.names), name_order);
	for (size_t i = 0; i < h.n; i++)
		if (n == 0 || strcmp(h.names[n - 1], h.names[i]) != 0)
			h.names[n++] = h.names[i];
	h.n = n;
	return h;
}

bool
held_has(const struct held *h, const char *name)
{
	return bsearch(&name, h->names, h->n, sizeof(name), name_order) != NULL;
}

struct snap_file *
snapshot_file(const struct snapshot *s, int64_t fileset_id)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (s->files[i].fileset_id == fileset_id)
			return &s->files[i];
	return NULL;
}

/* Is it whole there?  Its bytes are added up. */
static void
member_add(struct snap_file *file, const struct snap_member *m)
{
	file->bytes += m->bytes;
	file->bytes_missing += m->held ? 0 : m->bytes;
	file->held = file->held && m->held;
}

enum err
snap_members_add(struct db *db, struct arena *a, const struct held *held,
    struct snap_file *files, size_t n, struct snapshot *s, struct fail *f)
{
	int64_t ids[DB_LIST_MAX];
	bool any[DB_LIST_MAX] = { false };
	size_t nrows;
	struct row_member *rows = NULL;

	for (size_t i = 0; i < n; i++)
		ids[i] = files[i].fileset_id;
	enum err e = db_query(
	    db, a, f, &rows, &nrows, FILESET_MEMBERS, .fileset_ids = db_ids(ids, n));
	if (e != OK)
		return e;
	struct snap_member *all = NEWN(a, struct snap_member, s->nmembers + nrows + 1);
	if (s->nmembers > 0)
		memcpy(all, s->members, s->nmembers * sizeof(*all));
	s->members = all;
	for (size_t m = 0; m < nrows; m++) {
		const struct row_member *row = rows + m;
		struct snap_member *to = &all[s->nmembers++];

		*to = (struct snap_member){ .fileset_id = row->fileset_id,
			.file_id = row->file_id,
			.name = row->name,
			.bytes = (int64_t)row->size,
			.held = held_has(held, row->name) };
		for (size_t i = 0; i < n; i++) {
			if (ids[i] != row->fileset_id)
				continue;
			files[i].held = files[i].held || !any[i];
			any[i] = true;
			member_add(&files[i], to);
		}
	}
	return OK;
}

const struct row_set_file *
set_rows_first(const struct set_rows *rows, int64_t fileset_id)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].fileset_id == fileset_id)
			return &rows->v[i];
	return NULL;
}

/* The arena arrays grow by a copy, as a request has few rounds. */
void
set_rows_append(
    struct arena *a, struct set_rows *to, const struct row_set_file *v, size_t n)
{
	struct row_set_file *all = NEWN(a, struct row_set_file, to->n + n + 1);

	if (to->n > 0)
		memcpy(all, to->v, to->n * sizeof(*all));
	if (n > 0)
		memcpy(all + to->n, v, n * sizeof(*all));
	to->v = all;
	to->n += n;
}

enum err
snap_sets_read(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct set_rows *to, struct fail *f)
{
	enum err e = OK;

	for (size_t i = 0; e == OK && i < n; i += DB_LIST_LONG) {
		size_t part = n - i < DB_LIST_LONG ? n - i : DB_LIST_LONG, got;
		struct row_set_file *rows = NULL;

		e = db_query(db, a, f, &rows, &got, SETS_WITH_FILES,
		    .ids = db_ids(ids + i, part));
		if (e == OK)
			set_rows_append(a, to, rows, got);
	}
	return e;
}

/* Of which of these the generator said that no more can be made. */
static enum err
no_work_of(struct db *db, struct arena *a, const struct conf *cf,
    const struct set_rows *rows, const int64_t *ids, size_t n, bool **no_work,
    struct fail *f)
{
	const struct triggers t = triggers_of(cf, db, NULL);
	char **names = NEWN(a, char *, n + 1);

	*no_work = NEWN(a, bool, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = set_rows_first(rows, ids[i])->set_name;
	return no_work_there(&t, a, ids, names, n, *no_work, f);
}

static struct snap_file
file_of(const struct row_set_file *r, enum origin origin)
{
	return (struct snap_file){
		.fileset_id = r->fileset_id,
		.name = r->set_name,
		.from_working_set = origin == PICKED,
		.searched = origin == SEARCHED,
		.paused = r->paused == FILESET_PAUSED,
		.draining = r->paused == FILESET_DRAINING,
		.demand_time = r->demand_time,
		.has_unsent = r->has_unsent != 0,
		.has_open_wu = r->has_unsent != 0, /* nobody asks then */
		.has_any_wu = r->has_unsent != 0,
	};
}

/* Whether those of these sets that have no unsent results may get some. */
static enum err
workunits_add(
    struct db *db, struct arena *a, struct snap_file *files, size_t n, struct fail *f)
{
	int64_t ids[DB_LIST_LONG];
	size_t nids = 0;

	for (size_t i = 0; i < n; i++) {
		enum err e;
		size_t got;
		struct row_pair *v = NULL;

		if (!files[i].has_unsent)
			ids[nids++] = files[i].fileset_id;
		if (nids == 0 || (nids < N(ids) && i + 1 < n))
			continue;
		e = db_query(
		    db, a, f, &v, &got, SETS_WORKUNITS, .ids = db_ids(ids, nids));
		if (e != OK)
			return e;
		nids = 0;
		for (size_t k = 0; k < n; k++)
			for (size_t m = 0; m < got; m++) {
				const struct row_pair *row = v + m;

				if (row->a != files[k].fileset_id)
					continue;
				files[k].has_open_wu = row->b >= 2;
				files[k].has_any_wu = row->b >= 1;
			}
	}
	return OK;
}

/* The files of a set whose rows these are. */
static void
members_of(const struct held *held, const struct set_rows *rows, struct snap_file *file,
    struct snapshot *s)
{
	bool any = false;

	for (size_t i = 0; i < rows->n; i++) {
		const struct row_set_file *r = &rows->v[i];
		struct snap_member m = { .fileset_id = r->fileset_id,
			.file_id = r->file_id,
			.name = r->file_name,
			.bytes = (int64_t)r->size };

		if (r->fileset_id != file->fileset_id || r->file_id == 0)
			continue;
		m.held = held_has(held, m.name);
		file->held = file->held || !any;
		any = true;
		member_add(file, &m);
		s->members[s->nmembers++] = m;
	}
}

enum err
snap_sets_add(struct db *db, struct arena *a, const struct conf *cf,
    const struct held *held, const struct set_rows *rows, const int64_t *ids, size_t n,
    enum origin origin, struct snapshot *s, struct fail *f)
{
	struct snap_file *files = NEWN(a, struct snap_file, s->nfiles + n + 1);
	struct snap_member *all = NEWN(
	    a, struct snap_member, s->nmembers + rows->n + 1);
	bool *no_work;
	enum err e = no_work_of(db, a, cf, rows, ids, n, &no_work, f);

	if (e != OK)
		return e;
	if (s->nfiles > 0)
		memcpy(files, s->files, s->nfiles * sizeof(*files));
	if (s->nmembers > 0)
		memcpy(all, s->members, s->nmembers * sizeof(*all));
	s->files = files;
	s->members = all;
	for (size_t i = 0; i < n; i++) {
		struct snap_file *to = &files[s->nfiles++];

		*to = file_of(set_rows_first(rows, ids[i]), origin);
		to->no_work_available = no_work[i];
		members_of(held, rows, to, s);
	}
	return workunits_add(db, a, files + s->nfiles - n, n, f);
}

/*
 * Of names[0..n), in their order: at most k sets that the snapshot lacks and that are
 * not held back.  A set that it has in part becomes a pick as it stands.
 */
static enum err
picks_take(struct db *db, struct arena *a, char *const *names, size_t n, size_t k,
    struct snapshot *s, int64_t *ids, size_t *nids, struct fail *f)
{
	struct fileset *rows = NULL;
	size_t got;
	enum err e = db_query(
	    db, a, f, &rows, &got, FILESETS_BY_NAMES, .names = db_names(names, n));

	for (size_t i = 0; e == OK && i < n && *nids < k; i++) {
		for (size_t m = 0; m < got; m++) {
			struct fileset *set = rows + m;
			if (strcmp(set->name, names[i]) != 0 ||
			    set->paused != FILESET_OPEN)
				continue;
			struct snap_file *there = snapshot_file(s, set->id);
			if (there == NULL)
				ids[(*nids)++] = set->id;
			else if (!there->held)
				there->from_working_set = true;
			break;
		}
	}
	return e;
}

/* So many names are looked at in each round: the first ones are nearly always enough.
 */
static const size_t pick_rounds[] = { 16, DB_LIST_MAX, DB_LIST_MAX, DB_LIST_MAX };

/* Reads and appends sets of these ids, which may be gone. */
static enum err
sets_append(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, const int64_t *ids, size_t n, enum origin origin,
    struct snapshot *s, struct fail *f)
{
	struct set_rows rows = { 0 };
	struct held held;
	int64_t *there = NEWN(a, int64_t, n + 1);
	size_t kept = 0;
	enum err e = snap_sets_read(db, a, ids, n, &rows, f);

	for (size_t i = 0; e == OK && i < n; i++)
		if (set_rows_first(&rows, ids[i]) != NULL)
			there[kept++] = ids[i];
	if (e != OK || kept == 0)
		return e;
	held = held_names(a, rq);
	return snap_sets_add(db, a, cf, &held, &rows, there, kept, origin, s, f);
}

enum err
snapshot_working_set(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct rng *rng, size_t k, struct snapshot *s,
    struct fail *f)
{
	const struct triggers t = triggers_of(cf, db, NULL);
	int64_t *ids = NEWN(a, int64_t, k + 1);
	char **names;
	size_t n, nids = 0;
	enum err e;

	if (k == 0 || !catalog_locality(s->cat, cf))
		return OK;
	e = working_set_names(&t, a, &names, &n, f);
	if (e != OK || n == 0)
		return e;
	rng_shuffle(rng, names, n, sizeof(*names));
	for (size_t i = 0, round = 0; i < n && round < N(pick_rounds) && nids < k;
	     i += pick_rounds[round++]) {
		size_t part = n - i < pick_rounds[round] ? n - i : pick_rounds[round];
		e = picks_take(db, a, names + i, part, k, s, ids, &nids, f);
		if (e != OK)
			return e;
	}
	return nids > 0 ? sets_append(db, a, cf, rq, ids, nids, PICKED, s, f) : OK;
}

/*
 * Walks the ids of sets with unsent results, of which this is the last, from a seeded
 * start on, once around.  The set behind a long gap would be found from all of it, and
 * all who come would want its first jobs: then the start is drawn once more, from there
 * on.
 */
static enum err
search_walk(struct db *db, struct rng *rng, int64_t last, size_t k,
    const struct snapshot *s, int64_t *ids, size_t *n, struct fail *f)
{
	int64_t start = (int64_t)rng_below(rng, (uint64_t)last + 1);
	int64_t at = start, next;
	bool wrapped = false;

	for (size_t step = 0; step < k + s->nfiles + 2 && *n < k; step++) {
		enum err e = db_number(db, f, &next, NEXT_READY, .after = at);
		if (e == OK && step == 0 && next - start > GAP && next < last) {
			start = next - 1 +
			        (int64_t)rng_below(rng, (uint64_t)(last - next) + 1);
			at = start;
			continue;
		}
		if (e == E_NOTFOUND && !wrapped) {
			wrapped = true;
			at = 0;
			continue;
		}
		if (e == E_NOTFOUND || (e == OK && wrapped && next > start))
			return OK;
		if (e != OK)
			return e;
		if (snapshot_file(s, next) == NULL)
			ids[(*n)++] = next;
		at = next;
	}
	return OK;
}

enum err
snapshot_last_ready(
    struct db *db, struct arena *a, struct snapshot *s, int64_t *last, struct fail *f)
{
	struct snap_glance *g = &s->glance;

	if (!g->has_last) {
		struct row_pair *row = NULL;
		enum err e = db_row(db, a, f, &row, LASTS);

		if (e != OK)
			return e;
		g->last_ready = row->a;
		g->last_fileset = row->b;
		g->has_last = true;
	}
	*last = g->last_ready;
	return OK;
}

/* Sets with unsent results, from a seeded start on. */
static enum err
search_ready(struct db *db, struct arena *a, struct rng *rng, size_t k,
    struct snapshot *s, int64_t *ids, size_t *n, struct fail *f)
{
	int64_t last;
	enum err e = snapshot_last_ready(db, a, s, &last, f);

	if (e != OK || last <= 0)
		return e;
	return search_walk(db, rng, last, k, s, ids, n, f);
}

static bool
has_id(const int64_t *ids, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* The next k sets after this id, and which of them are open and not given up by the
 * generator. */
static enum err
sets_after(const struct triggers *t, struct arena *a, int64_t after, size_t k,
    struct row_set_named **sets, bool *makeable, size_t *n, struct fail *f)
{
	char **names = NEWN(a, char *, k + 1);
	int64_t *ids = NEWN(a, int64_t, k + 1);
	struct row_set_named *rows = NULL;
	enum err e = db_query(
	    t->db, a, f, &rows, n, FILESETS_AFTER, .after = after, .max = k);

	if (e != OK)
		return e;
	*sets = rows;
	for (size_t i = 0; i < *n; i++) {
		names[i] = (*sets)[i].name;
		ids[i] = (*sets)[i].id;
		no_work_gap(t->cache, i == 0 ? after : ids[i - 1], ids[i]);
	}
	e = no_work_there(t, a, ids, names, *n, makeable, f);
	for (size_t i = 0; i < *n; i++)
		makeable[i] = !makeable[i] && (*sets)[i].paused == FILESET_OPEN;
	return e;
}

/*
 * Where work is made on demand, sets without unsent results may get some: of the next k
 * from a seeded start on, so that a host that is excluded from all work there is does
 * not starve.  What is known already to be given up is no start.  After search_ready().
 */
static enum err
search_makeable(struct db *db, struct arena *a, const struct conf *cf, struct rng *rng,
    size_t k, const struct snapshot *s, int64_t *ids, size_t *n, struct fail *f)
{
	const struct triggers t = triggers_of(cf, db, NULL);
	int64_t last = s->glance.last_fileset;
	int64_t drawn = last > 0 ? (int64_t)rng_below(rng, (uint64_t)last) : 0;
	int64_t next = no_work_next(&t, drawn, last);
	int64_t starts[] = { next - 1, 0 };
	bool *makeable = NEWN(a, bool, k + 1);
	size_t seen = *n;
	enum err e = OK;

	if (next == 0)
		return OK;
	for (size_t from = 0; from < N(starts) && seen < k && e == OK; from++) {
		struct row_set_named *sets = NULL;
		size_t got = 0;

		e = sets_after(&t, a, starts[from], k, &sets, makeable, &got, f);
		for (size_t i = 0; e == OK && i < got && *n < k; i++)
			if (makeable[i] && snapshot_file(s, sets[i].id) == NULL &&
			    !has_id(ids, *n, sets[i].id))
				ids[(*n)++] = sets[i].id;
		seen += got;
	}
	return e;
}

/* Adds of these sets those that are not paused, at most so many. */
static enum err
open_sets_add(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, int64_t *ids, size_t n, size_t most, struct snapshot *s,
    struct fail *f)
{
	struct held held;
	struct set_rows rows = { 0 };
	size_t kept = 0;
	enum err e = snap_sets_read(db, a, ids, n, &rows, f);

	for (size_t i = 0; e == OK && i < n && kept < most; i++) {
		const struct row_set_file *r = set_rows_first(&rows, ids[i]);

		if (r != NULL && r->paused == FILESET_OPEN)
			ids[kept++] = ids[i];
	}
	if (e != OK || kept == 0)
		return e;
	held = held_names(a, rq);
	return snap_sets_add(db, a, cf, &held, &rows, ids, kept, SEARCHED, s, f);
}

enum err
snapshot_search(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct rng *rng, size_t k, struct snapshot *s,
    struct fail *f)
{
	int64_t *ids = NEWN(a, int64_t, k + 1);
	size_t n = 0;
	enum err e = k == 0 ? OK : search_ready(db, a, rng, k, s, ids, &n, f);

	s->search.left |= n > 0 && n == k; /* there may be more of them */
	if (e == OK && n < k && cf->locality_scheduling_wait_period > 0 &&
	    catalog_locality(s->cat, cf))
		e = search_makeable(db, a, cf, rng, k, s, ids, &n, f);
	return e != OK ? e : open_sets_add(db, a, cf, rq, ids, n, n, s, f);
}

static int
age_order(const void *pa, const void *pb)
{
	const struct row_pair *a = pa, *b = pb;

	if (a->b != b->b)
		return a->b < b->b ? -1 : 1;
	return (a->a > b->a) - (a->a < b->a);
}

/* Of these sets those with a result made before the moment, the oldest first. */
static enum err
older_than(struct db *db, struct arena *a, int64_t before, int64_t *ids, size_t *n,
    struct fail *f)
{
	struct row_pair *rows = NULL;
	size_t got, old = 0;
	enum err e = db_query(
	    db, a, f, &rows, &got, FILESETS_OLDEST, .ids = db_ids(ids, *n));

	if (e != OK)
		return e;
	qsort(rows, got, sizeof(struct row_pair), age_order);
	for (size_t i = 0; i < got; i++) {
		const struct row_pair *set = rows + i;

		if (set->b > 0 && set->b < before)
			ids[old++] = set->a;
	}
	*n = old;
	return OK;
}

enum err
snapshot_old(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct rng *rng, int64_t before, struct snapshot *s,
    struct fail *f)
{
	int64_t ids[OLD_LOOKED_AT];
	size_t n = 0;
	enum err e = search_ready(db, a, rng, OLD_LOOKED_AT, s, ids, &n, f);

	if (e == OK && n > 0)
		e = older_than(db, a, before, ids, &n, f);
	return e != OK ? e : open_sets_add(db, a, cf, rq, ids, n, OLD_MOST, s, f);
}

enum err
snapshot_sets(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, const int64_t *ids, size_t n, struct snapshot *s,
    struct fail *f)
{
	int64_t *fresh = NEWN(a, int64_t, n + 1);
	size_t nfresh = 0;

	for (size_t i = 0; i < n; i++)
		if (snapshot_file(s, ids[i]) == NULL)
			fresh[nfresh++] = ids[i];
	return nfresh == 0 ? OK :
	                     sets_append(db, a, cf, rq, fresh, nfresh, SEARCHED, s, f);
}
