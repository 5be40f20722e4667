/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads candidates beyond the first ones, so that any job that fits is found,
 * however many before it do not. All candidates are in one index (ready, id); each
 * file set and shard in question is a segment of it. The search walks once around
 * the segments in slices; the host's row stores its place. The order is: sets that
 * the host holds, plain jobs, which cost no download, then all other file sets if
 * the project searches files. Sets that the walk meets are added to the snapshot as
 * found by the search.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/names.h"
#include "model/rows.h"
#include "rules/sched/supply_own.h"
#include "lib/banned.h"

enum { SLICE_ROWS = 256 }; /* each segment counts as one row more */

/* --- segments --- */

static int segment_order(const void *pa, const void *pb)
{
	const struct walk_segment *a = pa, *b = pb;

	return (a->first > b->first) - (a->first < b->first);
}

static void segment_add(struct supply *p, struct walk_segment g)
{
	struct supply_walk *w = &p->walk;

	if (g.first <= g.last)
		PUSH(p->a, w->v, w->n, w->cap) = g;
}

/* Adds the sets of which the host holds files, or if !held, the ranges between and
 * behind these sets. */
static void add_files(struct supply *p, bool held)
{
	const struct snapshot *s = p->in.snap;
	int64_t *ids = NEWN(p->a, int64_t, s->nfiles + 1), next = 1;
	struct ids sorted;
	size_t n = 0;

	for (size_t i = 0; i < s->nfiles; i++) {
		const struct snap_file *f = &s->files[i];
		bool here = f->held || f->bytes_missing < f->bytes;

		if (here && !(held && snap_file_held_back(f)))
			ids[n++] = f->fileset_id;
	}
	sorted = ids_unique(p->a, ids, n);
	for (size_t i = 0; i < sorted.n; i++) {
		int64_t id = sorted.v[i];

		if (held)
			segment_add(p, (struct walk_segment){ id, id, SEGMENT_HELD });
		else
			segment_add(
			    p, (struct walk_segment){ next, id - 1, SEGMENT_OTHER });
		next = id + 1;
	}
	if (!held)
		segment_add(p, (struct walk_segment){ next, INT64_MAX, SEGMENT_OTHER });
}

/* Adds the urgent jobs and the shards of each app. */
static void add_plain(struct supply *p)
{
	const struct catalog *cat = p->in.snap->cat;
	struct supply_walk *w = &p->walk;
	size_t from = w->n;

	for (size_t i = 0; i < cat->napps; i++) {
		int64_t high = -(cat->apps[i].id * READY_SHARDS) - 1;
		int64_t urgent = READY_URGENT - cat->apps[i].id * READY_PRIORITIES;

		if (!w->apps[i] || app_is_held_back(&cat->apps[i]))
			continue;
		segment_add(p, (struct walk_segment){ urgent - READY_PRIORITIES + 1,
				   urgent - 1, SEGMENT_PLAIN });
		segment_add(p, (struct walk_segment){
				   high - READY_SHARDS + 1, high, SEGMENT_PLAIN });
	}
	if (w->n > from)
		qsort(w->v + from, w->n - from, sizeof(*w->v), segment_order);
}

static bool segment_holds(const struct walk_segment *g, struct place at)
{
	return at.ready >= g->first && at.ready <= g->last;
}

/* The place behind the segment's last row. */
static struct place end_of(const struct walk_segment *g)
{
	return (struct place){ g->last, INT64_MAX };
}

/*
 * Returns the segment in which the walk continues from this place; n if the place is
 * at the end of the walk. A place of an app without a segment is followed by the
 * next app; a place of a file set without one, or no place at all, by the beginning.
 */
static size_t segment_at(const struct supply_walk *w, struct place at)
{
	for (size_t i = 0; i < w->n; i++)
		if (segment_holds(&w->v[i], at))
			return i + (at.ready == w->v[i].last && at.id == INT64_MAX);
	for (size_t i = 0; at.ready < 0 && i < w->n; i++)
		if (w->v[i].kind == SEGMENT_OTHER ||
		    (w->v[i].kind == SEGMENT_PLAIN && w->v[i].first > at.ready))
			return i;
	return 0;
}

/* --- the walk --- */

/* Uses the host's stored cursor for the first slice; later slices continue where the
 * previous one ended. */
static void cursor_begin(struct supply_walk *w, struct place stored)
{
	struct snap_search *c = w->cursor;
	size_t i = segment_at(w, stored);

	if (!c->began && i < w->n && segment_holds(&w->v[i], stored))
		c->from = stored;
	else if (!c->began && i < w->n && stored.ready != 0)
		c->from = (struct place){ w->v[i].first, 0 };
	if (!c->began)
		c->at = c->from;
	c->wrapped = c->wrapped || c->from.ready == 0;
	c->began = true;
	c->before = c->at;
}

void supply_walk_begin(struct supply *p, bool nci, const bool *apps)
{
	struct snapshot *s = p->in.snap;
	const struct host *h = &s->host;
	struct supply_walk *w = &p->walk;

	*w = (struct supply_walk){ .nci = nci,
		.taken_cap = s->nuser_wus,
		.cursor = nci ? &s->nci_search : &s->search,
		.apps = apps,
		.jobs = NEWN(p->a, struct job, SLICE_ROWS),
		.sets = NEWN(p->a, int64_t, SLICE_ROWS),
		.unread = NEWN(p->a, int64_t, SLICE_ROWS) };
	if (!nci)
		add_files(p, true);
	add_plain(p);
	if (!nci && p->in.conf->locality_search_files > 0)
		add_files(p, false);
	cursor_begin(w, nci ? (struct place){ h->nci_ready, h->nci_id } :
			      (struct place){ h->search_ready, h->search_id });
	w->rows_before = w->cursor->rows;
	w->at = segment_at(w, w->cursor->at);
	w->from = segment_at(w, w->cursor->from);
}

/* True if the walk is back where it began. */
static bool walk_is_complete(const struct supply_walk *w)
{
	const struct snap_search *c = w->cursor;

	if (!c->wrapped || c->from.ready == 0 || w->at < w->from)
		return false;
	return w->at > w->from || c->at.ready > c->from.ready ||
	       (c->at.ready == c->from.ready && c->at.id >= c->from.id);
}

/* Called after each step of the walk. */
static void step_done(struct supply_walk *w)
{
	struct snap_search *c = w->cursor;

	if (w->at < w->n && !segment_holds(&w->v[w->at], c->at))
		c->at = (struct place){ w->v[w->at].first, 0 };
	c->left = c->left && !walk_is_complete(w);
}

/* Begins the segment at the cursor. The rest of the cursor's own file set or shard
 * is read by id, what follows by range. */
static void segment_begin(struct supply_walk *w)
{
	const struct walk_segment *g = &w->v[w->at];
	struct snap_search *c = w->cursor;

	if (!segment_holds(g, c->at))
		c->at = (struct place){ g->first, 0 };
	w->most = SLICE_ROWS - 1 - (c->rows - w->rows_before);
	w->njobs = 0;
	w->whole = c->at.id == 0 ? c->at.ready : c->at.ready + 1;
	w->state = c->at.id > 0 && c->at.id < INT64_MAX ? WALK_SAME : WALK_BETWEEN;
}

/* Goes to the next segment to read; false if the slice is full or the walk is over. */
static bool next_segment(struct supply *p)
{
	struct supply_walk *w = &p->walk;
	struct snap_search *c = w->cursor;

	while (c->left && c->rows - w->rows_before < SLICE_ROWS - 1) {
		if (w->at < w->n) {
			segment_begin(w);
			return true;
		}
		if (c->wrapped) {
			c->left = false;
		} else {
			c->wrapped = true;
			c->at = (struct place){ 0 };
			w->at = 0;
		}
		step_done(w);
	}
	c->held_left = c->left && w->at < w->n && w->v[w->at].kind == SEGMENT_HELD;
	return false;
}

static void segment_done(struct supply_walk *w)
{
	const struct place *at = &w->cursor->at;

	if (at->id == INT64_MAX && at->ready == w->v[w->at].last)
		w->at++;
	step_done(w);
	w->state = WALK_SEGMENT;
}

/* --- rows --- */

static struct place place_of(const struct job *j)
{
	const struct workunit wu = {
		.id = j->workunitid, .appid = j->appid, .fileset_id = j->fileset_id
	};

	return (struct place){ result_ready(&wu, j->priority), j->id };
}

static int job_id_order(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static bool has_job(const struct job *v, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].id == id)
			return true;
	return false;
}

static void note_taken(struct supply *p, int64_t workunitid)
{
	struct snapshot *s = p->in.snap;

	PUSH(p->a, s->user_wus, s->nuser_wus, p->walk.taken_cap) = workunitid;
}

/* Adds the jobs that *v lacks. */
static void jobs_add(
    struct supply *p, const struct job *jobs, size_t n, struct job **v, size_t *nv)
{
	struct job *all = NEWN(p->a, struct job, *nv + n + 1);
	size_t old = *nv;

	if (old > 0)
		memcpy(all, *v, old * sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		if (has_job(*v, old, jobs[i].id))
			continue;
		all[(*nv)++] = jobs[i];
		if (jobs[i].taken > 0)
			note_taken(p, jobs[i].workunitid);
	}
	*v = all;
}

/* Adds each job to its file set. Skips the rest of a set that is held back. */
static void file_jobs_add(struct supply *p)
{
	struct supply_walk *w = &p->walk;
	struct place *at = &w->cursor->at;
	const struct job *jobs = w->jobs;

	for (size_t i = 0, end; i < w->njobs; i = end) {
		struct snap_file *file = snapshot_file(p->in.snap, jobs[i].fileset_id);

		for (end = i;
		     end < w->njobs && jobs[end].fileset_id == jobs[i].fileset_id;)
			end++;
		if (file == NULL)
			continue;
		jobs_add(p, jobs + i, end - i, &file->jobs, &file->njobs);
		qsort(file->jobs, file->njobs, sizeof(*file->jobs), job_id_order);
		file->has_unsent = true;
		if (snap_file_held_back(file) && at->ready == file->fileset_id)
			at->id = INT64_MAX;
	}
	segment_done(w);
}

/* Collects the sets of the jobs, which are in index order. Sets that the snapshot
 * lacks are read first. */
static void sets_begin(struct supply *p)
{
	struct supply_walk *w = &p->walk;

	w->nsets = w->nunread = 0;
	for (size_t i = 0; i < w->njobs; i++)
		if (i == 0 || w->jobs[i].fileset_id != w->jobs[i - 1].fileset_id)
			w->sets[w->nsets++] = w->jobs[i].fileset_id;
	for (size_t i = 0; i < w->nsets; i++)
		if (snapshot_file(p->in.snap, w->sets[i]) == NULL)
			w->unread[w->nunread++] = w->sets[i];
	w->old_nfiles = p->in.snap->nfiles;
	w->state = WALK_SETS;
}

/* Collects the sets whose last ids are unknown; all sets that were just added belong
 * to them. */
static void last_ids_begin(struct supply *p)
{
	struct supply_walk *w = &p->walk;
	struct snapshot *s = p->in.snap;

	for (size_t i = w->old_nfiles; i < s->nfiles; i++)
		s->files[i].unread = s->files[i].has_any_wu = s->files[i].has_open_wu =
		    true;
	w->nunread = w->unread_at = 0;
	for (size_t i = 0; i < w->nsets; i++) {
		const struct snap_file *file = snapshot_file(s, w->sets[i]);

		if (file != NULL && (file->unread || !file->last_read))
			w->unread[w->nunread++] = w->sets[i];
	}
	w->state = WALK_LAST_IDS;
}

/* Returns true if the account had a job of one of these sets. */
static bool take_last_ids(struct supply *p, const struct supply_rows *rows)
{
	bool any = false;

	for (size_t i = 0; i < rows->n; i++) {
		struct snap_file *file = snapshot_file(p->in.snap, rows->pairs[i].id);

		file->last_id = rows->pairs[i].value;
		file->last_read = true;
		file->unread = false;
		any = any || file->last_id > 0;
	}
	return any;
}

static void rows_read(struct supply *p)
{
	struct supply_walk *w = &p->walk;
	const struct walk_segment *g = &w->v[w->at];
	struct snapshot *s = p->in.snap;
	size_t n = w->njobs;

	w->cursor->at = n < w->most ? end_of(g) : place_of(&w->jobs[n - 1]);
	w->cursor->rows += n + 1;
	if (g->kind != SEGMENT_PLAIN) {
		if (n > 0)
			sets_begin(p);
		else
			segment_done(w);
		return;
	}
	if (w->nci)
		jobs_add(p, w->jobs, n, &s->nci, &s->nnci);
	else
		jobs_add(p, w->jobs, n, &s->plain, &s->nplain);
	segment_done(w);
}

static void append_rows(struct supply_walk *w, const struct supply_rows *rows)
{
	if (rows->n > 0)
		memcpy(w->jobs + w->njobs, rows->jobs, rows->n * sizeof(*w->jobs));
	w->njobs += rows->n;
}

/* --- queries --- */

static void ask_rows(const struct supply *p, struct supply_query *q)
{
	const struct supply_walk *w = &p->walk;
	const struct place *at = &w->cursor->at;

	q->most = w->most - w->njobs;
	if (w->state == WALK_SAME) {
		q->kind = SUPPLY_AFTER;
		q->ready = at->ready;
		q->after = at->id;
		q->subject = at->ready > 0 ? at->ready : 0;
	} else {
		q->kind = SUPPLY_BETWEEN;
		q->first = w->whole;
		q->last = w->v[w->at].last;
	}
}

static void ask_ids(const struct supply *p, struct supply_query *q)
{
	const struct supply_walk *w = &p->walk;

	q->kind = w->state == WALK_RELEASED ? SUPPLY_LAST_IDS_BY : SUPPLY_LAST_IDS;
	q->ids = w->unread + w->unread_at;
	q->nids = w->part;
	q->sent_by = p->in.now - p->in.conf->locality_skip_release;
}

/* Moves on to a state that has a query; false if the slice is read. */
static bool find_next_query(struct supply *p)
{
	struct supply_walk *w = &p->walk;
	size_t left;

	for (;;) {
		left = w->nunread - w->unread_at;
		if (w->state == WALK_SEGMENT && !next_segment(p))
			return false;
		if (w->state == WALK_BETWEEN &&
		    (w->njobs == w->most || w->whole > w->v[w->at].last))
			rows_read(p);
		else if (w->state == WALK_SETS && w->nunread == 0)
			last_ids_begin(p);
		else if (w->state == WALK_LAST_IDS && left == 0)
			file_jobs_add(p);
		else
			break;
	}
	w->part = left < SUPPLY_LIST_MAX ? left : SUPPLY_LIST_MAX;
	return true;
}

bool supply_walk_next(struct supply *p, struct supply_query *q)
{
	struct supply_walk *w = &p->walk;

	if (!find_next_query(p))
		return false;
	if (w->state == WALK_SETS)
		supply_ask_sets(q, w->unread, w->nunread, SET_SEARCHED);
	else if (w->state == WALK_LAST_IDS || w->state == WALK_RELEASED)
		ask_ids(p, q);
	else
		ask_rows(p, q);
	return true;
}

void supply_walk_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_walk *w = &p->walk;

	switch (w->state) {
	case WALK_SAME:
		append_rows(w, rows);
		w->state = WALK_BETWEEN;
		break;
	case WALK_BETWEEN:
		append_rows(w, rows);
		rows_read(p);
		break;
	case WALK_SETS:
		last_ids_begin(p);
		break;
	case WALK_LAST_IDS:
		if (take_last_ids(p, rows))
			w->state = WALK_RELEASED;
		else
			w->unread_at += w->part;
		break;
	default:
		for (size_t i = 0; i < rows->n; i++)
			snapshot_file(p->in.snap, rows->pairs[i].id)->released_id =
			    rows->pairs[i].value;
		w->unread_at += w->part;
		w->state = WALK_LAST_IDS;
	}
}

/* Reads which candidates' workunits the once rule forbids and adds them to
 * snapshot.user_wus. */

void supply_once_begin(struct supply *p, const int64_t *workunitids, size_t n)
{
	struct snapshot *s = p->in.snap;
	int64_t *all = NEWN(p->a, int64_t, s->nuser_wus + n + 1);

	if (s->nuser_wus > 0)
		memcpy(all, s->user_wus, s->nuser_wus * sizeof(*all));
	s->user_wus = all;
	p->once_rule = (struct supply_once){ .ids = workunitids, .n = n };
}

bool supply_once_next(struct supply *p, struct supply_query *q)
{
	struct supply_once *r = &p->once_rule;
	size_t left = r->n - r->at;

	q->kind = SUPPLY_ONCE;
	q->ids = r->ids + r->at;
	q->nids = left < SUPPLY_LIST_MAX ? left : SUPPLY_LIST_MAX;
	return p->once != 0 && left > 0;
}

void supply_once_take(struct supply *p, const struct supply_rows *rows)
{
	struct snapshot *s = p->in.snap;

	for (size_t i = 0; i < rows->n; i++)
		s->user_wus[s->nuser_wus++] = rows->ids[i];
	p->once_rule.at += p->query.nids;
}

/*
 * Reads plain jobs, one app after the other from a seeded start, apps that the
 * account selected first. Reads each app's urgent jobs, then those from a random
 * shard on, once around.
 */

/* Rows to read first of an app: few because most hosts want few jobs, and fewer
 * still if they are locked. */
enum { FIRST_ROWS = 16, FIRST_LOCKED = 4 };

void supply_plain_begin(struct supply *p, bool *apps, size_t most, bool wanted)
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

static const struct app *current_app(const struct supply *p)
{
	const struct catalog *c = p->in.snap->cat;

	return &c->apps[(p->plain.first + p->plain.i) % c->napps];
}

/* The app's first shard in the index; its last shard is READY_SHARDS - 1 higher. */
static int64_t first_shard_of(const struct app *app)
{
	return -(app->id * READY_SHARDS) - READY_SHARDS;
}

static void read_plain_app(struct supply *p, bool lock)
{
	struct supply_plain *r = &p->plain;
	size_t first = lock ? FIRST_LOCKED : FIRST_ROWS;
	size_t left = r->most - p->in.snap->nplain;

	r->lock = lock;
	r->asked = p->until_enough && first < left ? first : left;
	r->state = PLAIN_FROM_SHARD;
}

static bool is_chosen(const struct supply *p, const struct app *app)
{
	const struct supply_plain *r = &p->plain;
	const struct catalog *c = p->in.snap->cat;
	enum app_choice choice = prefs_app_choice(&p->in.snap->project_prefs, app->id,
	    app->beta != 0, p->in.conf->distinct_beta_apps);

	return r->apps[app - c->apps] && !app_is_held_back(app) &&
	       choice == r->choices[r->i / c->napps];
}

static bool choose_plain_app(struct supply *p)
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

bool supply_plain_next(struct supply *p, struct supply_query *q)
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

static void append_plain(struct supply *p, const struct supply_rows *rows)
{
	struct snapshot *s = p->in.snap;

	if (rows->n > 0)
		memcpy(s->plain + s->nplain, rows->jobs, rows->n * sizeof(*s->plain));
	s->nplain += rows->n;
	s->search.left |= rows->n == p->plain.asked;
}

/* Shuffles the urgent jobs, which are the head of the same queue for every request;
 * shuffles all jobs under contention. */
static void shuffle_jobs(struct rng *rng, bool all, struct job *v, size_t n)
{
	for (size_t i = 0, end; i < n && (all || v[i].priority > 0); i = end) {
		for (end = i; end < n && v[end].priority == v[i].priority;)
			end++;
		rng_shuffle(rng, v + i, end - i, sizeof(*v));
	}
}

static void app_done(struct supply *p)
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
static void take_from_shard(struct supply *p, const struct supply_rows *rows)
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

void supply_plain_take(struct supply *p, const struct supply_rows *rows)
{
	if (p->plain.state == PLAIN_FROM_SHARD) {
		take_from_shard(p, rows);
		return;
	}
	append_plain(p, rows);
	app_done(p);
}
