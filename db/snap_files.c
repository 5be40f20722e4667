/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The snapshot's file sets: those that the host holds, picks of the working set, and
 * the deterministic search.  Only names that are in the file table go any further.
 */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "db/order.h"
#include "db/trigger.h"
#include "model/states.h"
#include "lib/banned.h"

enum { FILE_ABSENT = 0, PICK_ROUNDS = 4 };

enum origin { HELD, PICKED, SEARCHED };

/*
 * Names that the host has or is about to have, sorted: a file that is still on its way
 * was given to it for an earlier job, so it need not travel again.  One whose transfer
 * failed is listed with an error and does not count.
 */
static const char **
present_names(struct arena *a, const struct request *rq, size_t *n)
{
	const char **names = NEWN(a, const char *, rq->nfiles + 1);

	*n = 0;
	for (size_t i = 0; i < rq->nfiles; i++)
		if (rq->files[i].status >= FILE_ABSENT && rq->files[i].name != NULL)
			names[(*n)++] = rq->files[i].name;
	qsort(names, *n, sizeof(*names), name_order);
	return names;
}

static bool
has_name(const char *const *sorted, size_t n, const char *name)
{
	return bsearch(&name, sorted, n, sizeof(name), name_order) != NULL;
}

struct snap_file *
snapshot_file(const struct snapshot *s, int64_t fileset_id)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (s->files[i].fileset_id == fileset_id)
			return &s->files[i];
	return NULL;
}

struct held { /* the names that the host has, sorted */
	const char **names;
	size_t n;
};

/* One member of a set: its bytes, and whether the host has it. */
static void
member_add(struct snap_file *file, size_t *missing, const struct row_member *m,
    const struct held *held)
{
	bool there = has_name(held->names, held->n, m->name);

	file->bytes += (int64_t)m->size;
	file->bytes_missing += there ? 0 : (int64_t)m->size;
	*missing += there ? 0 : 1;
	file->held = *missing == 0;
}

/* Sizes of at most DB_LIST_MAX sets. */
static enum err
sizes_add(struct db *db, struct arena *a, const struct held *held,
    struct snap_file *files, size_t n, struct fail *f)
{
	int64_t ids[DB_LIST_MAX];
	size_t missing[DB_LIST_MAX] = { 0 }, nrows;
	void *rows;

	for (size_t i = 0; i < n; i++)
		ids[i] = files[i].fileset_id;
	enum err e = db_query(db, a, f, &rows, &nrows, SQL_FILESET_MEMBERS, ids, n);
	if (e != OK)
		return e;
	const struct row_member *members = rows;
	for (size_t m = 0; m < nrows; m++)
		for (size_t i = 0; i < n; i++)
			if (ids[i] == members[m].fileset_id)
				member_add(&files[i], &missing[i], &members[m], held);
	return OK;
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

/* Appends the sets; the arena array grows by a copy, as a request has few rounds. */
static enum err
sets_add(struct db *db, struct arena *a, const struct conf *cf, const struct held *held,
    struct fileset *const *sets, size_t n, enum origin origin, struct snapshot *s,
    struct fail *f)
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
		};
	}
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		e = sizes_add(db, a, held, fresh + i, part, f);
		if (e != OK)
			return e;
	}
	s->files = files;
	s->nfiles += n;
	return OK;
}

/* Rows of the sets with these ids, in the order of the ids; absent ones are left out.
 */
static enum err
sets_by_ids(struct db *db, struct arena *a, const int64_t *ids, size_t n,
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

/* Ids of the sets that these files belong to, sorted, each once. */
static enum err
sets_of_files(struct db *db, struct arena *a, const struct file *files, size_t nfiles,
    int64_t **out, size_t *nout, struct fail *f)
{
	int64_t *ids = NULL, part_ids[DB_LIST_MAX];
	size_t n = 0, cap = 0, kept = 0;

	for (size_t i = 0; i < nfiles; i += DB_LIST_MAX) {
		size_t part = nfiles - i < DB_LIST_MAX ? nfiles - i : DB_LIST_MAX, got;
		void *rows;

		for (size_t k = 0; k < part; k++)
			part_ids[k] = files[i + k].id;
		enum err e = db_query(
		    db, a, f, &rows, &got, SQL_FILESETS_OF_FILES, part_ids, part);
		if (e != OK)
			return e;
		for (size_t k = 0; k < got; k++)
			PUSH(a, ids, n, cap) = ((struct row_number *)rows)[k].v;
	}
	if (n > 0)
		qsort(ids, n, sizeof(*ids), id_order);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || ids[i] != ids[i - 1])
			ids[kept++] = ids[i];
	*out = ids;
	*nout = kept;
	return OK;
}

enum err
snapshot_files(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, struct snapshot *s, struct fail *f)
{
	struct held held;
	struct fileset **sets;
	int64_t *ids;
	size_t nids, nsets, kept = 0;

	held.names = present_names(a, rq, &held.n);
	enum err e = files_by_names(
	    db, a, held.names, held.n, &s->held_files, &s->nheld_files, f);
	for (size_t i = 0; e == OK && i < s->nheld_files; i++)
		if (has_name(held.names, held.n, s->held_files[i].name))
			s->held_files[kept++] = s->held_files[i];
	s->nheld_files = kept;
	if (e == OK)
		e = sets_of_files(db, a, s->held_files, s->nheld_files, &ids, &nids, f);
	if (e == OK)
		e = sets_by_ids(db, a, ids, nids, &sets, &nsets, f);
	if (e == OK && nsets > 0)
		e = sets_add(db, a, cf, &held, sets, nsets, HELD, s, f);
	return e;
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
	enum err e = trigger_list(&t, a, TRIGGER_WORKING_SET, &names, &n, f);

	if (e != OK || k == 0 || n == 0)
		return e;
	held.names = present_names(a, rq, &held.n);
	rng_shuffle(rng, names, n, sizeof(*names));
	for (size_t i = 0, round = 0; i < n && round < PICK_ROUNDS && nsets < k;
	     i += DB_LIST_MAX, round++) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		e = picks_take(db, a, names + i, part, k, s, sets, &nsets, f);
		if (e != OK)
			return e;
	}
	return nsets > 0 ? sets_add(db, a, cf, &held, sets, nsets, PICKED, s, f) : OK;
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
	if (e == OK && n < k && cf->locality_scheduling_wait_period > 0)
		e = search_makeable(db, a, rng, k, s, ids, &n, f);
	if (e == OK)
		e = sets_by_ids(db, a, ids, n, &sets, &nsets, f);
	if (e == OK)
		e = no_work_of(db, a, cf, sets, nsets, &no_work, f);
	if (e != OK || n == 0)
		return e;
	held.names = present_names(a, rq, &held.n);
	for (size_t i = 0; i < nsets; i++) {
		bool ready = has_id(ids, nready, sets[i]->id);

		if (sets[i]->paused == FILESET_OPEN && (ready || !no_work[i]))
			sets[kept++] = sets[i];
	}
	return kept > 0 ? sets_add(db, a, cf, &held, sets, kept, SEARCHED, s, f) : OK;
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
	enum err e = sets_by_ids(db, a, fresh, nfresh, &sets, &nsets, f);
	if (e != OK || nsets == 0)
		return e;
	held.names = present_names(a, rq, &held.n);
	return sets_add(db, a, cf, &held, sets, nsets, SEARCHED, s, f);
}
