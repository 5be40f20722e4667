/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds file sets that the host lacks by a walk over the ids of sets with unsent
 * jobs, from a seeded start, once around. Where work is made on demand, sets without
 * unsent jobs that may get some follow (locality.md 1.1 (L8)). The same walk finds
 * old work.
 */
#include <stdlib.h>
#include <string.h>
#include "model/rows.h"
#include "rules/sched/decide.h"
#include "rules/sched/large.h"
#include "rules/sched/supply_own.h"
#include "lib/banned.h"

enum {
	GAP = 16,           /* a gap of more ids than this counts as long */
	OLD_LOOKED_AT = 16, /* sets whose oldest job is looked at */
	OLD_MOST = 4,       /* sets whose jobs are read */
};

/* --- the walk over sets with unsent jobs --- */

static void walk_begin(struct supply *p)
{
	struct supply_search *r = &p->search;
	int64_t last = p->in.snap->glance.last_ready;

	r->start = r->at = (int64_t)rng_below(&r->rng, (uint64_t)last + 1);
	r->state = SEARCH_NEXT;
}

static bool walk_continues(const struct supply *p)
{
	const struct supply_search *r = &p->search;

	return r->step < r->want + p->in.snap->nfiles + 2 && r->n < r->want;
}

/*
 * Draws the start once more if it fell into a long gap. All starts in the gap would
 * find the set behind it, and all these requests would want its first jobs; the new
 * start lies anywhere from this set on.
 */
static bool redraw_start(struct supply_search *r, int64_t next, int64_t last)
{
	if (r->step != 0 || next - r->start <= GAP || next >= last)
		return false;
	r->start = next - 1 + (int64_t)rng_below(&r->rng, (uint64_t)(last - next) + 1);
	r->at = r->start;
	return true;
}

/* Takes the next set of the walk; false if the walk is done. */
static bool take_next(struct supply *p, const struct supply_rows *rows)
{
	struct supply_search *r = &p->search;
	const struct snapshot *s = p->in.snap;
	int64_t next = rows->number;

	if (!rows->found && r->wrapped)
		return false;
	if (!rows->found) {
		r->wrapped = true;
		r->at = 0;
	} else if (!redraw_start(r, next, s->glance.last_ready)) {
		if (r->wrapped && next > r->start)
			return false;
		if (snapshot_file(s, next) == NULL)
			r->ids[r->n++] = next;
		r->at = next;
	}
	r->step++;
	return walk_continues(p);
}

/* --- sets that may get work --- */

/* Starts at a set not known to be given up, so that a host excluded from all
 * existing work does not starve. */
static void makeable_begin(struct supply *p)
{
	struct supply_search *r = &p->search;
	int64_t last = p->in.snap->glance.last_fileset;

	r->at = last > 0 ? (int64_t)rng_below(&r->rng, (uint64_t)last) : 0;
	r->seen = r->n;
	r->state = SEARCH_START;
}

static bool has_id(const int64_t *ids, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void take_makeable(struct supply *p, const struct supply_rows *rows)
{
	struct supply_search *r = &p->search;

	for (size_t i = 0; i < rows->n && r->n < r->want; i++) {
		int64_t id = rows->pairs[i].id;

		if (rows->pairs[i].value != 0 &&
		    snapshot_file(p->in.snap, id) == NULL && !has_id(r->ids, r->n, id))
			r->ids[r->n++] = id;
	}
	r->seen += rows->n;
	r->turn++;
	if (r->turn == N(r->starts) || r->seen >= r->want)
		r->state = SEARCH_SETS;
}

/* --- old work --- */

static int age_order(const void *pa, const void *pb)
{
	const struct supply_pair *a = pa, *b = pb;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Keeps the sets whose oldest job was created before the timeout, the oldest first. */
static void take_oldest(struct supply *p, const struct supply_rows *rows)
{
	struct supply_search *r = &p->search;
	int64_t before = p->in.now - p->in.conf->locality_scheduling_send_timeout;
	size_t old = 0;

	if (rows->n > 0)
		qsort(rows->pairs, rows->n, sizeof(*rows->pairs), age_order);
	for (size_t i = 0; i < rows->n; i++)
		if (rows->pairs[i].value > 0 && rows->pairs[i].value < before)
			r->ids[old++] = rows->pairs[i].id;
	r->n = old;
	r->state = SEARCH_SETS;
}

/* --- the whole search --- */

static void walk_done(struct supply *p)
{
	struct supply_search *r = &p->search;

	if (r->old) {
		r->state = r->n > 0 ? SEARCH_OLDEST : SEARCH_DONE;
		return;
	}
	/* there may be more sets */
	p->in.snap->search.left |= r->n > 0 && r->n == r->want;
	if (r->n < r->want && p->in.conf->locality_scheduling_wait_period > 0 &&
	    catalog_locality(p->in.snap->cat, p->in.conf))
		makeable_begin(p);
	else
		r->state = SEARCH_SETS;
}

/* Continues once the end of the index is known. */
static void search_lasts_known(struct supply *p)
{
	struct supply_search *r = &p->search;
	bool ready = p->in.snap->glance.last_ready > 0;

	if (r->want == 0 || (r->only_ready && !ready))
		r->state = SEARCH_DONE;
	else if (ready)
		walk_begin(p);
	else
		walk_done(p);
}

static void search_begin(struct supply *p, struct supply_search r)
{
	r.ids = NEWN(p->a, int64_t, r.want + 1);
	p->search = r;
	if (p->in.snap->glance.has_last)
		search_lasts_known(p);
}

void supply_search_begin(struct supply *p, struct rng rng, size_t want)
{
	search_begin(p, (struct supply_search){ .rng = rng, .want = want });
}

void supply_few_begin(struct supply *p, struct rng rng, size_t want)
{
	search_begin(
	    p, (struct supply_search){ .rng = rng, .only_ready = true, .want = want });
}

void supply_old_begin(struct supply *p, struct rng rng)
{
	search_begin(p,
	    (struct supply_search){
		.rng = rng, .old = true, .only_ready = true, .want = OLD_LOOKED_AT });
}

bool supply_search_next(struct supply *p, struct supply_query *q)
{
	struct supply_search *r = &p->search;

	switch (r->state) {
	case SEARCH_LASTS:
		supply_ask_lasts(q);
		return true;
	case SEARCH_NEXT:
		q->kind = SUPPLY_NEXT_READY;
		q->after = r->at;
		return true;
	case SEARCH_START:
		q->kind = SUPPLY_NOT_GIVEN_UP;
		q->after = r->at;
		q->last = p->in.snap->glance.last_fileset;
		return true;
	case SEARCH_MAKEABLE:
		q->kind = SUPPLY_MAKEABLE;
		q->after = r->starts[r->turn];
		q->most = r->want;
		return true;
	case SEARCH_OLDEST:
		q->kind = SUPPLY_OLDEST;
		q->ids = r->ids;
		q->nids = r->n;
		return true;
	case SEARCH_SETS:
		supply_ask_sets(q, r->ids, r->n, SET_SEARCHED);
		q->open_only = true;
		q->most = r->old && r->n > OLD_MOST ? OLD_MOST : r->n;
		return r->n > 0;
	default:
		return false;
	}
}

void supply_search_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_search *r = &p->search;

	switch (r->state) {
	case SEARCH_LASTS:
		supply_take_lasts(p, rows);
		search_lasts_known(p);
		break;
	case SEARCH_NEXT:
		if (!take_next(p, rows))
			walk_done(p);
		break;
	case SEARCH_START:
		r->starts[0] = rows->number - 1;
		r->state = rows->found ? SEARCH_MAKEABLE : SEARCH_SETS;
		break;
	case SEARCH_MAKEABLE:
		take_makeable(p, rows);
		break;
	case SEARCH_OLDEST:
		take_oldest(p, rows);
		break;
	default:
		r->state = SEARCH_DONE;
	}
}

/*
 * Reads jobs of file sets, one set after the other, in slices that grow until there
 * are enough (performance.md 1 (R4 and R5)). Ids increase from the account's last
 * job of the set on. If there are no further jobs, offers jobs that were skipped at
 * least locality_skip_release seconds ago.
 */

/* Limit of sets to read: a host may name every file of the project, and each set
 * costs some statements. */
enum { FILES_MOST = 256 };

/* Sets of held files to read if the first ones do not suffice; then twice as many, and
 * so on. */
enum { HELD_PART = 8 };

enum { SLICE_LEAST = 4 };

void supply_files_begin(struct supply *p, size_t from, size_t most)
{
	p->files = (struct supply_files){ .from = from, .at = from, .most = most };
}

static struct snap_file *current_set(const struct supply *p)
{
	return &p->in.snap->files[p->files.at];
}

/* The statement of the first slice finds the account's last id itself, unless the
 * slice begins behind jobs that are left to others. */
static void read_set(struct supply *p, bool lock)
{
	struct supply_files *r = &p->files;
	struct snap_file *file = current_set(p);

	file->jobs = NULL;
	file->njobs = r->cap = 0;
	r->lock = lock;
	r->full = false;
	r->skip = supply_skip(p, file->fileset_id);
	r->find_last = !file->last_read && r->skip == 0;
	r->after = file->last_id;
	if (!file->last_read && r->skip > 0)
		r->state = FILES_LAST;
	else
		r->state = r->skip > 0 ? FILES_SKIP : FILES_SLICE;
}

/* Goes to the next set with unsent jobs; false if there is none. Marks the sets that
 * stay unread because there are enough candidates. */
static bool choose_set(struct supply *p)
{
	struct supply_files *r = &p->files;
	struct snapshot *s = p->in.snap;

	for (; r->at < s->nfiles; r->at++) {
		struct snap_file *file = current_set(p);

		if (!file->has_unsent) /* as of when the set was read */
			continue;
		if (r->got >= r->most || r->at - r->from >= FILES_MOST ||
		    (r->got > 0 && p->until_enough && supply_enough(p))) {
			file->unread = s->search.left = true;
			continue;
		}
		read_set(p, supply_locks(p, file->fileset_id));
		return true;
	}
	return false;
}

/* True if further sets of held files are to be read. */
static bool needs_held(struct supply *p)
{
	const struct supply_files *r = &p->files;
	bool left = r->held && p->held_read < p->in.nheld;
	bool enough = r->got >= r->most || (r->got > 0 && supply_enough(p));

	p->in.snap->search.left |= left && enough;
	return left && !enough;
}

static void ask_held(struct supply *p, struct supply_query *q)
{
	size_t left = p->in.nheld - p->held_read;
	size_t part = p->held_read > HELD_PART ? p->held_read : HELD_PART;

	supply_ask_sets(
	    q, p->in.held + p->held_read, left < part ? left : part, SET_HELD);
	p->files.state = FILES_HELD;
}

/*
 * Rows of the next slice: what is missing, twice if the once rule may exclude every
 * other one, as the replicas of a workunit follow each other. At least as many as were
 * read of the set, because none of these may have counted.
 */
static size_t slice_size(const struct supply *p)
{
	size_t read = current_set(p)->njobs, n = supply_missing(p);

	n = (n > SLICE_LEAST ? n : SLICE_LEAST) * (p->once != 0 ? 2 : 1);
	return n > read ? n : read;
}

static void ask_slice(struct supply *p, struct supply_query *q)
{
	struct supply_files *r = &p->files;
	size_t left = r->most - current_set(p)->njobs;
	size_t slice = p->until_enough ? slice_size(p) : r->most;

	r->asked = slice < left ? slice : left;
	q->kind = r->find_last ? SUPPLY_AFTER_LAST : SUPPLY_AFTER;
	q->after = r->after;
	q->most = r->asked;
	q->lock = r->lock;
}

bool supply_files_next(struct supply *p, struct supply_query *q)
{
	struct supply_files *r = &p->files;

	if (r->state == FILES_CHOOSE && !choose_set(p)) {
		if (!needs_held(p))
			return false;
		ask_held(p, q);
		return true;
	}
	q->ready = q->subject = current_set(p)->fileset_id;
	switch (r->state) {
	case FILES_LAST:
	case FILES_LAST_OF_NONE:
		q->kind = SUPPLY_LAST_ID;
		break;
	case FILES_SKIP:
		q->kind = SUPPLY_NTH_AFTER;
		q->after = r->after;
		q->nth = r->skip - 1;
		break;
	case FILES_PASSED_OVER:
		q->kind = SUPPLY_UPTO;
		q->last = current_set(p)->last_id;
		q->most = r->most;
		q->lock = r->lock;
		break;
	case FILES_RELEASED:
		q->kind = SUPPLY_LAST_ID_BY;
		q->sent_by = p->in.now - p->in.conf->locality_skip_release;
		break;
	default:
		ask_slice(p, q);
	}
	return true;
}

/* Finishes the set. If all its jobs are locked, reads them again without locking,
 * because the owner of a lock may give the job up. */
static void set_done(struct supply *p)
{
	struct supply_files *r = &p->files;
	size_t njobs = current_set(p)->njobs;

	p->in.snap->search.left |= r->full;
	if (r->lock && njobs == 0) {
		supply_unlock(p);
		read_set(p, false);
		return;
	}
	r->got += njobs;
	r->at++;
	r->state = FILES_CHOOSE;
}

static void take_last(struct supply *p, const struct supply_rows *rows)
{
	struct snap_file *file = current_set(p);

	file->last_id = rows->found ? rows->number : 0;
	file->last_read = true;
	p->files.after = file->last_id;
}

/* Continues after finding no job behind the account's last one. */
static void try_passed_over(struct supply *p)
{
	if (current_set(p)->last_id > 0)
		p->files.state = FILES_PASSED_OVER;
	else
		set_done(p);
}

static void take_slice(struct supply *p, const struct supply_rows *rows)
{
	struct supply_files *r = &p->files;
	struct snap_file *file = current_set(p);

	if (file->njobs == 0) {
		file->jobs = rows->jobs;
		file->njobs = r->cap = rows->n;
	} else {
		for (size_t i = 0; i < rows->n; i++)
			PUSH(p->a, file->jobs, file->njobs, r->cap) = rows->jobs[i];
	}
	r->full = rows->n == r->asked;
	if (rows->n > 0)
		r->after = file->jobs[file->njobs - 1].id;
	r->find_last = false;
	if (r->full && file->njobs < r->most && !(p->until_enough && supply_enough(p)))
		return;
	file->has_unsent = file->njobs > 0;
	if (file->njobs > 0)
		set_done(p);
	else if (file->last_read)
		try_passed_over(p);
	else
		r->state = FILES_LAST_OF_NONE;
}

static void take_passed_over(struct supply *p, const struct supply_rows *rows)
{
	struct snap_file *file = current_set(p);

	p->files.full = false;
	p->files.npassed = rows->n;
	if (rows->n == 0) {
		set_done(p);
		return;
	}
	file->has_unsent = true;
	file->jobs = rows->jobs;
	p->files.state = FILES_RELEASED;
}

/* The jobs are sorted by increasing id. */
static void take_released(struct supply *p, const struct supply_rows *rows)
{
	struct supply_files *r = &p->files;
	struct snap_file *file = current_set(p);

	file->released_id = rows->found ? rows->number : 0;
	while (
	    file->njobs < r->npassed && file->jobs[file->njobs].id < file->released_id)
		file->njobs++;
	r->full = file->njobs == r->most;
	set_done(p);
}

void supply_files_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_files *r = &p->files;

	switch (r->state) {
	case FILES_HELD:
		p->held_read += p->query.nids;
		r->state = FILES_CHOOSE;
		break;
	case FILES_LAST:
		take_last(p, rows);
		r->state = r->skip > 0 ? FILES_SKIP : FILES_SLICE;
		break;
	case FILES_LAST_OF_NONE:
		take_last(p, rows);
		try_passed_over(p);
		break;
	case FILES_SKIP:
		if (rows->found)
			r->after = rows->number;
		r->state = FILES_SLICE;
		break;
	case FILES_PASSED_OVER:
		take_passed_over(p, rows);
		break;
	case FILES_RELEASED:
		take_released(p, rows);
		break;
	default:
		take_slice(p, rows);
	}
}

/*
 * Draws jobs for the estimate of what hosts would fetch without locality
 * (baseline_cost.h). Each draw takes the oldest unsent job of the file set that
 * follows a random place in the index.
 */

/* Continues with the next draw, or with the members once all draws are done. */
static void draw_next(struct supply *p)
{
	struct snapshot *s = p->in.snap;

	if (p->draw.i < BASELINE_DRAWS)
		p->draw.state = DRAW_NEXT;
	else
		p->draw.state = s->ndrawn > 0 ? DRAW_MEMBERS : DRAW_DONE;
}

static void draw_lasts_known(struct supply *p)
{
	struct snapshot *s = p->in.snap;

	p->draw.state = DRAW_DONE;
	if (s->glance.last_ready <= 0)
		return;
	s->drawn = NEWN(p->a, struct job, BASELINE_DRAWS);
	draw_next(p);
}

void supply_draw_begin(struct supply *p)
{
	p->draw = (struct supply_draw){ .i = 0 };
	if (p->in.snap->glance.has_last)
		draw_lasts_known(p);
}

/* Ids of the file sets of the drawn jobs. */
static const int64_t *sets_drawn(struct supply *p)
{
	const struct snapshot *s = p->in.snap;
	int64_t *ids = NEWN(p->a, int64_t, s->ndrawn);

	for (size_t i = 0; i < s->ndrawn; i++)
		ids[i] = s->drawn[i].fileset_id;
	return ids;
}

bool supply_draw_next(struct supply *p, struct supply_query *q)
{
	const struct snapshot *s = p->in.snap;
	struct supply_draw *r = &p->draw;

	switch (r->state) {
	case DRAW_LASTS:
		supply_ask_lasts(q);
		return true;
	case DRAW_NEXT:
		q->kind = SUPPLY_NEXT_READY;
		q->after = (int64_t)rng_below(
		    &p->in.draw_rng, (uint64_t)s->glance.last_ready);
		return true;
	case DRAW_JOB:
		q->kind = SUPPLY_AFTER;
		q->ready = q->subject = r->fileset_id;
		q->once = 0;
		q->most = 1;
		return true;
	case DRAW_MEMBERS:
		q->kind = SUPPLY_MEMBERS;
		q->ids = sets_drawn(p);
		q->nids = s->ndrawn;
		return true;
	default:
		return false;
	}
}

static bool was_drawn(const struct snapshot *s, int64_t fileset_id)
{
	for (size_t i = 0; i < s->ndrawn; i++)
		if (s->drawn[i].fileset_id == fileset_id)
			return true;
	return false;
}

void supply_draw_take(struct supply *p, const struct supply_rows *rows)
{
	struct snapshot *s = p->in.snap;
	struct supply_draw *r = &p->draw;

	switch (r->state) {
	case DRAW_LASTS:
		supply_take_lasts(p, rows);
		draw_lasts_known(p);
		break;
	case DRAW_NEXT:
		r->fileset_id = rows->number;
		if (rows->found && !was_drawn(s, rows->number)) {
			r->state = DRAW_JOB;
			break;
		}
		r->i++;
		draw_next(p);
		break;
	case DRAW_JOB:
		if (rows->n > 0) /* else another request claimed it meanwhile */
			s->drawn[s->ndrawn++] = rows->jobs[0];
		r->i++;
		draw_next(p);
		break;
	default:
		s->drawn_members = rows->members;
		s->ndrawn_members = rows->n;
		r->state = DRAW_DONE;
	}
}

/*
 * Readers that have nothing to choose. The first reads one job instead of all
 * candidates, to answer whether this host would get it and if not, why not; jobs in
 * progress, reports and files held stay as they were read. The second reads the jobs
 * targeted at this host.
 */

/* --- one job --- */

bool supply_only_next(struct supply *p, struct supply_query *q)
{
	struct supply_only *r = &p->only;
	int64_t *fileset_id;

	switch (r->state) {
	case ONLY_JOB:
		q->kind = SUPPLY_BY_IDS;
		q->ids = &p->in.only_job;
		q->nids = 1;
		return true;
	case ONLY_SET:
		fileset_id = &r->job->fileset_id;
		supply_ask_sets(q, fileset_id, 1, SET_SEARCHED);
		q->subject = *fileset_id;
		return true;
	case ONLY_LAST:
		q->kind = SUPPLY_LAST_ID;
		q->ready = q->subject = r->job->fileset_id;
		return true;
	case ONLY_RELEASED:
		q->kind = SUPPLY_LAST_ID_BY;
		q->ready = q->subject = r->job->fileset_id;
		q->sent_by = p->in.now - p->in.conf->locality_skip_release;
		return true;
	default:
		return false;
	}
}

/* Drops the other file sets, except those that will get no more work: deleting their
 * files makes room. */
static void drop_live_sets(const struct supply *p, int64_t but)
{
	struct snapshot *s = p->in.snap;
	size_t n = 0;

	for (size_t i = 0; i < s->nfiles; i++) {
		struct snap_file *f = &s->files[i];

		if (f->fileset_id != but &&
		    fileset_state(p->in.conf, f) >= FILE_EXHAUSTED)
			s->files[n++] = *f;
	}
	s->nfiles = n;
}

static void take_job(struct supply *p, const struct supply_rows *rows)
{
	struct supply_only *r = &p->only;
	struct snapshot *s = p->in.snap;
	const struct app *app;

	r->state = ONLY_DONE;
	s->ntargeted = s->nplain = s->nnci = 0;
	s->search = (struct snap_search){ 0 };
	s->last_rpc_time = 0; /* the time since the last RPC does not matter here */
	if (rows->n == 0)
		return;
	r->job = &rows->jobs[0];
	app = catalog_app(s->cat, r->job->appid);
	if (app != NULL && app->non_cpu_intensive) {
		s->nci = r->job;
		s->nnci = 1;
	} else if (r->job->fileset_id == 0) {
		s->plain = r->job;
		s->nplain = 1;
	} else {
		r->state = snapshot_file(s, r->job->fileset_id) == NULL ? ONLY_SET :
		                                                          ONLY_LAST;
		return;
	}
	drop_live_sets(p, 0);
}

/* Puts the job's file set first, as the only one with jobs. */
static void put_set_first(struct supply *p, int64_t released_id)
{
	struct supply_only *r = &p->only;
	struct snapshot *s = p->in.snap;
	struct snap_file *file = snapshot_file(s, r->job->fileset_id), own;
	struct snap_file *all;

	if (file == NULL) /* the set was deleted */
		return;
	own = *file;
	drop_live_sets(p, own.fileset_id);
	own.jobs = r->job;
	own.njobs = 1;
	own.has_unsent = true;
	own.unread = false;
	own.last_id = r->last_id;
	own.released_id = released_id;
	all = NEWN(p->a, struct snap_file, s->nfiles + 1);
	all[0] = own;
	if (s->nfiles > 0)
		memcpy(all + 1, s->files, s->nfiles * sizeof(*all));
	s->files = all;
	s->nfiles++;
}

void supply_only_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_only *r = &p->only;

	switch (r->state) {
	case ONLY_JOB:
		take_job(p, rows);
		break;
	case ONLY_SET:
		r->state = ONLY_LAST;
		break;
	case ONLY_LAST:
		r->last_id = rows->found ? rows->number : 0;
		r->state = rows->found ? ONLY_RELEASED : ONLY_DONE;
		if (!rows->found)
			put_set_first(p, 0);
		break;
	default:
		r->state = ONLY_DONE;
		put_set_first(p, rows->found ? rows->number : 0);
	}
}

/* --- targeted and broadcast jobs --- */

bool supply_targeted_next(struct supply *p, struct supply_query *q)
{
	const struct conf *cf = p->in.conf;

	q->kind = SUPPLY_TARGETED;
	q->multi_first = cf->enable_assignment ? 0 : 1;
	q->multi_last = cf->enable_assignment_multi ? 1 : 0;
	return !p->targeted_asked && q->multi_first <= q->multi_last;
}

void supply_targeted_take(struct supply *p, const struct supply_rows *rows)
{
	p->in.snap->targeted = rows->jobs;
	p->in.snap->ntargeted = rows->n;
	p->targeted_asked = true;
}

/* Picks file sets at random (seeded) from the working set: sets that the snapshot
 * lacks and that the admin does not hold back. */

/* Number of names to look up in each round; those of the first are nearly always
 * enough. */
static const size_t rounds[] = { 16, SUPPLY_LIST_MAX, SUPPLY_LIST_MAX,
	SUPPLY_LIST_MAX };

void supply_picks_begin(struct supply *p, size_t want)
{
	p->picks = (struct supply_picks){ .want = want,
		.ids = NEWN(p->a, int64_t, want + 1) };
	if (want == 0 || !catalog_locality(p->in.snap->cat, p->in.conf))
		p->picks.state = PICKS_DONE;
}

bool supply_picks_next(struct supply *p, struct supply_query *q)
{
	struct supply_picks *r = &p->picks;
	size_t left = r->nnames - r->at;

	switch (r->state) {
	case PICKS_NAMES:
		q->kind = SUPPLY_NAMES;
		return true;
	case PICKS_NAMED:
		r->part = left < rounds[r->round] ? left : rounds[r->round];
		q->kind = SUPPLY_NAMED;
		q->names = r->names + r->at;
		q->nnames = r->part;
		return true;
	case PICKS_SETS:
		supply_ask_sets(q, r->ids, r->n, SET_PICKED);
		return r->n > 0;
	default:
		return false;
	}
}

static const struct fileset *set_named(
    const struct catalog *cat, const struct supply_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct app *app = cat == NULL ?
		                            NULL :
		                            catalog_app(cat, rows->sets[i].appid);

		if (strcmp(rows->sets[i].name, name) == 0 &&
		    rows->sets[i].paused == FILESET_OPEN &&
		    (app == NULL || app->drain_time == 0))
			return &rows->sets[i];
	}
	return NULL;
}

/* Takes the sets in the order of the names. A set that the host holds in part
 * becomes a pick as it is in the snapshot. */
static void take_named(struct supply *p, const struct supply_rows *rows)
{
	struct supply_picks *r = &p->picks;

	for (size_t i = 0; i < r->part && r->n < r->want; i++) {
		const struct fileset *set = set_named(
		    p->in.snap->cat, rows, r->names[r->at + i]);
		struct snap_file *there;

		if (set == NULL)
			continue;
		there = snapshot_file(p->in.snap, set->id);
		if (there == NULL)
			r->ids[r->n++] = set->id;
		else if (!there->held)
			there->from_working_set = true;
	}
	r->at += r->part;
	r->round++;
	if (r->at >= r->nnames || r->round == N(rounds) || r->n >= r->want)
		r->state = PICKS_SETS;
}

void supply_picks_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_picks *r = &p->picks;

	switch (r->state) {
	case PICKS_NAMES:
		r->names = rows->names;
		r->nnames = rows->n;
		if (r->nnames > 0)
			rng_shuffle(&p->rng, r->names, r->nnames, sizeof(*r->names));
		r->state = r->nnames > 0 ? PICKS_NAMED : PICKS_DONE;
		break;
	case PICKS_NAMED:
		take_named(p, rows);
		break;
	default:
		r->state = PICKS_DONE;
	}
}
