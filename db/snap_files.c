/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot's file sets: how one is added, picks of the working set, and the
 * deterministic search.  Only names that are in the file table go any further.
 */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "db/order.h"
#include "db/snap_sets.h"
#include "db/trigger.h"
#include "model/states.h"
#include "lib/banned.h"

enum {
	FILE_ABSENT = 0,
	PICK_ROUNDS = 4,
	OLD_LOOKED_AT = 16, /* sets of which the age of the work is read */
	OLD_MOST = 4,       /* of which its jobs are */
};

struct held
held_names(struct arena *a, const struct request *rq)
{
	struct held h = { .names = NEWN(a, const char *, rq->nfiles + 1) };

	for (size_t i = 0; i < rq->nfiles; i++)
		if (rq->files[i].status >= FILE_ABSENT && rq->files[i].name != NULL)
			h.names[h.n++] = rq->files[i].name;
	qsort(h.names, h.n, sizeof(*h.names), name_order);
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
	void *rows;

	for (size_t i = 0; i < n; i++)
		ids[i] = files[i].fileset_id;
	enum err e = db_query(db, a, f, &rows, &nrows, SQL_FILESET_MEMBERS, ids, n);
	if (e != OK)
		return e;
	struct snap_member *all = NEWN(a, struct snap_member, s->nmembers + nrows + 1);
	if (s->nmembers > 0)
		memcpy(all, s->members, s->nmembers * sizeof(*all));
	s->members = all;
	for (size_t m = 0; m < nrows; m++) {
		const struct row_member *row = (const struct row_member *)rows + m;
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

/* Whether at most DB_LIST_MAX sets have unsent results, and may get some. */
static enum err
facts_add(
    struct db *db, struct arena *a, struct snap_file *files, size_t n, struct fail *f)
{
	int64_t ids[DB_LIST_MAX];
	size_t nrows;
	void *rows;

	for (size_t i = 0; i < n; i++)
		ids[i] = files[i].fileset_id;
	enum err e = db_query(db, a, f, &rows, &nrows, SQL_FILESETS_FACTS, ids, n);
	for (size_t m = 0; e == OK && m < nrows; m++) {
		const struct row_fileset_facts *r =
		    (const struct row_fileset_facts *)rows + m;

		for (size_t i = 0; i < n; i++) {
			if (ids[i] != r->id)
				continue;
			files[i].has_unsent = r->has_unsent != 0;
			files[i].has_open_wu = r->has_open_wu != 0;
			files[i].has_any_wu = r->has_any_wu != 0;
		}
	}
	return e;
}

/* Of which of these the generator said that no more can be made. */
static enum err
no_work_of(struct db *db, struct arena *a, const struct conf *cf,
    struct fileset *const *sets, size_t n, bool **no_work, struct fail *f)
{
	const struct triggers t = { .conf = cf, .db = db };
	char **names = NEWN(a, char *, n + 1);

	*no_work = NEWN(a, bool, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = sets[i]->name;
	return trigger_there(&t, a, TRIGGER_NO_WORK_AVAILABLE, names, n, *no_work, f);
}

/* The arena arrays grow by a copy, as a request has few rounds. */
enum err
snap_sets_add(struct db *db, struct arena *a, const struct conf *cf,
    const struct held *held, struct fileset *const *sets, size_t n, enum origin origin,
    struct snapshot *s, struct fail *f)
{
	struct snap_file *files = NEWN(a, struct snap_file, s->nfiles + n + 1);
	struct snap_file *fresh = files + s->nfiles;
	bool *no_work;
	enum err e = no_work_of(db, a, cf, sets, n, &no_work, f);

	if (e != OK)
		return e;
	if (s->nfiles > 0)
		memcpy(files, s->files, s->nfiles * sizeof(*files));
	for (size_t i = 0; i < n; i++) {
		fresh[i] = (struct snap_file){
			.fileset_id = sets[i]->id,
			.name = sets[i]->name,
			.from_working_set = origin == PICKED,
			.searched = origin == SEARCHED,
			.no_work_available = no_work[i],
			.paused = sets[i]->paused == FILESET_PAUSED,
			.draining = sets[i]->paused == FILESET_DRAINING,
			.demand_time = sets[i]->demand_time,
		};
	}
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		e = snap_members_add(db, a, held, fresh + i, part, s, f);
		if (e == OK)
			e = facts_add(db, a, fresh + i, part, f);
		if (e != OK)
			return e;
	}
	s->files = files;
	s->nfiles += n;
	return OK;
}

enum err
snap_sets_rows(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct fileset ***out, size_t *nout, struct fail *f)
{
	struct fileset **sets = NEWN(a, struct fileset *, n + 1);
	size_t nsets = 0;

	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, got;
		void *rows;
		enum err e = db_query(
		    db, a, f, &rows, &got, SQL_FILESETS_BY_IDS, ids + i, part);
		if (e != OK)
			return e;
		for (size_t k = i; k < i + part; k++)
			for (size_t m = 0; m < got; m++)
				if (((struct fileset *)rows)[m].id == ids[k])
					sets[nsets++] = (struct fileset *)rows + m;
	}
	*out = sets;
	*nout = nsets;
	return OK;
}

/*
 * Of names[0..n), in their order: at most k sets that the snapshot lacks and that are
 * not held back.  A set that it has in part becomes a pick as it stands.
 */
static enum err
picks_take(struct db *db, struct arena *a, char *const *names, size_t n, size_t k,
    struct snapshot *s, struct fileset **sets, size_t *nsets, struct fail *f)
{
	void *rows;
	size_t got;
	enum err e = db_query(
	    db, a, f, &rows, &got, SQL_FILESETS_BY_NAMES, (const void *)names, n);

	for (size_t i = 0; e == OK && i < n && *nsets < k; i++) {
		for (size_t m = 0; m < got; m++) {
			struct fileset *set = (struct fileset *)rows + m;
			if (strcmp(set->name, names[i]) != 0 ||
			    set->paused != FILESET_OPEN)
				continue;
			struct snap_file *there = snapshot_file(s, set->id);
			if (there == NULL)
				sets[(*nsets)++] = set;
			else if (!there->held)
				there->from_working_set = true;
			break;
		}
	}
	return e;
}

enum err
snapshot_working_set(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct rng *rng, size_t k, struct snapshot *s,
    struct fail *f)
{
	const struct triggers t = { .conf = cf, .db = db };
	struct held held;
	struct fileset **sets = NEWN(a, struct fileset *, k + 1);
	char **names;
	size_t n, nsets = 0;
	enum err e;

	if (k == 0 || !catalog_locality(s->cat, cf))
		return OK;
	e = trigger_list(&t, a, TRIGGER_WORKING_SET, &names, &n, f);
	if (e != OK || n == 0)
		return e;
	held = held_names(a, rq);
	rng_shuffle(rng, names, n, sizeof(*names));
	for (size_t i = 0, round = 0; i < n && round < PICK_ROUNDS && nsets < k;
	     i += DB_LIST_MAX, round++) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		e = picks_take(db, a, names + i, part, k, s, sets, &nsets, f);
		if (e != OK)
			return e;
	}
	return nsets > 0 ? snap_sets_add(db, a, cf, &held, sets, nsets, PICKED, s, f) :
	                   OK;
}

/* Walks the ids of sets with unsent results from start on, once around. */
static enum err
search_walk(struct db *db, int64_t start, size_t k, const struct snapshot *s,
    int64_t *ids, size_t *n, struct fail *f)
{
	int64_t at = start, next;
	bool wrapped = false;

	for (size_t steps = k + s->nfiles + 1; steps > 0 && *n < k; steps--) {
		enum err e = db_number(db, f, &next, SQL_NEXT_READY, at);
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

/* Sets with unsent results, from a seeded start on. */
static enum err
search_ready(struct db *db, struct rng *rng, size_t k, const struct snapshot *s,
    int64_t *ids, size_t *n, struct fail *f)
{
	int64_t last;
	enum err e = db_number(db, f, &last, SQL_LAST_READY);

	if (e != OK)
		return e == E_NOTFOUND ? OK : e;
	return search_walk(
	    db, (int64_t)rng_below(rng, (uint64_t)last + 1), k, s, ids, n, f);
}

static bool
has_id(const int64_t *ids, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/*
 * Where work is made on demand, sets without unsent results may get some: the next ones
 * from a seeded start on, so that a host that is excluded from all work there is does
 * not starve.
 */
static enum err
search_makeable(struct db *db, struct arena *a, struct rng *rng, size_t k,
    const struct snapshot *s, int64_t *ids, size_t *n, struct fail *f)
{
	int64_t last;
	enum err e = db_number(db, f, &last, SQL_FILESET_LAST);

	if (e != OK)
		return e == E_NOTFOUND ? OK : e;
	int64_t starts[] = { (int64_t)rng_below(rng, (uint64_t)last), 0 };
	for (size_t from = 0; from < N(starts) && *n < k && e == OK; from++) {
		void *rows;
		size_t got = 0;

		e = db_query(db, a, f, &rows, &got, SQL_FILESETS_AFTER, starts[from],
		    (int64_t)k);
		for (size_t i = 0; e == OK && i < got && *n < k; i++) {
			int64_t id = ((struct row_number *)rows)[i].v;
			if (snapshot_file(s, id) == NULL && !has_id(ids, *n, id))
				ids[(*n)++] = id;
		}
	}
	return e;
}

enum err
snapshot_search(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct rng *rng, size_t k, struct snapshot *s,
    struct fail *f)
{
	struct held held;
	struct fileset **sets;
	int64_t *ids = NEWN(a, int64_t, k + 1);
	size_t n = 0, nready, nsets, kept = 0;
	bool *no_work;
	enum err e = k == 0 ? OK : search_ready(db, rng, k, s, ids, &n, f);

	nready = n;
	s->search.left |= n > 0 && n == k; /* there may be more of them */
	if (e == OK && n < k && cf->locality_scheduling_wait_period > 0 &&
	    catalog_locality(s->cat, cf))
		e = search_makeable(db, a, rng, k, s, ids, &n, f);
	if (e == OK)
		e = snap_sets_rows(db, a, ids, n, &sets, &nsets, f);
	if (e == OK)
		e = no_work_of(db, a, cf, sets, nsets, &no_work, f);
	if (e != OK || n == 0)
		return e;
	held = held_names(a, rq);
	for (size_t i = 0; i < nsets; i++) {
		bool ready = has_id(ids, nready, sets[i]->id);

		if (sets[i]->paused == FILESET_OPEN && (ready || !no_work[i]))
			sets[kept++] = sets[i];
	}
	return kept > 0 ? snap_sets_add(db, a, cf, &held, sets, kept, SEARCHED, s, f) :
	                  OK;
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
	void *rows;
	size_t got, old = 0;
	enum err e = db_query(db, a, f, &rows, &got, SQL_FILESETS_OLDEST, ids, *n);

	if (e != OK)
		return e;
	qsort(rows, got, sizeof(struct row_pair), age_order);
	for (size_t i = 0; i < got; i++) {
		const struct row_pair *set = (const struct row_pair *)rows + i;

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
	struct held held;
	struct fileset **sets;
	int64_t ids[OLD_LOOKED_AT];
	size_t n = 0, nsets, kept = 0;
	enum err e = search_ready(db, rng, OLD_LOOKED_AT, s, ids, &n, f);

	if (e == OK && n > 0)
		e = older_than(db, a, before, ids, &n, f);
	if (e != OK || n == 0)
		return e;
	e = snap_sets_rows(db, a, ids, n, &sets, &nsets, f);
	if (e != OK)
		return e;
	for (size_t i = 0; i < nsets && kept < OLD_MOST; i++)
		if (sets[i]->paused == FILESET_OPEN)
			sets[kept++] = sets[i];
	held = held_names(a, rq);
	return kept > 0 ? snap_sets_add(db, a, cf, &held, sets, kept, SEARCHED, s, f) :
	                  OK;
}

enum err
snapshot_sets(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, const int64_t *ids, size_t n, struct snapshot *s,
    struct fail *f)
{
	struct held held;
	struct fileset **sets;
	int64_t *fresh = NEWN(a, int64_t, n + 1);
	size_t nfresh = 0, nsets;

	for (size_t i = 0; i < n; i++)
		if (snapshot_file(s, ids[i]) == NULL)
			fresh[nfresh++] = ids[i];
	if (nfresh == 0)
		return OK;
	enum err e = snap_sets_rows(db, a, fresh, nfresh, &sets, &nsets, f);
	if (e != OK || nsets == 0)
		return e;
	held = held_names(a, rq);
	return snap_sets_add(db, a, cf, &held, sets, nsets, SEARCHED, s, f);
}
