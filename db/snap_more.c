/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates beyond the first ones, so that any job that fits is found behind however
 * many that do not.  All candidates stand in one index (ready, id): the sets and shards
 * in question are segments of it, and the search is one walk around them in slices,
 * whose place survives in the host's row.
 */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "db/order.h"
#include "model/states.h"
#include "lib/banned.h"

enum { SLICE_ROWS = 256 };

struct segment {
	int64_t first, last;    /* of result.ready */
	struct snap_file *file; /* NULL: plain jobs of one app, its urgent ones or
	                           its shards */
};

/* File sets by id, then plain shards. */
static int
place_order(struct place a, struct place b)
{
	if ((a.ready < 0) != (b.ready < 0))
		return a.ready < 0 ? 1 : -1;
	if (a.ready != b.ready)
		return a.ready < b.ready ? -1 : 1;
	return (a.id > b.id) - (a.id < b.id);
}

static int
segment_order(const void *pa, const void *pb)
{
	const struct segment *a = pa, *b = pb;

	return place_order(
	    (struct place){ a->first, 0 }, (struct place){ b->first, 0 });
}

static struct segment *
segments_of(struct arena *a, const bool *apps, const struct snapshot *s, size_t *n)
{
	struct segment *g = NEWN(a, struct segment, s->nfiles + 2 * s->cat->napps + 1);

	*n = 0;
	for (size_t i = 0; i < s->nfiles; i++)
		if (!s->files[i].paused)
			g[(*n)++] = (struct segment){ s->files[i].fileset_id,
				s->files[i].fileset_id, &s->files[i] };
	for (size_t i = 0; i < s->cat->napps; i++) {
		int64_t high = -(s->cat->apps[i].id * READY_SHARDS) - 1;

		int64_t urgent = READY_URGENT - s->cat->apps[i].id * READY_PRIORITIES;

		if (!apps[i] || s->cat->apps[i].deprecated)
			continue;
		g[(*n)++] = (struct segment){ urgent - READY_PRIORITIES + 1, urgent - 1,
			NULL };
		g[(*n)++] = (struct segment){ high - READY_SHARDS + 1, high, NULL };
	}
	qsort(g, *n, sizeof(*g), segment_order);
	return g;
}

/* The place behind all rows of the segment. */
static struct place
end_of(const struct segment *g)
{
	return (struct place){ g->last, INT64_MAX };
}

static struct place
place_of(const struct job *j)
{
	const struct workunit wu = {
		.id = j->workunitid, .appid = j->appid, .fileset_id = j->fileset_id
	};

	return (struct place){ result_ready(&wu, j->priority), j->id };
}

/* Rows of the segment behind *at, which becomes the place of the last one. */
static enum err
rows_after(struct db *db, struct arena *a, const struct segment *g, size_t most,
    struct place *at, struct job *jobs, size_t *n, struct fail *f)
{
	struct place p = *at;
	void *rows;
	size_t got;
	enum err e = db_query(
	    db, a, f, &rows, n, SQL_JOBS_AFTER, p.ready, p.id, (int64_t)most);

	if (e == OK && *n > 0)
		memcpy(jobs, rows, *n * sizeof(*jobs));
	if (e == OK && *n < most && p.ready < g->last) {
		e = db_query(db, a, f, &rows, &got, SQL_JOBS_OF_SHARDS, p.ready + 1,
		    g->last, (int64_t)(most - *n));
		if (e == OK && got > 0) {
			memcpy(jobs + *n, rows, got * sizeof(*jobs));
			*n += got;
		}
	}
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

/* Adds those that are new; jobs[] keeps them alone. */
static void
jobs_add(struct arena *a, struct job *jobs, size_t *n, struct job **v, size_t *nv)
{
	struct job *all = NEWN(a, struct job, *nv + *n + 1);
	size_t old = *nv, fresh = 0;

	if (old > 0)
		memcpy(all, *v, old * sizeof(*all));
	for (size_t i = 0; i < *n; i++)
		if (!has_job(*v, old, jobs[i].id))
			jobs[fresh++] = all[(*nv)++] = jobs[i];
	*v = all;
	*n = fresh;
}

static enum err
file_add(struct db *db, struct arena *a, struct snap_file *file, struct job *jobs,
    size_t *n, const struct snapshot *s, struct fail *f)
{
	enum err e = OK;

	if (file->unread && *n > 0)
		e = db_number(
		    db, f, &file->last_id, SQL_LAST_ID, s->user.id, file->fileset_id);
	if (e != OK && e != E_NOTFOUND)
		return e;
	file->unread = false;
	jobs_add(a, jobs, n, &file->jobs, &file->njobs);
	qsort(file->jobs, file->njobs, sizeof(*file->jobs), job_id_order);
	return OK;
}

/* Rows of one segment go where they belong; ids: their workunits. */
static enum err
segment_add(struct db *db, struct arena *a, const struct segment *g, size_t most,
    int64_t *ids, size_t *nids, struct snapshot *s, struct fail *f)
{
	struct snap_search *q = &s->search;
	struct place at = q->at, start = { g->first, 0 };
	struct job *jobs = NEWN(a, struct job, most + 1);
	size_t n = 0;
	enum err e;

	if (place_order(at, start) < 0)
		at = start;
	e = rows_after(db, a, g, most, &at, jobs, &n, f);
	q->rows += n + 1;
	if (e == OK && g->file != NULL)
		e = file_add(db, a, g->file, jobs, &n, s, f);
	else if (e == OK)
		jobs_add(a, jobs, &n, &s->plain, &s->nplain);
	for (size_t i = 0; e == OK && i < n; i++)
		ids[(*nids)++] = jobs[i].workunitid;
	q->at = at;
	return e;
}

static void
search_begin(struct snap_search *q, const struct host *h)
{
	if (!q->began)
		q->from = q->at = (struct place){ h->search_ready, h->search_id };
	q->wrapped = q->wrapped || q->from.ready == 0;
	q->began = true;
	q->before = q->at;
}

enum err
snapshot_more(struct db *db, struct arena *a, const bool *apps, int64_t once,
    struct snapshot *s, struct fail *f)
{
	struct snap_search *q = &s->search;
	size_t n, i = 0, nids = 0, before = q->rows;
	const struct segment *g = segments_of(a, apps, s, &n);
	int64_t ids[SLICE_ROWS];
	enum err e = OK;

	search_begin(q, &s->host);
	while (i < n && place_order(q->at, end_of(&g[i])) >= 0)
		i++;
	while (e == OK && q->left && q->rows - before < SLICE_ROWS - 1) {
		if (i == n && q->wrapped) {
			q->left = false;
		} else if (i == n) {
			q->wrapped = true;
			q->at = (struct place){ 0 };
			i = 0;
		} else {
			e = segment_add(db, a, &g[i],
			    SLICE_ROWS - 1 - (q->rows - before), ids, &nids, s, f);
			i += q->at.id == INT64_MAX;
			if (q->wrapped && q->from.ready != 0 &&
			    place_order(q->at, q->from) >= 0)
				q->left = false;
		}
	}
	return e == OK ? snapshot_wus_once(db, a, once, ids, nids, s, f) : e;
}
