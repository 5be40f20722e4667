/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates beyond the first ones, so that any job that fits is found behind however
 * many that do not.  All candidates stand in one index (ready, id), and the sets and
 * shards in question are segments of it.  The search is one walk around them in slices,
 * whose place survives in the host's row: what the host has, then plain jobs, which
 * cost no download, then all other file sets.
 */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "lib/order.h"
#include "db/stmts.h"
#include "model/states.h"
#include "lib/banned.h"

enum { SLICE_ROWS = 256 };

enum kind { HELD, PLAIN, OTHER };

struct segment {
	int64_t first, last; /* of result.ready */
	enum kind kind;
};

struct walk { /* one slice of it */
	struct db *db;
	struct arena *a;
	const struct search *what;
	struct snapshot *s;
	struct snap_search *q;
	struct fail *f;
	struct segment *g; /* in the order of the walk */
	size_t n, cap;
	int64_t wus[SLICE_ROWS]; /* of the rows that are new and taken */
	size_t nwus;
};

/* --- segments --- */

static void
segment_add(struct walk *w, int64_t first, int64_t last, enum kind kind)
{
	if (first <= last)
		PUSH(w->a, w->g, w->n, w->cap) = (struct segment){ first, last, kind };
}

/* What the host has, and with a search of files all between and behind it. */
static void
add_files(struct walk *w, bool held)
{
	int64_t *ids = NEWN(w->a, int64_t, w->s->nfiles + 1), next = 1;
	size_t n = 0;

	for (size_t i = 0; i < w->s->nfiles; i++) {
		const struct snap_file *f = &w->s->files[i];
		bool here = f->held || f->bytes_missing < f->bytes;

		if (here && !(held && snap_file_held_back(f)))
			ids[n++] = f->fileset_id;
	}
	qsort(ids, n, sizeof(*ids), id_order);
	for (size_t i = 0; i < n; i++) {
		if (held)
			segment_add(w, ids[i], ids[i], HELD);
		else
			segment_add(w, next, ids[i] - 1, OTHER);
		next = ids[i] + 1;
	}
	if (!held)
		segment_add(w, next, INT64_MAX, OTHER);
}

static int
segment_order(const void *pa, const void *pb)
{
	const struct segment *a = pa, *b = pb;

	return (a->first > b->first) - (a->first < b->first);
}

/* Urgent jobs and shards of each app. */
static void
add_plain(struct walk *w)
{
	const struct catalog *cat = w->s->cat;
	size_t from = w->n;

	for (size_t i = 0; i < cat->napps; i++) {
		int64_t high = -(cat->apps[i].id * READY_SHARDS) - 1;
		int64_t urgent = READY_URGENT - cat->apps[i].id * READY_PRIORITIES;

		if (!w->what->apps[i] || cat->apps[i].deprecated)
			continue;
		segment_add(w, urgent - READY_PRIORITIES + 1, urgent - 1, PLAIN);
		segment_add(w, high - READY_SHARDS + 1, high, PLAIN);
	}
	if (w->n > from)
		qsort(w->g + from, w->n - from, sizeof(*w->g), segment_order);
}

static bool
holds(const struct segment *g, struct place p)
{
	return p.ready >= g->first && p.ready <= g->last;
}

/* The place behind all rows of the segment. */
static struct place
end_of(const struct segment *g)
{
	return (struct place){ g->last, INT64_MAX };
}

/*
 * The segment in which the walk goes on at this place; n: it is at its end.  Of a place
 * that is in none: that of an app is followed by the next app; that of a file set, and
 * none at all, by the beginning.
 */
static size_t
segment_at(const struct walk *w, struct place p)
{
	for (size_t i = 0; i < w->n; i++)
		if (holds(&w->g[i], p))
			return i + (p.ready == w->g[i].last && p.id == INT64_MAX);
	for (size_t i = 0; p.ready < 0 && i < w->n; i++)
		if (w->g[i].kind == OTHER ||
		    (w->g[i].kind == PLAIN && w->g[i].first > p.ready))
			return i;
	return 0;
}

/* --- rows --- */

static struct place
place_of(const struct job *j)
{
	const struct workunit wu = {
		.id = j->workunitid, .appid = j->appid, .fileset_id = j->fileset_id
	};

	return (struct place){ result_ready(&wu, j->priority), j->id };
}

/* At most so many rows of the segment from the walk's place on, which becomes that of
 * the last one. */
static enum err
rows_after(
    struct walk *w, const struct segment *g, size_t most, struct job *jobs, size_t *n)
{
	struct place *at = &w->q->at;
	int64_t whole = at->id == 0 ? at->ready : at->ready + 1;
	int64_t once = w->what->once;
	size_t got = 0;
	struct job *rows = NULL;
	enum err e = OK;

	*n = 0;
	if (at->id > 0 && at->id < INT64_MAX)
		e = db_query(w->db, w->a, w->f, &rows, n, JOBS_AFTER, .once = once,
		    .ready = at->ready, .after = at->id, .max = most);
	if (e == OK && *n > 0)
		memcpy(jobs, rows, *n * sizeof(*jobs));
	if (e == OK && *n < most && whole <= g->last)
		e = db_query(w->db, w->a, w->f, &rows, &got, JOBS_BETWEEN, .once = once,
		    .first = whole, .last = g->last, .max = most - *n);
	if (e == OK && got > 0)
		memcpy(jobs + *n, rows, got * sizeof(*jobs));
	*n += got;
	*at = *n < most ? end_of(g) : place_of(&jobs[*n - 1]);
	return e;
}

static int
job_id_order(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static bool
has_job(const struct job *v, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].id == id)
			return true;
	return false;
}

/* Adds those that are new. */
static void
jobs_add(struct walk *w, const struct job *jobs, size_t n, struct job **v, size_t *nv)
{
	struct job *all = NEWN(w->a, struct job, *nv + n + 1);
	size_t old = *nv;

	if (old > 0)
		memcpy(all, *v, old * sizeof(*all));
	for (size_t i = 0; i < n; i++)
		if (!has_job(*v, old, jobs[i].id)) {
			all[(*nv)++] = jobs[i];
			if (jobs[i].taken > 0)
				w->wus[w->nwus++] = jobs[i].workunitid;
		}
	*v = all;
}

/* From which id on these sets' jobs are not released for the account yet. */
static enum err
released_ids(struct walk *w, const int64_t *ids, size_t n)
{
	struct row_pair *rows = NULL;
	size_t got;
	enum err e = db_query(w->db, w->a, w->f, &rows, &got, LAST_IDS_BY,
	    .userid = w->s->user.id,
	    .sent_by = w->what->now - w->what->conf->locality_skip_release,
	    .ids = db_ids(ids, n));

	for (size_t k = 0; e == OK && k < got; k++) {
		const struct row_pair *last = rows + k;

		snapshot_file(w->s, last->a)->released_id = last->b;
	}
	return e;
}

/* The last ids that the account got of those sets that nobody looked at. */
static enum err
last_ids(struct walk *w, const int64_t *ids, size_t n)
{
	int64_t unread[SLICE_ROWS];
	size_t nunread = 0;

	for (size_t i = 0; i < n; i++) {
		const struct snap_file *file = snapshot_file(w->s, ids[i]);

		if (file != NULL && (file->unread || !file->last_read))
			unread[nunread++] = ids[i];
	}
	for (size_t i = 0; i < nunread; i += DB_LIST_MAX) {
		size_t part = nunread - i < DB_LIST_MAX ? nunread - i : DB_LIST_MAX,
		       got;
		struct row_pair *rows = NULL;
		enum err e = db_query(w->db, w->a, w->f, &rows, &got, LAST_IDS,
		    .userid = w->s->user.id, .ids = db_ids(unread + i, part));

		bool any = false;
		for (size_t k = 0; e == OK && k < got; k++) {
			const struct row_pair *last = rows + k;
			struct snap_file *file = snapshot_file(w->s, last->a);

			file->last_id = last->b;
			file->last_read = true;
			file->unread = false;
			any = any || last->b > 0;
		}
		if (e == OK && any)
			e = released_ids(w, unread + i, part);
		if (e != OK)
			return e;
	}
	return OK;
}

/* The sets of jobs[], which are in the order of the index; those that are new were not
 * looked at yet. */
static enum err
sets_add(struct walk *w, const struct job *jobs, size_t n)
{
	int64_t ids[SLICE_ROWS];
	size_t nids = 0, old = w->s->nfiles;
	enum err e;

	for (size_t i = 0; i < n; i++)
		if (i == 0 || jobs[i].fileset_id != jobs[i - 1].fileset_id)
			ids[nids++] = jobs[i].fileset_id;
	e = snapshot_sets(
	    w->db, w->a, w->what->conf, w->what->req, ids, nids, w->s, w->f);
	for (size_t i = old; e == OK && i < w->s->nfiles; i++)
		w->s->files[i].unread = w->s->files[i].has_any_wu =
		    w->s->files[i].has_open_wu = true;
	return e == OK ? last_ids(w, ids, nids) : e;
}

/* Each job goes to its set; the rest of one that is held back is passed over. */
static enum err
file_jobs_add(struct walk *w, const struct job *jobs, size_t n)
{
	enum err e = n == 0 ? OK : sets_add(w, jobs, n);

	for (size_t i = 0, end; e == OK && i < n; i = end) {
		struct snap_file *file = snapshot_file(w->s, jobs[i].fileset_id);

		for (end = i; end < n && jobs[end].fileset_id == jobs[i].fileset_id;)
			end++;
		if (file == NULL)
			continue;
		jobs_add(w, jobs + i, end - i, &file->jobs, &file->njobs);
		qsort(file->jobs, file->njobs, sizeof(*file->jobs), job_id_order);
		file->has_unsent = true;
		if (snap_file_held_back(file) && w->q->at.ready == file->fileset_id)
			w->q->at.id = INT64_MAX;
	}
	return e;
}

/* --- the walk --- */

static enum err
segment_read(struct walk *w, const struct segment *g, size_t most)
{
	struct job *jobs = NEWN(w->a, struct job, most + 1);
	struct snapshot *s = w->s;
	size_t n = 0;
	enum err e;

	if (!holds(g, w->q->at))
		w->q->at = (struct place){ g->first, 0 };
	e = rows_after(w, g, most, jobs, &n);
	w->q->rows += n + 1;
	if (e == OK && g->kind != PLAIN)
		return file_jobs_add(w, jobs, n);
	if (e == OK && w->what->nci)
		jobs_add(w, jobs, n, &s->nci, &s->nnci);
	else if (e == OK)
		jobs_add(w, jobs, n, &s->plain, &s->nplain);
	return e;
}

static void
search_begin(struct walk *w, struct place cursor)
{
	struct snap_search *q = w->q;
	size_t i = segment_at(w, cursor);

	if (!q->began && i < w->n && holds(&w->g[i], cursor))
		q->from = cursor;
	else if (!q->began && i < w->n && cursor.ready != 0)
		q->from = (struct place){ w->g[i].first, 0 };
	if (!q->began)
		q->at = q->from;
	q->wrapped = q->wrapped || q->from.ready == 0;
	q->began = true;
	q->before = q->at;
}

/* Is the walk, which is in segment i, back where it began, in segment from? */
static bool
is_around(const struct snap_search *q, size_t i, size_t from)
{
	if (!q->wrapped || q->from.ready == 0 || i < from)
		return false;
	return i > from || q->at.ready > q->from.ready ||
	       (q->at.ready == q->from.ready && q->at.id >= q->from.id);
}

static enum err
walk_slice(struct walk *w)
{
	struct snap_search *q = w->q;
	size_t before = q->rows, i = segment_at(w, q->at);
	size_t from = segment_at(w, q->from);
	enum err e = OK;

	while (e == OK && q->left && q->rows - before < SLICE_ROWS - 1) {
		if (i == w->n && q->wrapped) {
			q->left = false;
		} else if (i == w->n) {
			q->wrapped = true;
			q->at = (struct place){ 0 };
			i = 0;
		} else {
			e = segment_read(
			    w, &w->g[i], SLICE_ROWS - 1 - (q->rows - before));
			if (q->at.id == INT64_MAX && q->at.ready == w->g[i].last)
				i++;
		}
		if (i < w->n && !holds(&w->g[i], q->at))
			q->at = (struct place){ w->g[i].first, 0 };
		q->left = q->left && !is_around(q, i, from);
	}
	q->held_left = q->left && i < w->n && w->g[i].kind == HELD;
	return e;
}

/* What the once rule forbids. */
static void
user_wus_add(struct walk *w)
{
	struct snapshot *s = w->s;
	int64_t *all = NEWN(w->a, int64_t, s->nuser_wus + w->nwus + 1);

	if (s->nuser_wus > 0)
		memcpy(all, s->user_wus, s->nuser_wus * sizeof(*all));
	if (w->nwus > 0)
		memcpy(all + s->nuser_wus, w->wus, w->nwus * sizeof(*all));
	s->user_wus = all;
	s->nuser_wus += w->nwus;
}

enum err
snapshot_more(struct db *db, struct arena *a, const struct search *what,
    struct snapshot *s, struct fail *f)
{
	const struct host *h = &s->host;
	struct walk w = { .db = db,
		.a = a,
		.what = what,
		.s = s,
		.q = what->nci ? &s->nci_search : &s->search,
		.f = f };
	enum err e;

	if (!what->nci)
		add_files(&w, true);
	add_plain(&w);
	if (!what->nci && what->conf->locality_search_files > 0)
		add_files(&w, false);
	search_begin(&w, what->nci ? (struct place){ h->nci_ready, h->nci_id } :
				     (struct place){ h->search_ready, h->search_id });
	e = walk_slice(&w);
	if (e == OK)
		user_wus_add(&w);
	return e;
}
